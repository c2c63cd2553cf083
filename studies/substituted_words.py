"""What a study of texts under substituted words shares: texts, substitution sets, copies, and draws made in advance."""

import dataclasses
import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from deniable.core.errors import InputError
from deniable.core.guarantees import Guarantee
from deniable.core.randomness import Streams, derive_key_from_seed, derive_stream_start
from deniable.models.text.documents import Documents, IndexedTexts, tokenize_texts
from deniable.models.text.substitutions import Substitutions, build_substitutions, read_substitute_lists
from deniable.space import Space
from deniable.space.grammar import fold_word
from deniable.space.space import PointNumbers
from deniable.text.tables import read_table
from deniable.text.tables.layout import TableLayout
from deniable.words import WordMechanism
from deniable.words.laws import SimulatedLaw, Simulation
from studies.reviews import LAPLACE, Corpus, Words, privatize_corpus
from studies.runner import Context
from studies.vocabularies import VECTORS

NORMAL, IBP, SETS = "normal", "ibp", "sets"
SUBSTITUTIONS = "counterfitted_neighbors.json.xz"
_LABEL, _SPLIT, _BREAK = "label", "jia_split", "<br />"
Counts = npt.NDArray[np.int64]


@dataclasses.dataclass(frozen=True)
class TextTables:
    """Two tables of labelled texts.

    Attributes:
        train: file to learn from; where it has a column jia_split, only its rows with "train".
        test: file to test on.
        columns: the text that is attacked, and its premise if it has one.
    """

    train: str
    test: str
    columns: tuple[str, ...] = ("text",)


@dataclasses.dataclass(frozen=True, eq=False)
class Bench:
    """What all models of one data set share.

    Attributes:
        context: of the run.
        name: of the data set.
        network: in `deniable.models.text.networks.TEXT_NETWORKS`.
        sizes: its part of the study's sizes.
        space: of words.
        sets: substitutions that interval bounds are about.
        listed: (V,) substitutes that the file lists for each word, whether the space knows them or not.
        train: to learn from.
        test: to test and to attack.
        left_out: texts drawn without a known word, or with a class that is not learned.
    """

    context: Context
    name: str
    network: str
    sizes: Any
    space: Space
    sets: Substitutions
    listed: Counts
    train: Documents
    test: Documents
    left_out: int

    def derive_key(self, *parts: object) -> bytes:
        """Return the key of one part."""
        return derive_key_from_seed(self.context.derive_seed(self.name, *parts))


def load_bench(context: Context, name: str, tables: TextTables, network: str) -> Bench:
    """Return what all models of one data set share, read once in a run.

    Raises:
        InputError: a file is missing, lacks a column, or holds no text with a known word.
    """
    return context.share(f"bench {name}", lambda: _read_bench(context, name, tables, network))


def _read_bench(context: Context, name: str, tables: TextTables, network: str) -> Bench:
    sizes = getattr(context.sizes, name)
    space = context.share(
        f"space {sizes.words}",
        lambda: Space.load(context.find_file(VECTORS), limit=sizes.words, hide=(), metric="euclidean"),
    )
    lists, source = read_substitute_lists(context.find_file(SUBSTITUTIONS))
    listed = np.zeros(len(space), dtype=np.int64)
    for word, others in lists.items():
        if (number := space.index_by_word.get(fold_word(word))) is not None:
            listed[number] += len(others)
    train, missing = read_documents(context, space, tables.train, tables.columns, sizes.train)
    test, missing_test = read_documents(context, space, tables.test, tables.columns, sizes.test, train.classes)
    sets = build_substitutions(space, lists, source)
    return Bench(context, name, network, sizes, space, sets, listed, train, test, missing + missing_test)


def read_documents(
    context: Context,
    space: Space,
    file: str,
    columns: tuple[str, ...],
    count: int | None,
    classes: tuple[str, ...] = (),
    split: str | None = None,
) -> tuple[Documents, int]:
    """Return so many documents of a table, drawn at random, and how many of them are left out.

    Args:
        context: of the run.
        space: whose words are read.
        file: the table.
        columns: of texts, the attacked one first.
        count: of rows; None for all.
        classes: that are known already; none for those of the table.
        split: rows of which split are read, in a table that has some; of a table to learn from those with "train".
    """
    path = context.find_file(file)
    split = split or (None if classes else "train")
    has_splits = split is not None and _SPLIT in pq.read_schema(path).names
    table = read_table(str(path), TableLayout(file, (*columns, _LABEL, *([_SPLIT] if has_splits else []))))
    rows = np.array([row for row in range(len(table[_LABEL])) if not has_splits or table[_SPLIT][row] == split])
    order = np.random.default_rng(context.derive_seed("texts", file)).permutation(len(rows))
    chosen = rows[np.sort(order[:count])].tolist()
    labels = [table[_LABEL][row] for row in chosen]
    classes = classes or tuple(sorted({label for label in labels if label is not None}))
    texts = [
        tokenize_texts(space, [(table[column][row] or "").replace(_BREAK, " ") for row in chosen]).texts
        for column in columns
    ]
    is_learned = np.array([label in classes for label in labels])
    is_usable = np.all([is_learned, *(each.lengths > 0 for each in texts)], axis=0)
    if not is_usable.any():
        raise InputError(f"No text of {file} has a class and a word of {space.source}: check the data and the vectors.")
    kept = np.flatnonzero(is_usable)
    codes = np.array([classes.index(str(labels[row])) for row in kept.tolist()], dtype=np.int64)
    own, *premises = (each.take(kept) for each in texts)
    return Documents(own, codes, classes, premises[0] if premises else None), len(chosen) - len(kept)


def add_copies(bench: Bench, mechanism: WordMechanism, copies: int, maximum: int) -> Documents:
    """Return the training texts and perturbed copies of each, with its label (Xu et al. 2021, Section 4).

    The copies of all texts are drawn together and kept between runs.

    Args:
        bench: of the data set.
        mechanism: that draws every word of a copy.
        copies: of each text.
        maximum: draws of a word, where the mechanism is simulated slowly.
    """
    train, texts = bench.train, bench.train.texts
    mechanism = speed_up(bench, mechanism, copies * count_words(bench, texts), maximum, "copies")
    corpus = Corpus(bench.name, texts.words, texts.offsets, np.zeros(len(texts.words), dtype=np.bool_), train.labels)
    drawn = privatize_corpus(bench.context, mechanism, corpus, copies)
    rows, lengths = np.tile(np.arange(len(train)), 1 + copies), np.tile(texts.lengths, 1 + copies)
    everything = IndexedTexts(np.concatenate([texts.words, drawn.ravel()]), np.concatenate([[0], np.cumsum(lengths)]))
    premises = None if train.premises is None else train.premises.take(rows)
    return Documents(everything, train.labels[rows], train.classes, premises)


def count_words(bench: Bench, texts: IndexedTexts) -> Counts:
    """Return how often each word of the space (V,) stands in some texts."""
    return np.bincount(texts.words, minlength=len(bench.space))


def speed_up(bench: Bench, mechanism: WordMechanism, uses: Counts, maximum: int, purpose: str) -> WordMechanism:
    """Return multivariate Laplace with a pool for every word that is used, kept between runs; others as they are.

    Args:
        bench: of the data set.
        mechanism: whose draws are pooled.
        uses: (V,) how often each word will be drawn for: of a rare word no more draws are made than that.
        maximum: draws of a word.
        purpose: pools of different purposes share no draws.
    """
    if mechanism.name != LAPLACE:
        return mechanism
    sizes = np.minimum(uses, maximum).astype(np.int64)
    key = bench.derive_key("pool", purpose, mechanism.epsilon)

    def draw() -> Words:
        # A record for every word: its draws do not depend on the other words of the pool.
        words = np.flatnonzero(sizes)
        starts = [derive_stream_start(key, mechanism.fingerprint, str(word)) for word in words.tolist()]
        streams = Streams(key, starts, sizes[words].tolist())
        return mechanism.draw_words(np.repeat(words, sizes[words]).astype(np.int32), streams)

    parts = (mechanism.fingerprint, key.hex(), hashlib.blake2b(sizes.tobytes(), digest_size=12).hexdigest())
    return Pooled(mechanism, bench.context.load_array("pool\0" + "\0".join(parts), draw), sizes)


class Pooled(WordMechanism):
    """Draws uniformly from a pool of a word's draws.

    Over pools, each draw has the law of the mechanism; draws of one word are not independent, so that nothing of this
    class is private. It is for studies, where one mechanism draws many millions of words.

    Args:
        mechanism: whose draws are pooled.
        pool: (N,) draws of all words, those of one word side by side, in the order of words.
        sizes: (V,) how many each word has.

    Raises:
        InputError: two words of the space have equal vectors.
    """

    name = "pooled"

    def __init__(self, mechanism: WordMechanism, pool: Words, sizes: Counts) -> None:
        super().__init__(mechanism.space, epsilon=mechanism.epsilon)
        if mechanism.space.point_count != len(mechanism.space):
            raise InputError("A pool needs a space without words of equal vectors: leave one of each such pair out.")
        self.mechanism, self._pool, self._sizes = mechanism, pool, sizes
        # Streams ask for the fingerprint with every record, and a pool has megabytes.
        self._digest = hashlib.blake2b(pool.tobytes() + sizes.tobytes(), digest_size=8).hexdigest()

    @property
    def guarantee(self) -> Guarantee:
        """That of one draw; nothing is proved of several."""
        claim = self.mechanism.guarantee
        return dataclasses.replace(claim, source=f"{claim.source}, of a single draw", status="claimed")

    @property
    def fingerprint(self) -> str:
        """Of the mechanism and of the pool."""
        return f"{self.name}({self._digest}) {self.mechanism.fingerprint}"

    def build_law(self) -> SimulatedLaw:
        """Return the law of draws from the pool."""
        return SimulatedLaw(self.space, _PoolDraws(self.space, self._pool, self._sizes))


class _PoolDraws(Simulation):
    """Draws uniformly from a pool of a word's draws."""

    def __init__(self, space: Space, pool: Words, sizes: Counts) -> None:
        self._space, self._sizes = space, sizes
        self._points = space.point_by_word[pool]
        self._word_by_point = np.argsort(space.point_by_word)
        self._starts = np.cumsum(sizes) - sizes

    def draw(self, points: PointNumbers, streams: Streams, workers: int | None = None) -> PointNumbers:
        """Return one of the pool's draws for each point (N,).

        Raises:
            InputError: a word without a pool.
        """
        del workers
        words = self._word_by_point[points]
        sizes = self._sizes[words]
        if len(words) and not sizes.all():
            missing = self._space.words[words[int(np.argmin(sizes))]]
            raise InputError(f"No draws of {missing!r} are in the pool: count it among the words that are used.")
        drawn: PointNumbers = self._points[self._starts[words] + streams.uniform_below(sizes)]
        return drawn
