"""Networks on the mean of a text's word vectors: FastText (Joulin et al. 2017), and frozen vectors for DP-SGD."""

import math

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from deniable.core.arrays import FloatArray
from deniable.measure.fasttext import FastTextNetwork
from deniable.models.interval_bounds import INTERVAL_SLACK
from deniable.models.text.documents import Documents, IndexedTexts, RowIndices
from deniable.models.text.networks.base import (
    Scorer,
    TextBatch,
    TextNetwork,
    append_zero_row,
    find_distinct_words,
    process_in_slices,
    sum_rows_at,
)
from deniable.models.text.substitutions import Substitutions

FASTTEXT_DIMENSIONS = 16


class EmbeddingMean(TextNetwork):
    """One linear layer on the mean of the embeddings of a text's words.

    It is linear, so a text's logits are the means of its words' scores, and its margin bounds are exact but for the
    slack for rounding: a text's margin is least where every word is the worst of its choices.

    Args:
        embeddings: float32 (V, h), the first ones.
        classes: K.
    """

    max_words = 20_000
    takes_pairs = False

    def __init__(self, embeddings: Tensor, classes: int) -> None:
        super().__init__()
        self.net = FastTextNetwork(embeddings, classes)

    def forward(self, batch: TextBatch) -> Tensor:
        """Return logits (b, K)."""
        starts = batch.present.sum(dim=1).cumsum(dim=0).roll(1)
        starts[:1] = 0
        logits: Tensor = self.net(batch.words[batch.present], starts)
        return logits

    def compute_logits_and_bounds(
        self, batch: TextBatch, sets: Substitutions, scale: float = 1.0
    ) -> tuple[Tensor, Tensor]:
        """See `TextNetwork.compute_logits_and_bounds`; a bound is the mean over words of their least z_y - z_k."""
        distinct_words = find_distinct_words(batch.words, batch.present)
        choices = torch.from_numpy(sets.choices)[distinct_words.word_ids.cpu()].to(distinct_words.word_ids)  # (D, k)
        candidates, rows = torch.unique(choices, return_inverse=True)
        scores = self.net.output(self.net.embeddings.weight[candidates])  # (C, K)
        classes = scores.shape[1]
        differences = (scores.unsqueeze(2) - scores.unsqueeze(1)).view(
            -1, classes**2
        )  # (C, K K): z_y - z_k, of y before k
        differences = differences - INTERVAL_SLACK * differences.abs()
        own_differences = differences[rows[:, 0]]
        least_differences = torch.lerp(own_differences, differences[rows].amin(dim=1), scale)  # (D, K K)
        lengths = batch.present.sum(dim=1, keepdim=True)
        means = (sum_rows_at(append_zero_row(least_differences), distinct_words.places) / lengths).view(
            -1, classes, classes
        )  # (b, K, K)
        bounds = means[torch.arange(len(means), device=means.device), batch.labels]
        logits = sum_rows_at(append_zero_row(scores[rows[:, 0]]), distinct_words.places) / lengths
        return logits, bounds

    @torch.no_grad()
    def make_scorer(self, documents: Documents) -> Scorer:  # noqa: ARG002 - a text has no premise
        """See `TextNetwork.make_scorer`; a text is the mean of the scores of its words."""
        table = self.net.output(self.net.embeddings.weight).cpu()  # (V, K)

        def score(versions: IndexedTexts, rows: RowIndices) -> npt.NDArray[np.float32]:  # noqa: ARG001 - as above
            logits = np.empty((len(versions), table.shape[1]), dtype=np.float32)

            def score_slice(part: slice) -> None:
                offsets = versions.offsets[part.start : part.stop + 1]
                words = torch.from_numpy(versions.words[offsets[0] : offsets[-1]])  # int32, as their starts then are
                starts = torch.from_numpy((offsets[:-1] - offsets[0]).astype(np.int32))
                logits[part] = nn.functional.embedding_bag(words, table, starts, mode="mean").numpy()

            process_in_slices(score_slice, versions)
            return logits

        return score


class FastText(EmbeddingMean):
    """The network of `deniable.measure.fasttext.FastTextClassifier` over the words of a space, not their vectors."""

    def __init__(self, vectors: Tensor, classes: int) -> None:
        # Initial weights of a linear layer are uniform in +-1 / sqrt(inputs).
        weights = nn.Linear(FASTTEXT_DIMENSIONS, len(vectors), bias=False).weight.detach()
        super().__init__(weights / math.sqrt(FASTTEXT_DIMENSIONS), classes)


_RIDGE = 1e-3
"""Share of the largest variance that is added to all, so that no direction is blown up."""
_ROUNDING = 1e-12
"""Share of the largest coordinate below which a difference from the mean is none."""
_USUAL_NORM, _USUAL_WORDS = 3.0, 200
"""The vectors are scaled so that the mean of so many independent words has this norm."""


class FrozenMean(EmbeddingMean):
    """One linear layer on the mean of standardised word vectors, which are never trained.

    Only the linear layer is learned and saved; what it stands on follows from the space alone.
    """

    def __init__(self, vectors: Tensor, classes: int) -> None:
        standardised = standardise_vectors(vectors.numpy().astype(np.float64))
        super().__init__(torch.from_numpy(standardised).float(), classes)
        # A buffer, not a weight: no optimizer finds it, and no file holds it.
        weight = self.net.embeddings.weight.detach()
        del self.net.embeddings.weight
        self.net.embeddings.register_buffer("weight", weight, persistent=False)


def standardise_vectors(vectors: FloatArray) -> FloatArray:
    """Return word vectors (V, d) of mean 0 and about equal variance in all directions, by numbers of the space alone.

    Words count by Zipf's law, as frequencies of a language: the r-th has weight 1 / (r + 1). The symmetric square root
    is the one whitening that does not depend on the signs of eigenvectors, which differ between machines.
    """
    frequencies = 1 / np.arange(2, len(vectors) + 2)
    frequencies /= frequencies.sum()
    centred = vectors - frequencies @ vectors
    centred[np.abs(centred) <= _ROUNDING * np.abs(vectors).max()] = 0.0  # the mean of equal numbers is rounded
    variances, directions = np.linalg.eigh((centred.T * frequencies) @ centred)
    scales = 1 / np.sqrt(np.maximum(variances + _RIDGE * variances.max(), np.finfo(np.float64).tiny))
    whitened = centred @ (directions * scales) @ directions.T
    mean_square = float(frequencies @ np.square(whitened).sum(axis=1))
    standardised: FloatArray = whitened * (_USUAL_NORM * np.sqrt(_USUAL_WORDS / max(mean_square, 1e-300)))
    return standardised
