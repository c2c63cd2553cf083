"""Speed of the search for nearest words, which is all that multivariate Laplace computes besides its noise.

For GloVe's words and noise of several epsilons: microseconds of CPU time per vector on one core, and the ratio to the
floor, the product in float32 of the same vectors and words. Both are timed in turns, and the best of several rounds
counts.

Not measured: the text around the words, for which there is `throughput.py`.
"""

import argparse
import time
from collections.abc import Callable, Mapping

import numpy as np

import deniable as dn
from deniable.core.parallel import parallel_map
from deniable.space.nearest_points import BATCH_VECTORS, NearestPointSearch
from deniable.words.multivariate_laplace import sample_spherical_laplace

EPSILONS = (1.0, 3.0, 12.0, 30.0)
VECTORS, ROUNDS = 10 * BATCH_VECTORS, 7


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
    """Return microseconds per vector of the search, and of products in float32."""
    generator = np.random.default_rng(0)
    points = space.points[space.point_by_word[generator.zipf(1.1, 20 * VECTORS) % len(space)][:VECTORS]]
    vectors = points + sample_spherical_laplace(generator, points.shape, epsilon)
    search, singles = NearestPointSearch(space.points), vectors.astype(np.float32)
    columns = np.ascontiguousarray(space.points.T, dtype=np.float32)
    room = np.empty((BATCH_VECTORS, space.point_count), dtype=np.float32)

    def multiply() -> None:
        for start in range(0, VECTORS, BATCH_VECTORS):
            np.matmul(singles[start : start + BATCH_VECTORS], columns, out=room)

    works = {"search": lambda: search.find_nearest(vectors, workers=1), "product": multiply}
    return {name: seconds / VECTORS * 1e6 for name, seconds in time_in_turns(works).items()}


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epsilon", type=float, action="append", help="may be repeated; default: 1, 3, 12, 30")
    options = parser.parse_args()
    space = dn.Space.glove(metric="euclidean", hide=())
    print("| epsilon | search us | products us | search / products |")
    print("|---:|---:|---:|---:|")
    for epsilon in options.epsilon or EPSILONS:
        (times,) = parallel_map(lambda value: measure_epsilon(space, value), [epsilon], 1)  # BLAS on one core
        search, product = times["search"], times["product"]
        print(f"| {epsilon:g} | {search:.1f} | {product:.1f} | {search / product:.2f} |", flush=True)


if __name__ == "__main__":
    main()
