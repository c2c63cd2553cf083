"""What one record does to the sum of a step, exactly: two runs with one seed on neighbouring data.

Up to the first batch with the record both runs have the same parameters, if the seed decides them. That is not believed
but looked at: everything that was released before must be equal, so must the batches but for the record, and a third
run on the same data as the second must have the same sum.
"""

import dataclasses

import numpy as np

from deniable.auditing.training.neighbours import NeighbourPair
from deniable.auditing.training.observation import ObservedRun, TrainingPlan, TrainingStep
from deniable.core.arrays import FloatArray, IntArray

SUM_ROUNDING = 1e-5
"""Relative error granted to a measured norm: networks sum in float32."""
IN_NO_BATCH = "not measured: the canary was in no batch"


@dataclasses.dataclass(frozen=True)
class Movement:
    """What one record does to the sum of a step, at equal parameters and otherwise equal batches.

    Attributes:
        step: number of the step, from 0: the first that has the record, or whose sum it moves all the same.
        norm: l2 norm of the difference.
        ratio: of that norm to what the accounting assumes, the clipping norm of the step, or twice that for a record
            that is replaced by another.
        copies: how often the record counts in the batch.
    """

    step: int
    norm: float
    ratio: float
    copies: int


def measure_movement(
    ours: ObservedRun, theirs: ObservedRun, repeated: ObservedRun, pair: NeighbourPair, norms_allowed: int
) -> tuple[Movement | None, str]:
    """Return what the canary does to the first sum that has it, or why that is not known.

    Args:
        ours: the run with the canary.
        theirs: the run without it, with the same seed.
        repeated: a run on the same data as ``theirs``, with the same seed.
        pair: both data sets.
        norms_allowed: by how many clipping norms the sums may differ.
    """
    if ours.plan is None:
        return None, "not measured: the run states no plan"
    place = len(pair.records)
    for number, (step, other, again) in enumerate(zip(ours.steps, theirs.steps, repeated.steps, strict=False)):
        flaw = _find_flaw(step, other, again, pair, place)
        if flaw:
            return None, f"not measured: {flaw}"
        # _find_flaw has seen that there are sums and batches.
        difference = np.asarray(step.clipped_sum) - np.asarray(other.clipped_sum)
        norm, copies = float(np.linalg.norm(difference)), int((np.asarray(step.batch) == place).sum())
        is_drawn = copies > 0 or int((np.asarray(other.batch) == place).sum()) > 0
        if is_drawn or not _is_rounding(norm, step, ours.plan):
            clip = ours.plan.clip if step.clip is None else step.clip
            times = "" if copies == 1 else f", where the canary counts {copies} times"
            record = (
                "" if norms_allowed == 1 else "; another record takes its place, so twice the clipping norm is allowed"
            )
            note = f"at step {number + 1}, on neighbours of the same parameters and seed{times}{record}"
            return Movement(number, norm, norm / (norms_allowed * clip), copies), note
        if not np.array_equal(step.released, other.released):
            return None, (
                "not measured: before the canary was in a batch, runs with one seed released other numbers, so that "
                "their parameters differ: let the seed decide all randomness"
            )
    return None, IN_NO_BATCH


def _find_flaw(step: TrainingStep, other: TrainingStep, again: TrainingStep, pair: NeighbourPair, place: int) -> str:
    """Return why two steps cannot be compared; empty where they can."""
    if step.clipped_sum is None or other.clipped_sum is None or again.clipped_sum is None:
        return "the run does not show its sums before the noise"
    if step.batch is None or other.batch is None or again.batch is None:
        return "the run does not show its batches"
    if not np.array_equal(_drop_record(step.batch, place), _drop_record(other.batch, place)):
        advice = "give a record in the place of the canary" if pair.is_removal else "let the seed decide batches"
        return f"with one seed both data sets have other batches: {advice}"
    if step.clipped_sum.shape != other.clipped_sum.shape:
        return f"the sums have {step.clipped_sum.size:,} and {other.clipped_sum.size:,} numbers"
    if not _is_repeated(other.clipped_sum, again.clipped_sum):
        return "two runs on the same data with one seed have other sums: let the seed decide all randomness"
    return ""


def _is_repeated(first: FloatArray, second: FloatArray) -> bool:
    """Return whether two sums are the same, but for the order in which they were added up."""
    scale = max(float(np.linalg.norm(first)), 1e-300)
    return first.shape == second.shape and float(np.linalg.norm(first - second)) <= SUM_ROUNDING * scale


def _is_rounding(norm: float, step: TrainingStep, plan: TrainingPlan) -> bool:
    """Return whether sums of the same records differ in their last bits alone."""
    return norm <= SUM_ROUNDING * max(float(np.linalg.norm(np.asarray(step.clipped_sum))), plan.clip)


def _drop_record(batch: IntArray, place: int) -> IntArray:
    return np.sort(batch[batch != place])
