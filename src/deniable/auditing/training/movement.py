"""What one record does to the sum of a step, exactly: two runs with one seed on neighbouring data.

Up to the first batch with the record both runs have the same parameters, if the seed decides them. That is not believed
but looked at: everything that was released before must be equal, so must the batches but for the record, and a third
run on the same data as the second must have the same sum.

**Rounding.** A sum of n numbers is off by at most (n - 1) u times the sum of their sizes, in any order of addition
(Higham 2002, Section 4.2), where u is the unit roundoff of the arithmetic: 2^-24 for float32, which networks use. If no
record counts more than C, as is claimed, that is n^2 u C for each of both sums, the rounding of their terms included.
A sum that is shown in float64 may hold parts that were added up in float32: float64 is believed where it is stated.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from deniable.auditing.training.neighbours import NeighbourPair
from deniable.auditing.training.observation import (
    UNIT_ROUNDOFFS,
    Arithmetic,
    ObservedRun,
    TrainingPlan,
    TrainingStep,
)
from deniable.core.arrays import FloatArray, IntArray
from deniable.core.guarantees import Status

SUM_ROUNDING = 1e-5
"""Relative error granted to the norm of one record, which networks compute in float32."""
_SEEN_EXCESS = 0.01
"""A movement that is larger by this share than allowed must be seen, or nothing is said."""
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
        rounding: by which rounding, of both sums and of the record's norm, can make the ratio too large or too small.
    """

    step: int
    norm: float
    ratio: float
    copies: int
    rounding: float

    @property
    def limits(self) -> tuple[float, float]:
        """Between which numbers the ratio lies without rounding."""
        return max(self.ratio - self.rounding, 0.0), self.ratio + self.rounding

    @property
    def status(self) -> Status:
        """Whether it is more than is assumed: undecided where rounding hides that, or would hide a percent."""
        low, high = self.limits
        if low > 1:
            return "refuted"
        is_seen = self.rounding <= _SEEN_EXCESS or high <= 1
        return "not refuted" if self.ratio <= 1 + SUM_ROUNDING and is_seen else "undecided"


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
        difference = _subtract(step.clipped_sum, other.clipped_sum)  # type: ignore[arg-type]
        norm, copies = float(np.linalg.norm(difference)), int((np.asarray(step.batch) == place).sum())
        is_drawn = copies > 0 or int((np.asarray(other.batch) == place).sum()) > 0
        if is_drawn or not _is_rounding(norm, step, ours.plan):
            clip = ours.plan.clip if step.clip is None else step.clip
            times = "" if copies == 1 else f", where the canary counts {copies} times"
            record = (
                "" if norms_allowed == 1 else "; another record takes its place, so twice the clipping norm is allowed"
            )
            note = f"at step {number + 1}, on neighbours of the same parameters and seed{times}{record}"
            sums = step.clipped_sum, other.clipped_sum
            roundoff = UNIT_ROUNDOFFS[step.arithmetic or _find_arithmetic(sums)]  # type: ignore[arg-type]
            terms = np.size(step.batch) ** 2 + np.size(other.batch) ** 2  # type: ignore[arg-type]
            # The norm of a record is a sum too, of d squares.
            of_record = max(SUM_ROUNDING, difference.size / 2 * max(roundoff, UNIT_ROUNDOFFS["float32"]))
            ratio = norm / (norms_allowed * clip)
            return Movement(number, norm, ratio, copies, terms * roundoff / norms_allowed + of_record), note
        if not np.array_equal(step.released, other.released):
            return None, (
                "not measured: before the canary was in a batch, runs with one seed released other numbers, so that "
                "their parameters differ: let the seed decide all randomness"
            )
    return None, IN_NO_BATCH


def _find_arithmetic(sums: Sequence[FloatArray]) -> Arithmetic:
    """Return in which arithmetic sums (d,) were added up that do not say so: float32, or a narrower one.

    That is the type of the array, or the fewest bits that hold all numbers. Few bits are believed only of numbers whose
    last bits differ in place, as rounding makes them: small whole numbers have few bits in any format.
    """
    if any(values.dtype == np.float16 for values in sums):
        return "float16"
    numbers = np.concatenate(sums)
    mantissas, exponents = np.frexp(numbers[numbers != 0])
    formats: tuple[tuple[Arithmetic, int], ...] = (("bfloat16", 8), ("float16", 11))  # bits of the significand
    for name, bits in formats:
        whole = np.ldexp(mantissas, bits)
        if len(whole) and (whole == np.trunc(whole)).all():
            is_fixed_point = (np.ldexp(whole, exponents - exponents.max()) % 1 == 0).all()
            return "float32" if is_fixed_point else name
    return "float32"


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
    scale = max(_measure(first), 1e-300)
    return first.shape == second.shape and float(np.linalg.norm(_subtract(first, second))) <= SUM_ROUNDING * scale


def _is_rounding(norm: float, step: TrainingStep, plan: TrainingPlan) -> bool:
    """Return whether sums of the same records differ in their last bits alone."""
    return norm <= SUM_ROUNDING * max(_measure(step.clipped_sum), plan.clip)  # type: ignore[arg-type]


def _subtract(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the difference of two sums in float64, whatever their own type."""
    difference: FloatArray = first.astype(np.float64) - second.astype(np.float64)
    return difference


def _measure(values: FloatArray) -> float:
    return float(np.linalg.norm(values.astype(np.float64)))


def _drop_record(batch: IntArray, place: int) -> IntArray:
    return np.sort(batch[batch != place])
