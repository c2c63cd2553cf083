"""Collections of film reviews and flight enquiries: private classifiers of them, and students of synthetic texts."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
import pyarrow.parquet as pq
from scipy.sparse import csr_array

from deniable.core.arrays import FloatArray, IntArray
from deniable.measure.classifiers import build_classifier
from deniable.measure.intervals import DEFAULT_CONFIDENCE, Estimate, estimate_mean, estimate_share
from deniable.persons.budget import Budget, bound_group_epsilon
from deniable.persons.classifier import LinearClassifier, fit_public_classifier
from deniable.persons.collection import Collection as PrivateRecords
from deniable.persons.collection import PublicKnowledge, UnitRows, group_rows
from deniable.persons.features import FeatureMap, build_feature_map, build_space_feature_map
from deniable.persons.linear_training import fit_private_weights, sum_residuals
from deniable.persons.options import ClassifierOptions, GeneratorName, SynthesisOptions
from deniable.persons.planning import plan_budget
from deniable.persons.release import Release, write_baseline
from deniable.space import Space
from deniable.vectors.discrete_noise import make_noise_generator
from studies.runner import Context

DELTA = 1e-5
NO_NOISE = 900.0
"""Epsilon at which the noise on a sum is a tenth of what one record adds: next to none."""
MOST_REVIEWS = 10
"""Reviews of a person, at most."""
REVIEWS, ENQUIRIES = ("imdb_train.parquet", "imdb_test.parquet"), ("atis_train.parquet", "atis_test.parquet")
PUBLIC_REVIEWS, PUBLIC_PAIRS = "rotten.parquet", "nli_train.parquet"
FILES = (*REVIEWS, PUBLIC_REVIEWS, *ENQUIRIES, PUBLIC_PAIRS)
_LINE_BREAK = "<br />"
_BISECTIONS = 40
Vocabulary = Literal["public texts", "words of the space"]


@dataclasses.dataclass(frozen=True, eq=False)
class Collection:
    """A private collection with public features, and records to test on.

    Attributes:
        texts: n private texts.
        codes: (n,) their classes.
        test_texts: m others.
        test_codes: (m,) their classes; -1 for one that was not declared.
        classes: K names.
        public: features of the public texts, or of a space, with these texts and their labels where they have some.
        rows: features of the private texts.
        test_rows: features of the others.
    """

    texts: list[str]
    codes: IntArray
    test_texts: list[str]
    test_codes: IntArray
    classes: tuple[str, ...]
    public: PublicKnowledge
    rows: csr_array
    test_rows: csr_array

    @property
    def feature_map(self) -> FeatureMap:
        """The public features."""
        return self.public.feature_map

    def score_weights(self, weights: FloatArray) -> float:
        """Return the share of the test records whose class weights (D, K - 1) name."""
        return self.score_classifier(LinearClassifier(self.feature_map, self.classes, weights, None, None, {}))

    def score_classifier(self, classifier: LinearClassifier) -> float:
        """Return the share of the test records whose class a classifier on the same features names."""
        return float((classifier.score_features(self.test_rows).argmax(axis=1) == self.test_codes).mean())


@dataclasses.dataclass(frozen=True)
class PrivateRows:
    """Private rows of one trial, and whose they are."""

    rows: IntArray
    units: UnitRows


def load_reviews(context: Context, vocabulary: Vocabulary) -> Collection:
    """Return IMDB, with the Rotten Tomatoes sentences as public texts."""

    def load() -> Collection:
        train, test = (_read_reviews(context, name) for name in REVIEWS)
        public = _build_public(*_read_reviews(context, PUBLIC_REVIEWS), vocabulary)
        return _build_collection(train, test, ("negative", "positive"), public)

    return context.share(f"reviews, {vocabulary}", load)


def load_enquiries(context: Context, vocabulary: Vocabulary) -> Collection:
    """Return ATIS, with premises and hypotheses of entailment pairs as public texts.

    The intents of the training file are taken as the declared ones.
    """

    def load() -> Collection:
        train, test = [_read_columns(context, name, ("text", "intent")) for name in ENQUIRIES]
        classes = tuple(sorted({*train[1]}))
        codes = {name: code for code, name in enumerate(classes)}
        halves = [
            (texts, np.array([codes.get(name, -1) for name in names], dtype=np.int64)) for texts, names in (train, test)
        ]
        premises, hypotheses = _read_columns(context, PUBLIC_PAIRS, ("premise", "hypothesis"))
        public = _build_public([text for text in (*premises, *hypotheses) if text], None, vocabulary)
        return _build_collection(halves[0], halves[1], classes, public)

    return context.share(f"enquiries, {vocabulary}", load)


def load_start(context: Context) -> FloatArray:
    """Return the weights that the labelled public sentences teach."""

    def fit() -> FloatArray:
        collection = load_reviews(context, "public texts")
        return fit_public_classifier(collection.public, collection.classes).weights

    return context.share("public weights", fit)


def select_records(collection: Collection, count: int, seed: int) -> PrivateRows:
    """Return so many records, a uniform choice where they are not all, each a unit by itself."""
    rows = np.sort(np.random.default_rng(seed).permutation(len(collection.texts))[:count])
    return PrivateRows(rows, group_rows(len(rows)))


def select_persons(collection: Collection, count: int, seed: int) -> PrivateRows:
    """Return records of persons who have 1 to `MOST_REVIEWS` each, drawn uniformly; which ones is random too."""
    generator = np.random.default_rng(seed)
    rows = generator.permutation(len(collection.texts))[:count]
    sizes = generator.integers(1, MOST_REVIEWS + 1, len(rows))
    persons = np.repeat(np.arange(len(sizes)), sizes)[: len(rows)]
    return PrivateRows(rows, group_rows(len(rows), persons.tolist()))


def plan_classifier(collection: Collection, private: PrivateRows, epsilon: float) -> Budget:
    """Return the budget of a classifier; the number of units is declared."""
    options = ClassifierOptions(epsilon=epsilon, delta=DELTA, records=len(private.units), classes=collection.classes)
    return plan_budget(options, len(collection.feature_map), private.units.unit)


def score_private_classifier(
    collection: Collection, private: PrivateRows, epsilon: float, seed: int, start: FloatArray | None
) -> float:
    """Return the accuracy of a private classifier, started from public weights or from zeros."""
    classes, feature_map = len(collection.classes), collection.feature_map
    sums = sum_residuals(collection.rows[private.rows], collection.codes[private.rows], private.units, classes)
    weights = fit_private_weights(
        sums,
        np.zeros((len(feature_map), classes - 1)) if start is None else start,
        feature_map,
        plan_classifier(collection, private, epsilon),
        len(private.units),
        make_noise_generator(seed),
    )
    return collection.score_weights(weights)


def find_record_epsilon(collection: Collection, private: PrivateRows, group_epsilon: float) -> float:
    """Return the largest epsilon of a record, found by bisection, at which `MOST_REVIEWS` of them have a given one."""
    low, high = 0.0, group_epsilon
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        is_within = bound_group_epsilon(plan_classifier(collection, private, middle), MOST_REVIEWS) <= group_epsilon
        low, high = (middle, high) if is_within else (low, middle)
    return low


def score_synthesis(
    collection: Collection, private: PrivateRows, options: Sequence[SynthesisOptions]
) -> tuple[list[float], float]:
    """Return the accuracy of a student of each of several tables, and of the classifier released with them.

    All tables are written from one measurement, so that all together spend one budget; the options differ in the
    generator alone. Counts of phrases are measured as where there are no public texts.
    """
    texts = [collection.texts[row] for row in private.rows.tolist()]
    records = PrivateRecords(texts, collection.codes[private.rows])
    public = PublicKnowledge(collection.feature_map) if options[0].has_counts else collection.public
    release = Release(records, options[0], public)
    measured = release.measure()
    tables = [dataclasses.replace(release, options=each).write(measured) for each in options]
    students = [score_student(collection, table.texts, table.labels) for table in tables]
    return students, collection.score_classifier(measured.classifier)


def score_baseline(collection: Collection, options: SynthesisOptions) -> float:
    """Return the accuracy of a student of texts that no private record had a part in."""
    table = write_baseline(collection.public, options)
    return score_student(collection, table.texts, table.labels)


def score_student(collection: Collection, texts: Sequence[str], labels: Sequence[str]) -> float:
    """Return the accuracy, on real records, of a classifier (tf-idf) that learns from given texts."""
    codes = np.array([collection.classes.index(label) for label in labels], dtype=np.int64)
    student = build_classifier("tfidf", 0).fit(texts, codes, len(collection.classes))
    named = student.probabilities(collection.test_texts).argmax(axis=1)
    return float((named == collection.test_codes).mean())


def build_synthesis_options(
    collection: Collection, count: int, epsilon: float, rows: int, generator: GeneratorName, seed: int
) -> SynthesisOptions:
    """Return the options of a synthetic table; the number of records is declared."""
    return SynthesisOptions(
        epsilon=epsilon,
        delta=DELTA,
        records=count,
        classes=collection.classes,
        seed=seed,
        rows=rows,
        generator=generator,
    )


def estimate_accuracy(shares: Sequence[float], rows: int) -> Estimate:
    """Return the mean accuracy of trials on the same test rows.

    The interval's half-width is the root of the sum of two squares: Student's for the mean over trials, and that of a
    share of so many independent rows. One number alone, which no draw has a part in, has Clopper and Pearson's.
    """
    if len(shares) == 1:
        return estimate_share(round(shares[0] * rows), rows)
    mean = estimate_mean(shares)
    row_width = estimate_share(round(mean.value * rows), rows)
    half_width = math.hypot((mean.high - mean.low) / 2, (row_width.high - row_width.low) / 2)
    return Estimate(
        mean.value,
        max(mean.value - half_width, 0.0),
        min(mean.value + half_width, 1.0),
        DEFAULT_CONFIDENCE,
        rows,
        "trials and rows",
    )


def _read_columns(context: Context, name: str, columns: tuple[str, str]) -> tuple[list[str], list[str]]:
    table = pq.read_table(context.find_file(name), columns=list(columns))
    first, second = (table.column(column).to_pylist() for column in columns)
    return first, second


def _read_reviews(context: Context, name: str) -> tuple[list[str], IntArray]:
    """Return texts, line breaks replaced by spaces, and classes."""
    texts, labels = _read_columns(context, name, ("text", "label"))
    return [text.replace(_LINE_BREAK, " ") for text in texts], np.array(labels).astype(np.int64)


def _build_public(texts: list[str], labels: IntArray | None, vocabulary: Vocabulary) -> PublicKnowledge:
    is_of_texts = vocabulary == "public texts"
    feature_map = build_feature_map(texts) if is_of_texts else build_space_feature_map(Space.glove(hide=()))
    return PublicKnowledge(feature_map, texts, labels)


def _build_collection(
    train: tuple[list[str], IntArray],
    test: tuple[list[str], IntArray],
    classes: tuple[str, ...],
    public: PublicKnowledge,
) -> Collection:
    rows, test_rows = (public.feature_map.extract_features(texts) for texts, _ in (train, test))
    return Collection(*train, *test, classes, public, rows, test_rows)
