"""The bag of words of Jia et al. 2019, section 5.1, for pairs of texts, and the same for single texts."""

from collections.abc import Sequence
from typing import cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from deniable.models.text.documents import Documents, IndexedTexts, RowIndices
from deniable.models.text.interval_bounds import (
    TensorOrBox,
    apply_layer,
    apply_monotone,
    apply_relu,
    concatenate_features,
    match_kind,
)
from deniable.models.text.networks.base import Scorer, TextBatch
from deniable.models.text.networks.projected import DistinctWords, ProjectedNetwork, sum_rows_at

BAG_UNITS = 300
"""Size of a projected word."""

BAG_LAYERS = 3


class BagOfWords(ProjectedNetwork):
    """Linear and ReLU on every word, the mean over words, and three layers with ReLU and dropout 0.1.

    Jia et al. add the words of a sentence; those of a review are too many for that, and their mean is taken.
    """

    max_words = 20_000
    takes_pairs = False

    def __init__(self, vectors: Tensor, classes: int) -> None:
        width = BAG_UNITS * (2 if self.takes_pairs else 1)
        super().__init__(
            vectors, classes, projection_size=BAG_UNITS, feature_size=width, dropout=([width] * BAG_LAYERS, 0.1)
        )
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(BAG_LAYERS))

    def features(
        self, words: TensorOrBox, distinct_words: DistinctWords, batch: TextBatch, dropout_factors: Sequence[Tensor]
    ) -> TensorOrBox:
        """See `ProjectedNetwork.features`."""
        lengths = batch.present.sum(dim=1)
        pooled = apply_monotone(
            apply_relu(words), lambda rows: self._pool_sums(sum_rows_at(rows, distinct_words.places), lengths)
        )
        if self.takes_pairs:
            premise, premise_distinct, _ = self.project_premise(batch)
            pooled = concatenate_features(
                match_kind(pooled, sum_rows_at(premise.relu(), premise_distinct.places)), pooled
            )  # (b, 600)
        return self._apply_hidden_layers(pooled, dropout_factors)

    def _pool_sums(self, sums: Tensor, lengths: Tensor) -> Tensor:
        """Return the pooled vectors (b, 300) from sums over the words of texts of lengths (b,)."""
        return sums if self.takes_pairs else sums / lengths.unsqueeze(1)

    def _apply_hidden_layers(self, pooled: TensorOrBox, dropout_factors: Sequence[Tensor]) -> TensorOrBox:
        """Return the last hidden units (b, width)."""
        for layer, factors in zip(self.layers, dropout_factors, strict=True):
            pooled = apply_monotone(apply_relu(apply_layer(pooled, cast("nn.Linear", layer))), factors.mul)
        return pooled

    @torch.no_grad()
    def make_scorer(self, documents: Documents) -> Scorer:
        """See `TextNetwork.make_scorer`; all words and all premises are projected once."""
        table = self.projection.linear(self.projection.vectors).relu()  # (V, 300)
        dropout_factors = [torch.ones((), device=table.device)] * BAG_LAYERS
        premise_sums = (
            table[:0] if documents.premises is None else _sum_word_rows(documents.premises, table)
        )  # (n, 300)

        @torch.no_grad()
        def score(versions: IndexedTexts, rows: RowIndices) -> npt.NDArray[np.float32]:
            pooled = self._pool_sums(
                _sum_word_rows(versions, table), torch.from_numpy(versions.lengths).to(table.device)
            )
            if self.takes_pairs:
                pooled = torch.cat([premise_sums[torch.from_numpy(rows)], pooled], dim=1)
            logits: npt.NDArray[np.float32] = (
                self.output(self._apply_hidden_layers(pooled, dropout_factors)).cpu().numpy()
            )
            return logits

        return score


class PairedBagOfWords(BagOfWords):
    """The network of Jia et al. for entailment: a sum for each sentence, both concatenated, and layers of 600."""

    takes_pairs = True


def _sum_word_rows(texts: IndexedTexts, table: Tensor) -> Tensor:
    """Return the sums (R, h) of the rows of a table (V, h) over the words of texts."""
    words = torch.from_numpy(texts.words.astype(np.int64)).to(table.device)
    return functional.embedding_bag(words, table, torch.from_numpy(texts.offsets[:-1]).to(table.device), mode="sum")
