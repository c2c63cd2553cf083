"""What a whole text loses: the losses of its words added up, and composed.

The guarantee is about any two texts of one length. Every word loses at most

- e, the largest loss ln P(y|w) - ln P(y|w') of any pair, so that L words lose at most L e;
- r(alpha), the largest Renyi divergence D_alpha of any pair, and L words L r(alpha) (Mironov 2017),
  which gives (epsilon, delta) for every delta (Canonne, Kamath, Steinke 2020, Proposition 12)::

      epsilon = L r(alpha) + ln((alpha - 1) / alpha) - (ln delta + ln alpha) / (alpha - 1)

The least of the bounds on r(alpha) in `deniable.words.laws.divergence` is used.
"""

import dataclasses
import functools
import math
from collections.abc import Callable

import numpy as np

from deniable.core.errors import check_count, check_positive
from deniable.core.guarantees import ApproxDP, MetricDP, PureDP, Status, find_weakest_status
from deniable.core.numbers import format_upper
from deniable.words.laws import Law
from deniable.words.laws.divergence import bound_divergence_by_loss

RENYI_ORDERS = tuple(1 + 2.0 ** (half / 2) for half in range(-16, 9))
"""Orders alpha tried. At 20 powers of the least table entry, 2^-38, are still far above 1e-308."""
_MIN_GAIN_SHARE = 0.95


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
    law: Law,
    guarantee: MetricDP,
    word_count: int,
    delta: float,
    *,
    claimed_loss_status: Status,
    workers: int | None = None,
) -> DocumentGuarantee:
    """Return the guarantee of a text of so many words; see `WordMechanism.document_guarantee`.

    Args:
        law: of one word.
        guarantee: of one word.
        word_count: number of words, >= 1.
        delta: in (0, 1).
        claimed_loss_status: how far the guarantee's own bound on the loss is known to be true, where the law has none.
        workers: threads.

    Raises:
        InputError: a parameter outside its domain.
    """
    check_count("document_guarantee", "words", word_count)
    delta = check_positive("document_guarantee", "delta", delta, upper=1.0)
    computed_loss = law.worst_loss(workers)
    loss = guarantee.loss(law.space.diameter) if computed_loss is None else computed_loss
    loss_status = claimed_loss_status if computed_loss is None else "proved"  # computed, all rounding in it
    status = find_weakest_status(guarantee.status, loss_status)
    total_loss = int(word_count) * loss
    composed_epsilon, method = _compose_losses(law, int(word_count), delta, loss, workers)
    if composed_epsilon >= total_loss:
        composed_epsilon, method = total_loss, "the pure bound, on which composition does not improve"
    adjacency = f"any two texts of {word_count:,} words"
    source = f"{word_count:,} times the largest loss of a word, {format_upper(loss, 6)}"
    pure = PureDP(total_loss, source, status, adjacency=adjacency)
    approximate = ApproxDP(float(composed_epsilon), delta, method, status, adjacency=adjacency)
    return DocumentGuarantee(int(word_count), pure, approximate)


def compute_worst_loss(law: Law, guarantee: MetricDP, workers: int | None = None) -> float:
    """Return the largest loss of one word, in nats, over all pairs: computed, or by the claim epsilon Delta."""
    loss = law.worst_loss(workers)
    return guarantee.loss(law.space.diameter) if loss is None else loss


def _compose_losses(law: Law, word_count: int, delta: float, loss: float, workers: int | None) -> tuple[float, str]:
    """Return the least epsilon found at this delta, and how."""

    def compute_epsilon(order_index: int, divergence: float) -> float:
        alpha = RENYI_ORDERS[order_index]
        conversion = math.log1p(-1 / alpha) - (math.log(delta) + math.log(alpha)) / (alpha - 1)
        epsilon: float = word_count * divergence + conversion
        return max(0.0, epsilon)

    response_epsilons = [
        compute_epsilon(order_index, bound_divergence_by_loss(loss, alpha))
        for order_index, alpha in enumerate(RENYI_ORDERS)
    ]
    start = int(np.argmin(response_epsilons))
    response = (response_epsilons[start], "Renyi divergences of randomized response with the largest loss of a word")
    first_bound = law.renyi(RENYI_ORDERS[start], workers)
    if first_bound is None:
        return response

    @functools.cache
    def divergence_at(order_index: int) -> float:
        bound = first_bound if order_index == start else law.renyi(RENYI_ORDERS[order_index], workers)
        return math.inf if bound is None else bound.divergence

    method = "exact Renyi divergences of all pairs"
    if not first_bound.is_exact:
        # It grows with the order: where the least order gains nothing, none does.
        if divergence_at(0) >= _MIN_GAIN_SHARE * loss:
            return response
        method = "a bound on the Renyi divergences of all pairs"

    def compose_at(order_index: int) -> float:
        return compute_epsilon(order_index, divergence_at(order_index))

    return min(response, (compose_at(_descend_orders(compose_at, start)), method))


def _descend_orders(cost: Callable[[int], float], start: int) -> int:
    """Return where a walk downhill over the orders ends."""
    order_index = start
    for step in (-1, 1):
        while 0 <= order_index + step < len(RENYI_ORDERS) and cost(order_index + step) < cost(order_index):
            order_index += step
    return order_index
