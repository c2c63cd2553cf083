"""IMDB as word numbers, original and privatized, and the classifiers that studies of utility train on it."""

import dataclasses
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from deniable.auditing import verify
from deniable.core.errors import InputError
from deniable.core.randomness import Streams, derive_key_from_seed, derive_stream_start
from deniable.measure import recovery
from deniable.measure.choice import choose_word_mechanism
from deniable.measure.labels import ClassCodes
from deniable.registry import WORD_MECHANISMS
from deniable.space import Space
from deniable.text.tokens import Lexer
from deniable.words import WordMechanism
from deniable.words.multivariate_laplace import MultivariateLaplace
from studies.rows import Row, row_of
from studies.runner import Context
from studies.study import Metric

if TYPE_CHECKING:
    from deniable.measure.fasttext import FastTextClassifier

FILES = ("imdb_train.parquet", "imdb_test.parquet")
ORIGINAL = "original text"
LAPLACE = MultivariateLaplace.name
METRICS = {
    "accuracy": Metric("accuracy", ".1%"),
    "epsilon proved": Metric("proven epsilon", ".4g"),
    "epsilon at least": Metric("lower bound on epsilon", ".4g"),
    "refuted": Metric("claim refuted", ".0f"),
    "words named": Metric("words named by the best guesser", ".1%"),
    "words kept": Metric("words kept", ".2%"),
}
"""What studies of utility measure of a mechanism at one epsilon."""
GUESSES = 20_000
"""Draws behind an attacker's success that is not known exactly."""
Words = npt.NDArray[np.int32]
Offsets = npt.NDArray[np.int64]


@dataclasses.dataclass(frozen=True)
class Corpus:
    """Labelled texts as word numbers.

    Attributes:
        name: tells corpora of one study apart.
        words: (N,) the words of all texts end to end, the public word in place of unknown ones.
        offsets: (R + 1,) where each text begins.
        is_unknown: (N,) whether a word is unknown to the space.
        codes: (R,) classes.
    """

    name: str
    words: Words
    offsets: Offsets
    is_unknown: npt.NDArray[np.bool_]
    codes: ClassCodes

    def original(self) -> tuple[Words, Offsets]:
        """Return words and offsets of the original texts, without words that the space lacks."""
        known = np.concatenate([[0], np.cumsum(~self.is_unknown)])
        return self.words[~self.is_unknown], known[self.offsets]

    @property
    def fingerprint(self) -> str:
        """A text that differs between corpora."""
        state = hashlib.blake2b(self.words.tobytes(), digest_size=8)
        state.update(self.offsets.tobytes())
        return state.hexdigest()

    def head(self, texts: int) -> "Corpus":
        """Return the first texts alone."""
        end = self.offsets[texts]
        return Corpus(self.name, self.words[:end], self.offsets[: texts + 1], self.is_unknown[:end], self.codes[:texts])


def read_halves(context: Context, space: Space, size: int, numbers: Sequence[int] = (1, 2)) -> dict[str, Corpus]:
    """Return TR1 and TR2, disjoint parts of IMDB's training file, and TE1 and TE2 of its test file, or some of them."""
    halves = {}
    for part, file in zip(("TR", "TE"), FILES, strict=True):
        path = context.find_file(file)
        rows = int(pq.ParquetFile(path).metadata.num_rows)
        order = np.random.default_rng(context.derive_seed("split", part)).permutation(rows)
        count = min(size, rows // 2)
        if not count:
            raise InputError(f"{path} must hold at least 2 reviews. Got {rows}.")
        for half in numbers:
            name = f"{part}{half}"
            halves[name] = read_reviews(path, space, order[(half - 1) * count : half * count].tolist(), name)
    return halves


def read_reviews(path: Path, space: Space, order: Sequence[int], name: str) -> Corpus:
    """Return the reviews with the given row numbers, of a parquet file with columns text and label."""
    table = pq.read_table(path, columns=["text", "label"])
    texts, labels = table.column("text").to_pylist(), np.array(table.column("label").to_pylist(), dtype=np.int64)
    lexer = Lexer(space, "draw", "lower", ())
    lexed = [lexer.lex(texts[row]) for row in order]
    offsets = np.cumsum([0, *[len(text.words) for text in lexed]], dtype=np.int64)
    is_unknown = np.zeros(offsets[-1], dtype=np.bool_)
    for text, start in zip(lexed, offsets.tolist(), strict=False):
        is_unknown[start : start + len(text.words)] = text.unknown_mask
    return Corpus(name, np.concatenate([text.words for text in lexed]), offsets, is_unknown, labels[np.asarray(order)])


def privatize_corpus(context: Context, mechanism: WordMechanism, corpus: Corpus, copies: int) -> Words:
    """Return (copies, N) the words of so many independent releases of a corpus; kept between runs.

    All copies are drawn together, so that a word's law is computed once for all of them.
    """

    def draw() -> Words:
        key = derive_key_from_seed(context.derive_seed("corpus"))
        starts = [
            derive_stream_start(key, mechanism.fingerprint, corpus.name, str(copy), str(text))
            for copy in range(copies)
            for text in range(len(corpus.codes))
        ]
        lengths = np.tile(np.diff(corpus.offsets), copies).tolist()
        drawn = mechanism.draw_words(np.tile(corpus.words, copies), Streams(key, starts, lengths))
        return drawn.reshape(copies, -1).astype(np.uint16 if len(mechanism.space) <= 2**16 else np.uint32)

    parts = (mechanism.fingerprint, corpus.fingerprint, corpus.name, str(copies), str(context.seed))
    return context.load_array("\0".join(parts), draw).astype(np.int32)


def build_mechanism(name: str, space: Space, epsilon: float) -> WordMechanism:
    """Return a mechanism by name, ``choose_word_mechanism`` among them."""
    if name == "auto":
        return choose_word_mechanism(space, epsilon)
    return WORD_MECHANISMS[name](space, epsilon=epsilon)


def describe_mechanism(context: Context, mechanism: WordMechanism, curve: str) -> list[Row]:
    """Return what is proved of a mechanism, and its attacker's success under a public Zipf prior."""
    epsilon, verdict = mechanism.epsilon, verify(mechanism)
    seed = context.derive_seed("guess", mechanism.name)
    guessed = recovery.simulate_recovery(mechanism, draws=GUESSES, seed=seed)
    is_proved = verdict.status.startswith("proved")
    return [
        Row(curve, epsilon, "epsilon proved", verdict.epsilon)
        if is_proved
        else Row(curve, epsilon, "epsilon at least", verdict.lower_bound),
        Row(curve, epsilon, "refuted", float(verdict.status == "refuted")),
        row_of(curve, epsilon, "words named", guessed.share),
    ]


def train_classifier(
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
    from deniable.measure.fasttext import FastTextClassifier

    net = FastTextClassifier(seed, dimensions=dimensions, epochs=epochs)
    return net.fit_words(words, offsets, corpus.codes, classes=2, size=len(space))


def measure_accuracy(net: "FastTextClassifier", corpus: Corpus) -> float:
    """Return the share of original texts of a corpus whose class is named."""
    return float((net.probabilities_of_words(*corpus.original()).argmax(axis=1) == corpus.codes).mean())
