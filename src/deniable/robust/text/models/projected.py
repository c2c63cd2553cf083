"""What the networks over frozen, projected word vectors share: all but their body."""

import abc
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from deniable.robust.text.documents import Documents, IndexedTexts, RowIndices
from deniable.robust.text.intervals import TensorOrBox, apply_monotone, bound_margins
from deniable.robust.text.models.words import DistinctWords, Projection, append_zero_row, find_distinct_words
from deniable.robust.text.network import Scorer, TextBatch, TextNetwork, make_text_batch
from deniable.robust.text.substitutions import Substitutions

_WORDS_PER_BATCH = 1 << 15
"""Words of texts and premises that are scored side by side."""


class ProjectedNetwork(TextNetwork):
    """A network whose body is one function of projected words, be they numbers or boxes.

    Args:
        vectors: float32 (V, d), frozen and not saved with the weights.
        classes: K.
        projection_size: size of a projected word.
        feature_size: size of what the last layer takes.
        dropout: sizes of the vectors that dropout meets on the way, and its probability.
    """

    def __init__(
        self,
        vectors: Tensor,
        classes: int,
        *,
        projection_size: int,
        feature_size: int,
        dropout: tuple[Sequence[int], float],
    ) -> None:
        super().__init__()
        self.projection = Projection(vectors, projection_size)
        self.output = nn.Linear(feature_size, classes)
        self._dropout_sizes, self._dropout_rate = dropout

    @abc.abstractmethod
    def features(
        self, words: TensorOrBox, distinct_words: DistinctWords, batch: TextBatch, dropout_factors: Sequence[Tensor]
    ) -> TensorOrBox:
        """Return what the last layer takes (b, n).

        Args:
            words: projections (D + 1, h) of the batch's distinct words, the last of zeros.
            distinct_words: where they stand.
            batch: the batch.
            dropout_factors: factors of dropout, one for each size.
        """

    def project_premise(self, batch: TextBatch) -> tuple[Tensor, DistinctWords, Tensor]:
        """Return the premises' distinct words (D + 1, h), where they stand, and whether there is one (b, P)."""
        if batch.premise is None or batch.premise_present is None:
            raise TypeError(f"{type(self).__name__} takes pairs of texts")
        distinct_words = find_distinct_words(batch.premise, batch.premise_present)
        return append_zero_row(self.projection(distinct_words.word_ids)), distinct_words, batch.premise_present

    def forward(self, batch: TextBatch) -> Tensor:
        """Return logits (b, K)."""
        return self._compute_logits(batch, self._draw_dropout_factors(batch))

    def compute_logits_and_bounds(
        self, batch: TextBatch, sets: Substitutions, scale: float = 1.0
    ) -> tuple[Tensor, Tensor]:
        """See `TextNetwork.compute_logits_and_bounds`; the same projections and the same dropout serve both."""
        distinct_words, dropout_factors = (
            find_distinct_words(batch.words, batch.present),
            self._draw_dropout_factors(batch),
        )
        own, box = self.projection.project_boxes(distinct_words.word_ids, sets, scale)
        word_features = self.features(append_zero_row(own), distinct_words, batch, dropout_factors)
        box_features = self.features(apply_monotone(box, append_zero_row), distinct_words, batch, dropout_factors)
        logits: Tensor = self.output(word_features)
        return logits, bound_margins(box_features, self.output.weight, self.output.bias, batch.labels)

    def make_scorer(self, documents: Documents) -> Scorer:
        """See `TextNetwork.make_scorer`; versions of like length are scored side by side."""
        dropout_factors = [torch.ones((), device=self.output.weight.device)] * len(self._dropout_sizes)
        zero = np.zeros(1, dtype=np.int64)

        @torch.no_grad()
        def score(versions: IndexedTexts, rows: RowIndices) -> npt.NDArray[np.float32]:
            logits = np.empty((len(versions), self.output.out_features), dtype=np.float32)
            sizes = versions.lengths + (0 if documents.premises is None else documents.premises.lengths[rows])
            order = np.argsort(sizes, kind="stable")
            # A text starts a new batch where the words before it, padded to its own length, fill another one.
            cuts = np.flatnonzero(np.diff(np.cumsum(sizes[order]) // _WORDS_PER_BATCH, prepend=zero))
            for batch_rows in np.split(order, cuts):
                batch_documents = documents.take(rows[batch_rows])
                batch = make_text_batch(
                    Documents(
                        versions.take(batch_rows),
                        batch_documents.labels,
                        batch_documents.classes,
                        batch_documents.premises,
                    ),
                    dropout_factors[0].device,
                )
                logits[batch_rows] = self._compute_logits(batch, dropout_factors).cpu().numpy()
            return logits

        return score

    def _compute_logits(self, batch: TextBatch, dropout_factors: Sequence[Tensor]) -> Tensor:
        distinct_words = find_distinct_words(batch.words, batch.present)
        words = append_zero_row(self.projection(distinct_words.word_ids))
        logits: Tensor = self.output(self.features(words, distinct_words, batch, dropout_factors))
        return logits

    def _draw_dropout_factors(self, batch: TextBatch) -> list[Tensor]:
        """Return factors (b, n) for each size: 0 with the probability of dropout in training, and 1 on average."""
        shapes = [(len(batch.words), size) for size in self._dropout_sizes]
        if not self.training or self.rng is None:
            return [self.output.weight.new_ones(shape) for shape in shapes]
        keep_rate = 1 - self._dropout_rate
        keep_rates = [self.output.weight.new_full(shape, keep_rate) for shape in shapes]
        return [
            torch.bernoulli(keep_rates_of_size, generator=self.rng) / keep_rate for keep_rates_of_size in keep_rates
        ]
