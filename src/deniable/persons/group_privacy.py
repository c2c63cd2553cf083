"""What a guarantee for one unit means for several: persons with k records, where records are the units."""

import math

from deniable.core.numbers import format_exact, format_upper
from deniable.persons.budget import Budget
from deniable.vectors.gaussian import bound_log_delta, compute_discretization_cost

GROUP_SIZES = (2, 5, 10)
"""Records of one person that certificates speak of."""
_MAX_HALVINGS = 60


def bound_group_epsilon(budget: Budget, size: int) -> float:
    r"""Return an epsilon at which k units together are (epsilon, delta)-DP, with the delta of the budget.

    k units move every sum by at most k B: Gaussian noise with k times the sensitivity. The least epsilon with
    delta(epsilon) <= delta for the ratio r / k is found by bisection from above. It is far below what group privacy
    gives, (k epsilon, k e^((k-1) epsilon) delta), since delta stays.

    Args:
        budget: of the release.
        size: k >= 1.
    """
    ratio = budget.noise_ratio / size
    target = math.log(budget.noise_delta)
    high = budget.epsilon
    while bound_log_delta(high, ratio) > target:
        high *= 2
    low = 0.0
    for _ in range(_MAX_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if middle > 0 and bound_log_delta(middle, ratio) <= target else (middle, high)
    return high + 1.001 * compute_discretization_cost(high, budget.coordinates)


def describe_groups(budget: Budget) -> list[str]:
    """Return what a person with 2, 5 or 10 records has, a line each; nothing where persons are the units."""
    if budget.unit == "person":
        return []
    if budget.selection_delta:
        return [_describe_general_group(budget, size) for size in GROUP_SIZES]
    return [
        f"a person with {size} records: epsilon {format_upper(bound_group_epsilon(budget, size))} at delta "
        f"{format_exact(budget.delta)}"
        for size in GROUP_SIZES
    ]


def _describe_general_group(budget: Budget, size: int) -> str:
    """Return what group privacy gives: k units together may pass a threshold that one of them does not."""
    epsilon, log_delta = size * budget.epsilon, math.log(size * budget.delta) + (size - 1) * budget.epsilon
    promise = (
        f"epsilon {format_upper(epsilon)} at delta {format_upper(math.exp(log_delta))}" if log_delta < 0 else "nothing"
    )
    return f"a person with {size} records: {promise}"
