"""The exact epsilon of laws of the exponential family, all rounding in it.

With d the metric, s the scale, gamma the cutoff (infinite: none) and c(y) > 0 the weights::

    P(y|w) = c(y) exp(-s min(d(w, y), gamma)) / Z(w)

min(d, gamma) obeys the triangle inequality, so that the ratio P(y|w) / P(y|w') is largest at y = w,
and the law is epsilon-metric-DP for exactly the epsilons from this one on::

    max over w, w' of  [s min(d(w, w'), gamma) + ln Z(w') - ln Z(w)] / d(w, w')

Two passes over the n^2 distances: one for Z, one for the maximum (`deniable.words.laws.worst_pairs`). Nothing is
sampled.
"""

import time
from collections.abc import Sequence

from deniable.core.progress import expect_passes
from deniable.space.space import Space
from deniable.words.laws.kernel import ExponentialKernel, compute_log_normalisers
from deniable.words.laws.law import Finding
from deniable.words.laws.tables import OutputLoss, find_worst_output
from deniable.words.laws.worst_pairs import ROUNDING_FACTOR, WorstPair, find_worst_pairs

_MAX_WITNESSES = 8
"""Worst pairs whose tables are compared at all outputs, for a lower bound."""
_LOG_ROUNDING = 2.0**-46
"""Bound on the rounding of the difference of two logarithms of table entries."""


def prove_exact_epsilon(space: Space, kernel: ExponentialKernel, workers: int | None = None) -> Finding:
    """Return the exact epsilon of a law, over all pairs of inputs and all outputs.

    Raises:
        NotTractable: the rounding of the space's metric is unknown.
    """
    start = time.perf_counter()
    # Computed anew for a proof, and kept for what needs them after it.
    with expect_passes(1):
        logs = compute_log_normalisers(space, kernel, workers, recompute=True)
    return summarize_worst_pairs(space, kernel, find_worst_pairs(space, kernel, logs, workers), start)


def summarize_worst_pairs(
    space: Space, kernel: ExponentialKernel, worst_pairs: Sequence[WorstPair], start: float
) -> Finding:
    """Return what the worst pairs spend in the integer tables.

    All outputs are looked at: where two inputs are so near to each other that rounding is most of their loss, it is
    not at y = w that they lose most.

    Args:
        space: the domain.
        kernel: of the law.
        worst_pairs: as `find_worst_pairs` returns them.
        start: when the search began, by `time.perf_counter`.
    """

    def bound_pair(pair: WorstPair) -> tuple[float, OutputLoss, float]:
        loss = find_worst_output(space, lambda _, distances: kernel.rows(distances), pair.input, pair.other)
        lower_bound = max(loss.nats - _LOG_ROUNDING, 0.0) / (pair.distance + space.distance_error) / ROUNDING_FACTOR
        return lower_bound, loss, pair.distance

    lower_bound, loss, distance = max(map(bound_pair, worst_pairs[:_MAX_WITNESSES]), key=lambda bounds: bounds[0])
    return Finding(
        epsilon=worst_pairs[0].epsilon,
        lower_bound=lower_bound,
        input=loss.input,
        other=loss.other,
        output=loss.output,
        distance=distance,
        loss=loss.nats,
        seconds=time.perf_counter() - start,
    )


def make_finding_name(space: Space, kernel: ExponentialKernel) -> str:
    """Return the name under which the finding about a law is cached."""
    return f"worst-{space.fingerprint}-{kernel.fingerprint}"
