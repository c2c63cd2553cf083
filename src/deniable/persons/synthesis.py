"""Synthetic tables: a private collection is measured with noise, then texts are written from that and public texts."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, get_args

import numpy as np

from deniable.core.arrays import FloatArray, IntArray
from deniable.core.errors import InputError, check_count, make_parameter_error
from deniable.core.guarantees import Unit
from deniable.core.randomness import derive_key_from_seed, make_generator
from deniable.persons.budget import Budget
from deniable.persons.classifier import LinearClassifier
from deniable.persons.classifier_training import (
    ClassifierOptions,
    PrivateTexts,
    PublicTexts,
    fit_public_classifier,
    fit_with_budget,
)
from deniable.persons.features import FeatureMap
from deniable.persons.generators.candidates import CandidateGenerator, generate_candidate_texts
from deniable.persons.generators.counted import generate_counted_texts
from deniable.persons.generators.knowledge import ReleasedKnowledge, SyntheticTexts
from deniable.persons.generators.recombined import generate_recombined_texts
from deniable.persons.generators.tilted import generate_tilted_texts
from deniable.persons.histograms import (
    LENGTH_EDGES,
    ColumnDomain,
    find_length_bins,
    measure_class_shares,
    measure_column_shares,
    measure_length_shares,
    normalize_shares,
    plan_histograms,
)
from deniable.persons.linear_training import plan_linear_measurement
from deniable.persons.ngram_counts import NgramCounts, measure_ngram_counts, plan_ngram_measurement
from deniable.persons.nominal_count import find_nominal_count, plan_count_measurement
from deniable.vectors.discrete_noise import make_noise_generator

GeneratorName = Literal["tilted", "recombined", "candidates", "counts"]
_PUBLIC_GENERATORS = ("tilted", "recombined")
"""Those that write with public texts."""
COUNTS_MEASUREMENT = "words and phrases"
_COUNTS_WEIGHT = 1.0
"""Weight of the counts of phrases beside 1 for the classifier."""
_KEYS_PER_UNIT = 100
"""Phrases that a unit counts, at most."""
_SELECTION_SHARE = 0.5
"""Share of delta for the selection of phrases."""


@dataclasses.dataclass(frozen=True)
class SynthesisOptions:
    """What a synthetic table is made with; all of it is public or declared.

    Attributes:
        training: classes, budget of the whole release, declared number of units, seed of the noise.
        rows: number of synthetic records.
        generator: ``tilted``, ``recombined``, ``candidates`` or ``counts``.
        domains: of further columns.
        counts: whether noisy counts of words and phrases are released too; always for the generator ``counts``.
        propose: the callable of ``candidates``.

    Raises:
        InputError: an unknown generator, no row, a column twice, or candidates without a callable.
    """

    training: ClassifierOptions
    rows: int
    generator: GeneratorName = "tilted"
    domains: tuple[ColumnDomain, ...] = ()
    counts: bool = False
    propose: CandidateGenerator | None = None

    def __post_init__(self) -> None:
        check_count("synthesize", "rows", self.rows)
        if self.generator not in get_args(GeneratorName):
            raise make_parameter_error(
                "synthesize", "generator", f"one of {', '.join(get_args(GeneratorName))}", self.generator
            )
        if (self.generator == "candidates") != (self.propose is not None):
            raise InputError("The generator 'candidates' needs a callable that proposes texts, and no other takes one.")
        names = [domain.name for domain in self.domains]
        if len({*names}) < len(names):
            raise InputError(f"Each column has one domain. Got {', '.join(names)}: declare each once.")

    @property
    def has_counts(self) -> bool:
        """Whether counts of words and phrases are measured."""
        return self.counts or self.generator == "counts"

    def plan_budget(self, feature_map: FeatureMap, unit: Unit) -> Budget:
        """Return the whole budget: classifier, histograms, number of units, and counts where they are released."""
        training = self.training
        measurements = [
            plan_linear_measurement(feature_map, len(training.classes)),
            *plan_histograms(len(training.classes), self.domains),
            *plan_count_measurement(training.records),
        ]
        if self.has_counts:
            measurements.append(plan_ngram_measurement(COUNTS_MEASUREMENT, _COUNTS_WEIGHT, _KEYS_PER_UNIT))
        selection_delta = _SELECTION_SHARE * training.delta if self.has_counts else 0.0
        return Budget(training.epsilon, training.delta, unit, tuple(measurements), selection_delta)


def choose_generator(
    generator: GeneratorName | None, propose: CandidateGenerator | None, *, has_public: bool
) -> GeneratorName:
    """Return the generator that was named, or where none was, the one that fits what is given.

    Raises:
        InputError: it needs public texts, and there are none.
    """
    if generator is None:
        return "candidates" if propose is not None else "tilted" if has_public else "counts"
    if generator in _PUBLIC_GENERATORS and not has_public:
        raise InputError(
            f"The generator {generator!r} writes with public texts: give some of the kind of the private ones, or take "
            "the generator 'counts'."
        )
    return generator


@dataclasses.dataclass(frozen=True, eq=False)
class MeasuredCollection:
    """Everything that was measured of a private collection, with noise: what may be published, and nothing else.

    Attributes:
        classifier: the private classifier, more accurate than any that learns from the synthetic texts.
        class_shares: (K,) shares of the classes.
        length_shares: (L,) shares of texts in the bins of `LENGTH_EDGES`.
        column_shares: (K, V) shares of the values of each further column, by class.
        counts: of words and phrases; None where they were not measured.
        budget: of the whole release.
    """

    classifier: LinearClassifier
    class_shares: FloatArray
    length_shares: FloatArray
    column_shares: dict[ColumnDomain, FloatArray]
    counts: NgramCounts | None
    budget: Budget


@dataclasses.dataclass(frozen=True, eq=False)
class SyntheticTable:
    """Synthetic records.

    Attributes:
        texts: n texts.
        labels: n names of classes.
        columns: n values of each further column, integers where its domain is of these.
    """

    texts: list[str]
    labels: list[str]
    columns: dict[str, list[str] | list[int]]


def measure_collection(
    private: PrivateTexts,
    others: Mapping[str, Sequence[str | None]],
    feature_map: FeatureMap,
    public: PublicTexts | None,
    options: SynthesisOptions,
    progress: Callable[[int, int], None] = lambda done, total: None,  # noqa: ARG005 - reports nothing
) -> MeasuredCollection:
    """Return what a synthetic table is written from: every measurement of a private collection, under one budget.

    Args:
        private: n records.
        others: (n,) cells of each column that has a domain.
        feature_map: public.
        public: public texts, with labels to begin with; None for none.
        options: see `SynthesisOptions`.
        progress: called with the steps done and the total while the classifier learns.
    """
    training, class_count = options.training, len(options.training.classes)
    labels, units = private.labels, private.units
    budget = options.plan_budget(feature_map, units.unit)
    generator = make_noise_generator(training.seed)
    count = find_nominal_count(training.records, budget, units, generator)
    return MeasuredCollection(
        fit_with_budget(private, feature_map, training, budget, count, generator, public, progress),
        measure_class_shares(budget, labels, units, class_count, generator),
        measure_length_shares(budget, private.texts, units, generator),
        {
            domain: measure_column_shares(budget, domain, others[domain.name], labels, units, class_count, generator)
            for domain in options.domains
        },
        measure_ngram_counts(budget, COUNTS_MEASUREMENT, private.texts, labels, units, generator)
        if options.has_counts
        else None,
        budget,
    )


def write_table(measured: MeasuredCollection, public: PublicTexts | None, options: SynthesisOptions) -> SyntheticTable:
    """Return a synthetic table, written from measurements, public texts and a public seed alone.

    So it has the guarantee of the budget that the measurements spent (post-processing).

    Raises:
        InputError: public texts are missing, or a generator cannot write.
    """
    choose_generator(options.generator, options.propose, has_public=public is not None)
    knowledge = build_knowledge(measured.classifier, measured.class_shares, measured.length_shares)
    synthetic = _write_texts(knowledge, public, measured.counts, options)
    classes = options.training.classes
    return SyntheticTable(
        synthetic.texts,
        [classes[code] for code in synthetic.codes.tolist()],
        _draw_columns(measured.column_shares, synthetic.codes),
    )


def write_baseline(feature_map: FeatureMap, public: PublicTexts, options: SynthesisOptions) -> SyntheticTable:
    """Return the table of the same pipeline without any private record, and without further columns.

    The classifier learns from the labelled public texts alone; classes are equally frequent, and lengths are those of
    public texts.

    Raises:
        InputError: the public texts have no labels, or the generator writes from private counts.
    """
    if options.generator == "counts":
        raise InputError("The generator 'counts' writes from private counts alone: it has no baseline.")
    classes = options.training.classes
    classifier = fit_public_classifier(feature_map, classes, public)
    length_counts = np.bincount(find_length_bins(public.texts), minlength=len(LENGTH_EDGES) - 1)
    class_shares = np.full(len(classes), 1 / len(classes))
    knowledge = build_knowledge(classifier, class_shares, normalize_shares(length_counts.astype(np.float64)))
    synthetic = _write_texts(knowledge, public, None, options)
    return SyntheticTable(synthetic.texts, [classes[code] for code in synthetic.codes.tolist()], {})


def build_knowledge(
    classifier: LinearClassifier, class_shares: FloatArray, length_shares: FloatArray
) -> ReleasedKnowledge:
    """Return what generators may see: a classifier, the weight of each of its words, and measured shares."""
    feature_map = classifier.feature_map
    words = slice(1, 1 + len(feature_map.words))
    word_weights = feature_map.weights[words, None] * classifier.class_weights[words]
    return ReleasedKnowledge(
        classifier.classes, class_shares, LENGTH_EDGES, length_shares, classifier, feature_map.words, word_weights
    )


def _write_texts(
    knowledge: ReleasedKnowledge, public: PublicTexts | None, counts: NgramCounts | None, options: SynthesisOptions
) -> SyntheticTexts:
    """Return the texts of the generator; the seed of its draws is public, which takes nothing from the guarantee."""
    rows, seed = options.rows, options.training.seed or 0
    if options.propose is not None:
        return generate_candidate_texts(knowledge, options.propose, rows, seed=seed)
    if counts is not None and options.generator == "counts":
        return generate_counted_texts(knowledge, counts, rows, seed=seed)
    texts = [] if public is None else public.texts
    generate = generate_tilted_texts if options.generator == "tilted" else generate_recombined_texts
    return generate(knowledge, texts, rows, seed=seed)


def _draw_columns(
    column_shares: Mapping[ColumnDomain, FloatArray], codes: IntArray
) -> dict[str, list[str] | list[int]]:
    """Return a value of each column for each synthetic record, drawn by the shares of its class."""
    generator = make_generator(derive_key_from_seed(0), "further columns")
    columns: dict[str, list[str] | list[int]] = {}
    for domain, shares in column_shares.items():
        drawn = np.zeros(len(codes), dtype=np.int64)
        for code in range(len(shares)):
            members = np.flatnonzero(codes == code)
            drawn[members] = generator.choice(len(domain.values), len(members), p=shares[code])
        columns[domain.name] = domain.take_values(drawn)
    return columns
