"""The epsilon that DP-SGD spends, by privacy loss distributions of the Poisson-sampled Gaussian (dp-accounting)."""

import dataclasses
import functools
import math
from typing import Any, Literal

from scipy import optimize

from deniable.core.errors import InputError, check_positive, make_parameter_error
from deniable.core.evidence import Verdict
from deniable.core.guarantees import EMPTY_RECORD, PROVED_IDEAL, ApproxDP
from deniable.core.numbers import format_exact, round_down, round_up

RecordAdjacency = Literal["make one empty", "replace one"]
_MIN_MULTIPLIER = 0.3
_MAX_MULTIPLIER = 1e4
_MIN_EPSILON, _MAX_EPSILON = 1e-6, 100.0
_PRECISION = 1e-4
_MARGIN = 1e-9
"""What is added to an epsilon that is advised, so that a run with it succeeds."""
"""Relative precision of a noise multiplier."""


@dataclasses.dataclass(frozen=True)
class SamplingSchedule:
    """How often and with what chance a run samples each record.

    Attributes:
        rate: q in (0, 1], the probability with which a batch includes each record.
        steps: T >= 1.
    """

    rate: float
    steps: int

    def __post_init__(self) -> None:
        if not 0 < self.rate <= 1:
            raise make_parameter_error("Schedule", "rate", "a float in (0, 1]", self.rate)
        if self.steps < 1:
            raise make_parameter_error("Schedule", "steps", "an int of at least 1", self.steps)


@functools.lru_cache(maxsize=256)
def compute_epsilon_spent(
    schedule: SamplingSchedule, multiplier: float, delta: float, adjacency: RecordAdjacency = "make one empty"
) -> float:
    """Return an upper bound on epsilon at this delta after all steps of a schedule.

    Each step releases a sum of gradients of norm at most C over a Poisson sample, with Gaussian noise of standard
    deviation C times the multiplier (Abadi et al. 2016). The losses of the steps are composed as distributions
    (Koskela et al. 2020), rounded towards more loss.

    Args:
        schedule: sampling rate and steps.
        multiplier: noise per unit of the clipping norm, > 0.
        delta: in (0, 1).
        adjacency: of two data sets of the same size. Either one term of a batch's sum is missing (`EMPTY_RECORD`), as
            if a record were removed while rate and divisor stay; or one term is replaced, which costs more.
    """
    import dp_accounting  # noqa: PLC0415 - a second to import
    from dp_accounting.pld import PLDAccountant  # noqa: PLC0415

    relations = {
        "make one empty": dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE,
        "replace one": dp_accounting.NeighboringRelation.REPLACE_ONE,
    }
    accountant = PLDAccountant(relations[adjacency])
    step = dp_accounting.PoissonSampledDpEvent(schedule.rate, dp_accounting.GaussianDpEvent(multiplier))
    accountant.compose(step, schedule.steps)
    return float(accountant.get_epsilon(delta))


def find_noise_multiplier(schedule: SamplingSchedule, epsilon: float, delta: float) -> float:
    """Return about the least noise per unit of the clipping norm that spends at most epsilon.

    Raises:
        InputError: even the largest multiplier spends more, or even the smallest spends less; the message names the
            nearest epsilon that can be met.
    """
    check_positive("training", "epsilon", epsilon)
    check_positive("training", "delta", delta, 1.0)
    nearest = _compute_finite_epsilon(schedule, _MAX_MULTIPLIER, delta)
    if nearest > epsilon:
        raise InputError(
            f"An epsilon of {format_exact(epsilon)} at delta {format_exact(delta)} cannot be met in "
            f"{schedule.steps} steps. "
            f"The nearest that can is {format_exact(round_up(nearest * (1 + _MARGIN), 4))}: ask for that, take "
            "fewer steps or a larger delta."
        )
    bracket = _bracket_multiplier(schedule, min(epsilon, _MAX_EPSILON), delta)
    if bracket is None:
        nearest = compute_epsilon_spent(schedule, _MIN_MULTIPLIER, delta)
        if nearest < _MIN_EPSILON:  # delta is so large that no smaller epsilon can be requested
            return _MIN_MULTIPLIER
        raise InputError(
            f"An epsilon of {format_exact(epsilon)} needs less noise than {_MIN_MULTIPLIER:g} times the clipping "
            "norm, the "
            f"minimum. The nearest that can be met in {schedule.steps} steps is "
            f"{format_exact(round_down(nearest * (1 - _MARGIN), 4))}: "
            "ask for that or less."
        )

    if epsilon > _MAX_EPSILON:
        raise InputError(
            f"An epsilon of {format_exact(epsilon)} promises nothing. The nearest that can be met is "
            f"{format_exact(_MAX_EPSILON)}: "
            "ask for that or less."
        )

    def compute_log_excess(multiplier: float) -> float:
        spent = compute_epsilon_spent(schedule, multiplier, delta)
        return math.log(min(max(spent, min(_MIN_EPSILON, epsilon / 2)), 1 / _MIN_EPSILON) / epsilon)

    multiplier = float(optimize.brentq(compute_log_excess, *bracket, xtol=_PRECISION * bracket[0]))
    while compute_epsilon_spent(schedule, multiplier, delta) > epsilon:
        multiplier = min((1 + _PRECISION) * multiplier, bracket[1])
    return multiplier


def _bracket_multiplier(schedule: SamplingSchedule, epsilon: float, delta: float) -> tuple[float, float] | None:
    """Return two multipliers of which the first spends more than epsilon and the second does not.

    The search starts at the largest multiplier, since losses far above the budget take much time and memory to compose.
    None if even the least noise spends less.
    """
    high = low = _MAX_MULTIPLIER
    while compute_epsilon_spent(schedule, low, delta) <= epsilon:
        if low == _MIN_MULTIPLIER:
            return None
        low, high = max(low / 2, _MIN_MULTIPLIER), low
    return low, high


def count_steps_within(rate: float, multiplier: float, epsilon: float, delta: float, max_steps: int) -> int:
    """Return how many steps a budget allows with this noise, at most ``max_steps``.

    Raises:
        InputError: not even one step fits the budget.
    """
    nearest = _compute_finite_epsilon(SamplingSchedule(rate, 1), multiplier, delta)
    if nearest > epsilon:
        raise InputError(
            f"With a noise multiplier of {multiplier:g} one step spends more than epsilon {format_exact(epsilon)}. "
            f"The nearest that can be met is {format_exact(round_up(nearest * (1 + _MARGIN), 4))}: ask for that, "
            "or take more noise."
        )
    low, high = 1, 2  # doubling, since losses far above the budget take long to compose
    while high <= max_steps and compute_epsilon_spent(SamplingSchedule(rate, high), multiplier, delta) <= epsilon:
        low, high = high, 2 * high
    high = min(high, max_steps + 1)
    while high - low > 1:
        middle = (low + high) // 2
        if compute_epsilon_spent(SamplingSchedule(rate, middle), multiplier, delta) <= epsilon:
            low = middle
        else:
            high = middle
    return low


def plan_schedule(
    count: int, batch_size: int, steps: int, epsilon: float, delta: float, multiplier: float | None = None
) -> tuple[SamplingSchedule, float]:
    """Return the schedule and the noise multiplier that spend at most a budget on so many records.

    Args:
        count: public number of records.
        batch_size: expected size of a batch.
        steps: T; with a given multiplier the maximum, since training ends when the budget is spent.
        epsilon: of the budget.
        delta: of the budget.
        multiplier: noise per unit of the clipping norm; None computes it from the budget.

    Raises:
        InputError: the budget cannot be met.
    """
    rate = min(batch_size / count, 1.0)
    if multiplier is None:
        schedule = SamplingSchedule(rate, steps)
        return schedule, find_noise_multiplier(schedule, epsilon, delta)
    return SamplingSchedule(rate, count_steps_within(rate, multiplier, epsilon, delta, steps)), multiplier


def build_dp_sgd_guarantee(
    schedule: SamplingSchedule, multiplier: float, delta: float, adjacency: str = EMPTY_RECORD
) -> ApproxDP:
    """Return the guarantee of a run with this schedule and noise for its training records.

    It is proved for ideal arithmetic: the noise and the sum that it hides are floating-point numbers.
    """
    spent = compute_epsilon_spent(schedule, multiplier, delta)
    return ApproxDP(
        spent,
        delta,
        "DP-SGD (Abadi et al. 2016), composed by privacy loss distributions (dp-accounting)",
        PROVED_IDEAL,
        adjacency=adjacency,
    )


def build_dp_sgd_verdict(guarantee: ApproxDP) -> Verdict:
    """Return the verdict on a guarantee of `build_dp_sgd_guarantee`: it rests on a theorem, and on no sample."""
    return Verdict(
        guarantee=guarantee,
        status=PROVED_IDEAL,
        epsilon=guarantee.epsilon,
        lower_bound=0.0,
        confidence=1.0,
        samples=0,
        witness=None,
        method="by theorem: Poisson sampling, gradients clipped example by example, Gaussian noise on their sum; "
        "losses composed by dp-accounting, rounded up; holds for real arithmetic; sampled and added in floating point",
        seconds=0.0,
    )


def describe_accounting(schedule: SamplingSchedule, multiplier: float, clip: float, delta: float) -> dict[str, Any]:
    """Return what the card of a model says of the accounting of DP-SGD, as JSON values."""
    return {
        "sampling rate": schedule.rate,
        "steps": schedule.steps,
        "noise multiplier": multiplier,
        "clipping norm": clip,
        "epsilon, one record made empty": compute_epsilon_spent(schedule, multiplier, delta),
        "epsilon, replace one record": compute_epsilon_spent(schedule, multiplier, delta, "replace one"),
        "delta": delta,
    }


def _compute_finite_epsilon(schedule: SamplingSchedule, multiplier: float, delta: float) -> float:
    """Return the epsilon spent, or raise `InputError` if it is infinite."""
    spent = compute_epsilon_spent(schedule, multiplier, delta)
    if math.isinf(spent):
        raise InputError(
            f"With a noise multiplier of {multiplier:g} no epsilon is met at delta {format_exact(delta)} in "
            f"{schedule.steps} "
            "steps: take a larger delta."
        )
    return spent
