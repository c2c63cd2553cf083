"""From lists of near words to a graph in which every word has equally many neighbours, by whole numbers alone.

With rank(u, v) the place of v in u's list, 2 K where it is not among the K there:

1. *Pairs* of the lists become edges in the order of rank(u, v) rank(v, u), ties by their numbers, as long as both ends
   have fewer than c edges.
2. *A word that lacks two or more* takes an edge (a, b), a of its list, neither of them its neighbour, removes it and is
   joined to both: the edge of the least rank(u, a) + rank(u, b).
3. *Words that lack one* do so in pairs u, v: of an edge (a, b) u takes a and v takes b, by rank(u, a) + rank(v, b).

Where a word's list offers no such edge, the next in order of numbers does, from the word on. Where none does, which
happens among few words alone, each word is joined to the c / 2 before it and the c / 2 after it in a circle. Up to
c + 1 words are all neighbours of each other.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import IntArray
from deniable.core.parallel import compile_loop

WordLists = npt.NDArray[np.int32]
"""Near words (m, K) of each of m, nearest first; -1 after the last."""
Neighbours = npt.NDArray[np.int32]
"""The neighbours (m, c) of each of m nodes, in increasing order."""
_NONE = -1
_FAR = 2**30
"""More than any sum of two ranks."""


def build_regular_graph(near: WordLists, degree: int) -> Neighbours:
    """Return the neighbours (m, c) of each of m words, c = ``degree``; c = m - 1 where there are too few words.

    Args:
        near: lists (m, K) of near words: without repetition, and without the word itself.
        degree: even, so that there is such a graph for every number of words.
    """
    count, places = near.shape
    if count <= degree + 1:
        return _join_in_circle(count, range(1, count))
    keys = _rank_pairs(near)
    neighbours = np.full((count, degree), _NONE, dtype=np.int32)
    sizes = np.zeros(count, dtype=np.int32)
    _take_pairs(keys % count**2, neighbours, sizes)
    order = np.argsort(sizes, kind="stable")
    if not _fill(near, order, neighbours, sizes, np.full(count, 2 * places, dtype=np.int32)):
        return _join_in_circle(count, [*range(-degree // 2, 0), *range(1, degree // 2 + 1)])
    return np.sort(neighbours, axis=1)


def _join_in_circle(count: int, offsets: Sequence[int]) -> Neighbours:
    circle = (np.arange(count)[:, None] + np.array(offsets, dtype=np.int64)) % count
    return np.sort(circle, axis=1).astype(np.int32)


def _rank_pairs(near: WordLists) -> IntArray:
    """Return each pair of the lists once, as rank(u, v) rank(v, u) m^2 + u m + v, u < v, in increasing order."""
    count, places = near.shape
    u, place = np.nonzero(near >= 0)
    v = near[u, place].astype(np.int64)
    pairs = np.minimum(u, v) * count + np.maximum(u, v)
    order = np.argsort(pairs)
    pairs, ranks = pairs[order], place[order] + 1
    is_mutual = np.diff(pairs, append=-1) == 0  # the pair is in both lists, and follows once more
    products = ranks * np.where(is_mutual, np.roll(ranks, -1), 2 * places)
    return np.sort((products * count**2 + pairs)[~np.roll(is_mutual, 1)])


@compile_loop
def _take_pairs(pairs: IntArray, neighbours: Neighbours, sizes: npt.NDArray[np.int32]) -> None:  # pragma: no cover
    """Join the pairs u m + v, in order, whose ends have fewer than c neighbours (m, c); ``sizes`` counts them (m,)."""
    count, degree = neighbours.shape
    for pair in pairs:
        u, v = pair // count, pair % count
        if sizes[u] < degree and sizes[v] < degree:
            neighbours[u, sizes[u]] = v
            neighbours[v, sizes[v]] = u
            sizes[u] += 1
            sizes[v] += 1


@compile_loop
def _is_joined(neighbours: Neighbours, sizes: npt.NDArray[np.int32], u: int, v: int) -> bool:  # pragma: no cover
    for k in range(sizes[u]):  # noqa: SIM110 - numba has no any
        if neighbours[u, k] == v:
            return True
    return False


@compile_loop
def _find_edge(  # pragma: no cover - compiled
    near: WordLists, neighbours: Neighbours, sizes: npt.NDArray[np.int32], ranks: npt.NDArray[np.int32], u: int, v: int
) -> tuple[int, int]:
    """Return the edge (a, b) of the least rank(u, a) + rank(v, b) that u and v can take apart; (-1, -1) for none.

    With v = u both of its ends become neighbours of u. ``ranks`` (m,) are those in v's list.
    """
    places, count = near.shape[1], near.shape[0]
    best, best_a, best_b = _FAR, np.int64(-1), np.int64(-1)
    # The words of u's list, and then all of them, as long as none has served.
    for place in range(places + count):
        if place >= places and best_a >= 0:
            break
        a = np.int64(near[u, place] if place < places else (u + place - places) % count)
        if a < 0 or a in (u, v) or _is_joined(neighbours, sizes, u, a):
            continue
        for k in range(sizes[a]):
            b = np.int64(neighbours[a, k])
            if b in (u, v) or place + 1 + ranks[b] >= best or _is_joined(neighbours, sizes, v, b):
                continue
            best, best_a, best_b = place + 1 + ranks[b], a, b
    return int(best_a), int(best_b)


@compile_loop
def _replace(neighbours: Neighbours, point: int, old: int, new: int) -> None:  # pragma: no cover - compiled
    for k in range(neighbours.shape[1]):
        if neighbours[point, k] == old:
            neighbours[point, k] = new
            break


@compile_loop
def _fill(  # pragma: no cover - compiled
    near: WordLists,
    order: IntArray,
    neighbours: Neighbours,
    sizes: npt.NDArray[np.int32],
    ranks: npt.NDArray[np.int32],
) -> bool:
    """Give every word its c neighbours by taking edges apart; say whether there were enough of them.

    Args:
        near: the lists (m, K).
        order: of the words (m,) that take.
        neighbours: (m, c).
        sizes: how many of them (m,) are known; written.
        ranks: 2 K for each word (m,).
    """
    degree, unlisted, waiting = neighbours.shape[1], ranks[0], -1
    for u in order:
        while sizes[u] < degree:
            is_last = sizes[u] == degree - 1
            if is_last and waiting < 0:
                waiting = u
                break
            v = waiting if is_last else u
            for place in range(near.shape[1]):
                if near[v, place] >= 0:
                    ranks[near[v, place]] = place + 1
            a, b = _find_edge(near, neighbours, sizes, ranks, u, v)
            for place in range(near.shape[1]):
                if near[v, place] >= 0:
                    ranks[near[v, place]] = unlisted
            if a < 0:
                return False
            _replace(neighbours, a, b, u)
            _replace(neighbours, b, a, v)
            neighbours[u, sizes[u]] = a
            sizes[u] += 1
            neighbours[v, sizes[v]] = b
            sizes[v] += 1
            waiting = -1 if is_last else waiting
    return True
