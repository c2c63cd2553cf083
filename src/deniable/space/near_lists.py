"""Lists of near words: those that come with the package, those of a user's own vectors, and those a user gives."""

import functools
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray, IntArray
from deniable.core.cache import load_or_compute_array
from deniable.core.errors import InputError
from deniable.space.grammar import fold_word
from deniable.space.regular_graph import WordLists
from deniable.space.vector_distances import map_row_blocks, multiply_rows, prepare_euclidean

NEAR_COUNT = 64
"""K: near words in a list."""
SHIPPED_WORDS = 50_000
"""Words whose lists come with the package."""
SHIPPED_FOLDER = Path(__file__).parent / "near_words"
"""The folder of those words and lists."""


def read_shipped_lists(size: int) -> tuple[list[str], WordLists]:
    """Return the ``size`` most frequent of the words that come with the package, and their near words (size, K).

    They are words of GloVe 6B, near by its public-domain vectors and those of GloVe 840B: see the folder's README.
    """
    words = (SHIPPED_FOLDER / "words.txt").read_text(encoding="utf-8").split("\n")[:size]
    near = np.load(SHIPPED_FOLDER / "near.npy", mmap_mode="r")[:size].astype(np.int32)
    near[near >= size] = -1
    return words, near


def list_near_points(points: FloatArray, by: str) -> WordLists:
    """Return the K nearest others (m, K) of each of m distinct points (m, d), computed in float64; kept in the cache.

    Of equally near ones the first are taken. The distances are the same on every processor, and so are the lists.

    Args:
        points: (m, d).
        by: ``cosine`` distance, under which a vector of length 0 is half as far from others as an orthogonal one; or
            ``euclidean`` distance.
    """
    count = max(0, min(NEAR_COUNT, len(points) - 1))
    state = hashlib.blake2b(repr((by, points.shape, count)).encode(), digest_size=16)
    state.update(points.tobytes())
    if by == "cosine":
        lengths = np.sqrt(multiply_rows(points, points))
        points = points / np.where(lengths > 0, lengths, 1.0)[:, None]

    def compute() -> FloatArray:
        visit = functools.partial(_select_nearest, count)
        fill = prepare_euclidean(points)
        blocks = map_row_blocks(lambda rows, out: fill(points[rows], out), len(points), visit, range(len(points)))
        return np.concatenate([np.empty((0, count)), *blocks])

    near = load_or_compute_array(f"near-{state.hexdigest()}", (len(points), count), compute)
    return near.astype(np.int32)


def _select_nearest(count: int, first: int, distances: FloatArray) -> IntArray:
    """Return the numbers (k, count) of the nearest in each row of distances (k, n), but for the row's own."""
    distances[np.arange(len(distances)), first + np.arange(len(distances))] = np.inf
    limits = np.partition(distances, count - 1, axis=1)[:, count - 1]
    nearest = np.empty((len(distances), count), dtype=np.int64)
    for row, limit, out in zip(distances, limits, nearest, strict=True):
        candidates = np.flatnonzero(row <= limit)
        out[:] = candidates[np.argsort(row[candidates], kind="stable")[:count]]
    return nearest


def parse_lists(near: npt.ArrayLike, words: Sequence[str], first_rows: Mapping[str, int]) -> WordLists:
    """Return the lists (m, K) of the m words that are kept, from those (n, K) that a user gives of n words.

    Args:
        near: (n, K).
        words: n.
        first_rows: folded word -> its row.

    Raises:
        InputError: the lists do not fit the words.
    """
    try:
        lists = np.asarray(near)
    except ValueError as error:
        raise InputError(f"The lists of near words must be an array (n, K) of integers: {error}.") from None
    if lists.ndim != 2 or len(lists) != len(words) or lists.dtype.kind not in "iu" or lists.shape[1] == 0:  # noqa: PLR2004
        raise InputError(
            f"The lists of near words must be integers of shape (n, K), with n = {len(words)} words. Got "
            f"{lists.dtype} of shape {lists.shape}."
        )
    wrong = (lists < -1) | (lists >= len(words))
    if wrong.any():
        row, place = np.argwhere(wrong)[0].tolist()
        raise InputError(
            f"The lists of near words must hold numbers of words, 0 to {len(words) - 1}, or -1. Got "
            f"{lists[row, place]} in row {row}."
        )
    if len(first_rows) == len(words):
        return lists.astype(np.int32)
    kept_numbers = {word: number for number, word in enumerate(first_rows)}
    # The last is the number of none.
    numbers = np.array([*(kept_numbers.get(fold_word(word), -1) for word in words), -1], dtype=np.int32)
    renumbered: WordLists = numbers[lists[list(first_rows.values())]]
    return renumbered


def number_points(groups: npt.NDArray[np.integer[Any]], class_by_word: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Return the point (n,) of each word: those of single words in the order of their first words, then the classes.

    Args:
        groups: (n,) equal for words that are one point.
        class_by_word: (n,) number of each word's hidden class, -1 for none.
    """
    is_free = class_by_word < 0
    _, firsts, places = np.unique(groups[is_free], return_index=True, return_inverse=True)
    point_by_word = np.empty(len(groups), dtype=np.int32)
    point_by_word[is_free] = np.argsort(np.argsort(firsts))[places]
    point_by_word[~is_free] = len(firsts) + class_by_word[~is_free]
    return point_by_word


def select_points(near: WordLists, point_by_word: npt.NDArray[np.int32], word_points: int) -> WordLists:
    """Return the lists (m, K) of the points of single words, 0 to m - 1, from the lists (n, K) of all words.

    What lies elsewhere, at a hidden class, leaves the lists, and so does what repeats; a point has the list of its
    first word.
    """
    points, first_words = np.unique(point_by_word, return_index=True)
    first_words = first_words[points < word_points]
    lists = np.where(near >= 0, point_by_word[near], word_points)[first_words]
    lists[(lists > word_points) | (lists == np.arange(word_points)[:, None])] = word_points
    for place in range(1, lists.shape[1]):
        lists[(lists[:, :place] == lists[:, place, None]).any(axis=1), place] = word_points
    is_left_out = lists == word_points
    lists[is_left_out] = -1
    return np.take_along_axis(lists, np.argsort(is_left_out, axis=1, kind="stable"), axis=1)
