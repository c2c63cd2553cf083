"""What the studies of utility share: mechanisms, FastText classifiers on word numbers, means over trials."""

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from deniable.auditing import verify
from deniable.core.errors import InputError
from deniable.core.intervals import estimate_mean
from deniable.measure import recovery
from deniable.registry.words import WORD_MECHANISMS
from deniable.space import Space
from deniable.studies.corpora import Corpus, Offsets, Words, reviews, rows
from deniable.studies.study import Data, Setting, derived
from deniable.words import MultivariateLaplace, WordMechanism
from deniable.words.choice import choose_word_mechanism

if TYPE_CHECKING:
    from deniable.measure.fasttext import FastTextClassifier

BASELINE = "original text"
LAPLACE = MultivariateLaplace.name
GUESSES = 20_000
"""Draws behind an attacker's success that is not known exactly."""


def halves(setting: Setting, space: Space, size: int) -> dict[str, Corpus]:
    """Return TR1 and TR2, disjoint parts of IMDB's training file, and TE1 and TE2, of its test file."""
    out = {}
    for part, file in (("TR", "imdb_train.parquet"), ("TE", "imdb_test.parquet")):
        path = setting.file(file)
        order = np.random.default_rng(derived(setting.seed, "split", part)).permutation(rows(path))
        most = min(size, len(order) // 2)
        if not most:
            raise InputError(f"{path} must hold at least 2 reviews. Got {len(order)}.")
        for half in (1, 2):
            name = f"{part}{half}"
            out[name] = reviews(path, space, order[(half - 1) * most : half * most].tolist(), name)
    return out


def build(name: str, space: Space, epsilon: float) -> WordMechanism:
    """Return a mechanism by name, ``auto`` among them; multivariate Laplace in its quick form."""
    if name == "auto":
        return choose_word_mechanism(space, epsilon)
    if name == LAPLACE:
        from deniable.studies.laplace import QuickLaplace  # noqa: PLC0415 - torch is an extra

        return QuickLaplace(space, epsilon=epsilon)
    return WORD_MECHANISMS[name](space, epsilon=epsilon)


def about(mechanism: WordMechanism, seed: int) -> Data:
    """Return what is proved of a mechanism, and its attacker's success under a public Zipf prior."""
    verdict = verify(mechanism)
    guessed = recovery.simulate_recovery(mechanism, draws=GUESSES, seed=derived(seed, "guess", mechanism.name))
    return {
        "status": verdict.status,
        "proven epsilon": verdict.epsilon,
        "at least": verdict.lower_bound,
        "by": verdict.method,
        "attacker": dataclasses.asdict(guessed.share),
    }


def train(
    corpus: Corpus, words: Words, offsets: Offsets, space: Space, *, seed: int, dimensions: int, epochs: int
) -> "FastTextClassifier":
    """Return a classifier trained on the texts of a corpus, in their original or a private form.

    Args:
        corpus: whose classes are learned.
        words: (N,) of the form that is learned from.
        offsets: (R + 1,) of its texts.
        space: whose words are numbered.
        seed: public.
        dimensions: of an embedding.
        epochs: passes over the texts.
    """
    from deniable.measure.fasttext import FastTextClassifier  # noqa: PLC0415 - torch is an extra

    net = FastTextClassifier(seed, dimensions=dimensions, epochs=epochs)
    return net.fit_words(words, offsets, corpus.codes, classes=2, size=len(space))


def accuracy(net: "FastTextClassifier", corpus: Corpus) -> float:
    """Return the share of original texts of a corpus whose class is named."""
    return float((net.probabilities_of_words(*corpus.original()).argmax(axis=1) == corpus.codes).mean())


def summary(trials: list[Data]) -> Data:
    """Return mean and 95 % interval over trials of every share that trials report."""
    out = {}
    for name in trials[0]:
        shares = [trial[name] for trial in trials]
        found = estimate_mean(shares, bounds=(0.0, 1.0))
        out[name] = {"mean": found.value, "low": found.low, "high": found.high, "trials": shares}
    return out
