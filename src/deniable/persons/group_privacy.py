"""What a guarantee for one unit means for several: persons with k records, where records are the units."""

import math

from deniable.accounting.gaussian import bracket_gaussian_epsilon, compute_discretization_cost
from deniable.core.numbers import format_exact, format_upper
from deniable.persons.budget import Budget

GROUP_SIZES = (2, 5, 10)
"""Records of one person that certificates speak of."""


def bound_group_epsilon(budget: Budget, size: int) -> float:
    r"""Return an epsilon at which k units together are (epsilon, delta)-DP, with the delta of the budget.

    k units move every sum by at most k B: Gaussian noise with k times the sensitivity. The least epsilon with
    delta(epsilon) <= delta is that of the ratio r / k, from above. It is far below what group privacy
    gives, (k epsilon, k e^((k-1) epsilon) delta), since delta stays.

    Args:
        budget: of the release.
        size: k >= 1.
    """
    _, epsilon = bracket_gaussian_epsilon(budget.noise_ratio / size, math.log(budget.noise_delta))
    return epsilon + compute_discretization_cost(epsilon, budget.coordinates)


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
