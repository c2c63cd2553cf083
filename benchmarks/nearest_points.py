"""Speed of the search for nearest words, which is all that multivariate Laplace computes besides its noise.

For GloVe's words and noise of several epsilons: microseconds of CPU time per vector on one core, and the ratio to the
floor, the products of bytes alone. Beside it the product in float32 of the same vectors and words, which a search by
matrix products cannot do without. All are timed in turns, and the best of several rounds counts.

Not measured: the text around the words, for which there is `throughput.py`.
"""

import argparse
import time
from collections.abc import Callable, Mapping

import numpy as np

import deniable as dn
from deniable.core.parallel import parallel_map
from deniable.space.nearest_points import (
    BATCH_VECTORS,
    GROUP_BLOCKS,
    NearestPointSearch,
    allocate_batch,
    allocate_contest,
    build_table,
    fill_sums,
    pack_vectors,
)
from deniable.words.multivariate_laplace import sample_spherical_laplace

EPSILONS = (1.0, 3.0, 12.0, 30.0)
VECTORS, ROUNDS = 10 * BATCH_VECTORS, 7
COLUMNS = 4096
"""Words in one product in float32, so that it stays in cache."""


def time_in_turns(works: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """Return the least CPU seconds of each piece of work, run one after the other several times."""
    seconds = dict.fromkeys(works, float("inf"))
    for _ in range(ROUNDS + 1):
        for name, work in works.items():
            start = time.process_time()
            work()
            seconds[name] = min(seconds[name], time.process_time() - start)
    return seconds


def measure_epsilon(space: dn.Space, epsilon: float) -> dict[str, float]:
    """Return microseconds per vector of the search, of products of bytes, and of products in float32."""
    generator = np.random.default_rng(0)
    points = space.points[space.point_by_word[generator.zipf(1.1, 20 * VECTORS) % len(space)][:VECTORS]]
    vectors = points + sample_spherical_laplace(generator, points.shape, epsilon)
    search, table = NearestPointSearch(space.points), build_table(space.points)
    batch, contest = allocate_batch(table), allocate_contest()
    pack_vectors(vectors[:BATCH_VECTORS], table, batch)
    singles = vectors.astype(np.float32)
    tiles = [
        np.ascontiguousarray(space.points[start : start + COLUMNS].T, dtype=np.float32)
        for start in range(0, space.point_count, COLUMNS)
    ]

    def multiply_bytes() -> None:
        for _ in range(0, VECTORS, BATCH_VECTORS):
            for first in range(0, len(table.packed), GROUP_BLOCKS):
                span = first, min(first + GROUP_BLOCKS, len(table.packed))
                fill_sums(BATCH_VECTORS, batch.packed, table, span, contest)

    def multiply_singles() -> None:
        for start in range(0, VECTORS, BATCH_VECTORS):
            for tile in tiles:
                _ = singles[start : start + BATCH_VECTORS] @ tile

    works = {
        "search": lambda: search.find_nearest(vectors),
        "bytes": multiply_bytes,
        "float32": multiply_singles,
    }
    return {name: seconds / VECTORS * 1e6 for name, seconds in time_in_turns(works).items()}


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epsilon", type=float, action="append", help="may be repeated; default: 1, 3, 12, 30")
    options = parser.parse_args()
    space = dn.Space.glove(metric="euclidean", hide=())
    print("| epsilon | search us | products of bytes us | search / floor | float32 products us | search / float32 |")
    print("|---:|---:|---:|---:|---:|---:|")
    for epsilon in options.epsilon or EPSILONS:
        (times,) = parallel_map(lambda value: measure_epsilon(space, value), [epsilon], 1)  # BLAS on one core
        search, floor, single = times["search"], times["bytes"], times["float32"]
        cells = f"{epsilon:g}", f"{search:.1f}", f"{floor:.1f}", f"{search / floor:.2f}", f"{single:.1f}"
        print(f"| {' | '.join(cells)} | {search / single:.2f} |", flush=True)


if __name__ == "__main__":
    main()
