"""Decomposable attention (Parikh et al. 2016) in the form of Jia et al. 2019, section 5.1, for pairs of texts."""

from collections.abc import Sequence
from typing import cast

from torch import Tensor, nn

from deniable.models.text.interval_bounds import (
    TensorOrBox,
    apply_layer,
    apply_linear,
    apply_monotone,
    apply_relu,
    apply_softmax,
    average_by_weights,
    concatenate_features,
    match_kind,
)
from deniable.models.text.networks.base import TextBatch
from deniable.models.text.networks.projected import DistinctWords, ProjectedNetwork

ATTENTION_UNITS = 100
"""Units of every layer."""


class DecomposableAttention(ProjectedNetwork):
    """Each word of a sentence is compared with a weighted mean of the other's words, and the comparisons are added.

    With a_i of the premise and b_j of the text, projected words, and networks F, G and H of two layers (one for F)::

        e_ij = F(a_i) . F(b_j)              beta_i, alpha_j = means of b and of a, by softmax of e    (equations 1, 2)
        v_1 = sum_i G([a_i, beta_i])        v_2 = sum_j G([b_j, alpha_j])                             (3, 4, 5)
        logits = H([v_1, v_2])                                                                        (6)

    F has one layer, not two, because each more widens the boxes of all weights. Dropout 0.2 meets the layers of H.
    """

    max_words = 500
    takes_pairs = True

    def __init__(self, vectors: Tensor, classes: int) -> None:
        super().__init__(
            vectors,
            classes,
            projection_size=ATTENTION_UNITS,
            feature_size=ATTENTION_UNITS,
            dropout=([2 * ATTENTION_UNITS, ATTENTION_UNITS], 0.2),
        )
        self.attend = nn.Linear(ATTENTION_UNITS, ATTENTION_UNITS)
        self.compare = nn.ModuleList(
            [nn.Linear(2 * ATTENTION_UNITS, ATTENTION_UNITS), nn.Linear(ATTENTION_UNITS, ATTENTION_UNITS)]
        )
        self.aggregate = nn.Linear(2 * ATTENTION_UNITS, ATTENTION_UNITS)

    def features(
        self, words: TensorOrBox, distinct_words: DistinctWords, batch: TextBatch, dropout_factors: Sequence[Tensor]
    ) -> TensorOrBox:
        """See `ProjectedNetwork.features`."""
        premise, premise_distinct, premise_present = self.project_premise(batch)
        attended = apply_relu(apply_layer(words, self.attend))  # (D + 1, 100)
        keys = apply_relu(apply_layer(premise, self.attend))[premise_distinct.places]  # (b, P, 100)
        a = match_kind(words, premise[premise_distinct.places])  # (b, P, 100)
        b = apply_monotone(words, lambda rows: rows[distinct_words.places])  # (b, L, 100)
        scores = apply_linear(apply_monotone(attended, lambda rows: rows[distinct_words.places]), keys)  # (b, L, P)
        to_premise = apply_softmax(scores, premise_present.unsqueeze(1))
        to_text = apply_softmax(apply_monotone(scores, _transpose), batch.present.unsqueeze(1))  # (b, P, L)
        alpha = average_by_weights(to_premise, a, premise_present)  # (b, L, 100)
        beta = average_by_weights(to_text, b, batch.present)  # (b, P, 100)
        both = concatenate_features(
            self._compare_words(a, beta, premise_present), self._compare_words(b, alpha, batch.present)
        )
        return apply_monotone(
            apply_relu(apply_layer(apply_monotone(both, dropout_factors[0].mul), self.aggregate)),
            dropout_factors[1].mul,
        )

    def _compare_words(self, own: TensorOrBox, other: TensorOrBox, present: Tensor) -> TensorOrBox:
        """Return the sum (b, 100) of G over the words that are present."""
        hidden = concatenate_features(own, other)  # (b, L, 200)
        for layer in self.compare:
            hidden = apply_relu(apply_layer(hidden, cast("nn.Linear", layer)))
        return apply_monotone(hidden, lambda activations: (activations * present.unsqueeze(-1)).sum(dim=1))


def _transpose(scores: Tensor) -> Tensor:
    """Return (b, n, m) of (b, m, n)."""
    return scores.mT
