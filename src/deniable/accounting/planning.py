"""Plans of DP-SGD that spend at most a budget, and the verdict on what they spend."""

import dataclasses
import math
from typing import Any

from scipy import optimize

from deniable.accounting.training import TrainingPlan, compute_poisson_epsilon
from deniable.core.errors import InputError, check_positive, make_parameter_error
from deniable.core.guarantees import EMPTY_RECORD, PROVED_IDEAL, Guarantee, Verdict
from deniable.core.numbers import find_least_count, format_exact, round_down, round_up

_MIN_MULTIPLIER, _MAX_MULTIPLIER = 0.3, 1e4
_MIN_EPSILON, _MAX_EPSILON = 1e-6, 100.0
_PRECISION = 1e-4
"""Relative precision of a noise multiplier."""
_MARGIN = 1e-9
"""What is added to an epsilon that is advised, so that a run with it succeeds."""


def plan_training(
    records: int,
    batch_size: float,
    steps: int,
    epsilon: float,
    delta: float,
    *,
    clip: float,
    noise_multiplier: float | None = None,
) -> TrainingPlan:
    """The plan of Poisson batches that spends at most a budget.

    Args:
        records: n, the public number of records.
        batch_size: expected size of a batch; at most n is used.
        steps: T; with a given multiplier the maximum, since training ends when the budget is spent.
        epsilon: of the budget.
        delta: of the budget.
        clip: C, to which gradients are clipped.
        noise_multiplier: noise per unit of the clipping norm; None for about the least that the budget allows.

    Raises:
        InputError: the budget cannot be met; the message names the nearest epsilon that can be.
    """
    check_positive("training", "epsilon", epsilon)
    check_positive("training", "delta", delta, 1.0)
    least_noise = _MAX_MULTIPLIER if noise_multiplier is None else noise_multiplier
    plan = TrainingPlan("poisson", records, min(batch_size, records), steps, least_noise, clip)
    return _find_noise(plan, epsilon, delta) if noise_multiplier is None else _count_steps(plan, epsilon, delta)


def _find_noise(plan: TrainingPlan, epsilon: float, delta: float) -> TrainingPlan:
    """About the least noise that spends at most epsilon, of a plan with the most."""

    def spend(multiplier: float) -> float:
        return compute_poisson_epsilon(dataclasses.replace(plan, noise_multiplier=multiplier), delta)

    if epsilon > _MAX_EPSILON:
        expected = f"at most {format_exact(_MAX_EPSILON)}, since more promises nothing"
        raise make_parameter_error("training", "epsilon", expected, epsilon)
    if spend(_MAX_MULTIPLIER) > epsilon:
        raise _make_budget_error(plan, epsilon, delta, spend(_MAX_MULTIPLIER), ", take fewer steps or a larger delta")
    # From the most noise, since losses far above the budget take much time and memory to compose.
    high = low = _MAX_MULTIPLIER
    while spend(low) <= epsilon:
        if low == _MIN_MULTIPLIER:
            if spend(low) < _MIN_EPSILON:  # delta is so large that no smaller epsilon can be requested
                return dataclasses.replace(plan, noise_multiplier=low)
            advice = f" or less; it takes the least noise, {_MIN_MULTIPLIER:g} times the clipping norm"
            raise _make_budget_error(plan, epsilon, delta, spend(low), advice)
        low, high = max(low / 2, _MIN_MULTIPLIER), low

    def compute_log_excess(multiplier: float) -> float:
        spent = spend(multiplier)
        return math.log(min(max(spent, min(_MIN_EPSILON, epsilon / 2)), 1 / _MIN_EPSILON) / epsilon)

    multiplier = float(optimize.brentq(compute_log_excess, low, high, xtol=_PRECISION * low))
    while spend(multiplier) > epsilon:
        multiplier = min((1 + _PRECISION) * multiplier, high)
    return dataclasses.replace(plan, noise_multiplier=multiplier)


def _count_steps(plan: TrainingPlan, epsilon: float, delta: float) -> TrainingPlan:
    """As many steps of a plan as a budget allows."""

    def is_exceeded(steps: int) -> bool:
        return compute_poisson_epsilon(dataclasses.replace(plan, steps=steps), delta) > epsilon

    if is_exceeded(1):
        one_step = dataclasses.replace(plan, steps=1)
        nearest = compute_poisson_epsilon(one_step, delta)
        raise _make_budget_error(one_step, epsilon, delta, nearest, ", or take more noise")
    high = 1  # doubled, since losses far above the budget take long to compose
    while high < plan.steps and not is_exceeded(high):
        high = min(2 * high, plan.steps)
    steps = find_least_count(is_exceeded, high) - 1
    return dataclasses.replace(plan, steps=steps)


def _make_budget_error(plan: TrainingPlan, epsilon: float, delta: float, nearest: float, advice: str) -> InputError:
    asked = f"An epsilon of {format_exact(epsilon)} at delta {format_exact(delta)} cannot be met in {plan.steps} steps"
    if math.isinf(nearest):
        return InputError(f"{asked}, and neither can any other: take a larger delta.")
    rounded = round_up(nearest * (1 + _MARGIN), 4) if nearest > epsilon else round_down(nearest * (1 - _MARGIN), 4)
    return InputError(f"{asked}. The nearest that can is {format_exact(rounded)}: ask for that{advice}.")


def build_training_verdict(plan: TrainingPlan, delta: float, adjacency: str = EMPTY_RECORD) -> Verdict:
    """The verdict on a run of DP-SGD, and in it the guarantee for its training records; it rests on a theorem.

    It is proved for ideal arithmetic: the noise and the sum that it hides are floating-point numbers.
    """
    epsilon = compute_poisson_epsilon(plan, delta)
    source = "DP-SGD (Abadi et al. 2016), composed by privacy loss distributions (dp-accounting)"
    return Verdict(
        guarantee=Guarantee(epsilon, source, PROVED_IDEAL, delta=delta, adjacency=adjacency),
        status=PROVED_IDEAL,
        method="by theorem: Poisson sampling, gradients clipped example by example, Gaussian noise on their sum; "
        "losses composed by dp-accounting, rounded up; holds for real arithmetic; sampled and added in floating point",
        epsilon=epsilon,
    )


def describe_accounting(plan: TrainingPlan, delta: float) -> dict[str, Any]:
    """What the card of a model says of the accounting of DP-SGD, as JSON values."""
    return {
        "sampling rate": plan.rate,
        "steps": plan.steps,
        "noise multiplier": plan.noise_multiplier,
        "clipping norm": plan.clip,
        "epsilon, one record made empty": compute_poisson_epsilon(plan, delta),
        "epsilon, replace one record": compute_poisson_epsilon(plan, delta, is_replaced=True),
        "delta": delta,
    }
