"""Multivariate Laplace for large corpora: the same draws, found several times as fast. Needs torch."""

import functools

import numpy as np
import numpy.typing as npt
import torch

from deniable.core.arrays import FloatArray
from deniable.space.space import PointNumbers
from deniable.words.laws import SimulatedLaw
from deniable.words.multivariate_laplace import MultivariateLaplace, NearestNoisyPoint

_TOKENS = 1024
"""Noisy vectors in one product."""
_UNIT = 2.0**-9
"""Relative rounding of bfloat16, which has 8 significant bits."""


class QuickLaplace(MultivariateLaplace):
    """Multivariate Laplace whose nearest words are found by `QuickNearestPoint`."""

    def build_law(self) -> SimulatedLaw:
        """Return the law of `MultivariateLaplace`, drawn from faster."""
        return SimulatedLaw(self.space, QuickNearestPoint(self.space, self.epsilon))


class QuickNearestPoint(NearestNoisyPoint):
    """Finds the nearest word by a bfloat16 product that proposes, and float64 that decides.

    With x a noisy vector and y a word's, both around the mean, the nearest word has the largest x.y - |y|^2 / 2. Words
    whose rounded score comes closer to the best one than rounding can explain are compared exactly, so that the output
    is that of `MultivariateLaplace` for the same noise.
    """

    @functools.cached_property
    def _rounded(self) -> tuple[FloatArray, torch.Tensor, float, float]:
        """Mean (m,); bfloat16 (m + 2, n) of vectors and of the high and low part of |y|^2 / 2; largest |y|, half."""
        mean = self.space.points.mean(axis=0)
        around = self.space.points - mean
        halves = 0.5 * np.einsum("nd,nd->n", around, around)
        high = torch.from_numpy(halves).bfloat16()
        low = torch.from_numpy(halves - high.double().numpy()).bfloat16()
        columns = torch.cat([torch.from_numpy(around.T).bfloat16(), high[None], low[None]])
        return mean, columns.contiguous(), float(np.sqrt(2 * halves.max())), float(halves.max())

    def _find_nearest(self, noisy: FloatArray) -> PointNumbers:
        """Return (k,) the point nearest to each vector (k, m)."""
        torch.set_num_threads(1)  # batches of tokens already share the cores
        parts = [self._find_nearest_in_batch(noisy[start : start + _TOKENS]) for start in range(0, len(noisy), _TOKENS)]
        return np.concatenate(parts)

    def _find_nearest_in_batch(self, noisy: FloatArray) -> PointNumbers:
        mean, columns, reach, half = self._rounded
        x = noisy - mean
        given = torch.from_numpy(np.hstack([x, np.full((len(x), 2), -1.0)])).bfloat16()
        scores = given @ columns  # (k, n)
        best = scores.amax(dim=1).double().numpy()
        norms = np.linalg.norm(x, axis=1)
        # Both factors rounded, sums in float32, the low part of the half square, and the score itself.
        error = (2 * _UNIT + _UNIT**2 + (x.shape[1] + 2) * 2.0**-23) * (norms * reach + half * _UNIT)
        error += (half * 2.0**-22 * (x.shape[1] + 2)) + _UNIT * np.abs(best)
        rows, candidates = _find_scores_above(scores, best - 2 * 1.01 * error)
        offsets = self.space.points[candidates] - noisy[rows]
        squares = np.einsum("kd,kd->k", offsets, offsets)
        order = np.lexsort((candidates, squares, rows))
        first = np.searchsorted(rows[order], np.arange(len(x)))
        nearest: PointNumbers = candidates[order][first].astype(np.int32)
        return nearest


def _find_scores_above(scores: torch.Tensor, bounds: FloatArray) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return rows and columns of the scores (k, n) that are at least a bound (k,) for each row.

    Positive bfloat16 numbers are ordered as their 16 bits are, read as integers, and negative ones come out below
    them: comparing integers is several times as fast.
    """
    rounded = torch.from_numpy(bounds).float()
    bits = (rounded.view(torch.int32) >> 16).to(torch.int16).numpy()  # towards zero: never above the bound
    low = bounds <= 0
    chosen = scores.view(torch.int16).numpy() >= bits[:, None]
    if low.any():
        chosen[low] = (scores[torch.from_numpy(low)].double() >= torch.from_numpy(bounds[low])[:, None]).numpy()
    rows, columns = np.divmod(np.flatnonzero(chosen), scores.shape[1])
    return rows, columns
