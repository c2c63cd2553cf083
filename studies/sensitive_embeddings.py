"""TEM on vectors that were trained on private texts (Carvalho et al. 2021), what one text changes, and the remedy."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from deniable.core.arrays import FloatArray, IntArray
from deniable.measure.intervals import estimate_mean
from deniable.persons.collection import group_rows
from deniable.persons.word_vectors import VectorOptions, adapt_vectors, combine_vectors, sum_contexts
from deniable.published.sensitive_vectors import count_pairs, embed_pairs
from deniable.space import Space
from deniable.text.tokens import Lexer
from deniable.words.calibrated_exponential import CalibratedExponential
from deniable.words.tem import TEM
from studies.rows import Row, at, row_of, row_of_mean
from studies.runner import Context
from studies.study import Axis, Grid, Line, Metric, Panel, Reference, Statement, Study, Table, above, below

SHORT, MEDIAN, LONG = "short reviews", "median reviews", "long reviews"
LENGTHS = {SHORT: 0.05, MEDIAN: 0.5, LONG: 0.95}
"""Reviews left out -> the quantile of length that they are nearest to."""
GLOVE, EXACT, NOISY = "public vectors", "exact private vectors", "noisy private vectors"
CELLS: tuple[tuple[str, float | None], ...] = (
    *((name, None) for name in LENGTHS),
    (GLOVE, None),
    (EXACT, None),
    *((NOISY, epsilon) for epsilon in (1.0, 4.0, 16.0)),
)
DELTA = 1e-6
_REGULARIZATION = 1.0
_PARTS = 4


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How much is trained.

    Attributes:
        reviews: that vectors learn from, where one is left out.
        words: of these vectors, most frequent first.
        dimensions: of these vectors.
        left_out: reviews left out one at a time, of each length.
        epsilons: of TEM.
        private: reviews that the vectors of the remedy learn from.
        vocabulary: words of the remedy.
        trials: draws of noise, and privatized corpora.
        word_epsilon: of the words of the other domain, per step.
        epochs: of FastText.
    """

    reviews: int = 3_000
    words: int = 1_500
    dimensions: int = 50
    left_out: int = 12
    epsilons: tuple[float, ...] = (1.0, 3.0, 6.0)
    private: int = 25_000
    vocabulary: int = 5_000
    trials: int = 3
    word_epsilon: float = 3.0
    epochs: int = 10


def measure(context: Context, name: str, epsilon: float | None) -> list[Row]:
    """Return what reviews of one length change, or what one kind of vectors gives."""
    return _leave_out(context, name) if name in LENGTHS else _measure_gain(context, name, epsilon)


def _leave_out(context: Context, name: str) -> list[Row]:
    """Return how much the law of one and the same word changes with one review, the worst word and output of each."""
    sizes: Sizes = context.sizes
    space = Space.glove(sizes.words, hide=(), metric="euclidean")
    texts = context.share("reviews", lambda: _read_numbers(context, space, "imdb_train.parquet", sizes.reviews)[0])
    counts = context.share("counts", lambda: count_pairs(texts, sizes.words))
    whole = context.share("laws", lambda: _compute_laws(counts, space, sizes))
    lengths = np.array([len(text) for text in texts])
    order = np.argsort(np.abs(lengths - np.quantile(lengths, LENGTHS[name])), kind="stable")
    changes: dict[float, list[float]] = {epsilon: [] for epsilon in sizes.epsilons}
    for number in order[: sizes.left_out].tolist():
        without = _compute_laws(counts - count_pairs([texts[number]], sizes.words), space, sizes)
        for epsilon in sizes.epsilons:
            changes[epsilon].append(float(np.abs(whole[epsilon] - without[epsilon]).max()))
    rows = [Row(name, None, "words in it", float(lengths[order[: sizes.left_out]].mean()))]
    for epsilon, found in changes.items():
        rows += [
            row_of(name, epsilon, "mean change", estimate_mean(found, bounds=(0.0, np.inf))),
            Row(name, epsilon, "largest change", max(found)),
            Row(name, epsilon, "least change", min(found)),
        ]
    return rows


def _compute_laws(counts: FloatArray, space: Space, sizes: Sizes) -> dict[float, FloatArray]:
    """Return ln P (n, n) of TEM on the vectors of some counts, by its epsilon."""
    own = Space(space.words, embed_pairs(counts, sizes.dimensions))
    points = own.point_by_word
    return {
        epsilon: np.log(TEM(own, epsilon=epsilon).law.rows(np.arange(own.point_count))[points][:, points])
        for epsilon in sizes.epsilons
    }


def _measure_gain(context: Context, name: str, epsilon: float | None) -> list[Row]:
    """Return how well classifiers of another domain do with vectors, and on its texts privatized by them."""
    sizes: Sizes = context.sizes
    public = context.share("public", lambda: Space.glove(sizes.vocabulary, hide=(), metric="euclidean"))
    trials = [_make_vectors(context, public, name, epsilon, trial) for trial in range(sizes.trials)]
    known = context.share("known", lambda: _classify_by_means(context, public, _make_public(public)))
    right = np.mean(
        [_classify_by_means(context, public, vectors) for vectors in (trials if name == NOISY else trials[:1])], axis=0
    )
    drawn = [_classify_privatized(context, public, vectors, trial) for trial, vectors in enumerate(trials)]
    rows = [
        row_of_mean(name, epsilon, "accuracy", right.tolist()),
        row_of_mean(name, epsilon, "accuracy, privatized", drawn),
    ]
    if name == GLOVE:
        return rows
    shares = np.linalg.norm(trials[0][:, public.vectors.shape[1] :], axis=1)
    return [
        *rows,
        row_of(name, epsilon, "gain", estimate_mean(right - known, bounds=(-1.0, 1.0))),
        Row(name, epsilon, "words adapted", float((shares > 0).mean())),
    ]


def _make_public(public: Space) -> FloatArray:
    """Return public vectors beside nothing private."""
    return combine_vectors(public, np.zeros(public.vectors.shape), 0.0)


def _make_vectors(context: Context, public: Space, name: str, epsilon: float | None, trial: int) -> FloatArray:
    """Return the vectors of the words: public ones, those that private reviews adapted, or that with noise."""
    sizes: Sizes = context.sizes
    texts = context.share("private", lambda: _read_texts(context, "imdb_train.parquet", sizes.private)[0])
    if name == GLOVE:
        return _make_public(public)
    if name == EXACT:
        exact = context.share(
            "exact", lambda: sum_contexts(texts, public, group_rows(len(texts)), VectorOptions.window, 1 << 39)
        )
        return combine_vectors(public, exact.astype(np.float64), 0.0)
    seed = context.derive_seed("noise", epsilon, trial)
    return adapt_vectors(texts, public, VectorOptions(epsilon=float(epsilon or 0.0), delta=DELTA, seed=seed)).vectors


def _load_sentences(context: Context, public: Space) -> tuple[list[IntArray], IntArray, IntArray]:
    """Return sentences of another domain as word numbers, their classes, and in which of four parts each is."""

    def load() -> tuple[list[IntArray], IntArray, IntArray]:
        texts, labels = _read_numbers(context, public, "rotten.parquet", None)
        random = np.random.default_rng(context.derive_seed("split"))
        return texts, labels, random.permutation(np.arange(len(labels)) % _PARTS)

    return context.share("sentences", load)


def _classify_by_means(context: Context, public: Space, vectors: FloatArray) -> FloatArray:
    """Return whether each sentence is classified right (n,), 0 or 1, by logistic regression on the mean of its words.

    Each part is tested by a classifier that learned from the three others.
    """
    from sklearn.linear_model import LogisticRegression

    texts, labels, parts = _load_sentences(context, public)
    means = np.stack([vectors[text].mean(axis=0) if len(text) else np.zeros(vectors.shape[1]) for text in texts])
    means /= np.maximum(means.std(axis=0), 1e-12)
    right = np.zeros(len(labels))
    for part in range(_PARTS):
        is_tested = parts == part
        model = LogisticRegression(C=_REGULARIZATION, max_iter=1_000).fit(means[~is_tested], labels[~is_tested])
        right[is_tested] = model.predict(means[is_tested]) == labels[is_tested]
    return right


def _classify_privatized(context: Context, public: Space, vectors: FloatArray, trial: int) -> float:
    """Return the accuracy on original sentences of FastText that learned from privatized ones, by steps."""
    from deniable.measure.fasttext import FastTextClassifier

    sizes: Sizes = context.sizes
    texts, labels, parts = _load_sentences(context, public)
    is_learned = parts > 0
    space = Space(public.words, vectors, metric="steps")
    laws = CalibratedExponential(space, epsilon=sizes.word_epsilon).law
    random = np.random.default_rng(context.derive_seed("words", trial))
    learned = [text for text, is_in in zip(texts, is_learned, strict=True) if is_in]
    words, offsets = _join(learned)
    drawn = np.empty_like(words)
    for word in np.unique(words).tolist():
        places = np.flatnonzero(words == word)
        cumulative = np.cumsum(laws.rows(space.point_by_word[[word]])[0][space.point_by_word])
        drawn[places] = np.searchsorted(cumulative, random.random(len(places)) * cumulative[-1], side="right")
    net = FastTextClassifier(context.derive_seed("train", trial), dimensions=16, epochs=sizes.epochs)
    net.fit_words(drawn, offsets, labels[is_learned], classes=2, size=len(space))
    tested = _join([text for text, is_in in zip(texts, is_learned, strict=True) if not is_in])
    return float((net.probabilities_of_words(*tested).argmax(axis=1) == labels[~is_learned]).mean())


def _join(texts: Sequence[IntArray]) -> tuple[Any, Any]:
    """Return the words of texts end to end, and where each begins."""
    offsets = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    return np.concatenate([np.empty(0, np.int32), *texts]).astype(np.int32), offsets


def _read_texts(context: Context, file: str, count: int | None) -> tuple[list[str], IntArray]:
    """Return texts and classes of a file, in a public order; all of them, or the first."""
    table = pq.read_table(context.find_file(file), columns=["text", "label"])
    order = np.random.default_rng(context.derive_seed("order", file)).permutation(len(table))[:count]
    texts, labels = table.column("text").to_pylist(), table.column("label").to_pylist()
    return [texts[row].replace("<br />", " ") for row in order.tolist()], np.array(labels).astype(np.int64)[order]


def _read_numbers(context: Context, space: Space, file: str, count: int | None) -> tuple[list[IntArray], IntArray]:
    """Return the known words of texts, as numbers, and classes."""
    texts, labels = _read_texts(context, file, count)
    lexer = Lexer(space, "draw", "lower", ())
    lexed = [lexer.lex(text) for text in texts]
    return [np.array(one.words, dtype=np.int64)[~np.array(one.unknown_mask, dtype=bool)] for one in lexed], labels


STUDY = Study(
    name="sensitive-embeddings",
    title="Vectors trained on private texts, under TEM",
    citation="Carvalho, Vasiloudis and Feyisetan (2021), *TEM: High Utility Metric Differential Privacy on Text*, "
    "Sections 4.1 and 6.",
    question="The paper says that TEM allows the safe use of sensitive embeddings, such as vectors adapted to the "
    "private texts. What does one review change in the law of one and the same word, and what do vectors with "
    "differential privacy of their own give in their place?",
    picture="Left: the largest change of ln P(y|w) when one review is left out of the vectors, against TEM's epsilon: "
    "it grows with epsilon, and is largest for long reviews. Right: accuracy on sentences of another domain against "
    "the vectors' epsilon, with public and with exact private vectors as levels.",
    full=Grid(CELLS, Sizes()),
    quick=Grid(
        CELLS,
        Sizes(reviews=800, words=400, dimensions=20, left_out=3, private=1_500, vocabulary=1_000, trials=2, epochs=3),
    ),
    measure=measure,
    curves={
        **{name: f"{name} left out" for name in LENGTHS},
        **{name: name for name in (GLOVE, EXACT, NOISY)},
    },
    metrics={
        "words in it": Metric("words of a review", ".0f"),
        "mean change": Metric("mean of the largest change, nats", ".3f"),
        "largest change": Metric("largest change, nats", ".3f"),
        "least change": Metric("least of the largest changes, nats", ".3f"),
        "accuracy": Metric("accuracy by mean vectors", ".1%"),
        "gain": Metric("gain over public vectors", ".1%"),
        "accuracy, privatized": Metric("accuracy of FastText on privatized words", ".1%"),
        "words adapted": Metric("words whose vectors changed", ".1%"),
    },
    statements=(
        Statement(
            "TEM allows the safe use of sensitive embeddings (Section 6): with one review left out of the vectors no "
            "word's law changes.",
            at(tuple(LENGTHS), metric="largest change", label="any review"),
            below(1e-9),
            is_universal=True,
        ),
    ),
    questions=(
        Statement(
            "A long review changes more than a short one.",
            at(LONG, metric="mean change"),
            above(at(SHORT)),
        ),
        Statement(
            "Exact private vectors, which have no guarantee, are ahead of public ones on another domain.",
            at(EXACT, metric="gain"),
            above(0.0),
        ),
        Statement(
            "Noisy private vectors are ahead of public ones on another domain.",
            at(NOISY, metric="gain"),
            above(0.0),
        ),
        Statement(
            "A classifier that learns from privatized words gains from noisy private vectors.",
            at(NOISY, metric="accuracy, privatized"),
            above(at(GLOVE)),
        ),
    ),
    panels=(
        Panel(
            "One review left out",
            tuple(Line(name, "largest change", f"-{mark}") for name, mark in zip(LENGTHS, "os^", strict=True)),
            Axis("epsilon of TEM"),
            Axis("largest change of ln P(y|w)"),
        ),
        Panel(
            "Another domain",
            (Line(NOISY, "accuracy"), Line(NOISY, "accuracy, privatized", "--s")),
            Axis("epsilon of the vectors, delta 1e-6", log=10),
            Axis("accuracy, %"),
            (
                Reference(at(GLOVE, metric="accuracy"), label="public vectors"),
                Reference(at(EXACT, metric="accuracy"), label="exact private vectors", style="-."),
                Reference(at(GLOVE, metric="accuracy, privatized"), label="public vectors, privatized", style="--"),
            ),
        ),
    ),
    tables=(
        Table("One review left out", ("largest change", "mean change", "least change"), tuple(LENGTHS), x="epsilon"),
        Table(
            "Sentences of another domain",
            (
                "accuracy",
                "accuracy|low",
                "accuracy|high",
                "gain",
                "gain|low",
                "gain|high",
                "accuracy, privatized",
                "accuracy, privatized|low",
                "accuracy, privatized|high",
                "words adapted",
            ),
            (GLOVE, EXACT, NOISY),
            x="epsilon of the vectors",
        ),
    ),
    files=("imdb_train.parquet", "rotten.parquet"),
    packages=("torch",),
)
