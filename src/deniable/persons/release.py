"""One private release of a collection: planned, charged to a ledger, measured with noise, and written from that."""

import dataclasses
import functools
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from randomgen import AESCounter

from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError
from deniable.core.parallel import ProgressReporter
from deniable.core.randomness import derive_key_from_seed, make_generator
from deniable.ledger import Ledger
from deniable.persons.budget import Budget, describe_groups, judge_budget
from deniable.persons.certificate import SynthesisCertificate, certify_budget
from deniable.persons.charging import charge_persons
from deniable.persons.classifier import LinearClassifier, fit_public_classifier
from deniable.persons.collection import (
    Collection,
    PublicKnowledge,
    PublicTexts,
    UnitRows,
    group_rows,
    read_collection,
    read_public,
)
from deniable.persons.generators.candidates import CandidateTexts
from deniable.persons.generators.counted import CountedTexts
from deniable.persons.generators.knowledge import ReleasedKnowledge, TextGenerator
from deniable.persons.generators.language_model import LanguageModelTexts, Writing, try_prompt
from deniable.persons.generators.recombined import RecombinedTexts
from deniable.persons.generators.tilted import TiltedTexts
from deniable.persons.histograms import (
    LENGTH_EDGES,
    find_length_bins,
    find_nominal_count,
    measure_shares,
    normalize_shares,
)
from deniable.persons.linear_training import (
    fit_private_weights,
    plan_linear_training,
    sum_residuals,
)
from deniable.persons.ngram_counts import NgramCounts, measure_ngram_counts
from deniable.persons.options import ClassifierOptions, SynthesisOptions
from deniable.persons.planning import COUNTS_MEASUREMENT, plan_budget
from deniable.persons.style import count_style, estimate_style, measure_style
from deniable.space import Space
from deniable.text.release_certificate import CHOSEN_BY_OWNER, CHOSEN_FROM_DATA, list_ledger_steps
from deniable.vectors.discrete_noise import make_noise_generator


@dataclasses.dataclass(frozen=True, eq=False)
class Measured:
    """Everything that was measured of a private collection, with noise: what may be published, and nothing else.

    Attributes:
        classifier: the private classifier, more accurate than any that learns from synthetic texts.
        knowledge: what generators of texts may see; None where a classifier is all that is released.
        column_shares: (K, V) shares of the values of each further column, by class.
        counts: of words and phrases; None where they were not measured.
    """

    classifier: LinearClassifier
    knowledge: ReleasedKnowledge | None = None
    column_shares: Mapping[str, FloatArray] = dataclasses.field(default_factory=dict)
    counts: NgramCounts | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class SyntheticTable:
    """Synthetic records.

    Attributes:
        texts: n texts.
        labels: n names of classes.
        columns: n values of each further column, integers where its domain is of these.
        facts: what a certificate says of how they were written.
    """

    texts: list[str]
    labels: list[str]
    columns: dict[str, list[str] | list[int]]
    facts: dict[str, Any]


@dataclasses.dataclass(frozen=True, eq=False)
class SyntheticRelease(SyntheticTable):
    """Everything that was released of a private collection; all of it has the guarantee of the certificate.

    Attributes:
        classifier: the private classifier, more accurate than any that learns from the texts.
        certificate: of all of it.
        counts: of words and phrases; None where they were not asked for.
    """

    classifier: LinearClassifier
    certificate: SynthesisCertificate
    counts: NgramCounts | None


@dataclasses.dataclass(frozen=True, eq=False)
class Release:
    """One private release of a collection, in four steps: `budget`, `charge`, `measure`, `write`.

    Attributes:
        collection: what is hidden, record by record or person by person.
        options: `ClassifierOptions` for a classifier alone, `SynthesisOptions` for a synthetic table with it.
        public: what everybody may know.
        ledger_steps: what a ledger had to do with it.

    Raises:
        InputError: a maximum of records without persons.
    """

    collection: Collection
    options: ClassifierOptions
    public: PublicKnowledge
    ledger_steps: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.options.max_records is not None and self.collection.persons is None:
            raise InputError("max_records (--max-records) is for people: say whose each record is, or leave it out.")

    @functools.cached_property
    def budget(self) -> Budget:
        """What the release spends, and on what; nothing of it depends on the records."""
        return plan_budget(self.options, len(self.public.feature_map), self.collection.unit)

    @functools.cached_property
    def units(self) -> UnitRows:
        """The records of each unit, as many as count."""
        return group_rows(len(self.collection.texts), self.collection.persons, self.options.max_records)

    def charge(self, ledger: Ledger, *, drops: bool = False) -> "Release":
        """Return the release of the persons whom a ledger covers; when this returns, the charges are on disk.

        Args:
            ledger: whose unit is a person.
            drops: whether persons whom the ledger's budget does not cover are left out, in place of an error.

        Raises:
            InputError: the ledger cannot be used or covers nobody, or nothing is hidden that it could count.
            BudgetExceeded: the budget of some persons does not cover the release; nobody was charged then.
        """
        persons = self.collection.persons
        if persons is None:
            raise InputError("A ledger counts what people spend: pass `persons` too, or leave the ledger out.")
        if self.options.seed is not None:
            raise InputError("A public seed hides nothing, and a ledger counts what is hidden: leave out one of them.")
        left_out = charge_persons(ledger, self.budget, self.options.name, persons, drops=drops)
        rows = [row for row, person in enumerate(persons) if person not in left_out]
        caps = ledger.facts.describe_caps()
        if not rows:
            raise InputError(f"The ledger's budget covers no row of the table: it allows {caps}.")
        steps = list_ledger_steps(caps, drops_rows=drops)
        return dataclasses.replace(self, collection=self.collection.take(rows), ledger_steps=steps)

    def measure(self, progress: ProgressReporter = lambda done, total: None) -> Measured:  # noqa: ARG005 - reports nothing
        """Return everything that is released of the private records, each part measured with noise under one budget.

        Args:
            progress: called with the steps done and the total while the classifier learns.
        """
        options, generator = self.options, make_noise_generator(self.options.seed)
        classifier = self._fit_classifier(generator, progress)
        if not isinstance(options, SynthesisOptions):
            return Measured(classifier)
        budget, units, collection = self.budget, self.units, self.collection
        class_shares, length_shares, column_shares = measure_shares(budget, collection, units, options, generator)
        texts, labels, counts = collection.texts, collection.labels, None
        if options.has_counts:
            counts = measure_ngram_counts(budget, COUNTS_MEASUREMENT, texts, labels, units, generator)
        style = None if options.model is None else measure_style(budget, texts, units, options.model, generator)
        knowledge = ReleasedKnowledge(classifier, class_shares, length_shares, style)
        return Measured(classifier, knowledge, column_shares, counts)

    def _fit_classifier(self, generator: AESCounter, progress: ProgressReporter) -> LinearClassifier:
        """Return the private classifier: everything that its weights depend on is public, declared or paid for."""
        options, budget, feature_map = self.options, self.budget, self.public.feature_map
        classes = options.classes
        count = find_nominal_count(options.records, budget, self.units, generator)
        start = np.zeros((len(feature_map), len(classes) - 1))
        if self.public.has_labels:
            start = fit_public_classifier(self.public, classes).weights
        features = feature_map.extract_features(self.collection.texts)
        sums = sum_residuals(features, self.collection.labels, self.units, len(classes))
        weights = fit_private_weights(sums, start, feature_map, budget, count, generator, progress)
        return self.describe_classifier(count, weights)

    def describe_classifier(self, count: int, weights: FloatArray) -> LinearClassifier:
        """Return the private classifier of released weights (D, K - 1), with what its card says.

        Args:
            count: nominal number of units.
            weights: released.
        """
        options, budget, feature_map = self.options, self.budget, self.public.feature_map
        guarantee, verdict = judge_budget(budget, options.seed)
        facts = {
            "nominal number of units": count,
            "nominal number": "measured with noise" if options.records is None else "declared",
            "measurements": budget.describe_measurements(),
            "training": dataclasses.asdict(plan_linear_training(budget, count)),
            "features": feature_map.source,
            "feature map": feature_map.fingerprint,
            "started from": "weights learned from labelled public texts" if self.public.has_labels else "zeros",
            "groups": describe_groups(budget),
            "epsilon chosen": CHOSEN_FROM_DATA if options.chosen_from_data else CHOSEN_BY_OWNER,
            "seed": options.seed,
            **({"ledger": list(self.ledger_steps)} if self.ledger_steps else {}),
        }
        return LinearClassifier(feature_map, options.classes, weights, guarantee, verdict, facts)

    def write(self, measured: Measured, writing: Writing | None = None) -> SyntheticRelease:
        """Return a synthetic table, written from measurements, public texts and a public seed alone.

        So it has the guarantee of the budget that the measurements spent (post-processing).

        Args:
            measured: of the private records.
            writing: how far the texts of a language model are; None for a new start.

        Raises:
            InputError: the options are of a classifier alone, public texts are missing, or a generator cannot write.
        """
        options = self.options
        if measured.knowledge is None or not isinstance(options, SynthesisOptions):
            raise InputError("A table is written with SynthesisOptions. Got the options of a classifier.")
        options = options.choose_generator(has_public=bool(self.public.texts))
        table = _write_table(measured, measured.knowledge, self.public, options, writing)
        facts = measured.classifier.facts
        nominal = {"units": facts["nominal number of units"], "source": facts["nominal number"]}
        mechanism = {"features": facts["features"], **table.facts}
        certificate = certify_budget(self.budget, options, nominal, mechanism, self.ledger_steps)
        return SyntheticRelease(
            **vars(table), classifier=measured.classifier, certificate=certificate, counts=measured.counts
        )


def write_baseline(
    public: PublicKnowledge, options: SynthesisOptions, writing: Writing | None = None
) -> SyntheticTable:
    """Return the table of the same pipeline without any private record, and without further columns.

    The classifier learns from the labelled public texts alone; classes are equally frequent, and lengths and style are
    those of public texts.

    Raises:
        InputError: the public texts have no labels, or the generator writes from private counts.
    """
    if options.generator == "counts":
        raise InputError("The generator 'counts' writes only from private counts: it has no baseline.")
    classes = len(options.classes)
    length_counts = np.bincount(find_length_bins(public.texts), minlength=len(LENGTH_EDGES) - 1)
    shares = np.full(classes, 1 / classes), normalize_shares(length_counts.astype(np.float64))
    classifier = fit_public_classifier(public, options.classes)
    style = None if options.model is None else estimate_style(count_style(options.model, public.texts))
    knowledge = ReleasedKnowledge(classifier, *shares, style)
    return _write_table(Measured(classifier), knowledge, public, options, writing)


def _write_table(
    measured: Measured,
    knowledge: ReleasedKnowledge,
    public: PublicKnowledge,
    options: SynthesisOptions,
    writing: Writing | None,
) -> SyntheticTable:
    """Return records of the generator; the seed of its draws is public, which takes nothing from the guarantee."""
    generator: TextGenerator
    if options.propose is not None:
        generator = CandidateTexts(options.propose)
    elif options.model is not None and options.prompt is not None:
        generator = LanguageModelTexts(options.model, options.prompt, options.writing, writing or Writing())
    elif options.generator == "counts" and measured.counts is not None:
        generator = CountedTexts(measured.counts)
    else:
        generator = (TiltedTexts if options.generator == "tilted" else RecombinedTexts)(public.texts)
    texts, codes = generator.write_texts(knowledge, options.rows, seed=options.seed or 0)
    draws = make_generator(derive_key_from_seed(0), "further columns")
    columns: dict[str, list[str] | list[int]] = {}
    for name, shares in measured.column_shares.items():
        values = options.domains[name]
        drawn = np.zeros(options.rows, dtype=np.int64)
        for code in range(len(shares)):
            members = np.flatnonzero(codes == code)
            drawn[members] = draws.choice(len(values), len(members), p=shares[code])
        columns[name] = [values[number] for number in drawn.tolist()]
    labels = [options.classes[code] for code in codes.tolist()]
    return SyntheticTable(texts, labels, columns, generator.describe())


def synthesize(
    texts: Sequence[str | None],
    labels: Sequence[Any],
    options: SynthesisOptions,
    *,
    persons: Sequence[Any] | None = None,
    columns: Mapping[str, Sequence[Any]] | None = None,
    public: PublicTexts | Space | None = None,
    ledger: Ledger | str | None = None,
) -> SyntheticRelease:
    """Return synthetic records that hide every record, or every person, of private ones.

    Columns are lists, arrays, or series of pandas or polars, of n cells each. A record without a text, class or person
    is left out, each by itself, with a warning that is for the owner of the records only. Classes and cells of further
    columns are names, see `deniable.text.columns.format_name`: 1 and 1.0 are "1", and True is "true". Persons are texts
    or whole numbers, and 1, 1.0, "1" and "1.0" are one; see `deniable.core.identity`.
    Needs ``deniable[train]`` to save the classifier.

    Args:
        texts: n private texts.
        labels: n private classes.
        options: what is declared: classes, budget, number of rows, generator.
        persons: to whom each record belongs; None to hide each record by itself.
        columns: further private columns by name, each with its values among the domains of the options.
        public: texts of the kind of the private ones that everybody may read, or a space whose words are the
            vocabulary; None for the words of `Space.glove`.
        ledger: counts what each person has spent, and is charged before anything is measured; a `Ledger`, or
            where one is.

    Raises:
        InputError: a parameter outside its domain, columns of different lengths, no record that can be used, or a
            prompt of whose texts hardly any is usable.
        BudgetExceeded: the ledger's budget does not cover some people; nothing was charged or measured then.
    """
    options = options.choose_generator(has_public=isinstance(public, PublicTexts))
    try_prompt(options)
    release = _read_release((texts, labels, persons, columns), options, public, ledger)
    return release.write(release.measure())


def fit_private_classifier(
    texts: Sequence[str | None],
    labels: Sequence[Any],
    options: ClassifierOptions,
    *,
    persons: Sequence[Any] | None = None,
    public: PublicTexts | Space | None = None,
    ledger: Ledger | str | None = None,
) -> LinearClassifier:
    """Return a linear classifier of texts that hides every record, or every person, that it learned from.

    Arguments are those of `synthesize`.

    Raises:
        InputError: a parameter outside its domain, columns of different lengths, or no record that can be used.
        BudgetExceeded: the ledger's budget does not cover some people; nothing was charged or measured then.
    """
    return _read_release((texts, labels, persons, None), options, public, ledger).measure().classifier


def _read_release(
    private: tuple[Any, Any, Any, Mapping[str, Any] | None],
    options: ClassifierOptions,
    public: PublicTexts | Space | None,
    ledger: Ledger | str | None,
) -> Release:
    """Return the release of private columns, charged where there is a ledger."""
    knowledge = read_public(Space.glove(hide=()) if public is None else public, options.classes)
    collection, count = read_collection(*private[:2], options, *private[2:])
    if len(collection.texts) < count:
        warnings.warn(
            f"for you only: {count - len(collection.texts):,} of {count:,} records have no text, none of the declared "
            "classes, or no person: left out",
            UserWarning,
            stacklevel=3,
        )
    release = Release(collection, options, knowledge)
    return release if ledger is None else release.charge(ledger if isinstance(ledger, Ledger) else Ledger(ledger))
