"""What a word becomes at one proven epsilon: TEM, calibrated and tight side by side.

    python benchmarks/mechanisms.py --data DIR [--spaces glove,glove-2000,300d] [--epsilons 0.5,1,...]

For every space, epsilon and mechanism: the exact epsilon, the share of words kept (all words alike,
and under the public Zipf prior), the mean distance moved, and the Bayes success of an attacker who
knows mechanism and prior; and how long finding the law took, with nothing cached. All figures are
exact, computed from the law. DIR holds glove.840B.300d.33860.npz for the space 300d.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

import deniable as dn
from deniable.words.laws import ExponentialLaw
from deniable.words.prior import compute_zipf_prior

MECHANISMS: tuple[type[dn.WordMechanism], ...] = (dn.TEM, dn.CalibratedExponential, dn.TightExponential)
HEADINGS = ("mechanism", "epsilon", "exact", "law", "kept", "kept, Zipf", "moved", "attacker", "found in s")


def space(name: str, data: Path | None) -> dn.Space:
    """Return glove, glove-N (its N most frequent alphabetic words) or 300d."""
    if name == "300d":
        if data is None:
            raise SystemExit("--data DIR is needed for the space 300d.")
        return dn.Space.load(data / "glove.840B.300d.33860.npz", hide=(), metric="euclidean")
    whole = dn.Space.glove(hide=(), metric="euclidean")
    if name == "glove":
        return whole
    numbers = [number for number, word in enumerate(whole.words) if word.isalpha()][: int(name.split("-")[1])]
    return dn.Space([whole.words[number] for number in numbers], whole.vectors[numbers])


def compute_moved_distance(law: ExponentialLaw) -> float:
    """Return the expected distance between a word and its output, the mean over all words."""

    def visit(_: int, distances: npt.NDArray[np.float64]) -> float:
        before = distances.copy()
        return float(np.vdot(law.kernel(np.arange(len(distances)), distances), before))

    count = law.space.point_count
    return sum(law.space.map_row_blocks(visit, range(count))) / count


def rows(domain: dn.Space, epsilons: list[float]) -> Iterator[tuple[str, ...]]:
    """Yield a line of the table for every epsilon and mechanism."""
    prior = compute_zipf_prior(len(domain))
    for epsilon in epsilons:
        for kind in MECHANISMS:
            start = time.perf_counter()
            mechanism = kind(domain, epsilon=epsilon)
            law = mechanism.law
            if not isinstance(law, ExponentialLaw):
                raise SystemExit(f"{kind.__name__} has no closed form.")
            seconds = time.perf_counter() - start
            exact = ExponentialLaw(domain, law.kernel).exact_epsilon().epsilon
            shares = law.outcomes(prior)
            how = ", ".join(f"{v:.4f}" if isinstance(v, float) else v for v in mechanism.derived_parameters.values())
            yield (
                mechanism.name,
                f"{epsilon:g}",
                f"{exact:.4f}",
                how or f"s {law.kernel.scale:.4f}",
                f"{100 * shares.kept.mean():.2f}%",
                f"{100 * float(prior @ shares.kept):.2f}%",
                f"{compute_moved_distance(law):.3f}",
                f"{100 * float(prior @ shares.guessed):.2f}%",
                f"{seconds:.1f}",
            )


def main() -> None:
    """Print one table a space."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, help="folder with glove.840B.300d.33860.npz", hide=(), metric="euclidean")
    parser.add_argument("--spaces", default="glove-2000,glove,300d")
    parser.add_argument("--epsilons", default="0.5,1,2,3,4,6,8")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        os.environ["DENIABLE_CACHE"] = cache
        for name in options.spaces.split(","):
            domain = space(name, options.data)
            blind = 100 * compute_zipf_prior(len(domain))[0]
            print(f"\n{domain!r}; without seeing the output the attacker is right {blind:.2f}%")
            print("\n| " + " | ".join(HEADINGS) + " |")
            print("|---|" + "---:|" * (len(HEADINGS) - 1))
            for line in rows(domain, [float(text) for text in options.epsilons.split(",")]):
                print("| " + " | ".join(line) + " |", flush=True)


if __name__ == "__main__":
    main()
