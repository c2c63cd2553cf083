"""The mean of a text's frozen word vectors, and one linear layer: so few weights that DP-SGD can train them."""

import numpy as np
import torch
from torch import Tensor, nn

from deniable.core.arrays import FloatArray
from deniable.models.text.networks.fasttext import EmbeddingMean

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
        _freeze_embeddings(self.net.embeddings)

    @torch.no_grad()
    def average_vectors(self, words: Tensor, offsets: Tensor) -> Tensor:
        """Return the means (n, d) of the vectors of the words of n texts.

        Args:
            words: int64 (N,), all texts in turn.
            offsets: int64 (n,), position at which each text begins.
        """
        means: Tensor = self.net.embeddings(words, offsets)
        return means


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


def _freeze_embeddings(embeddings: nn.EmbeddingBag) -> None:
    """Turn the weight into a buffer: no optimizer finds it, and no file holds it."""
    weight = embeddings.weight.detach()
    del embeddings.weight
    embeddings.register_buffer("weight", weight, persistent=False)
