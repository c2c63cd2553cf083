"""What can be said of a training without statistics: its sampling, its sums on real neighbours, and its accounting.

Training runs three times with the same seed, on two data sets that differ in one record, and on one of them again. Up
to the first batch with that record both runs have the same parameters, which is looked at and not believed. There the
difference of both sums before the noise is exactly what one record does to the sum that the noise hides. If it is
larger than the accounting assumes, the claim has no ground: this is a proof, and no number of runs could be as sure. An
accountant of this package then recomputes epsilon for the scheme, the rate and the noise that were seen.
"""

import dataclasses
import math
import time
from collections.abc import Sequence
from typing import Any

from deniable.auditing.games import make_coins
from deniable.auditing.sensitivity import compute_gaussian_epsilon
from deniable.auditing.training.accounting import RecomputedEpsilon, recompute_epsilon
from deniable.auditing.training.batches import CHANCE, ShownBatches, classify_batches, doubt_batches
from deniable.auditing.training.judging import TrainingClaim
from deniable.auditing.training.movement import IN_NO_BATCH, SUM_ROUNDING, Movement, measure_movement
from deniable.auditing.training.neighbours import ABSENT, NeighbourPair
from deniable.auditing.training.observation import ObservedRun, TrainFunction, TrainingPlan, observe_training
from deniable.auditing.training.one_run import MAX_SEED
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
_SAME = 1e-6
"""Relative difference of noise multipliers that are the same."""
_LEAST_RATE = 1e-9
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
        stated: epsilon of the plan, by its own scheme and noise.
        seen: epsilon by the scheme, the rate and the noise that were seen; None where they are those of the plan, or
            where noise differs between steps.
        verdicts: on what one step and the whole run claim, by name.
    """

    plan: TrainingPlan | None
    steps: int
    shown: ShownBatches
    movement: Movement | None
    movement_note: str
    multipliers: tuple[float, ...]
    stated: RecomputedEpsilon | None
    seen: RecomputedEpsilon | None
    verdicts: dict[str, Verdict]

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
    """Train three times with one seed, on neighbouring data, and return what can be said without statistics.

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
    for run_seed in make_coins(_OWNER, seed).integers(MAX_SEED, size=_SEEDS).tolist():
        ours, theirs, repeated = (
            observe_training(train, data, run_seed)
            for data in (pair.with_canary, pair.without_canary, pair.without_canary)
        )
        movement, movement_note = measure_movement(ours, theirs, repeated, pair, norms_allowed)
        if movement_note != IN_NO_BATCH:
            break
    plan, delta = ours.plan, claim.delta
    shown = classify_batches([step.batch for step in ours.steps], len(pair.with_canary))
    shown = shown if plan is None else doubt_batches(shown, plan)
    multipliers = _list_multipliers(ours)
    stated = seen = None
    if plan is not None and delta:
        is_replaced = guarantee.adjacency == REPLACED_RECORD
        stated = recompute_epsilon(plan, delta, is_replaced=is_replaced)
        seen = _recompute_seen(plan, shown, multipliers, delta, is_replaced=is_replaced)
    verdicts = {}
    if movement is not None and plan is not None:
        multiplier = multipliers[movement.step] if multipliers else plan.noise_multiplier
        verdicts["the sum of a step"] = _judge_movement(
            movement, multiplier or plan.noise_multiplier, norms_allowed, delta or _DELTA, start
        )
    if stated is not None:
        confidence = 1 - CHANCE if plan is not None and _contradicts(shown, plan) else 1.0
        verdicts["the accounting"] = _judge_accounting(guarantee, seen or stated, confidence, start)
    return TrainingFacts(
        plan, len(ours.steps), shown, movement, movement_note, tuple(multipliers), stated, seen, verdicts
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


def _contradicts(shown: ShownBatches, plan: TrainingPlan) -> bool:
    """Return whether batches show another scheme or rate than is stated: statistics, and not proof."""
    low, high = shown.rates
    has_other_rate = shown.scheme == "poisson" and not low <= plan.rate <= high
    return shown.scheme not in {None, plan.sampling} or has_other_rate


def _recompute_seen(
    plan: TrainingPlan, shown: ShownBatches, multipliers: list[float], delta: float, *, is_replaced: bool
) -> RecomputedEpsilon | None:
    """Return epsilon by the scheme, the rate and the noise that were seen; None where they are those of the plan."""
    steps = max(len(multipliers), len(shown.sizes), plan.steps)
    multiplier = min(multipliers, default=plan.noise_multiplier)
    if multiplier == 0:
        return RecomputedEpsilon(shown.scheme or plan.sampling, math.inf, math.inf, "a step that adds no noise")
    if math.isclose(multiplier, plan.noise_multiplier, rel_tol=_SAME):
        multiplier = plan.noise_multiplier
    elif max(multipliers) > multiplier * (1 + _SAME):
        return None  # noise that differs between steps: the plan may state what they spend together
    seen = dataclasses.replace(plan, sampling=shown.scheme or plan.sampling, noise_multiplier=multiplier, steps=steps)
    if seen.sampling == "poisson" and _contradicts(shown, plan):
        ends = [
            recompute_epsilon(dataclasses.replace(seen, batch_size=rate * plan.records), delta, is_replaced=is_replaced)
            for rate in (max(shown.rates[0], _LEAST_RATE), shown.rates[1])
        ]
        return RecomputedEpsilon(
            "poisson", ends[0].lower, ends[1].upper, f"{ends[0].ground}; at the rate that was seen"
        )
    if seen == plan and not shown.per_epoch:
        return None
    return recompute_epsilon(
        seen, delta, is_replaced=is_replaced, batches=shown.per_epoch or None, presence=shown.presence
    )


def _judge_movement(movement: Movement, multiplier: float, norms_allowed: int, delta: float, start: float) -> Verdict:
    """Return the verdict on the Gaussian noise of one step: exact of the two sums, but for the rounding granted."""
    is_refuted = movement.ratio > 1 + SUM_ROUNDING
    claim = compute_gaussian_epsilon(norms_allowed / multiplier, delta)
    loss = compute_gaussian_epsilon(movement.ratio * norms_allowed / multiplier, delta)
    loss = max(loss, math.nextafter(claim, math.inf)) if is_refuted else min(loss, claim)
    source = "Gaussian noise on a sum that one record moves by the clipping norm (Balle and Wang 2018, Theorem 8)"
    adjacency = ADDED_OR_REMOVED_RECORD if norms_allowed == 1 else REPLACED_RECORD
    output = f"the noisy sum of step {movement.step + 1}, moved by {movement.ratio:.6g} times what is allowed,"
    return Verdict(
        guarantee=ApproxDP(claim, delta, source, "claimed", adjacency=adjacency),
        status="refuted" if is_refuted else "not refuted",
        epsilon=math.inf,
        lower_bound=loss,
        confidence=1.0,
        samples=0,
        witness=Witness("the records with the canary", "the same without it", output, 1.0, loss),
        method=f"the sums before the noise of two neighbours at the same parameters; the canary moves the sum by "
        f"{movement.ratio:.6g} times what the accounting assumes",
        seconds=time.perf_counter() - start,
    )


def _judge_accounting(guarantee: Guarantee, found: RecomputedEpsilon, confidence: float, start: float) -> Verdict:
    """Return the verdict on the epsilon claimed, by the accounting of the scheme that was seen."""
    claim = guarantee.epsilon
    is_refuted = found.lower > claim
    is_replaced = guarantee.adjacency == REPLACED_RECORD or found.sampling == "fixed size"
    adjacency = REPLACED_RECORD if is_replaced else EMPTY_RECORD
    return Verdict(
        guarantee=guarantee,
        status="refuted" if is_refuted else "not refuted",
        epsilon=found.upper,
        lower_bound=found.lower,
        confidence=confidence,
        samples=0,
        witness=None,
        method=(
            f"{found.ground}; for {adjacency}, on the worst data, at epsilon {format_lower(found.lower, 4)} to "
            f"{format_upper(found.upper, 4)}"
        ),
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
        note = "at every step" if largest <= least * (1 + _SAME) else f"the least of any step; up to {largest:.6g}"
        seen.append(Fact("noise multiplier", least, note))
    ratio = "unknown" if facts.movement is None else f"{facts.movement.ratio:.6g} times what is allowed"
    seen.append(Fact("one record moves the sum by", ratio, facts.movement_note))
    return tuple(seen)
