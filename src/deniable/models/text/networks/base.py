"""What the networks of text classifiers share: batches, logits, certified bounds, fast scores, and projected words."""

import abc
import dataclasses
from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from deniable.core.parallel import count_cores, hide_progress, parallel_map
from deniable.models.interval_bounds import TensorBox, TensorOrBox, apply_monotone, bound_margins
from deniable.models.text.documents import Documents, IndexedTexts, RowIndices
from deniable.models.text.substitutions import Substitutions

Scorer = Callable[[IndexedTexts, RowIndices], npt.NDArray[np.float32]]
"""From R texts, and the document (R,) that each is a version of, to logits (R, K), without gradients."""


@dataclasses.dataclass(frozen=True, eq=False)
class TextBatch:
    """A batch of documents, padded to one length.

    Attributes:
        words: int64 (b, L) word ids, 0 behind the end of a text.
        present: bool (b, L), whether there is a word.
        labels: int64 (b,).
        premise: int64 (b, P), as ``words``; None where a document is one text.
        premise_present: bool (b, P).
    """

    words: Tensor
    present: Tensor
    labels: Tensor
    premise: Tensor | None = None
    premise_present: Tensor | None = None


def make_text_batch(documents: Documents, device: torch.device | None = None) -> TextBatch:
    """Return all documents side by side."""
    words, present = pad_texts(documents.texts, device)
    premise = (None, None) if documents.premises is None else pad_texts(documents.premises, device)
    return TextBatch(words, present, torch.from_numpy(documents.labels).to(device), *premise)


def pad_texts(texts: IndexedTexts, device: torch.device | None = None) -> tuple[Tensor, Tensor]:
    """Return the words (b, L) of texts and whether there is one (b, L)."""
    lengths = texts.lengths
    present = np.arange(max(lengths, default=0)) < lengths[:, None]  # (b, L)
    words = np.zeros(present.shape, dtype=np.int64)
    words[present] = texts.words
    return torch.from_numpy(words).to(device), torch.from_numpy(present).to(device)


class TextNetwork(nn.Module, abc.ABC):
    """A classifier of texts over the words of a space.

    A model is one file: a subclass with `forward`, `compute_logits_and_bounds` and `make_scorer`, and one row in
    `deniable.models.text.networks.TEXT_NETWORKS`.
    """

    max_words: ClassVar[int]
    """Maximum number of words of a text."""
    takes_pairs: ClassVar[bool]
    """Whether a document is a pair of premise and text."""
    rng: torch.Generator | None = None
    """Generator of dropout in training; None for no dropout."""

    @abc.abstractmethod
    def forward(self, batch: TextBatch) -> Tensor:
        """Return logits (b, K)."""

    @abc.abstractmethod
    def compute_logits_and_bounds(
        self, batch: TextBatch, sets: Substitutions, scale: float = 1.0
    ) -> tuple[Tensor, Tensor]:
        """Return logits, and lower bounds over all substitutions on the label's logit minus each class's, (b, K) each.

        The bounds hold for every text in which every word is one of its choices, and are 0 for the label itself. By
        interval bound propagation (Jia et al. 2019, section 3), the last linear layer folded into the difference
        (Gowal et al. 2018, section 3).

        Args:
            batch: documents with labels.
            sets: the choices of every word.
            scale: in [0, 1], by which the box of every word is shrunk around the word itself (Jia et al. 2019, section
                4.1); 1 for a certificate.
        """

    def compute_margin_bounds(self, batch: TextBatch, sets: Substitutions, scale: float = 1.0) -> Tensor:
        """Return the bounds of `compute_logits_and_bounds` alone."""
        return self.compute_logits_and_bounds(batch, sets, scale)[1]

    @abc.abstractmethod
    def make_scorer(self, documents: Documents) -> Scorer:
        """Return the scorer for attacks and smoothing: the network in evaluation mode, on versions of documents.

        Args:
            documents: whose premises go with the versions of their texts.
        """


_MIN_WORDS_FOR_THREADS = 1 << 15
"""Number of words below which threads cost more than they save."""


def process_in_slices(process_slice: Callable[[slice], None], texts: IndexedTexts) -> None:
    """Call ``process_slice`` with slices that together are all of R texts.

    Args:
        process_slice: writes the scores of some of the texts in their places; those of a text must not depend on the
            other texts.
        texts: R texts.
    """
    if len(texts.words) < _MIN_WORDS_FOR_THREADS:
        process_slice(slice(0, len(texts)))
        return
    bounds = np.linspace(0, len(texts), 8 * count_cores() + 1).astype(np.int64).tolist()
    with hide_progress():  # the caller reports its own
        parallel_map(process_slice, map(slice, bounds[:-1], bounds[1:]))


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
