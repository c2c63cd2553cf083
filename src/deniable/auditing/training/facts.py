"""What can be said of a training without statistics: its sampling, its sums on real neighbours, and its accounting.

Training runs three times with the same seed, on two data sets that differ in one record, and on one of them again. Up
to the first batch with that record both runs have the same parameters, which is looked at and not believed. There the
difference of both sums before the noise is exactly what one record does to the sum that the noise hides. If it is
larger than the accounting assumes, the claim has no ground: this is a proof, and no number of runs could be as sure. An
accountant of this package then recomputes epsilon for the scheme, the rate, the steps and the noise that were seen.
Where these disagree with the plan in any other way (`deniable.auditing.training.agreement`), nothing is said of the
accounting. Batches of coins are looked at in some more runs, if one has few steps.
"""

import dataclasses
import math
import time
from collections.abc import Sequence
from typing import Any

from deniable.auditing.games import make_coins
from deniable.auditing.sensitivity import compute_gaussian_epsilon
from deniable.auditing.training.accounting import RecomputedEpsilon
from deniable.auditing.training.batches import ShownBatches, classify_batches, doubt_batches
from deniable.auditing.training.judging import TrainingClaim
from deniable.auditing.training.movement import IN_NO_BATCH, Movement, measure_movement
from deniable.auditing.training.neighbours import ABSENT, NeighbourPair
from deniable.auditing.training.observation import ObservedRun, TrainFunction, TrainingPlan, observe_training
from deniable.auditing.training.one_run import MAX_SEED
from deniable.auditing.training.run_accounting import SAME, AccountingFacts, RunAccounting, judge_accounting
from deniable.core.evidence import Verdict, Witness
from deniable.core.guarantees import (
    ADDED_OR_REMOVED_RECORD,
    EMPTY_PLACE,
    EMPTY_RECORD,
    REPLACED_RECORD,
    ApproxDP,
    Guarantee,
)
from deniable.core.numbers import format_lower, format_upper
from deniable.core.report import Fact, Report, Section

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
        accounting: what they show of the epsilon; None where there is no plan.
        verdicts: on what one step and the whole run claim, by name.
    """

    plan: TrainingPlan | None
    steps: int
    shown: ShownBatches
    movement: Movement | None
    movement_note: str
    multipliers: tuple[float, ...]
    accounting: AccountingFacts | None
    verdicts: dict[str, Verdict]

    @property
    def stated(self) -> RecomputedEpsilon | None:
        """Epsilon of the plan, by its own scheme and noise; None where there is no plan, or no delta."""
        return None if self.accounting is None else self.accounting.stated

    @property
    def seen(self) -> RecomputedEpsilon | None:
        """Epsilon by the scheme, the rate and the noise that were seen; None where they are those of the plan."""
        return None if self.accounting is None else self.accounting.seen

    @property
    def is_refuted(self) -> bool:
        """Whether a fact refutes the claim, or what it rests on."""
        return any(verdict.status == "refuted" for verdict in self.verdicts.values())

    def to_report(self) -> Report:
        """Return the facts as a report."""
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
    guarantee: Guarantee,
    *,
    other: Any = ABSENT,  # noqa: ANN401 - the same
    seed: int | None = None,
) -> TrainingFacts:
    """Train three times with one seed, on neighbouring data, and return what can be said by looking at the steps.

    Args:
        train: see `deniable.auditing.training.observation`; it should yield a `TrainingPlan` and `TrainingStep`s.
        records: the data.
        canary: a record that one of both data sets has in addition, at its end.
        guarantee: claimed for one record. A sum may differ by the clipping norm where the record is added, removed or
            made empty, as its adjacency says, and by twice that where it is replaced by another.
        other: the record in its place in the other data set; by default there is none. Where batches depend on the
            number of records, neighbours of one size are needed.
        seed: of the seed of the runs; None for a fresh one. Two more seeds are tried where the canary is in no batch.

    Raises:
        InputError: a parameter outside its domain, or training failed.
    """
    start = time.perf_counter()
    claim = TrainingClaim(guarantee, takes_pair=True)
    pair = NeighbourPair(records, canary, other)
    norms_allowed = _count_norms_allowed(pair, guarantee)
    random = make_coins(_OWNER, seed)
    for run_seed in random.integers(MAX_SEED, size=_SEEDS).tolist():
        ours, theirs, repeated = (
            observe_training(train, data, run_seed)
            for data in (pair.with_canary, pair.without_canary, pair.without_canary)
        )
        movement, movement_note = measure_movement(ours, theirs, repeated, pair, norms_allowed)
        if movement_note != IN_NO_BATCH:
            break
    plan, delta = ours.plan, claim.delta
    shown = classify_batches([step.batch for step in ours.steps], len(pair.with_canary))
    multipliers = _list_multipliers(ours)
    accounting = None
    if plan is not None:
        shown = doubt_batches(shown, plan, len(pair.with_canary))
        run = RunAccounting(plan, shown, len(ours.steps), tuple(multipliers), guarantee, len(pair.with_canary))
        accounting = judge_accounting(
            run, ours, lambda: observe_training(train, pair.with_canary, int(random.integers(MAX_SEED))), start
        )
    verdicts = {}
    if movement is not None and plan is not None:
        multiplier = multipliers[movement.step] if multipliers else plan.noise_multiplier
        verdicts["the sum of a step"] = _judge_movement(
            movement, multiplier or plan.noise_multiplier, norms_allowed, delta or _DELTA, start
        )
    if accounting is not None and accounting.verdict is not None:
        verdicts["the accounting"] = accounting.verdict
    return TrainingFacts(
        plan, len(ours.steps), shown, movement, movement_note, tuple(multipliers), accounting, verdicts
    )


def _count_norms_allowed(pair: NeighbourPair, guarantee: Guarantee) -> int:
    """Return by how many clipping norms the sum of neighbours may differ: an empty record adds nothing to it."""
    return 1 if pair.is_removal or guarantee.adjacency in {EMPTY_RECORD, EMPTY_PLACE} else 2


def _list_multipliers(run: ObservedRun) -> list[float]:
    """Return the noise of each step per unit of its clipping norm; empty where a run does not say it of every step."""
    if run.plan is None or any(step.noise is None for step in run.steps):
        return []
    clip = run.plan.clip
    return [float(step.noise or 0.0) / (clip if step.clip is None else step.clip) for step in run.steps]


def _judge_movement(movement: Movement, multiplier: float, norms_allowed: int, delta: float, start: float) -> Verdict:
    """Return the verdict on the Gaussian noise of one step: exact of the two sums, but for rounding."""
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
        guarantee=ApproxDP(claim, delta, source, "claimed", adjacency=adjacency),
        status=status,
        epsilon=math.inf,
        lower_bound=loss,
        confidence=1.0,
        samples=0,
        witness=witness,
        method=method,
        seconds=time.perf_counter() - start,
    )


def _list_stated_facts(facts: TrainingFacts) -> tuple[Fact, ...]:
    plan = facts.plan
    if plan is None:
        return (Fact("plan", "none", "the run yields no TrainingPlan"),)
    return (
        Fact("sampling", plan.sampling),
        Fact("records", plan.records),
        Fact("batch size, expected", plan.batch_size),
        Fact("steps", plan.steps),
        Fact("noise multiplier", plan.noise_multiplier),
        Fact("clipping norm", plan.clip),
    )


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
    if facts.accounting is not None and facts.accounting.disagreement:
        seen.append(Fact("agrees with the plan", "no", facts.accounting.disagreement))
    ratio = "unknown" if facts.movement is None else f"{facts.movement.ratio:.6g} times what is allowed"
    seen.append(Fact("one record moves the sum by", ratio, facts.movement_note))
    return tuple(seen)
