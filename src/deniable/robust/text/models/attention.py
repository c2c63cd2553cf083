"""Decomposable attention (Parikh et al. 2016) in the form of Jia et al. 2019, section 5.1, for pairs of texts."""

from collections.abc import Sequence
from typing import cast

from torch import Tensor, nn

from deniable.robust.text.intervals import Held, blended, concatenated, like, linear, monotone, relu, softmax, through
from deniable.robust.text.models.projected import Projected
from deniable.robust.text.models.words import Distinct
from deniable.robust.text.network import Batch

HIDDEN = 100
"""Units of every layer."""


class DecomposableAttention(Projected):
    """Each word of a sentence is compared with the words of the other that it is most like, and the comparisons added.

    With a_i of the premise and b_j of the text, projected words, and networks F, G and H of two layers (one for F)::

        e_ij = F(a_i) . F(b_j)              beta_i, alpha_j = means of b and of a, by softmax of e    (equations 1, 2)
        v_1 = sum_i G([a_i, beta_i])        v_2 = sum_j G([b_j, alpha_j])                             (3, 4, 5)
        logits = H([v_1, v_2])                                                                        (6)

    F has one layer, not two, because each more widens the boxes of all weights. Dropout 0.2 meets the layers of H.
    """

    longest = 500
    paired = True

    def __init__(self, vectors: Tensor, classes: int) -> None:
        super().__init__(vectors, classes, projected=HIDDEN, features=HIDDEN, dropout=([2 * HIDDEN, HIDDEN], 0.2))
        self.attend = nn.Linear(HIDDEN, HIDDEN)
        self.compare = nn.ModuleList([nn.Linear(2 * HIDDEN, HIDDEN), nn.Linear(HIDDEN, HIDDEN)])
        self.aggregate = nn.Linear(2 * HIDDEN, HIDDEN)

    def features(self, words: Held, found: Distinct, given: Batch, keep: Sequence[Tensor]) -> Held:
        """See `Projected.features`."""
        premise, at, premise_present = self.premise(given)
        attended = relu(through(words, self.attend))  # (D + 1, 100)
        keys = relu(through(premise, self.attend))[at.places]  # (b, P, 100)
        a = like(words, premise[at.places])  # (b, P, 100)
        b = monotone(words, lambda rows: rows[found.places])  # (b, L, 100)
        scores = linear(monotone(attended, lambda rows: rows[found.places]), keys)  # (b, L, P)
        to_premise = softmax(scores, premise_present.unsqueeze(1))
        to_text = softmax(monotone(scores, _turned), given.present.unsqueeze(1))  # (b, P, L)
        alpha = blended(to_premise, a, premise_present)  # (b, L, 100)
        beta = blended(to_text, b, given.present)  # (b, P, 100)
        both = concatenated(self._compared(a, beta, premise_present), self._compared(b, alpha, given.present))
        return monotone(relu(through(monotone(both, keep[0].mul), self.aggregate)), keep[1].mul)

    def _compared(self, own: Held, other: Held, present: Tensor) -> Held:
        """Return the sum (b, 100) over the words that are present of what G makes of them."""
        hidden = concatenated(own, other)  # (b, L, 200)
        for layer in self.compare:
            hidden = relu(through(hidden, cast("nn.Linear", layer)))
        return monotone(hidden, lambda compared: (compared * present.unsqueeze(-1)).sum(dim=1))


def _turned(scores: Tensor) -> Tensor:
    """Return (b, n, m) of (b, m, n)."""
    return scores.mT
