"""What can be said of a training without statistics: its sampling, its sums on real neighbours, and its accounting.

Training runs twice, with the same seed, on two data sets that differ in one record. Up to the first step whose batch
has that record, both runs have the same parameters. There the difference of both sums before the noise is exactly what
one record does to the sum that the noise hides. If it is larger than the accounting assumes, the claim has no ground:
this is a proof, and no number of runs could be as sure. An accountant of this package then recomputes epsilon for the
scheme and the noise that were seen.
"""

import collections
import dataclasses
import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from deniable.auditing.games import make_coins
from deniable.auditing.sensitivity import compute_gaussian_epsilon
from deniable.auditing.training.accounting import RecomputedEpsilon, recompute_epsilon
from deniable.auditing.training.judging import TrainingClaim
from deniable.auditing.training.neighbours import ABSENT, NeighbourPair
from deniable.auditing.training.observation import ObservedRun, Sampling, TrainFunction, TrainingPlan, observe_training
from deniable.auditing.training.one_run import MAX_SEED
from deniable.core.arrays import IntArray
from deniable.core.evidence import Verdict, Witness
from deniable.core.guarantees import (
    ADDED_OR_REMOVED_RECORD,
    EMPTY_PLACE,
    EMPTY_RECORD,
    REPLACED_RECORD,
    ApproxDP,
    Guarantee,
)
from deniable.core.report import Fact, Report, Section

SUM_ROUNDING = 1e-5
"""Relative error granted to a measured norm: networks sum in float32."""
_DISPERSION_TAIL = 1e-6
"""Sizes of batches vary as those of independent coins, unless their variance has a smaller tail chance than this."""
_SEEDS = 3
"""Seeds that are tried until the canary is in a batch."""
_IN_NO_BATCH = "not measured: the canary was in no batch"
_OWNER = "audit_training"


@dataclasses.dataclass(frozen=True)
class Movement:
    """What one record does to the sum of a step, at equal parameters and otherwise equal batches.

    Attributes:
        step: number of the first step at which the sums differ, from 0.
        norm: l2 norm of the difference.
        ratio: of that norm to what the accounting assumes, the clipping norm, or twice that for a record that is
            replaced by another one that is not empty.
        copies: how often the record counts in the batch; None where the run does not say.
    """

    step: int
    norm: float
    ratio: float
    copies: int | None


@dataclasses.dataclass(frozen=True)
class TrainingFacts:
    """What two runs of a training showed.

    Attributes:
        plan: what the run says of itself; None where it says nothing.
        steps: number of steps seen.
        batch_sizes: (T,) sizes of the batches; empty where the run does not say.
        scheme: the sampling that the batches show; None where they fit no scheme, or are not shown.
        scheme_note: what they show, in words.
        movement: of the sum by one record; None where it could not be measured.
        movement_note: why, or the record.
        noise_multiplier: least standard deviation of the noise at any step, per unit of the clipping norm of the plan;
            None where the run does not say.
        stated: epsilon of the plan, by its own scheme and noise.
        seen: epsilon by the scheme and the noise that were seen; None where they are those of the plan.
        verdicts: on what one step and the whole run claim, by name.
    """

    plan: TrainingPlan | None
    steps: int
    batch_sizes: IntArray
    scheme: Sampling | None
    scheme_note: str
    movement: Movement | None
    movement_note: str
    noise_multiplier: float | None
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
            Fact(f"epsilon, {name}", f"{found.lower:.4g} to {found.upper:.4g}", found.ground)
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
    """Train twice, on neighbouring data with one seed, and return what can be said without statistics.

    Args:
        train: see `deniable.auditing.training.observation`; it should yield a `TrainingPlan` and `TrainingStep`s.
        records: the data.
        canary: a record that one of both data sets has in addition, at its end.
        guarantee: claimed for one record. A sum may differ by the clipping norm where the record is added, removed or
            made empty, as its adjacency says, and by twice that where it is replaced by another.
        other: the record in its place in the other data set; by default there is none. Where batches depend on the
            number of records, neighbours of one size are needed.
        seed: of the seed of both runs; None for a fresh one.

    Raises:
        InputError: a parameter outside its domain, or training failed.
    """
    start = time.perf_counter()
    claim = TrainingClaim(guarantee, takes_pair=True)
    pair = NeighbourPair(records, canary, other)
    norms_allowed = _count_norms_allowed(pair, guarantee)
    for run_seed in make_coins(_OWNER, seed).integers(MAX_SEED, size=_SEEDS).tolist():
        ours, theirs = (observe_training(train, data, run_seed) for data in (pair.with_canary, pair.without_canary))
        movement, movement_note = _measure_movement(ours, theirs, pair, norms_allowed)
        if movement_note != _IN_NO_BATCH:
            break
    plan = ours.plan
    scheme, scheme_note = classify_batches([step.batch for step in ours.steps], len(pair.with_canary))
    if plan and scheme and _is_chance(scheme, plan, [len(step.batch) for step in ours.steps if step.batch is not None]):
        scheme, scheme_note = None, f"{scheme_note}: too little to tell it from independent coins"
    noises = [step.noise for step in ours.steps if step.noise is not None]
    multiplier = min(noises) / plan.clip if plan and noises else None
    seen_plan = _describe_seen_plan(plan, scheme, multiplier, len(ours.steps))
    delta = claim.delta
    stated = recompute_epsilon(plan, delta) if plan and delta else None
    seen = recompute_epsilon(seen_plan, delta) if seen_plan and delta and seen_plan != plan else None
    facts = TrainingFacts(
        plan,
        len(ours.steps),
        np.array([len(step.batch) for step in ours.steps if step.batch is not None], dtype=np.int64),
        scheme,
        scheme_note,
        movement,
        movement_note,
        multiplier,
        stated,
        seen,
        {},
    )
    verdicts = {}
    if movement is not None and plan is not None:
        verdicts["the sum of a step"] = _judge_movement(movement, plan, norms_allowed, delta or 1e-5, start)
    if stated is not None:
        verdicts["the accounting"] = _judge_accounting(guarantee, seen or stated, start)
    return dataclasses.replace(facts, verdicts=verdicts)


def classify_batches(batches: Sequence[IntArray | None], records: int) -> tuple[Sampling | None, str]:
    """Return the scheme that batches show, and what was seen in words; None where they fit none.

    Args:
        batches: numbers of the records of each step; None where a run does not say.
        records: n.
    """
    if not batches or any(batch is None for batch in batches):
        return None, "the run does not show its batches"
    shown = [np.asarray(batch) for batch in batches]
    sizes = np.array([len(batch) for batch in shown])
    repeated = [number for number, batch in enumerate(shown) if len(np.unique(batch)) < len(batch)]
    if repeated:
        most = max(collections.Counter(shown[repeated[0]].tolist()).values())
        return None, (
            f"a record counts up to {most} times in one batch, in {len(repeated):,} of {len(shown):,} steps: of no "
            "scheme that is accounted for"
        )
    if (sizes == records).all():
        return "all", "every batch has all records"
    if _is_partition(shown, records):
        return "shuffled", "every epoch has each record once"
    if np.ptp(sizes) == 0:
        return "fixed size", f"every batch has {sizes[0]:,} records"
    return _classify_sizes(sizes, records)


def _is_partition(batches: list[IntArray], records: int) -> bool:
    """Return whether steps one after the other, until n records were drawn, have no record twice, again and again.

    Batches of one size that are dropped at the end of an epoch are seen too: an epoch has as many whole batches as fit.
    """
    size = len(batches[0])
    if not 0 < size <= records or len(batches) < 2:  # noqa: PLR2004 - one batch shows no order
        return False
    for per_epoch in {math.ceil(records / size), records // size}:
        epochs = [np.concatenate(batches[i : i + per_epoch]) for i in range(0, len(batches), per_epoch)]
        is_whole = len(batches) >= per_epoch
        if per_epoch > 1 and is_whole and all(len(np.unique(epoch)) == len(epoch) for epoch in epochs):
            # Independent batches hardly ever have no record in common.
            sizes = {len(batch) for batch in batches}
            if len(sizes) == 1 or (len(sizes) == 2 and len(epochs[0]) == records):  # noqa: PLR2004 - a short last one
                return True
    return False


def _is_chance(scheme: Sampling, plan: TrainingPlan, sizes: list[int]) -> bool:
    """Return whether Poisson samples, if the plan states them, could show this scheme by chance."""
    if plan.sampling != "poisson" or scheme not in {"all", "shuffled"}:
        return False
    if scheme == "all":
        return float(plan.rate ** sum(sizes)) >= _DISPERSION_TAIL
    batches = math.ceil(plan.records / max(sizes))
    epochs, rest = divmod(len(sizes), batches)
    once = batches * plan.rate * (1 - plan.rate) ** (batches - 1)
    never = 0.0 if rest == 0 and sum(sizes) == epochs * plan.records else (1 - plan.rate) ** batches
    return float((once + never) ** (epochs * plan.records)) >= _DISPERSION_TAIL


def _classify_sizes(sizes: IntArray, records: int) -> tuple[Sampling | None, str]:
    from scipy import stats  # noqa: PLC0415 - only audits need it

    rate = sizes.mean() / records
    dispersion = ((sizes - sizes.mean()) ** 2).sum() / (records * rate * (1 - rate)) if 0 < rate < 1 else 0.0
    freedom = len(sizes) - 1
    tail = min(stats.chi2.sf(dispersion, freedom), stats.chi2.cdf(dispersion, freedom))
    words = f"sizes from {sizes.min():,} to {sizes.max():,}, mean {sizes.mean():.4g}"
    if tail < _DISPERSION_TAIL:
        return None, f"{words}: they do not vary as those of independent coins"
    return "poisson", f"{words}: as of independent coins of chance {rate:.4g}"


def _count_norms_allowed(pair: NeighbourPair, guarantee: Guarantee) -> int:
    """Return by how many clipping norms the sum of neighbours may differ: an empty record adds nothing to it."""
    return 1 if pair.is_removal or guarantee.adjacency in {EMPTY_RECORD, EMPTY_PLACE} else 2


def _measure_movement(
    ours: ObservedRun, theirs: ObservedRun, pair: NeighbourPair, norms_allowed: int
) -> tuple[Movement | None, str]:
    """Return what the canary does to the first sum that has it, or why that is not known."""
    plan = ours.plan
    if plan is None:
        return None, "not measured: the run states no plan"
    place = len(pair.records)
    for number, (step, other_step) in enumerate(zip(ours.steps, theirs.steps, strict=False)):
        first, second = step.clipped_sum, other_step.clipped_sum
        if first is None or second is None:
            return None, "not measured: the run does not show its sums before the noise"
        if first.shape != second.shape:
            return None, f"not measured: the sums have {first.size:,} and {second.size:,} numbers"
        copies = None
        if step.batch is not None and other_step.batch is not None:
            if not np.array_equal(_drop_record(step.batch, place), _drop_record(other_step.batch, place)):
                advice = "give a record in the place of the canary" if pair.is_removal else "let seeds decide batches"
                return None, f"not measured: with one seed both data sets have other batches: {advice}"
            copies = int((step.batch == place).sum())
        norm = float(np.linalg.norm(first - second))
        # Sums of the same records differ in their last bits alone.
        if norm > SUM_ROUNDING * max(float(np.linalg.norm(first)), plan.clip) or (copies and number == 0):
            times = "" if copies in {None, 1} else f", where the canary counts {copies} times"
            record = (
                "" if norms_allowed == 1 else "; another record takes its place, so twice the clipping norm is allowed"
            )
            note = f"at step {number + 1}, on neighbours of the same parameters and seed{times}{record}"
            return Movement(number, norm, norm / (norms_allowed * plan.clip), copies), note
    return None, _IN_NO_BATCH


def _drop_record(batch: IntArray, place: int) -> IntArray:
    return np.sort(batch[batch != place])


def _describe_seen_plan(
    plan: TrainingPlan | None, scheme: Sampling | None, multiplier: float | None, steps: int
) -> TrainingPlan | None:
    """Return the plan with what was seen in the place of what was stated."""
    if plan is None or (scheme is None and multiplier is None):
        return None
    seen_multiplier = plan.noise_multiplier
    if multiplier is not None and not math.isclose(multiplier, seen_multiplier, rel_tol=1e-6):
        seen_multiplier = multiplier
    return dataclasses.replace(
        plan,
        sampling=plan.sampling if scheme is None else scheme,
        noise_multiplier=seen_multiplier,
        steps=max(steps, plan.steps),
    )


def _judge_movement(movement: Movement, plan: TrainingPlan, norms_allowed: int, delta: float, start: float) -> Verdict:
    """Return the verdict on the Gaussian noise of one step: exact of the two sums, but for the rounding granted."""
    is_refuted = movement.ratio > 1 + SUM_ROUNDING
    claim = compute_gaussian_epsilon(norms_allowed / plan.noise_multiplier, delta)
    loss = compute_gaussian_epsilon(movement.ratio * norms_allowed / plan.noise_multiplier, delta)
    loss = max(loss, math.nextafter(claim, math.inf)) if is_refuted else min(loss, claim)
    source = "Gaussian noise on a sum that one record moves by the clipping norm (Balle and Wang 2018, Theorem 8)"
    adjacency = ADDED_OR_REMOVED_RECORD if norms_allowed == 1 else REPLACED_RECORD
    allowed = plan.clip * norms_allowed
    output = f"the noisy sum of step {movement.step + 1}, moved by {movement.norm:.6g} where {allowed:.6g} is allowed,"
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


def _judge_accounting(guarantee: Guarantee, found: RecomputedEpsilon, start: float) -> Verdict:
    """Return the verdict on the epsilon claimed, by the accounting of the scheme that was seen."""
    claim = guarantee.epsilon
    is_refuted = found.lower > claim
    adjacency = REPLACED_RECORD if found.sampling == "fixed size" else EMPTY_RECORD
    return Verdict(
        guarantee=guarantee,
        status="refuted" if is_refuted else "not refuted",
        epsilon=found.upper,
        lower_bound=found.lower,
        confidence=1.0,
        samples=0,
        witness=None,
        method=f"{found.ground}; for {adjacency}, on the worst data, at epsilon {found.lower:.4g} to {found.upper:.4g}",
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
    seen = [Fact("sampling", facts.scheme or "unknown", facts.scheme_note), Fact("steps", facts.steps)]
    if len(facts.batch_sizes):
        sizes = facts.batch_sizes
        seen.append(Fact("batch size, mean", float(sizes.mean()), f"from {sizes.min():,} to {sizes.max():,}"))
    if facts.noise_multiplier is not None:
        seen.append(Fact("noise multiplier", facts.noise_multiplier, "the least of any step"))
    ratio = "unknown" if facts.movement is None else f"{facts.movement.ratio:.6g} times what is allowed"
    seen.append(Fact("one record moves the sum by", ratio, facts.movement_note))
    return tuple(seen)
