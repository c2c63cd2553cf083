"""Training with bounds, the genetic attack and smoothing of text classifiers, against the arithmetic they need.

    python benchmarks/robust_text.py --data DIR [--limit N]

DIR holds the vectors ``glove.840B.300d.33860.npz``, ``imdb_train.parquet`` and ``counterfitted_neighbors.json.xz``.
Everything is in one process, from seed 0, with untrained networks; the floor of an epoch is the matrix products of its
steps, on the same numbers of words. Whatever is scaled up from ``--limit`` reviews is labelled so; of an attack by a
mechanism that is too much, for the law of a word is computed once for all reviews.

Not measured: accuracy, and reading the data.
"""

import argparse
import functools
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import torch
from torch import Tensor

from deniable.core.parallel import count_cores
from deniable.core.randomness import derive_key_from_seed
from deniable.learning.loop import build_with_seed
from deniable.models.text.attacks import GeneticAttack
from deniable.models.text.documents import Documents, concatenate_texts, tokenize_texts
from deniable.models.text.networks import build_text_network
from deniable.models.text.networks.base import TextNetwork
from deniable.models.text.options import TextTrainingOptions
from deniable.models.text.smoothing.sampling import count_votes
from deniable.models.text.substitutions import SubstituteSource, Substitutions, read_substitutions
from deniable.models.text.training import prepare_text_run
from deniable.registry import WORD_MECHANISMS
from deniable.space import Space

KEY = derive_key_from_seed(0)
TRAINED, ATTACKED = 20_000, 1_000
"""Reviews of the epoch and of the attack that figures are scaled up to."""
EPSILON = 3.0
LENGTHS = (10, 50, 263)
HIDDEN = 100
"""Units of the layers of the CNN, whose taps are three."""


def seconds(work: Callable[[], object]) -> float:
    """Return how long some work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def products(parts: list[tuple[Tensor, int, int]]) -> None:
    """Take the products of steps: of projections, forwards and of weights; of taps, those of their inputs besides.

    Args:
        parts: for each step the vectors (C, d) of all words that are projected, how many of them stand in the batch,
            and how often these meet the taps: once, or three times for word, centre and radius.
    """
    for vectors, words, times in parts:
        projected = vectors @ vectors.new_ones(vectors.shape[1], HIDDEN)  # (C, 100)
        _ = projected.mT @ vectors
        taps = projected.new_ones(HIDDEN, 3 * HIDDEN)
        for _ in range(times):
            made = projected[:words] @ taps  # (D, 300)
            _ = made @ taps.mT, made.mT @ projected[:words]


def epochs(space: Space, documents: Documents, sets: Substitutions, rounds: int) -> None:
    """Print the seconds of an epoch of the CNN, as usual and with bounds; sides take turns."""
    taken: dict[str, list[float]] = {name: [] for name in ("normal", "ibp", "floor normal", "floor ibp")}
    runs = {
        name: prepare_text_run(net("cnn", space), documents, TextTrainingOptions(name, rounds + 1), sets, KEY)
        for name in ("normal", "ibp")
    }
    steps = runs["normal"].steps // (rounds + 1)
    vectors = torch.tensor(space.vectors, dtype=torch.float32)
    own = [np.unique(documents.take(rows).texts.words) for rows in np.array_split(np.arange(len(documents)), steps)]
    floors = {
        "floor normal": [(vectors[words], len(words), 1) for words in own],
        "floor ibp": [(vectors[np.unique(sets.choices[words])], len(words), 3) for words in own],
    }
    for turn in range(rounds + 1):
        for name, run in runs.items():
            taken[name].append(seconds(lambda: [run.step(turn * steps + at) for at in range(steps)]))  # noqa: B023 - called at once
        for name, parts in floors.items():
            taken[name].append(seconds(lambda: products(parts)))  # noqa: B023 - called at once
    found = {name: statistics.median(times[1:]) for name, times in taken.items()}  # the first round fills caches
    scale = TRAINED / len(documents)
    note = "" if scale == 1 else f", scaled up from {len(documents):,}"
    header(f"epoch of {TRAINED:,} reviews{note}", "seconds", "floor", "times the floor", "times normal")
    for name in runs:
        least = found[f"floor {name}"]
        figures = (scale * found[name], scale * least, found[name] / least, found[name] / found["normal"])
        print(f"| {name} | " + " | ".join(f"{figure:.2f}" for figure in figures) + " |", flush=True)


def attacks(documents: Documents, space: Space, sources: dict[str, SubstituteSource]) -> None:
    """Print the seconds of the genetic attack on the CNN; the labels are its own, so that all are attacked."""
    scorer = net("cnn", space).eval().make_scorer(documents)
    labels = scorer(documents.texts, np.arange(len(documents))).argmax(axis=1)
    aims = Documents(documents.texts, labels, documents.classes)
    scaled = f"seconds of {ATTACKED:,}" + (", scaled up" if len(aims) != ATTACKED else "")
    header(f"genetic attack on {len(aims):,} reviews", "seconds", scaled, "texts scored a second", "flipped")
    for name, source in sources.items():
        start = time.perf_counter()
        found = GeneticAttack()(scorer, aims, source, KEY)
        taken = time.perf_counter() - start
        asked = f"{found.queries.sum() / taken:,.0f}"
        print(
            f"| {name} | {taken:.1f} | {taken * ATTACKED / len(aims):.0f} | {asked} | {found.flipped.sum()} |",
            flush=True,
        )


def smoothing(documents: Documents, space: Space, draws: int) -> None:
    """Print how many noisy texts a second are drawn, scored and counted, and how many are scored alone."""
    header("smoothing by TEM", "words", "calls a second", "scored alone, a second")
    mechanism, zeros = WORD_MECHANISMS["tem"](space, epsilon=EPSILON), np.zeros(draws, dtype=np.int64)
    for name in ("fasttext", "cnn"):
        scorer = net(name, space).eval().make_scorer(documents)
        for length in LENGTHS:
            text = concatenate_texts([np.resize(documents.texts.words, length)])
            count = functools.partial(count_votes, mechanism, scorer, text, {"all": draws}, key=KEY)
            score = functools.partial(scorer, text.take(zeros), zeros)
            rates = [draws / min(seconds(work) for _ in range(3)) for work in (count, score)]
            print(f"| {name} | {length} | " + " | ".join(f"{rate:,.0f}" for rate in rates) + " |", flush=True)


def header(*names: str) -> None:
    """Print the first two lines of a table."""
    print("\n| " + " | ".join(names) + " |\n|---|" + "---:|" * (len(names) - 1))


def net(name: str, space: Space) -> TextNetwork:
    """Return an untrained network."""
    return build_with_seed(0, lambda: build_text_network(name, space, 2))


def main(arguments: list[str] | None = None) -> None:
    """Print three markdown tables: epochs, attacks, smoothing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=2_000, help="reviews of an epoch; a twentieth is attacked")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--draws", type=int, default=10_000)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    space = Space.load(options.data / "glove.840B.300d.33860.npz", hide=(), metric="euclidean")
    table = pq.read_table(options.data / "imdb_train.parquet").slice(0, min(options.limit, TRAINED)).to_pydict()
    documents = Documents(
        tokenize_texts(space, table["text"]).texts, np.array(table["label"], dtype=np.int64), ("0", "1")
    )
    sets = read_substitutions(options.data / "counterfitted_neighbors.json.xz", space)
    machine = f"{platform.machine()}, {count_cores()} cores, {options.threads} threads, torch {torch.__version__}"
    length = documents.texts.lengths.mean()
    print(f"{len(documents):,} reviews, {length:.0f} words on average, {options.rounds} rounds, {machine}")
    epochs(space, documents, sets, options.rounds)
    few = documents.take(np.arange(max(1, len(documents) // 20)))
    drawn = {
        f"{name} at epsilon {EPSILON:g}": WORD_MECHANISMS[name](space, epsilon=EPSILON)
        for name in ("tem", "calibrated")
    }
    attacks(few, space, {"substitutions": sets, **drawn})
    smoothing(documents, space, options.draws)


if __name__ == "__main__":
    main()
