"""Algorithm 2 of the truncated Gumbel mechanism, simulated in floating point."""

import functools
import threading

import numpy as np
import numpy.typing as npt
from randomgen import AESCounter

from deniable.core.arrays import FloatArray
from deniable.core.parallel import compile_loop
from deniable.core.randomness import Streams
from deniable.space.space import PointNumbers, Space
from deniable.words.laws import Simulation

_MAX_NEIGHBOURS = 64
"""Neighbours kept per word. K is Poisson(ln n), so that more are almost never asked for."""
_LISTING_LOCK = threading.Lock()
"""Held where neighbours are listed on all cores: threads that need them at once share what one lists."""


class GumbelSimulation(Simulation):
    """Algorithm 2, with the nearest points of each input listed once.

    Args:
        space: a Euclidean space.
        scale: b of the noise.
        poisson_masses: P(Y = 0), P(Y = 1), ... of Y ~ Poisson(ln n); what is missing is negligible.
        fingerprint: of the mechanism's law; None where it has no name.
    """

    def __init__(self, space: Space, scale: float, poisson_masses: FloatArray, fingerprint: str | None) -> None:
        self.space, self._scale, self._masses = space, scale, poisson_masses
        self.fingerprint = fingerprint

    @functools.cached_property
    def _neighbour_lists(self) -> tuple[npt.NDArray[np.bool_], PointNumbers, FloatArray]:
        """Which points have their neighbours listed; (n, width) neighbours; (n, width) distances."""
        count = self.space.point_count
        shape = (count, min(count, _MAX_NEIGHBOURS))
        return np.zeros(count, dtype=bool), np.empty(shape, dtype=np.int32), np.empty(shape)

    def draw(self, points: PointNumbers, streams: Streams, workers: int | None = None) -> PointNumbers:
        """One output point for each input point (N,); their nearest points are listed first, each once."""

        def visit(first: int, rows: FloatArray) -> None:
            for point, row in zip(missing[first : first + len(rows)], rows, strict=True):
                _find_nearest(row, point, neighbours[point], distances[point])

        # What another thread has listed may be read by it already: it is not written again.
        with _LISTING_LOCK:
            listed, neighbours, distances = self._neighbour_lists
            missing = np.unique(points[~listed[points]])
            self.space.map_row_blocks(visit, missing, workers)
            listed[missing] = True
        return super().draw(points, streams, workers)

    def draw_chunk(self, points: PointNumbers, generator: AESCounter) -> PointNumbers:
        """Algorithm 2 for consecutive tokens of one record."""
        count = self.space.point_count
        _, neighbours, distances = self._neighbour_lists
        neighbour_counts = np.searchsorted(np.cumsum(self._masses), _draw_uniform(generator, len(points)), side="right")
        neighbour_counts[(neighbour_counts == 0) | (neighbour_counts >= len(self._masses))] = (
            count  # what lies beyond the listed masses is n or more
        )
        ends = np.cumsum(neighbour_counts)
        uniforms = _draw_uniform(generator, int(ends[-1]))
        out = _choose_noisy_nearest(points, neighbours, distances, ends, uniforms, self._scale, self.space.diameter)
        for token in np.flatnonzero(neighbour_counts > neighbours.shape[1]):
            row = self.space.distances(points[[token]])[0]
            order = np.arange(count)
            if neighbour_counts[token] < count:
                order = np.argsort(row, kind="stable")[: neighbour_counts[token]]
            u = uniforms[ends[token] - neighbour_counts[token] : ends[token]]
            noise = invert_truncated_gumbel(u, self._scale, self.space.diameter)
            out[token] = order[np.argmin(row[order] + noise)]
        return out


def invert_truncated_gumbel(uniform: FloatArray, scale: float, limit: float) -> FloatArray:
    """Return Gumbel(0, scale) conditioned on [-limit, limit], by inversion of its distribution."""
    low, high = np.exp(-np.exp(limit / scale)), np.exp(-np.exp(-limit / scale))
    noise: FloatArray = -scale * np.log(-np.log(low + uniform * (high - low)))
    return noise


def _draw_uniform(generator: AESCounter, count: int) -> FloatArray:
    """Return (count,) uniform draws from (0, 1), never an end point."""
    uniform: FloatArray = ((generator.random_raw(count) >> np.uint64(12)) + 0.5) * 2.0**-52
    return uniform


@compile_loop
def _find_nearest(
    row: FloatArray, point: int, neighbours: PointNumbers, distances: FloatArray
) -> None:  # pragma: no cover - compiled
    """Write the nearest points in order of (distance, number), ``point`` itself first."""
    width = neighbours.size
    neighbours[0], distances[0] = point, 0.0
    count = 1
    for y in range(row.size):
        d = row[y]
        if y == point or (count == width and d >= distances[width - 1]):
            continue
        at = min(count, width - 1)
        while at > 1 and distances[at - 1] > d:
            neighbours[at], distances[at] = neighbours[at - 1], distances[at - 1]
            at -= 1
        neighbours[at], distances[at] = y, d
        count = min(count + 1, width)


@compile_loop
def _choose_noisy_nearest(  # pragma: no cover - compiled
    points: PointNumbers,
    neighbours: PointNumbers,
    distances: FloatArray,
    ends: npt.NDArray[np.int64],
    uniforms: FloatArray,
    scale: float,
    limit: float,
) -> PointNumbers:
    """Lines 5 to 7 of Algorithm 2 for every token whose k is at most the width of ``neighbours``."""
    low, high = np.exp(-np.exp(limit / scale)), np.exp(-np.exp(-limit / scale))
    out = np.zeros(points.size, dtype=np.int32)
    start = 0
    for token in range(points.size):
        end = ends[token]
        if end - start <= neighbours.shape[1]:
            best = np.inf
            for j in range(end - start):
                u = uniforms[start + j]
                noisy = distances[points[token], j] - scale * np.log(-np.log(low + u * (high - low)))
                if noisy < best:
                    best = noisy
                    out[token] = neighbours[points[token], j]
        start = end
    return out
