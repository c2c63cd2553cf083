"""A lower bound on the epsilon of the truncated Gumbel mechanism in large spaces."""

from deniable.published.truncated_gumbel.bound import search_far_outputs
from deniable.published.truncated_gumbel.mechanism import TruncatedGumbel


def far_output_bound(mechanism: TruncatedGumbel) -> float:
    """Return a lower bound on the epsilon that the mechanism spends, per unit of distance."""
    return search_far_outputs(mechanism.space, mechanism.scale).lower_bound
