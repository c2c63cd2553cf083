"""What can be said of a training without statistics: its sampling, its sums on real neighbours, and its accounting.

Training runs three times with the same seed, on two data sets that differ in one record, and on one of them again. Up
to the first batch with that record both runs have the same parameters, which is looked at and not believed. There the
difference of both sums before the noise is exactly what one record does to the sum that the noise hides. If it is
larger than the accounting assumes, the claim has no ground: this is a proof, and no number of runs could be as sure. An
accountant of this package then recomputes epsilon for the scheme, the rate, the steps and the noise that were seen.
Where these disagree with the plan in any other way (`deniable.auditing.training.batches`), nothing is said of the
accounting. Batches of coins are looked at in some more runs, if one has few steps.

What one record does to the sum of a step, exactly: two runs with one seed on neighbouring data.

Up to the first batch with the record both runs have the same parameters, if the seed decides them. That is not believed
but looked at: everything that was released before must be equal, so must the batches but for the record, and a third
run on the same data as the second must have the same sum.

**Rounding.** A sum of n numbers is off by at most (n - 1) u times the sum of their sizes, in any order of addition
(Higham 2002, Section 4.2), where u is the unit roundoff of the arithmetic: 2^-24 for float32, which networks use. If no
record counts more than C, as is claimed, that is n^2 u C for each of both sums, the rounding of their terms included.
A sum that is shown in float64 may hold parts that were added up in float32: float64 is believed where it is stated.
"""

import dataclasses
import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from deniable.accounting.gaussian import compute_gaussian_epsilon
from deniable.accounting.training import EpsilonBounds, TrainingPlan
from deniable.auditing.games import Claim, make_coins
from deniable.auditing.training.audit import PairOptions
from deniable.auditing.training.batches import ShownBatches, classify_batches, doubt_batches
from deniable.auditing.training.observation import (
    MAX_SEED,
    UNIT_ROUNDOFFS,
    Arithmetic,
    NeighbourPair,
    ObservedRun,
    TrainFunction,
    TrainingStep,
    observe_training,
)
from deniable.auditing.training.run_accounting import SAME, RunAccounting, judge_accounting
from deniable.core.arrays import FloatArray, IntArray
from deniable.core.guarantees import ADDED_OR_REMOVED_RECORD, REPLACED_RECORD, Guarantee, Status, Verdict, Witness
from deniable.core.numbers import format_lower, format_upper
from deniable.core.report import Fact, Report, Section

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
        ratio: of the l2 norm of the difference to what the accounting assumes, the clipping norm of the step, or twice
            that for a record that is replaced by another.
        rounding: by which rounding, of both sums and of the record's norm, can make the ratio too large or too small.
    """

    step: int
    ratio: float
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
    """What the canary does to the first sum that has it, or why that is not known.

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
        if flaw or step.clipped_sum is None or other.clipped_sum is None:  # without a sum there is a flaw
            return None, f"not measured: {flaw}"
        difference = step.clipped_sum - other.clipped_sum
        norm, copies = float(np.linalg.norm(difference)), int((np.asarray(step.batch) == place).sum())
        # Sums of the same records may differ in their last bits.
        is_drawn = copies > 0 or int((np.asarray(other.batch) == place).sum()) > 0
        if is_drawn or norm > SUM_ROUNDING * max(float(np.linalg.norm(step.clipped_sum)), ours.plan.clip):
            clip = ours.plan.clip if step.clip is None else step.clip
            times = "" if copies == 1 else f", where the canary counts {copies} times"
            record = (
                "" if norms_allowed == 1 else "; another record takes its place, so twice the clipping norm is allowed"
            )
            note = f"at step {number + 1}, on neighbours of the same parameters and seed{times}{record}"
            sums = step.clipped_sum, other.clipped_sum
            roundoff = UNIT_ROUNDOFFS[step.arithmetic or _find_arithmetic(sums)]
            terms = np.size(step.batch) ** 2 + np.size(other.batch) ** 2  # type: ignore[arg-type]
            # The norm of a record is a sum too, of d squares.
            of_record = max(SUM_ROUNDING, difference.size / 2 * max(roundoff, UNIT_ROUNDOFFS["float32"]))
            ratio = norm / (norms_allowed * clip)
            return Movement(number, ratio, terms * roundoff / norms_allowed + of_record), note
        if not np.array_equal(step.released, other.released):
            return None, (
                "not measured: before the canary was in a batch, runs with one seed released other numbers, so that "
                "their parameters differ: let the seed decide all randomness"
            )
    return None, IN_NO_BATCH


def _find_arithmetic(sums: Sequence[FloatArray]) -> Arithmetic:
    """In which arithmetic sums (d,) were added up that do not say so: float32, or a narrower one.

    That are the fewest bits that hold all numbers. Few bits are believed only of numbers whose
    last bits differ in place, as rounding makes them: small whole numbers have few bits in any format.
    """
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
    """Why two steps cannot be compared; empty where they can."""
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
    """Whether two sums are the same, but for the order in which they were added up."""
    scale = max(float(np.linalg.norm(first)), 1e-300)
    return first.shape == second.shape and float(np.linalg.norm(first - second)) <= SUM_ROUNDING * scale


def _drop_record(batch: IntArray, place: int) -> IntArray:
    return np.sort(batch[batch != place])


STEP_VERDICT = "the sum of a step"
_SEEDS = 3
"""Seeds that are tried until the canary is in a batch."""
_DELTA = 1e-5
"""At which the epsilon of a step is stated where the claim has no delta."""
_OWNER = "audit_training"


@dataclasses.dataclass(frozen=True)
class TrainingFacts:
    """What runs of a training with one seed showed.

    Attributes:
        plan: what the run says of itself; None where it says nothing.
        steps: number of steps seen.
        shown: what their batches show of the sampling.
        movement: of the sum by one record; None where it could not be measured.
        movement_note: why, or the record.
        multipliers: (T,) standard deviation of the noise of each step, per unit of its clipping norm; empty where the
            run does not say.
        disagreement: in what the run disagrees with its plan, in words; empty where it does not.
        stated: epsilon of the plan, by its own scheme and noise; None where there is no plan, or no delta.
        seen: epsilon by the scheme, the rate and the noise that were seen; None where they are those of the plan.
        verdicts: on what one step and the whole run claim, by name.
    """

    plan: TrainingPlan | None
    steps: int
    shown: ShownBatches
    movement: Movement | None
    movement_note: str
    multipliers: tuple[float, ...]
    disagreement: str
    stated: EpsilonBounds | None
    seen: EpsilonBounds | None
    verdicts: dict[str, Verdict]

    @property
    def is_refuted(self) -> bool:
        """Whether a fact refutes the claim, or what it rests on."""
        return any(verdict.status == "refuted" for verdict in self.verdicts.values())

    def to_report(self) -> Report:
        """The facts as a report."""
        sections = [Section("what the run says", _list_stated_facts(self)), Section("what was seen", _list_seen(self))]
        accounting = [
            Fact(f"epsilon, {name}", f"{format_lower(found.lower, 4)} to {format_upper(found.upper, 4)}", found.ground)
            for name, found in (("as stated", self.stated), ("as seen", self.seen))
            if found is not None
        ]
        sections.append(Section("accounting, recomputed", tuple(accounting)))
        judged = tuple(Fact(name, verdict.status, verdict.method) for name, verdict in self.verdicts.items())
        sections.append(Section("verdicts of facts", judged))
        return Report("facts of the training", tuple(section for section in sections if section.facts))


def collect_training_facts(
    train: TrainFunction,
    records: Sequence[Any],
    canary: Any,  # noqa: ANN401 - any record
    *,
    claim: float,
    delta: float = 0.0,
    **options: Any,  # noqa: ANN401 - the fields of `PairOptions`
) -> TrainingFacts:
    """Train three times with one seed, on neighbouring data, and return what can be said by looking at the steps.

    Args:
        train: see `deniable.auditing.training.observation`; it should yield a `TrainingPlan` and `TrainingStep`s.
        records: the data.
        canary: a record that one of both data sets has in addition, at its end.
        claim: epsilon >= 0 for one record.
        delta: of the claim, in [0, 1).
        **options: the fields of `PairOptions`. Where batches depend on the number of records, neighbours
            of one size are needed, so another record. The sum may differ by the clipping norm between both data sets,
            and by twice that if the canary is replaced by a record that is not empty. Two more seeds are tried where
            the canary is in no batch.

    Raises:
        InputError: a parameter outside its domain, or training failed.
    """
    start, how = time.perf_counter(), PairOptions(**options)
    guarantee = Claim(how.state_claim(claim, delta)).guarantee
    pair = NeighbourPair(records, canary, how.other)
    norms_allowed = 1 if pair.is_removal or how.other_is_empty else 2
    random = make_coins(_OWNER, how.seed)
    for run_seed in random.integers(MAX_SEED, size=_SEEDS).tolist():
        ours, theirs, repeated = (
            observe_training(train, data, run_seed)
            for data in (pair.with_canary, pair.without_canary, pair.without_canary)
        )
        movement, movement_note = measure_movement(ours, theirs, repeated, pair, norms_allowed)
        if movement_note != IN_NO_BATCH:
            break
    plan, records_seen = ours.plan, len(pair.with_canary)
    shown = classify_batches([step.batch for step in ours.steps], records_seen)
    multipliers = _list_multipliers(ours)
    disagreement, stated, seen, verdict = "", None, None, None
    if plan is not None:
        shown = doubt_batches(shown, plan, records_seen)
        run = RunAccounting(plan, shown, len(ours.steps), multipliers, guarantee, records_seen)
        disagreement, stated, seen, verdict = judge_accounting(
            run, ours, lambda: observe_training(train, pair.with_canary, int(random.integers(MAX_SEED)))
        )
    verdicts = {}
    if movement is not None and plan is not None:
        multiplier = multipliers[movement.step] if multipliers else plan.noise_multiplier
        verdicts[STEP_VERDICT] = _judge_movement(
            movement, multiplier or plan.noise_multiplier, norms_allowed, delta or _DELTA
        )
    if verdict is not None:
        verdicts["the accounting"] = verdict
    seconds = time.perf_counter() - start
    verdicts = {name: dataclasses.replace(each, seconds=seconds) for name, each in verdicts.items()}
    accounting = disagreement, stated, seen
    return TrainingFacts(plan, len(ours.steps), shown, movement, movement_note, multipliers, *accounting, verdicts)


def _list_multipliers(run: ObservedRun) -> tuple[float, ...]:
    """The noise of each step per unit of its clipping norm; empty where a run does not say it of every step."""
    if run.plan is None or any(step.noise is None for step in run.steps):
        return ()
    return tuple((step.noise or 0.0) / (step.clip or run.plan.clip) for step in run.steps)


def _judge_movement(movement: Movement, multiplier: float, norms_allowed: int, delta: float) -> Verdict:
    """The verdict on the Gaussian noise of one step: exact of the two sums, but for rounding."""
    status, (low, high) = movement.status, movement.limits
    claim = compute_gaussian_epsilon(norms_allowed / multiplier, delta)
    loss = compute_gaussian_epsilon(low * norms_allowed / multiplier, delta)
    loss = max(loss, math.nextafter(claim, math.inf)) if status == "refuted" else min(loss, claim)
    source = "Gaussian noise on a sum that one record moves by the clipping norm (Balle and Wang 2018, Theorem 8)"
    adjacency = ADDED_OR_REMOVED_RECORD if norms_allowed == 1 else REPLACED_RECORD
    output = f"the noisy sum of step {movement.step + 1}, moved by {format_lower(low, 6)} times what is allowed,"
    witness = Witness("the records with the canary", "the same without it", output, 1.0, loss)
    method = (
        f"the sums before the noise of two neighbours at the same parameters; the canary moves the sum by "
        f"{movement.ratio:.6g} times what the accounting assumes, {format_lower(low, 6)} to {format_upper(high, 6)} "
        "without rounding"
    )
    if status == "undecided":
        method += f"; add the sum up in float64, and say so with arithmetic={'float64'!r}, to decide it"
    return Verdict(
        guarantee=Guarantee(claim, source, "claimed", delta=delta, adjacency=adjacency),
        status=status,
        lower_bound=loss,
        witness=witness,
        method=method,
    )


def _list_stated_facts(facts: TrainingFacts) -> tuple[Fact, ...]:
    if facts.plan is None:
        return (Fact("plan", "none", "the run yields no TrainingPlan"),)
    names = ("sampling", "records", "batch size, expected", "steps", "noise multiplier", "clipping norm")
    return tuple(map(Fact, names, dataclasses.astuple(facts.plan)))


def _list_seen(facts: TrainingFacts) -> tuple[Fact, ...]:
    shown = facts.shown
    seen = [Fact("sampling", shown.scheme or "unknown", shown.note), Fact("steps", facts.steps)]
    if len(shown.sizes):
        sizes = shown.sizes
        seen.append(Fact("batch size, mean", float(sizes.mean()), f"from {sizes.min():,} to {sizes.max():,}"))
    if facts.multipliers:
        least, largest = min(facts.multipliers), max(facts.multipliers)
        note = "at every step" if largest <= least * (1 + SAME) else f"the least of any step; up to {largest:.6g}"
        seen.append(Fact("noise multiplier", least, note))
    if facts.disagreement:
        seen.append(Fact("agrees with the plan", "no", facts.disagreement))
    ratio = "unknown" if facts.movement is None else f"{facts.movement.ratio:.6g} times what is allowed"
    seen.append(Fact("one record moves the sum by", ratio, facts.movement_note))
    return tuple(seen)
