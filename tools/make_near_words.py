"""Lists of near words: for each of the 50,000 words of the default space its 64 nearest other words, nearest first.

    python tools/make_near_words.py --glove-840b glove.840B.300d.33860.npz

writes ``words.txt`` and ``near.npy`` into ``src/deniable/space/near_words/``, in a minute or two. The same sources give
the same files. The list of a word u is made of two:

1. *By 300 numbers.* Where the file has u, the 64 nearest of its words by cosine of GloVe 840B, at places 1 to 64.
2. *By 50 numbers.* The 64 nearest of all words by Euclidean distance of GloVe 6B, at places 1 to 64. Where the file has
   u, those that it has too are left out, since the first list judges them better.

Both are merged by place, at equal places the first list's word first, and cut to 64. Of words at equal distances the
more frequent one is nearer.
"""

import argparse
import functools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from deniable.core.arrays import FloatArray, IntArray
from deniable.space.near_lists import NEAR_COUNT, SHIPPED_WORDS
from deniable.space.sources import read_glove, read_vectors

SPARE = 16
"""Candidates beyond a list's end: what rounding in a product of matrices may move across it."""
BLOCK_ROWS = 256
NEAR_FOLDER = Path(__file__).parents[1] / "src" / "deniable" / "space" / "near_words"


def add_squares(columns: FloatArray) -> FloatArray:
    """Return the sums of squares over the first axis, added one by one: the same on every processor."""
    return functools.reduce(np.add, (column**2 for column in columns))


def find_nearest(points: FloatArray, rows: IntArray) -> IntArray:
    """Return the numbers (k, K) of the K nearest other points of those numbered ``rows`` (k,) among ``points`` (m, d).

    A product of matrices picks candidates, whose distances are then added up coordinate by coordinate::

        |x - y|^2 = (x_1 - y_1)^2 + (x_2 - y_2)^2 + ...
    """
    columns = np.ascontiguousarray(points.T)
    squares = add_squares(columns)
    count = min(NEAR_COUNT + SPARE, len(points) - 1)
    nearest = np.empty((len(rows), NEAR_COUNT), dtype=np.int64)

    def fill(start: int) -> None:
        block = rows[start : start + BLOCK_ROWS]
        screen = squares - 2 * (points[block] @ columns)
        screen[np.arange(len(block)), block] = np.inf
        candidates = np.argpartition(screen, count - 1, axis=1)[:, :count]
        distances = np.zeros(candidates.shape)
        for column in columns:
            distances += (column[block, None] - column[candidates]) ** 2
        order = np.lexsort((candidates, distances), axis=1)[:, :NEAR_COUNT]
        nearest[start : start + BLOCK_ROWS] = np.take_along_axis(candidates, order, axis=1)

    with threadpool_limits(1), ThreadPoolExecutor() as pool:
        list(pool.map(fill, range(0, len(rows), BLOCK_ROWS)))
    return nearest


def merge_lists(first: IntArray, second: IntArray, is_second: npt.NDArray[np.bool_]) -> IntArray:
    """Return the lists (k, K) merged by place, ties first before second; of the second only what ``is_second`` marks.

    A row of the first of -1 is no list.
    """
    both = np.concatenate([first, second], axis=1)
    places = np.broadcast_to(np.tile(np.arange(NEAR_COUNT), 2), both.shape)
    is_left_out = np.concatenate([first < 0, ~is_second], axis=1)
    order = np.lexsort((places, is_left_out), axis=1)[:, :NEAR_COUNT]
    return np.take_along_axis(both, order, axis=1)


def make_lists(words: Sequence[str], vectors: FloatArray, glove_840b: Path, rows: IntArray) -> IntArray:
    """Return the near words (k, K) of those numbered ``rows`` (k,) among ``words`` with ``vectors`` (n, 50)."""
    names, numbers, _ = read_vectors(glove_840b)
    row_by_name = {name: row for row, name in enumerate(names)}
    row_by_word = np.array([row_by_name.get(word, -1) for word in words])
    has_numbers = row_by_word >= 0
    known = np.flatnonzero(has_numbers)
    directions = numbers[row_by_word[known]].astype(np.float64)
    # Unit vectors have the order of their cosines: |x - y|^2 = 2 - 2 <x, y>.
    directions /= np.sqrt(add_squares(directions.T))[:, None]
    is_known = has_numbers[rows]
    first = np.full((len(rows), NEAR_COUNT), -1, dtype=np.int64)
    first[is_known] = known[find_nearest(directions, np.searchsorted(known, rows[is_known]))]
    second = find_nearest(vectors, rows)
    return merge_lists(first, second, ~(is_known[:, None] & has_numbers[second]))


def main(arguments: list[str] | None = None) -> None:
    """Make both files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--glove-840b", type=Path, required=True, help=".npz with words and their 300 numbers each")
    parser.add_argument("--output", type=Path, default=NEAR_FOLDER, help="folder for the two files")
    options = parser.parse_args(arguments)
    words, vectors = read_glove(SHIPPED_WORDS)
    near = make_lists(words, vectors, options.glove_840b, np.arange(len(words)))
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "words.txt").write_text("".join(f"{word}\n" for word in words), encoding="utf-8", newline="\n")
    np.save(options.output / "near.npy", near.astype(np.uint16))
    print(f"{len(words):,} words with {near.shape[1]} near words each")


if __name__ == "__main__":
    main()
