"""What a whole text loses: the losses of its words added up, and composed.

The guarantee is about any two texts of one length. Every word loses at most

- e, the largest loss ln P(y|w) - ln P(y|w') of any pair, so that L words lose at most L e;
- r(alpha), the largest Renyi divergence D_alpha of any pair, and L words L r(alpha) (Mironov 2017),
  which gives (epsilon, delta) for every delta (`deniable.accounting.renyi.convert_divergence`).

The least of the bounds on r(alpha) is used: `deniable.words.laws.law.Law.renyi`, or by the largest loss.
"""

import dataclasses
import functools
import math

import numpy as np

from deniable.accounting.renyi import RENYI_ORDERS, bound_divergence_by_loss, convert_divergence
from deniable.core.errors import check_count, check_positive
from deniable.core.guarantees import Guarantee, Status, find_weakest_status
from deniable.core.numbers import format_upper
from deniable.words.laws import Law


@dataclasses.dataclass(frozen=True)
class DocumentGuarantee:
    """What is promised for a whole text, against any other text of the same number of words.

    Attributes:
        word_count: number of words of the text.
        pure: the losses of the words added up.
        approximate: composed, with a probability delta of more.
    """

    word_count: int
    pure: Guarantee
    approximate: Guarantee

    def __str__(self) -> str:
        """Both in one line."""
        return f"{self.word_count:,} words: {self.pure}, {self.approximate}"


def compute_document_guarantee(
    law: Law,
    guarantee: Guarantee,
    word_count: int,
    delta: float,
    *,
    claimed_loss_status: Status,
    workers: int | None = None,
) -> DocumentGuarantee:
    """The guarantee of a text of so many words; see `WordMechanism.document_guarantee`.

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
        composed_epsilon, method = total_loss, "the sum over words; composition is no better"
    adjacency = f"any two texts of {word_count:,} words"
    source = f"{word_count:,} times the largest loss of a word, {format_upper(loss, 6)}"
    pure = Guarantee(total_loss, source, status, adjacency=adjacency)
    approximate = Guarantee(float(composed_epsilon), method, status, delta=delta, adjacency=adjacency)
    return DocumentGuarantee(int(word_count), pure, approximate)


def compute_worst_loss(law: Law, guarantee: Guarantee, workers: int | None = None) -> float:
    """The largest loss of one word, in nats, over all pairs: computed, or by the claim epsilon Delta."""
    loss = law.worst_loss(workers)
    return guarantee.loss(law.space.diameter) if loss is None else loss


def _compose_losses(law: Law, word_count: int, delta: float, loss: float, workers: int | None) -> tuple[float, str]:
    """The least epsilon found at this delta, and how."""
    by_loss = [
        convert_divergence(word_count * bound_divergence_by_loss(loss, order), order, delta) for order in RENYI_ORDERS
    ]
    place = int(np.argmin(by_loss))
    response = (by_loss[place], "Renyi divergences of randomized response with the largest loss of a word")

    @functools.cache
    def spend(place: int) -> float:
        divergence = law.renyi(RENYI_ORDERS[place], workers) if 0 <= place < len(RENYI_ORDERS) else None
        return (
            math.inf if divergence is None else convert_divergence(word_count * divergence, RENYI_ORDERS[place], delta)
        )

    for step in (-1, 1):  # from there downhill
        while spend(place + step) < spend(place):
            place += step
    return min(response, (spend(place), "bounds on the Renyi divergences of all pairs"))
