"""The nearest point of each of many vectors: float32 products propose points, float64 distances decide between them.

With x a vector and y a point, both around the mean of the points, the nearest point has the largest score, one product
of m + 1 terms::

    s(y) = x.y - |y|^2 / 2 = <[x, 1], [y, -|y|^2 / 2]>

With float32 terms, u = 2^-24 and R the largest |y|, it errs by at most (Higham 2002, Section 3.1)::

    e = t / (1 - t) (|x| R + R^2),    t = (m + 8) u

in whatever order a processor adds: each term is rounded three times and added m times; the rest of t covers float64 and
underflow. Every point whose score is within 2 e of the largest is a candidate: mostly one.
"""

import math

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray
from deniable.core.parallel import parallel_map
from deniable.space.vector_distances import multiply_rows

BATCH_VECTORS = 128
"""Vectors that are multiplied with all points at once."""
_BATCHES_PER_TASK = 8


class NearestPointSearch:
    """Finds the nearest of two or more points (n, m) in the Euclidean metric."""

    def __init__(self, points: FloatArray) -> None:
        self._points, self._mean = points, points.mean(axis=0)
        centred = points - self._mean
        self._unit = 2.0 ** math.ceil(math.log2(np.abs(centred).max()))
        centred /= self._unit
        squares = np.einsum("nd,nd->n", centred, centred)
        self._radius = math.sqrt(squares.max())
        self._table = np.vstack([centred.T, -squares / 2]).astype(np.float32)

    def find_nearest(self, vectors: FloatArray, workers: int | None = None) -> npt.NDArray[np.int32]:
        """Return the number (k,) of the point nearest to each vector (k, m), the first of equally near ones."""
        step = BATCH_VECTORS * _BATCHES_PER_TASK
        starts = range(0, len(vectors), step)
        parts = parallel_map(lambda start: self._search(vectors[start : start + step]), starts, workers)
        return np.concatenate([np.empty(0, np.int32), *parts])

    def _search(self, vectors: FloatArray) -> npt.NDArray[np.int32]:
        winners = np.empty(len(vectors), dtype=np.int32)
        room = np.empty((min(BATCH_VECTORS, len(vectors)), len(self._points)), dtype=np.float32)
        with np.errstate(over="ignore", invalid="ignore"):  # squares of the longest vectors: all points are candidates
            for start in range(0, len(vectors), BATCH_VECTORS):
                batch = vectors[start : start + BATCH_VECTORS]
                scores, limits = self._score(batch, room[: len(batch)])
                for row, limit in enumerate(limits):
                    candidates = np.flatnonzero(~(scores[row] < limit))
                    winners[start + row] = self._find_nearest_of(candidates, batch[row])
        return winners

    def _score(self, vectors: FloatArray, out: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.float32], ...]:
        """Return scores (k, n), those of a long vector divided by its length, and the least (k,) of a candidate."""
        centred = (vectors - self._mean) / self._unit
        lengths = np.sqrt(np.einsum("kd,kd->k", centred, centred))[:, None]
        scales = np.maximum(lengths, 1.0)
        np.matmul((np.hstack([centred, np.ones_like(scales)]) / scales).astype(np.float32), self._table, out=out)
        share = (vectors.shape[1] + 8) * 2.0**-24
        errors = share / (1 - share) * (lengths * self._radius + self._radius**2) / scales
        limits = (out.max(axis=1) - 2 * errors[:, 0]).astype(np.float32)
        return out, np.nextafter(limits, np.float32(-np.inf))

    def _find_nearest_of(self, candidates: npt.NDArray[np.intp], vector: FloatArray) -> int:
        """Return the candidate nearest to a vector, the same on every processor."""
        if len(candidates) == 1:
            return int(candidates[0])
        offsets = self._points[candidates] - vector
        return int(candidates[np.argmin(multiply_rows(offsets, offsets))])
