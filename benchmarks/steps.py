"""What distance in steps costs: the graph, the census of its rings, the proof, the best guess, and draws.

    python benchmarks/steps.py [--sizes 10000,50000,400000] [--words 2000000]

For each size one row, nothing cached. Up to 50,000 words have the lists that come with the package; larger spaces have
64 words at random for each, which is the most work that lists can make, since hardly any two balls overlap.

- graph, census, proof, calibrated, guess: processor seconds, of all cores together, of joining the words, counting N_k
  of every word, the exact epsilon, the scale for epsilon 2.7, and the best guess from every output.
- draws: nanoseconds of processor time a word, for words by Zipf's law in one batch.
- floor: one pass over the near words of every word, c n numbers read and compared, timed alone in the same run; *ratio*
  is what the proof takes of it.
- peak MB: of the process, up to that row.

Not measured: lists from vectors of one's own, which take all pairs of words; whole commands (`verify.py`,
`throughput.py`).
"""

import argparse
import resource
import time
from collections.abc import Callable

import numpy as np

import deniable as dn
from deniable.core.cache import bypass_cache
from deniable.core.randomness import Streams
from deniable.words.laws import ExponentialKernel, RingLaw
from deniable.words.prior import compute_zipf_prior

SHIPPED, LISTED = 50_000, 64
EPSILON, SCALE = 2.7, 2.05
HEADINGS = ("words", "graph", "census", "proof", "calibrated", "guess", "draws ns", "floor", "ratio", "peak MB")


def seconds(work: Callable[[], object]) -> float:
    """Return the processor time of one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def make_space(size: int) -> dn.Space:
    """Return a space of so many words, none hidden."""
    if size <= SHIPPED:
        return dn.Space.glove(size, hide=())
    lists = np.random.default_rng(0).integers(size, size=(size, LISTED), dtype=np.int32)
    return dn.Space([f"w{number}" for number in range(size)], near=lists, source="lists at random")


def measure(size: int, words: int) -> list[str]:
    """Return the row of one size."""
    space = make_space(size)
    graph = space.graph
    if graph is None:
        raise TypeError("the space counts no steps")
    building = seconds(lambda: graph.neighbours)
    census = seconds(lambda: graph.counts)
    law = RingLaw(space, ExponentialKernel(SCALE))
    proof = seconds(law.exact_epsilon)
    calibration = seconds(lambda: dn.CalibratedExponential(space, epsilon=EPSILON).law)
    prior = compute_zipf_prior(len(space))
    guess = seconds(lambda: law.outcomes(prior))
    ranks = np.random.default_rng(1).choice(len(space), size=words, p=prior)
    points = space.point_by_word[ranks]
    draws = seconds(lambda: law.sample(points, Streams(bytes(32), [bytes(16)], [words])))
    numbers = law.log_normalisers
    least = seconds(lambda: np.abs(numbers[graph.neighbours] - numbers[:, None]).max())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    costs = [f"{value:.2f}" for value in (building, census, proof, calibration, guess)]
    return [f"{size:,}", *costs, f"{1e9 * draws / words:.0f}", f"{least:.3f}", f"{proof / least:.0f}", f"{peak:.0f}"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sizes", default="10000,50000,400000", help="numbers of words")
    parser.add_argument("--words", type=int, default=2_000_000, help="words that are drawn")
    options = parser.parse_args()
    with bypass_cache():
        measure(2_000, 10_000)  # compiles
        print("| " + " | ".join(HEADINGS) + " |\n|" + "---:|" * len(HEADINGS))
        for size in options.sizes.split(","):
            print("| " + " | ".join(measure(int(size), options.words)) + " |", flush=True)


if __name__ == "__main__":
    main()
