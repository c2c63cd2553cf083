"""The verdict on an epsilon by the scheme, the rate, the steps and the noise that runs show."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from deniable.accounting.training import EpsilonBounds, TrainingPlan, bound_epsilon
from deniable.auditing.training.batches import (
    CHANCE,
    Disagreement,
    ShownBatches,
    bound_rate,
    compute_rate_without_empty,
    find_disagreement,
)
from deniable.auditing.training.observation import ObservedRun
from deniable.core.guarantees import EMPTY_RECORD, REPLACED_RECORD, Guarantee, Verdict, Witness
from deniable.core.numbers import format_lower, format_upper

SAME = 1e-6
"""Relative difference of noise multipliers that are the same."""
_LEAST_RATE = 1e-9
_ENOUGH_STEPS, _MAX_STEPS = 400, 1_000
"""Steps of Poisson batches that are looked at, and with those until one is empty."""


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
    def has_other_rate(self) -> bool:
        """Whether batches show another rate of coins than is stated: statistics, and not proof."""
        low, high = self.shown.rates
        return self.shown.scheme == "poisson" and not low <= self.plan.rate <= high

    @property
    def is_other_sampling(self) -> bool:
        """Whether batches show another scheme or rate than is stated."""
        return self.shown.scheme not in {None, self.plan.sampling} or self.has_other_rate

    @property
    def has_several_noises(self) -> bool:
        """Whether the noise differs between steps."""
        return bool(self.multipliers) and max(self.multipliers) > min(self.multipliers) * (1 + SAME)

    def account(self, plan: TrainingPlan, **options: Any) -> EpsilonBounds:  # noqa: ANN401 - of `bound_epsilon`
        """Where the epsilon of a plan lies, at the claim's delta and for its adjacency."""
        is_replaced = self.guarantee.adjacency == REPLACED_RECORD
        return bound_epsilon(plan, self.guarantee.delta, is_replaced=is_replaced, **options)


def judge_accounting(
    run: RunAccounting, first: ObservedRun, run_again: Callable[[], ObservedRun]
) -> tuple[str, EpsilonBounds | None, EpsilonBounds | None, Verdict | None]:
    """What a run and others of the same training show of the epsilon claimed.

    In what they disagree with their plan, in words, empty where they do not; the epsilon of the plan, None where no
    delta is claimed; that of the scheme, the rate, the steps and the noise that were seen, None where they are the
    plan's; and the verdict, None where no delta is claimed.

    Args:
        run: the first one.
        first: its steps.
        run_again: trains on the same records with a fresh seed.
    """
    plan, runs = run.plan, [first]
    is_drawn = (
        plan.sampling == "poisson"
        and plan.rate < 1
        and (not first.steps or any(step.batch is not None for step in first.steps))
    )
    while is_drawn and len(runs) * plan.steps < _ENOUGH_STEPS:
        runs.append(run_again())
    if is_drawn and run.shown.scheme == "poisson":
        sizes = np.array([len(step.batch) for each in runs for step in each.steps if step.batch is not None])
        run = dataclasses.replace(run, shown=dataclasses.replace(run.shown, rates=bound_rate(sizes, run.records)))
    disagreement = find_disagreement(plan, run.shown, runs, run.records)
    if not run.guarantee.delta:
        return "" if disagreement is None else disagreement.words, None, None, None
    stated, seen = run.account(plan), _account_seen(run)
    if disagreement is None and run.has_several_noises and seen is not None and seen.upper > run.guarantee.epsilon:
        words = "the noise differs between steps, where the plan states one"
        disagreement = Disagreement(words, 0.0, is_accounted=True)
    if disagreement is None and is_drawn and first.steps:
        disagreement = _doubt_luck(run, runs, run_again)
    verdict = _judge(run, seen or stated, disagreement)
    return "" if disagreement is None else disagreement.words, stated, seen, verdict


def _doubt_luck(
    run: RunAccounting, runs: list[ObservedRun], run_again: Callable[[], ObservedRun]
) -> Disagreement | None:
    """That no batch is empty, where empty ones that are drawn again would spend more than is claimed."""
    plan = run.plan
    rate = compute_rate_without_empty(plan, run.records)
    conditional = run.account(dataclasses.replace(plan, batch_size=rate * plan.records))
    if conditional.lower <= run.guarantee.epsilon:
        return None
    while all(step.batch is None or len(step.batch) for each in runs for step in each.steps):
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


def _account_seen(run: RunAccounting) -> EpsilonBounds | None:
    """Epsilon by the scheme, the rate, the steps and the noise that were seen; None where they are the plan's.

    Where noise differs between steps, from that of the most noise to that of the least, and where a rate is seen, from
    that of its lower limit to that of its upper one. All records at every step are accounted for together.
    """
    plan, shown, sampling = run.plan, run.shown, run.shown.scheme or run.plan.sampling
    noises = run.multipliers or (plan.noise_multiplier,)
    least, most = min(noises), max(noises)
    if least == 0:
        return EpsilonBounds(math.inf, math.inf, "a step that adds no noise", sampling == "fixed size")
    seen, suffix = dataclasses.replace(plan, sampling=sampling, steps=run.steps or plan.steps), ""
    if not run.has_several_noises:
        is_stated = math.isclose(least, plan.noise_multiplier, rel_tol=SAME)
        if is_stated and not run.is_other_sampling and seen.steps == plan.steps and not shown.per_epoch:
            return None
        least = most = plan.noise_multiplier if is_stated else least
    elif sampling == "all" or (sampling == "poisson" and plan.rate == 1):
        least = most = math.sqrt(len(noises) / sum(each**-2 for each in noises))
    else:
        suffix = "; between the most and the least noise of any step"
    low = high = plan.batch_size
    if sampling == "fixed size" and shown.scheme:
        low = high = max(float(shown.sizes[0]), _LEAST_RATE)
        seen = dataclasses.replace(seen, records=run.records, batch_size=low)
    elif sampling == "poisson" and run.has_other_rate:
        # Steps that are left out where nobody was drawn make the rate of the others higher, and spend no more for that.
        rate = min(shown.rates[0], plan.rate) if seen.steps < plan.steps else shown.rates[0]
        low, high = max(rate, _LEAST_RATE) * plan.records, shown.rates[1] * plan.records
        suffix += "; at the rate that was seen"
    lower, upper = (
        run.account(
            dataclasses.replace(seen, noise_multiplier=noise, batch_size=size),
            batches=shown.per_epoch,
            presence=shown.presence,
        )
        for noise, size in ((most, low), (least, high))
    )
    return dataclasses.replace(upper, lower=lower.lower, ground=f"{upper.ground}{suffix}")


def _judge(run: RunAccounting, found: EpsilonBounds, disagreement: Disagreement | None) -> Verdict:
    """The verdict on the epsilon claimed, by the accounting of what was seen."""
    is_known = disagreement is None or disagreement.is_accounted or run.is_other_sampling
    is_refuted = is_known and found.lower > run.guarantee.epsilon
    epsilons = f"{format_lower(found.lower, 4)} to {format_upper(found.upper, 4)}"
    adjacency = REPLACED_RECORD if found.is_replaced else EMPTY_RECORD
    confidence = 1 - CHANCE if run.is_other_sampling else 1.0
    if disagreement is not None and not is_refuted:
        method = f"what was seen is not what the plan states: {disagreement.words}"
        return Verdict(run.guarantee, "undecided", method, confidence=confidence)
    witness = Witness(
        input="the worst data with a record",
        other="the same data without it",
        output=f"the noisy sums of {run.steps or run.plan.steps:,} steps",
        distance=1.0,
        loss=found.lower,
    )
    return Verdict(
        guarantee=run.guarantee,
        status="refuted" if is_refuted else "not refuted",
        epsilon=found.upper,
        lower_bound=found.lower,
        confidence=confidence,
        witness=witness if is_refuted else None,
        method=f"{found.ground}; for {adjacency}, on the worst data, at epsilon {epsilons}",
    )
