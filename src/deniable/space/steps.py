"""Distance in steps: the number of edges on the shortest path of a graph in which all points have as many neighbours.

With c neighbours for each of the m points of single words, and C points of hidden classes::

    d(x, y) = min(edges of the shortest path, reach)   between two words,   d(x, y) = A = 8   at a class

It is a metric of whole numbers: cut off at a constant a metric stays one, and 2 A >= reach. Nothing rounds.
"""

import dataclasses
import functools
import hashlib

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray, IntArray
from deniable.core.cache import load_or_compute_array
from deniable.core.classes import WriteOnce
from deniable.core.errors import check_count, make_parameter_error
from deniable.core.parallel import compile_loop, parallel_map
from deniable.space.near_lists import NEAR_COUNT, select_points
from deniable.space.regular_graph import Neighbours, WordLists, build_regular_graph

CLASS_STEPS = 8
"""A: steps from a hidden class to any other point, so that a name comes out as a name."""
_NEARNESS = ("lists", "cosine", "euclidean")
_POINTS_PER_TASK = 512
PointArray = npt.NDArray[np.uint16] | npt.NDArray[np.int32]
"""Numbers of points of words: of 16 bits where these suffice."""


@dataclasses.dataclass(frozen=True)
class StepOptions:
    """How steps are counted: nothing is proved of other ways.

    Attributes:
        neighbours: c: even, 2 to 64.
        reach: steps beyond which no two words are, 2 to 8.
        by: what near words are near by: ``cosine`` or ``euclidean`` distance of vectors; ``lists`` for lists that are
            given.

    Raises:
        InputError: a number out of range, or another name.
    """

    neighbours: int = 12
    reach: int = 5
    by: str = "lists"

    def __post_init__(self) -> None:
        """Check the numbers."""
        counts = {"neighbours": (2, NEAR_COUNT), "reach": (2, CLASS_STEPS)}
        for name, limits in counts.items():
            object.__setattr__(self, name, check_count("Metric.steps", name, getattr(self, name), *limits))
        if self.neighbours % 2:
            raise make_parameter_error("Metric.steps", "neighbours", "an even number", self.neighbours)
        if self.by not in _NEARNESS:
            raise make_parameter_error("Metric.steps", "by", f"one of {', '.join(_NEARNESS)}", self.by)

    @property
    def name(self) -> str:
        """Name of the metric, with the options that are not the defaults."""
        fields = dataclasses.fields(self)
        chosen = [f"{f.name}={value}" for f in fields if (value := getattr(self, f.name)) != f.default]
        return f"steps({', '.join(chosen)})" if chosen else "steps"


class StepGraph(WriteOnce):
    """The graph, and the distances on it.

    Points 0 to m - 1 are those of single words, the C after them those of hidden classes.

    Args:
        near: lists (number of words, K) of near words.
        point_by_word: (number of words,).
        class_count: C.
        options: c and reach.

    Attributes:
        steps: (reach + 2,) of each ring about a point: of each number from 0 to reach, and of the classes.
    """

    def __init__(
        self, near: WordLists, point_by_word: npt.NDArray[np.int32], class_count: int, options: StepOptions
    ) -> None:
        self._near, self._point_by_word, self._degree = near, point_by_word, options.neighbours
        self.class_count, self.reach = class_count, options.reach
        self.count = int(point_by_word.max()) + 1
        self.word_count = self.count - class_count
        self.steps: IntArray = np.array([*range(self.reach + 1), CLASS_STEPS])
        self.steps.setflags(write=False)

    @functools.cached_property
    def neighbours(self) -> Neighbours:
        """The neighbours (m, c) of each word's point, in increasing order; built once, and kept in the cache."""
        shape = self.word_count, min(self._degree, max(self.word_count - 1, 0))
        state = hashlib.blake2b(repr((self._near.shape, shape)).encode(), digest_size=16)
        state.update(self._near.astype("<i4").tobytes())
        state.update(self._point_by_word.astype("<i4").tobytes())

        def compute() -> FloatArray:
            lists = select_points(self._near, self._point_by_word, self.word_count)
            return build_regular_graph(lists, self._degree).astype(np.float64)

        table = load_or_compute_array(f"graph-{state.hexdigest()}", shape, compute)
        neighbours = np.ascontiguousarray(table, dtype=np.int32)
        neighbours.setflags(write=False)
        return neighbours

    @functools.cached_property
    def searched(self) -> PointArray:
        """The neighbours as searches read them: short numbers, of which a processor keeps twice as many at hand."""
        return self.neighbours.astype(np.uint16) if self.word_count <= 1 << 16 else self.neighbours

    @functools.cached_property
    def identity(self) -> bytes:
        """BLAKE2b of the neighbours, the number of classes and the reach."""
        state = hashlib.blake2b(repr((self.neighbours.shape, self.class_count, self.reach)).encode(), digest_size=16)
        state.update(self.neighbours.astype("<i4").tobytes())
        return state.digest()

    @functools.cached_property
    def counts(self) -> IntArray:
        """N_k(x), the number of points (n, reach + 2) in each ring about each point; see `steps`."""
        name, shape = f"rings-{self.identity.hex()}", (self.count, self.reach + 2)
        table = load_or_compute_array(name, shape, lambda: self._count_rings().astype(np.float64))
        counts = table.astype(np.int64)
        counts.setflags(write=False)
        return counts

    def _count_rings(self) -> IntArray:
        counts = np.zeros((self.count, self.reach + 2), dtype=np.int64)

        def visit(first: int) -> None:
            stop = min(first + _POINTS_PER_TASK, self.word_count)
            count_levels(self.searched, first, counts[first:stop, : self.reach])

        parallel_map(visit, range(0, self.word_count, _POINTS_PER_TASK))
        words = counts[: self.word_count]
        words[:, self.reach] = self.word_count - words.sum(axis=1)
        words[:, -1] = self.class_count
        counts[self.word_count :, 0] = 1
        counts[self.word_count :, -1] = self.count - 1
        return counts

    def measure_extent(self) -> dict[str, float]:
        """Return the largest and the smallest distance between two points."""
        present = self.steps[self.counts.sum(axis=0) > 0]
        return {"diameter": float(present.max()), "separation": float(present[1])}

    def find_levels(self, points: IntArray) -> npt.NDArray[np.uint8]:
        """Return the ring (k, n) in which each point lies about each of k points: a place in `steps`."""
        levels = np.full((len(points), self.count), self.reach + 1, dtype=np.uint8)
        # Not by `expand_point`: to load compiled code takes longer than the few searches of a command do here.
        for row, point in zip(levels, np.asarray(points).tolist(), strict=True):
            if point < self.word_count:
                row[: self.word_count] = self.reach
                ring = np.array([point])
                for step in range(1, self.reach):
                    around = self.neighbours[ring].ravel()
                    row[around[row[around] == self.reach]] = step
                    ring = np.flatnonzero(row == step)
            row[point] = 0
        return levels

    def fill_rows(self, points: IntArray, out: FloatArray) -> None:
        """Write the distances of k points to all points into ``out`` (k, n)."""
        np.take(self.steps.astype(np.float64), self.find_levels(points), out=out, mode="clip")


@compile_loop
def expand_point(
    neighbours: PointArray, point: int, is_new: npt.NDArray[np.uint8], queue: PointArray, found: int
) -> int:  # pragma: no cover - compiled
    """Add the new neighbours of a point to a breadth-first search, and return how many points it has found.

    Args:
        neighbours: (m, c).
        point: one that was found.
        is_new: (m,) 0 where a point was found, else 1; written.
        queue: (m + 1,) the points found, in their order; written.
        found: how many these are.
    """
    end = np.uint32(found)  # unsigned, so that numba looks for no negative indices: a third of the time
    for k in range(neighbours.shape[1]):
        # No branch, which a processor would guess wrong half of the time: what is not new is overwritten.
        neighbour = np.uint32(neighbours[np.uint32(point), k])
        queue[end] = neighbour
        end += np.uint32(is_new[neighbour])
        is_new[neighbour] = 0
    return int(end)


@compile_loop
def count_levels(neighbours: PointArray, first: int, counts: IntArray) -> None:  # pragma: no cover - compiled
    """Write how many points (k, L) are at 0 to L - 1 steps from each of k points."""
    is_new, queue = np.empty(len(neighbours), dtype=np.uint8), np.empty(len(neighbours) + 1, dtype=neighbours.dtype)
    for i in range(len(counts)):
        is_new[:] = 1
        is_new[first + i] = 0
        queue[0], head, found = first + i, 0, 1
        counts[i, 0] = 1
        for level in range(1, counts.shape[1]):
            end = found
            while head < end:
                found = expand_point(neighbours, queue[head], is_new, queue, found)
                head += 1
            counts[i, level] = found - end
