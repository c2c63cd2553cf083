"""How long the noise of the rewriting methods is that release a vector, as the decoder sees it, and what it leaves.

    python benchmarks/noise_lengths.py [--coordinates 64] [--draws 20000] [--seed 0]
    python benchmarks/noise_lengths.py --model FILE --texts FILE.parquet [--epsilons 10 30 100 300]

The mean l2 norm of the noise at epsilon 1 and radius C = 1, after the public factor by which a method multiplies a
release before it is decoded (``adept-l1``), with its standard error, and the factor against ``adept-norm``. All methods
but those with a delta, and the refuted ones, are pure: the lengths compare at equal epsilon, and fall with 1 / epsilon.

With a model of `deniable train rewriter`, BLEU-4 of rewritten texts (column ``text``, those of up to 40 words), words
split at spaces: the mean of three seeds.
"""

import argparse
import types
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow.parquet as pq

import deniable as dn
from deniable.core.arrays import FloatArray

METHODS = ("adept-norm", "adept-l1", "adept-true", "dptext-norm", "dptext-fixed")
MAX_WORDS = 40


def measure_lengths(name: str, coordinates: int, draws: int, seed: int) -> FloatArray:
    """Return (draws,) l2 norms of noise, added to the zero vector."""
    model = cast("dn.rewriting.Rewriter", types.SimpleNamespace(latent=coordinates, radius=1.0))
    method: Any = dn.rewriting_method(name, model, epsilon=1.0, seed=seed)
    noise = method.mechanism.sample(np.zeros((draws, coordinates))) * method.stretch
    lengths: FloatArray = np.linalg.norm(noise, axis=1)
    return lengths


def print_lengths(coordinates: int, draws: int, seed: int) -> None:
    """Print a row for each method."""
    print(f"n = {coordinates}, {draws:,} draws, seed {seed}")
    shortest = 0.0
    for name in METHODS:
        lengths = measure_lengths(name, coordinates, draws, seed)
        shortest = shortest or lengths.mean()
        error = lengths.std() / np.sqrt(len(lengths))
        print(f"{name:13} {lengths.mean():8.2f} +- {error:.2f}  {lengths.mean() / shortest:.3f} times")


def print_bleu(model_path: Path, texts_path: Path, epsilons: list[float], seed: int) -> None:
    """Print a row for each epsilon, with a column for each method."""
    from deniable.rewriting.card import compute_bleu

    model = dn.rewriting.load_rewriter(model_path)
    texts = [text for text in pq.read_table(texts_path)["text"].to_pylist() if len(text.split()) <= MAX_WORDS]
    wanted = [text.split() for text in texts]

    def measure(rewritten: list[str]) -> float:
        return compute_bleu([text.split() for text in rewritten], wanted)

    without_noise = measure(model.decode(model.encode(texts)))
    print(f"{len(texts):,} texts, seeds {seed} to {seed + 2}; without noise {without_noise:.1f}")
    print("epsilon  " + "  ".join(f"{name:>12}" for name in METHODS))
    for epsilon in epsilons:
        scores = [
            np.mean(
                [
                    measure(dn.rewriting_method(name, model, epsilon=epsilon, seed=seed + k).rewrite(texts))
                    for k in range(3)
                ]
            )
            for name in METHODS
        ]
        print(f"{epsilon:7g}  " + "  ".join(f"{score:12.1f}" for score in scores), flush=True)


def main() -> None:
    """Print the lengths of noise, or what it leaves of texts."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--coordinates", type=int, default=64)
    parser.add_argument("--draws", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--texts", type=Path)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[10.0, 30.0, 100.0, 300.0])
    chosen = parser.parse_args()
    if chosen.model is None:
        print_lengths(chosen.coordinates, chosen.draws, chosen.seed)
    else:
        print_bleu(chosen.model, chosen.texts, chosen.epsilons, chosen.seed)


if __name__ == "__main__":
    main()
