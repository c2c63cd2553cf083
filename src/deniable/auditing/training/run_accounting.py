"""The verdict on an epsilon by the scheme, the rate, the steps and the noise that runs show."""

import dataclasses
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from deniable.auditing.training.accounting import RecomputedEpsilon, recompute_epsilon
from deniable.auditing.training.agreement import (
    Disagreement,
    compute_rate_without_empty,
    find_disagreement,
    has_empty_batch,
)
from deniable.auditing.training.batches import CHANCE, ShownBatches, bound_rate
from deniable.auditing.training.observation import ObservedRun, TrainingPlan
from deniable.core.evidence import Verdict, Witness
from deniable.core.guarantees import EMPTY_RECORD, REPLACED_RECORD, Guarantee
from deniable.core.numbers import format_lower, format_upper

SAME = 1e-6
"""Relative difference of noise multipliers that are the same."""
_LEAST_RATE = 1e-9
_ENOUGH_STEPS, _MAX_STEPS = 400, 1_000
"""Steps of Poisson batches that are looked at, and with those until one is empty."""


@dataclasses.dataclass(frozen=True)
class AccountingFacts:
    """What runs show of an epsilon.

    Attributes:
        disagreement: in what they disagree with their plan, in words; empty where they do not.
        stated: epsilon of the plan, by its own scheme and noise; None where no delta is claimed.
        seen: epsilon by the scheme, the rate, the steps and the noise that were seen; None where they are the plan's.
        verdict: on the epsilon claimed; None where no delta is.
    """

    disagreement: str
    stated: RecomputedEpsilon | None
    seen: RecomputedEpsilon | None
    verdict: Verdict | None


@dataclasses.dataclass(frozen=True)
class RunAccounting:
    """A run whose accounting is judged.

    Attributes:
        plan: what it states.
        shown: what its batches show, doubts removed.
        steps: number of steps seen.
        multipliers: (T,) noise of each step per unit of its clipping norm; empty where it is not shown.
        guarantee: claimed.
        records: n, of the data that it had.
    """

    plan: TrainingPlan
    shown: ShownBatches
    steps: int
    multipliers: tuple[float, ...]
    guarantee: Guarantee
    records: int

    @property
    def delta(self) -> float:
        """The delta claimed; 0 for a guarantee without one."""
        return getattr(self.guarantee, "delta", 0.0)

    @property
    def has_other_rate(self) -> bool:
        """Whether batches show another rate of coins than is stated: statistics, and not proof."""
        low, high = self.shown.rates
        return self.shown.scheme == "poisson" and not low <= self.plan.rate <= high

    @property
    def is_other_sampling(self) -> bool:
        """Whether batches show another scheme or rate than is stated."""
        return self.shown.scheme not in {None, self.plan.sampling} or self.has_other_rate

    def recompute(self, plan: TrainingPlan, **options: Any) -> RecomputedEpsilon:  # noqa: ANN401 - of `recompute_epsilon`
        """Return where the epsilon of a plan lies, at the claim's delta and for its adjacency."""
        return recompute_epsilon(plan, self.delta, is_replaced=self.guarantee.adjacency == REPLACED_RECORD, **options)


def judge_accounting(
    run: RunAccounting, first: ObservedRun, run_again: Callable[[], ObservedRun], start: float
) -> AccountingFacts:
    """Return what a run and others of the same training show of the epsilon claimed.

    Args:
        run: the first one.
        first: its steps.
        run_again: trains on the same records with a fresh seed.
        start: clock reading when the audit began.
    """
    plan, runs, claim = run.plan, [first], run.guarantee.epsilon
    is_drawn = (
        plan.sampling == "poisson"
        and plan.rate < 1
        and (not first.steps or any(step.batch is not None for step in first.steps))
    )
    while is_drawn and len(runs) * plan.steps < _ENOUGH_STEPS:
        runs.append(run_again())
    if is_drawn and run.shown.scheme == "poisson":
        sizes = np.array([len(step.batch) for each in runs for step in each.steps if step.batch is not None])
        shown = dataclasses.replace(run.shown, rates=bound_rate(sizes, run.records))
        run = dataclasses.replace(run, shown=shown)
    disagreement = find_disagreement(plan, run.shown, runs, run.records)
    if not run.delta:
        return AccountingFacts("" if disagreement is None else disagreement.words, None, None, None)
    stated, seen = run.recompute(plan), _recompute_seen(run)
    if disagreement is None and seen is not None and _has_several_noises(run) and seen.upper > claim:
        disagreement = Disagreement(
            "the noise differs between steps, where the plan states one", 0.0, is_accounted=True
        )
    if disagreement is None and is_drawn and first.steps:
        disagreement = _doubt_luck(run, runs, run_again)
    verdict = _judge(run, seen or stated, disagreement, start)
    return AccountingFacts("" if disagreement is None else disagreement.words, stated, seen, verdict)


def _doubt_luck(
    run: RunAccounting, runs: list[ObservedRun], run_again: Callable[[], ObservedRun]
) -> Disagreement | None:
    """Return that no batch is empty, where empty ones that are drawn again would spend more than is claimed."""
    plan = run.plan
    rate = compute_rate_without_empty(plan, run.records)
    conditional = run.recompute(dataclasses.replace(plan, batch_size=rate * plan.records))
    if conditional.lower <= run.guarantee.epsilon:
        return None
    while not has_empty_batch(runs):
        steps = len(runs) * plan.steps
        if steps >= _MAX_STEPS:
            chance = (1 - plan.rate) ** run.records
            return Disagreement(
                f"no batch of {steps:,} is empty, where each is with a chance of {chance:.2g}: if empty batches are "
                f"drawn again, epsilon is at least {format_lower(conditional.lower)}",
                (1 - chance) ** steps,
            )
        runs.append(run_again())
        if len(runs[-1].steps) != plan.steps:
            return find_disagreement(plan, run.shown, runs, run.records)
    return None


def _has_several_noises(run: RunAccounting) -> bool:
    return bool(run.multipliers) and max(run.multipliers) > min(run.multipliers) * (1 + SAME)


def _recompute_seen(run: RunAccounting) -> RecomputedEpsilon | None:
    """Return epsilon by the scheme, the rate, the steps and the noise that were seen; None where they are the plan's.

    Between the epsilons of the most and of the least noise where it differs between steps; all records at every step
    are accounted for exactly.
    """
    plan, sampling = run.plan, run.shown.scheme or run.plan.sampling
    least, most = min(run.multipliers, default=plan.noise_multiplier), max(run.multipliers, default=0.0)
    if least == 0:
        return RecomputedEpsilon(sampling, math.inf, math.inf, "a step that adds no noise")
    if not _has_several_noises(run):
        is_stated = math.isclose(least, plan.noise_multiplier, rel_tol=SAME)
        is_planned = is_stated and not run.is_other_sampling and run.steps in {0, plan.steps}
        if is_planned and not run.shown.per_epoch:
            return None
        return _recompute_at(run, plan.noise_multiplier if is_stated else least)
    if sampling == "all" or (sampling == "poisson" and plan.rate == 1):
        together = math.sqrt(len(run.multipliers) / sum(each**-2 for each in run.multipliers))
        return _recompute_at(run, together)
    lower, upper = _recompute_at(run, most), _recompute_at(run, least)
    ground = f"{upper.ground}; between the most and the least noise of any step"
    return RecomputedEpsilon(sampling, lower.lower, upper.upper, ground)


def _recompute_at(run: RunAccounting, multiplier: float) -> RecomputedEpsilon:
    """Return epsilon by the scheme, the rate and the steps that were seen, with this noise at every step."""
    plan, shown, sampling = run.plan, run.shown, run.shown.scheme or run.plan.sampling
    seen = dataclasses.replace(plan, sampling=sampling, noise_multiplier=multiplier, steps=run.steps or plan.steps)
    if sampling == "fixed size" and shown.scheme:
        seen = dataclasses.replace(seen, records=run.records, batch_size=max(float(shown.sizes[0]), _LEAST_RATE))
    if sampling == "poisson" and run.has_other_rate:
        low, high = shown.rates
        # Steps that are left out where nobody was drawn make the rate of the others higher, and spend no more for that.
        low = max(min(low, plan.rate) if seen.steps < plan.steps else low, _LEAST_RATE)
        ends = [run.recompute(dataclasses.replace(seen, batch_size=rate * plan.records)) for rate in (low, high)]
        return RecomputedEpsilon(
            "poisson", ends[0].lower, ends[1].upper, f"{ends[0].ground}; at the rate that was seen"
        )
    return run.recompute(seen, batches=shown.per_epoch or None, presence=shown.presence)


def _judge(run: RunAccounting, found: RecomputedEpsilon, disagreement: Disagreement | None, start: float) -> Verdict:
    """Return the verdict on the epsilon claimed, by the accounting of what was seen."""
    claim = run.guarantee.epsilon
    is_known = disagreement is None or disagreement.is_accounted or run.is_other_sampling
    is_refuted = is_known and found.lower > claim
    is_replaced = run.guarantee.adjacency == REPLACED_RECORD or found.sampling == "fixed size"
    adjacency = REPLACED_RECORD if is_replaced else EMPTY_RECORD
    epsilons = f"{format_lower(found.lower, 4)} to {format_upper(found.upper, 4)}"
    method = f"{found.ground}; for {adjacency}, on the worst data, at epsilon {epsilons}"
    if disagreement is not None and not is_refuted:
        method = f"what was seen is not what the plan states: {disagreement.words}"
    witness = Witness(
        input="the worst data with a record",
        other="the same data without it",
        output=f"the noisy sums of {run.steps or run.plan.steps:,} steps",
        distance=1.0,
        loss=found.lower,
    )
    is_judged = disagreement is None or is_refuted
    return Verdict(
        guarantee=run.guarantee,
        status="refuted" if is_refuted else "not refuted" if is_judged else "undecided",
        epsilon=found.upper if is_judged else math.inf,
        lower_bound=found.lower if is_judged else 0.0,
        confidence=1 - CHANCE if run.is_other_sampling else 1.0,
        samples=0,
        witness=witness if is_refuted else None,
        method=method,
        seconds=time.perf_counter() - start,
    )
