"""The common parts of networks over frozen, projected word vectors: projection, dropout, last layer and bounds."""

import abc
import dataclasses
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from deniable.models.text.documents import Documents, IndexedTexts, RowIndices
from deniable.models.text.interval_bounds import TensorBox, TensorOrBox, apply_monotone, bound_margins
from deniable.models.text.networks.base import Scorer, TextBatch, TextNetwork, make_text_batch
from deniable.models.text.substitutions import Substitutions


@dataclasses.dataclass(frozen=True, eq=False)
class DistinctWords:
    """The distinct words of a batch, and the positions of each.

    Attributes:
        word_ids: int64 (D,) of the words.
        places: int64 (b, L), the row of ``word_ids`` that stands there; D where there is no word.
    """

    word_ids: Tensor
    places: Tensor


def find_distinct_words(words: Tensor, present: Tensor) -> DistinctWords:
    """Return the distinct words of a batch.

    Args:
        words: int64 (b, L).
        present: bool (b, L).
    """
    word_ids, rows = torch.unique(words[present], return_inverse=True)
    places = torch.full_like(words, len(word_ids))
    places[present] = rows
    return DistinctWords(word_ids, places)


def append_zero_row(rows: Tensor) -> Tensor:
    """Return rows (D, h) and a row of zeros behind them, for positions without a word."""
    return functional.pad(rows, (0, 0, 0, 1))


def sum_rows_at(rows: Tensor, places: Tensor) -> Tensor:
    """Return the sums (b, h) of the rows (D, h) at places (b, L)."""
    return functional.embedding_bag(places, rows, mode="sum")


class Projection(nn.Module):
    """Frozen word vectors and a linear layer on them.

    Args:
        vectors: float32 (V, d).
        size: h.
    """

    vectors: Tensor

    def __init__(self, vectors: Tensor, size: int) -> None:
        super().__init__()
        self.register_buffer("vectors", vectors, persistent=False)
        self.linear = nn.Linear(vectors.shape[1], size)

    def forward(self, word_ids: Tensor) -> Tensor:
        """Return the projections (D, h) of words (D,)."""
        projected: Tensor = self.linear(self.vectors.index_select(0, word_ids))
        return projected

    def project_boxes(self, word_ids: Tensor, sets: Substitutions, scale: float) -> tuple[Tensor, TensorBox]:
        """Return the projections (D, h) of words and the smallest boxes around those of their choices.

        A box around the projections is tighter than the projection of a box around the vectors (Jia et al. 2019,
        section 3.2).

        Args:
            word_ids: int64 (D,).
            sets: the choices of every word.
            scale: in [0, 1], see `deniable.models.text.networks.base.TextNetwork.compute_logits_and_bounds`.
        """
        choices = torch.from_numpy(sets.choices)[word_ids.cpu()].to(word_ids)  # (D, k)
        candidates, rows = torch.unique(choices.mT, return_inverse=True)  # (C,), (k, D)
        projected = self(candidates)  # (C, h)
        own, (low, high) = projected.index_select(0, rows[0]), _find_extremes(projected, rows)
        # Interpolation is exact at both ends, so that a full box holds every choice.
        return own, TensorBox(torch.lerp(own, low, scale), torch.lerp(own, high, scale))


def _find_extremes(projected: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    """Return the least and the greatest (D, h) in each column of some rows (k, D) of projections (C, h).

    They are looked up where they stand, so that (D, h) gradients go back and not the (k, D, h) of `Tensor.amin`.
    """
    choices = projected.detach().index_select(0, rows.flatten()).view(*rows.shape, -1)  # (k, D, h)
    slots = torch.arange(len(rows)).to(choices).view(-1, 1, 1)

    def look_up(values: Tensor, extreme: Tensor) -> Tensor:  # (k, D, h), which is written to, and (D, h) -> (D, h)
        slot = values.eq_(extreme).mul_(slots).amax(dim=0)  # of numbers, which are faster than bools here
        return projected.gather(0, rows.mT.gather(1, slot.long()))

    lowest, highest = choices.amin(dim=0), choices.amax(dim=0)
    return look_up(choices.clone(), lowest), look_up(choices, highest)


_WORDS_PER_BATCH = 1 << 15
"""Maximum number of words of texts and premises that are scored together."""


class ProjectedNetwork(TextNetwork):
    """A network whose body is one function of projected words, which are tensors or boxes.

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
        """Return the inputs (b, n) of the last layer.

        Args:
            words: projections (D + 1, h) of the batch's distinct words, the last of zeros.
            distinct_words: where they stand.
            batch: the batch.
            dropout_factors: factors of dropout, one for each size.
        """

    def project_premise(self, batch: TextBatch) -> tuple[Tensor, DistinctWords, Tensor]:
        """Return the premises' distinct words (D + 1, h), their positions, and whether there is a word (b, P)."""
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
        """See `TextNetwork.make_scorer`; versions of similar lengths are scored together."""
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
