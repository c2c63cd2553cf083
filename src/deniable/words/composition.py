"""What a whole text loses: the losses of its words added up, and composed.

The guarantee is about any two texts of one length. Every word loses at most

- e, the largest loss ln P(y|w) - ln P(y|w') of any pair, so that L words lose at most L e;
- r(alpha), the largest Renyi divergence D_alpha of any pair, and L words L r(alpha) (Mironov 2017),
  which gives (epsilon, delta) for every delta (Canonne, Kamath, Steinke 2020, Proposition 12)::

      epsilon = L r(alpha) + ln((alpha - 1) / alpha) - (ln delta + ln alpha) / (alpha - 1)

Three bounds on r(alpha) hold over *all* pairs; the least is used:

- exact: sum_y P(y|w)^alpha P(y|w')^(1 - alpha) for all pairs is one product of two n x n matrices;
- for the exponential family, from d(w', y) <= R(w'), the largest distance from w'::

      r(alpha) <= max_w' [s R(w') + ln Z_s(w')] + max_w [ln Z_{alpha s}(w) - alpha ln Z_s(w)] / (alpha - 1)

- for any law of loss at most e: the divergence of randomized response, which dominates it.
"""

import dataclasses
import functools
import math
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.core.cache import load_or_compute_facts
from deniable.core.errors import check_positive, make_parameter_error
from deniable.core.guarantees import ApproxDP, PureDP, Status, find_weakest_status
from deniable.core.parallel import parallel_map
from deniable.space.space import Space
from deniable.words.laws import tabulated
from deniable.words.laws.exponential import ExponentialLaw, bound_rounding, compute_log_normalisers

if TYPE_CHECKING:
    from deniable.words.mechanism import WordMechanism

MAX_EXACT_POINTS = 10_000
"""Points up to which divergences are computed for every pair: 2 n^3 operations an order."""
RENYI_ORDERS = tuple(1 + 2.0 ** (half / 2) for half in range(-16, 9))
"""Orders alpha tried. At 20 powers of the least table entry, 2^-38, are still far above 1e-308."""
_BLOCK_ROWS = 256
_MIN_GAIN_SHARE = 0.95
_LOG_ROUNDING = 2.0**-48
"""Bound on the rounding of the logarithm of a sum near 1."""
_SUM_ROUNDING = 1e-9
"""Relative error allowed for in a sum of powers; in truth it is below n 2^-53 + 40 alpha 2^-53."""


@dataclasses.dataclass(frozen=True)
class DocumentGuarantee:
    """What is promised for a whole text, against any other text of the same number of words.

    Attributes:
        word_count: number of words of the text.
        pure: the losses of the words added up.
        approximate: composed, with a probability delta of more.
    """

    word_count: int
    pure: PureDP
    approximate: ApproxDP

    def __str__(self) -> str:
        """Return both in one line."""
        return f"{self.word_count:,} words: {self.pure}, {self.approximate}"


def compute_document_guarantee(
    mechanism: "WordMechanism", word_count: int, delta: float, workers: int | None = None
) -> DocumentGuarantee:
    """Return the guarantee of a text of so many words; see `WordMechanism.compute_document_guarantee`."""
    if isinstance(word_count, bool) or not isinstance(word_count, int | np.integer) or word_count < 1:
        raise make_parameter_error("document_guarantee", "words", "an int of at least 1", word_count)
    delta = check_positive("document_guarantee", "delta", delta, upper=1.0)
    loss = compute_worst_loss(mechanism, workers)
    total_loss = int(word_count) * loss
    status = find_weakest_status(mechanism.guarantee.status, _find_loss_status(mechanism))
    composed_epsilon, method = _compose_losses(mechanism, int(word_count), delta, loss, workers)
    if composed_epsilon >= total_loss:
        composed_epsilon, method = total_loss, "the pure bound, on which composition does not improve"
    adjacency = f"any two texts of {word_count:,} words"
    source = f"{word_count:,} times the largest loss of a word, {loss:.6g}"
    pure = PureDP(total_loss, source, status, adjacency=adjacency)
    approximate = ApproxDP(float(composed_epsilon), delta, method, status, adjacency=adjacency)
    return DocumentGuarantee(int(word_count), pure, approximate)


def _find_loss_status(mechanism: "WordMechanism") -> Status:
    """Return how far the largest loss of a word is known to be true if the mechanism's guarantee is."""
    if mechanism.sampled_exponential_law is not None and mechanism.space.metric.is_builtin:
        return "proved"  # computed, all rounding in it
    # By the claim, whose theorem is not about floats, nor about rows or draws of a subclass's own.
    return "proved for ideal arithmetic" if mechanism.is_builtin else "undecided"


def compute_worst_loss(mechanism: "WordMechanism", workers: int | None = None) -> float:
    """Return the largest loss of one word, in nats, over all pairs: computed, or by the claim epsilon Delta."""
    space, exponential = mechanism.space, mechanism.sampled_exponential_law
    if exponential is None or not space.metric.is_builtin:
        return mechanism.guarantee.loss(space.diameter)
    return compute_loss_extremes(space, exponential, workers)["loss"]


def _compose_losses(
    mechanism: "WordMechanism", word_count: int, delta: float, loss: float, workers: int | None
) -> tuple[float, str]:
    """Return the least epsilon found at this delta, and how."""

    def compute_epsilon(alpha: float, divergence: float) -> float:
        conversion = math.log1p(-1 / alpha) - (math.log(delta) + math.log(alpha)) / (alpha - 1)
        return max(0.0, word_count * divergence + conversion)

    response_epsilons = [compute_epsilon(alpha, bound_divergence_by_loss(loss, alpha)) for alpha in RENYI_ORDERS]
    start_index = int(np.argmin(response_epsilons))
    candidates = [
        (response_epsilons[start_index], "Renyi divergences of randomized response with the largest loss of a word")
    ]
    space, exponential = mechanism.space, mechanism.sampled_exponential_law
    if mechanism.is_tabulated and len(space.points) <= MAX_EXACT_POINTS:
        exact_epsilon = functools.cache(
            lambda order_index: compute_epsilon(
                RENYI_ORDERS[order_index], compute_exact_divergence(mechanism, RENYI_ORDERS[order_index], workers)
            )
        )
        candidates.append(
            (exact_epsilon(_descend_orders(exact_epsilon, start_index)), "exact Renyi divergences of all pairs")
        )
    elif exponential is not None and space.metric.is_builtin:

        def bound_at(order_index: int) -> float:
            return bound_divergence(space, exponential, RENYI_ORDERS[order_index], workers)

        # It grows with the order: where the least order gains nothing, none does.
        if bound_at(0) < _MIN_GAIN_SHARE * loss:
            bounded_epsilon = functools.cache(
                lambda order_index: compute_epsilon(RENYI_ORDERS[order_index], bound_at(order_index))
            )
            candidates.append(
                (
                    bounded_epsilon(_descend_orders(bounded_epsilon, start_index)),
                    "a bound on the Renyi divergences of all pairs",
                )
            )
    return min(candidates)


def _descend_orders(cost: Callable[[int], float], start: int) -> int:
    """Return where a walk downhill over the orders ends."""
    order_index = start
    for step in (-1, 1):
        while 0 <= order_index + step < len(RENYI_ORDERS) and cost(order_index + step) < cost(order_index):
            order_index += step
    return order_index


def bound_divergence_by_loss(loss: float, alpha: float) -> float:
    """Return D_alpha of randomized response, the largest of any two laws of loss at most ``loss``."""
    # ln of p^alpha q^(1 - alpha) + q^alpha p^(1 - alpha), with p = e^loss / (1 + e^loss), q = 1 - p
    p, q = -math.log1p(math.exp(-loss)), -loss - math.log1p(math.exp(-loss))
    moment = float(np.logaddexp(alpha * p + (1 - alpha) * q, alpha * q + (1 - alpha) * p))
    return (max(moment, 0.0) + _LOG_ROUNDING) / (alpha - 1)


def compute_exact_divergence(mechanism: "WordMechanism", alpha: float, workers: int | None = None) -> float:
    """Return the largest D_alpha of any two inputs, of the integer tables that are sampled."""

    def compute() -> dict[str, float]:
        space = mechanism.space
        count = len(space.points)
        powers = np.empty((count, count))
        probabilities = np.empty((count, count))

        def fill(first: int, distances: FloatArray) -> None:
            block = tabulated.compute_table_entries(mechanism.rows(distances)) / tabulated.TABLE_TOTAL
            probabilities[first : first + len(block)] = block
            powers[first : first + len(block)] = block ** (1 - alpha)

        space.map_row_blocks(fill, range(count), workers)

        def find_block_maximum(first: int) -> float:
            return float((probabilities[first : first + _BLOCK_ROWS] ** alpha @ powers.T).max())

        return {"sum": max(parallel_map(find_block_maximum, range(0, count, _BLOCK_ROWS), workers))}

    fingerprint = mechanism.law_fingerprint
    name = f"renyi-{fingerprint}-{alpha!r}"
    # The sum is at least 1: a divergence is not negative.
    facts = (
        load_or_compute_facts(
            name,
            ("sum",),
            compute,
            lambda stored: 1 - _SUM_ROUNDING <= stored["sum"] < math.inf,
        )
        if fingerprint
        else compute()
    )
    return math.log(facts["sum"] * (1 + _SUM_ROUNDING)) / (alpha - 1)


def bound_divergence(space: Space, exponential: ExponentialLaw, alpha: float, workers: int | None = None) -> float:
    """Return a bound on the largest D_alpha of any two inputs of an exponential law.

    The tables mix the law with the uniform one, which does not raise a divergence, and round each
    entry by a factor of at most 1 + 2^-24.
    """
    # A smaller scale has the larger normaliser, and so is a bound too.
    steeper = dataclasses.replace(exponential, scale=min(alpha * exponential.scale, sys.float_info.max))

    def compute() -> dict[str, float]:
        logs = np.log(steeper.normalisers(space, workers)) - alpha * compute_log_normalisers(
            space, exponential, workers
        )
        return {"inputs": float(logs.max())}

    name = f"bound-{space.fingerprint}-{exponential.fingerprint}-{alpha!r}"
    input_bound = load_or_compute_facts(name, ("inputs",), compute)["inputs"]
    slack = (2 * alpha - 1) / (alpha - 1) * (1 / tabulated.TABLE_FLOOR + bound_rounding(space, steeper))
    return compute_loss_extremes(space, exponential, workers)["reach"] + input_bound / (alpha - 1) + slack


def compute_loss_extremes(space: Space, exponential: ExponentialLaw, workers: int | None = None) -> dict[str, float]:
    """Return over all pairs the largest loss, and the largest s d(w, w') + ln Z(w')."""

    def compute() -> dict[str, float]:
        logs = compute_log_normalisers(space, exponential, workers)

        def visit(rows: slice, columns: slice, distances: FloatArray) -> tuple[float, float]:
            np.minimum(distances, exponential.cutoff, out=distances)
            distances *= exponential.scale
            left, right = logs[rows, None], logs[None, columns]
            return float((distances + abs(left - right)).max()), float((distances + np.maximum(left, right)).max())

        losses, reaches = zip(*space.map_tiles(visit, workers), strict=True)
        slack = bound_rounding(space, exponential)
        return {"loss": max(max(losses) + slack, 1 / tabulated.TABLE_FLOOR + slack), "reach": max(reaches) + slack}

    name = f"extents-{space.fingerprint}-{exponential.fingerprint}"
    return load_or_compute_facts(
        name, ("loss", "reach"), compute, lambda stored: stored["loss"] > 0 and math.isfinite(stored["reach"])
    )
