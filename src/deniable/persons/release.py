"""Private classifiers and synthetic records from Python: columns in, one release out."""

import dataclasses
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from deniable.core.arrays import IntArray
from deniable.core.errors import InputError
from deniable.ledger import Ledger
from deniable.persons.budget import Budget
from deniable.persons.certificate import SynthesisCertificate, certify_synthesis
from deniable.persons.charging import charge_persons, note_ledger
from deniable.persons.classifier import LINEAR_CLASSIFIER_KIND, LinearClassifier, restore_linear_classifier
from deniable.persons.classifier_training import (
    ClassifierOptions,
    PrivateTexts,
    PublicTexts,
    fit_linear_classifier,
    make_private_texts,
)
from deniable.persons.features import FeatureMap, build_feature_map, build_space_feature_map
from deniable.persons.generators.candidates import CandidateGenerator
from deniable.persons.histograms import ColumnDomain
from deniable.persons.ngram_counts import NgramCounts
from deniable.persons.synthesis import (
    GeneratorName,
    SynthesisOptions,
    choose_generator,
    measure_collection,
    write_table,
)
from deniable.space import Space
from deniable.text.batches import read_batch_texts
from deniable.text.columns import format_cell, format_name, read_cells, read_identities
from deniable.text.release_certificate import list_ledger_steps

_ColumnName = Literal["labels", "public labels", "columns"]


@dataclasses.dataclass(frozen=True, eq=False)
class SyntheticRelease:
    """Everything that was released of a private collection; all of it has the guarantee of the certificate.

    Attributes:
        texts: n synthetic texts.
        labels: n names of their classes.
        columns: n values of each further column.
        classifier: the private classifier, more accurate than any that learns from the texts.
        certificate: of all of it.
        counts: of words and phrases; None where they were not asked for.
    """

    texts: list[str]
    labels: list[str]
    columns: dict[str, list[str] | list[int]]
    classifier: LinearClassifier
    certificate: SynthesisCertificate
    counts: NgramCounts | None


@dataclasses.dataclass(frozen=True)
class _Collection:
    """Private records as training takes them, and the rows of the columns that they are."""

    private: PrivateTexts
    rows: list[int]
    persons: list[str] | None


def synthesize(
    texts: Sequence[str | None],
    labels: Sequence[Any],
    *,
    classes: Sequence[Any],
    epsilon: float,
    delta: float,
    rows: int,
    persons: Sequence[Any] | None = None,
    max_records: int | None = None,
    columns: Mapping[str, Sequence[Any]] | None = None,
    domains: Mapping[str, Iterable[Any]] | None = None,
    public_texts: Sequence[str | None] | None = None,
    public_labels: Sequence[Any] | None = None,
    generator: GeneratorName | None = None,
    propose: CandidateGenerator | None = None,
    counts: bool = False,
    records: int | None = None,
    space: Space | None = None,
    ledger: Ledger | str | None = None,
    chosen_from_data: bool = False,
    seed: int | None = None,
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
        classes: all K classes in an order, declared or public; never read off the labels.
        epsilon: > 0, of the whole release.
        delta: in (0, 1), far below 1/n.
        rows: number of synthetic records.
        persons: to whom each record belongs; None to hide each record by itself.
        max_records: records that count of each person, the first ones; None for all.
        columns: further private columns by name.
        domains: all values of each of them, declared or public; a record with another counts nowhere.
        public_texts: texts of the kind of the private ones that everybody may read; None for none.
        public_labels: their classes, None for a text without one; with them training begins from public weights.
        generator: ``tilted``, ``recombined``, ``candidates`` or ``counts``; None for the first where there are public
            texts, else for the last, and for ``candidates`` where texts are proposed.
        propose: the callable of ``candidates``, see `CandidateRequest`.
        counts: whether noisy counts of words and phrases are released too.
        records: public number of records, or of persons; None to measure it.
        space: its words are the vocabulary where there are no public texts; None for `Space.glove`.
        ledger: counts what each of the persons has spent, and is charged before anything is measured; a `Ledger`, or
            where one is.
        chosen_from_data: whether epsilon was chosen by looking at the private records, as the certificate then says.
        seed: for tests only: public, so that nothing is hidden; None for fresh noise.

    Raises:
        InputError: a parameter outside its domain, columns of different lengths, or no record that can be used.
        BudgetExceeded: the ledger's budget does not cover some persons; nothing was charged or measured then.
    """
    training = ClassifierOptions(
        _list_classes(classes), epsilon, delta, records, seed, chosen_from_data=chosen_from_data
    )
    chosen = choose_generator(generator, propose, has_public=public_texts is not None)
    options = SynthesisOptions(training, rows, chosen, _read_domains(columns, domains), counts, propose)
    public = _read_public(public_texts, public_labels, training.classes)
    collection = _read_collection(texts, labels, training.classes, persons, max_records)
    others = _read_others(columns or {}, options.domains, len(texts), collection.rows)
    feature_map = _build_features(public, space)
    steps = _charge(
        ledger, options.plan_budget(feature_map, collection.private.units.unit), "synthesize", collection, seed
    )
    measured = measure_collection(collection.private, others, feature_map, public, options)
    measured = dataclasses.replace(measured, classifier=note_ledger(measured.classifier, steps))
    table = write_table(measured, public, options)
    certificate = certify_synthesis(measured, options)
    return SyntheticRelease(table.texts, table.labels, table.columns, measured.classifier, certificate, measured.counts)


def fit_private_classifier(
    texts: Sequence[str | None],
    labels: Sequence[Any],
    *,
    classes: Sequence[Any],
    epsilon: float,
    delta: float,
    persons: Sequence[Any] | None = None,
    max_records: int | None = None,
    public_texts: Sequence[str | None] | None = None,
    public_labels: Sequence[Any] | None = None,
    records: int | None = None,
    space: Space | None = None,
    ledger: Ledger | str | None = None,
    chosen_from_data: bool = False,
    seed: int | None = None,
) -> LinearClassifier:
    """Return a linear classifier of texts that hides every record, or every person, that it learned from.

    Arguments are those of `synthesize`.

    Raises:
        InputError: a parameter outside its domain, columns of different lengths, or no record that can be used.
        BudgetExceeded: the ledger's budget does not cover some persons; nothing was charged or measured then.
    """
    training = ClassifierOptions(
        _list_classes(classes), epsilon, delta, records, seed, chosen_from_data=chosen_from_data
    )
    public = _read_public(public_texts, public_labels, training.classes)
    collection = _read_collection(texts, labels, training.classes, persons, max_records)
    feature_map = _build_features(public, space)
    budget = training.plan_budget(feature_map, collection.private.units.unit)
    steps = _charge(ledger, budget, "dp-linear", collection, seed)
    return note_ledger(fit_linear_classifier(collection.private, feature_map, training, public), steps)


def load_linear_classifier(path: Path) -> LinearClassifier:
    """Read a private classifier that `deniable.learning.artifact.save_model` wrote.

    Raises:
        InputError: no such file, or it is no linear classifier of texts.
    """
    from deniable.learning.artifact import read_artifact

    return restore_linear_classifier(read_artifact(path, LINEAR_CLASSIFIER_KIND))


def _list_classes(classes: Sequence[Any]) -> tuple[str, ...]:
    """Return the names of the classes."""
    if isinstance(classes, str) or not isinstance(classes, Iterable):
        raise InputError(
            f"Classes are a list of names. Got {type(classes).__name__}, {classes!r}: pass a list of them all."
        )
    return _format_names(_list_values("Classes", classes))


def _list_values(owner: str, values: Iterable[Any]) -> list[Any]:
    """Return values in their order, which must be the same in every run: what is drawn depends on it."""
    if isinstance(values, (set, frozenset)):
        raise InputError(f"{owner} are a list, and a set has no order: pass a list, for example sorted(...).")
    return list(values)


def _format_names(values: Sequence[Any]) -> tuple[str, ...]:
    return tuple(format_cell(value).strip() for value in values)


def _read_names(name: _ColumnName, column: Sequence[Any], count: int) -> list[str | None]:
    """Return the names in a column, see `format_name`."""
    cells = read_cells(name.capitalize(), column)
    _check_count(name, len(cells), count)
    return [format_name(cell) for cell in cells]


def _check_count(name: str, got: int, count: int) -> None:
    """Raise `InputError` unless a column has a cell for each text."""
    if got != count:
        raise InputError(f"{name.capitalize()} must be as many as texts, {count:,}. Got {got:,}: give one for each.")


def _number_labels(labels: Sequence[str | None], classes: Sequence[str]) -> IntArray:
    """Return the class number of each label, -1 for one that is none of the classes."""
    numbers = {name: number for number, name in enumerate(classes)}
    return np.array([-1 if label is None else numbers.get(label, -1) for label in labels], dtype=np.int64)


def _read_collection(
    texts: Sequence[str | None],
    labels: Sequence[Any],
    classes: Sequence[str],
    persons: Sequence[Any] | None,
    max_records: int | None,
) -> _Collection:
    """Return the records that have a text, one of the classes, and a person where one is needed."""
    if max_records is not None and persons is None:
        raise InputError("A maximum of records is for persons: give persons too, or leave max_records out.")
    cells = read_batch_texts(texts)
    codes = _number_labels(_read_names("labels", labels, len(cells)), classes)
    owners = None if persons is None else read_identities("Persons", persons)
    if owners is not None:
        _check_count("persons", len(owners), len(cells))
    rows = [
        row
        for row, text in enumerate(cells)
        if text and text.strip() and codes[row] >= 0 and (owners is None or owners[row] is not None)
    ]
    if not rows:
        raise InputError(
            "No record has a text and one of the declared classes: declare the classes as labels spell them."
        )
    if len(rows) < len(cells):
        warnings.warn(
            f"for you only: {len(cells) - len(rows):,} of {len(cells):,} records have no text, none of the declared "
            "classes, or no person: left out",
            UserWarning,
            stacklevel=3,
        )
    names = None if owners is None else [str(owners[row]) for row in rows]
    private = make_private_texts([str(cells[row]) for row in rows], codes[rows], names, max_records)
    return _Collection(private, rows, names)


def _charge(
    ledger: Ledger | str | None, budget: Budget, mechanism: str, collection: _Collection, seed: int | None
) -> list[str]:
    """Charge the persons of a collection, and return what a certificate says of that; nothing without a ledger."""
    if ledger is None:
        return []
    if collection.persons is None:
        raise InputError("A ledger counts what persons spend: give persons too, or leave the ledger out.")
    if seed is not None:
        raise InputError("A public seed hides nothing, and a ledger counts what is hidden: leave out one of them.")
    opened = ledger if isinstance(ledger, Ledger) else Ledger(ledger)
    charge_persons(opened, budget, mechanism, collection.persons)
    return list_ledger_steps(opened.facts.describe_caps(), drops_rows=False)


def _read_domains(
    columns: Mapping[str, Sequence[Any]] | None, domains: Mapping[str, Iterable[Any]] | None
) -> tuple[ColumnDomain, ...]:
    """Return the domain of each further column."""
    names, declared = {*(columns or {})}, domains or {}
    if names != {*declared}:
        raise InputError(
            f"Each further column needs the list of all its values. Got columns {sorted(names)}, domains "
            f"{sorted(declared)}: declare the domain of each."
        )
    return tuple(_make_domain(name, values) for name, values in declared.items())


def _make_domain(name: str, values: Iterable[Any]) -> ColumnDomain:
    listed = _list_values(f"The values of {name!r}", values)
    is_integer = all(isinstance(value, (int, np.integer)) and not isinstance(value, bool) for value in listed)
    return ColumnDomain(name, _format_names(listed), is_integer)


def _read_others(
    columns: Mapping[str, Sequence[Any]], domains: Sequence[ColumnDomain], count: int, rows: Sequence[int]
) -> dict[str, list[str | None]]:
    """Return the cells of the further columns at the rows that are used."""
    cells = {domain.name: _read_names("columns", columns[domain.name], count) for domain in domains}
    return {name: [column[row] for row in rows] for name, column in cells.items()}


def _read_public(
    texts: Sequence[str | None] | None, labels: Sequence[Any] | None, classes: Sequence[str]
) -> PublicTexts | None:
    """Return public texts, those that are empty left out."""
    if texts is None:
        if labels is not None:
            raise InputError("Public labels are for public texts: give these too, or leave the labels out.")
        return None
    cells = read_batch_texts(texts)
    rows = [row for row, text in enumerate(cells) if text and text.strip()]
    kept_texts = [str(cells[row]) for row in rows]
    if labels is None:
        return PublicTexts(kept_texts)
    codes = _number_labels(_read_names("public labels", labels, len(cells)), classes)[rows]
    if not (codes >= 0).any():
        raise InputError(f"No public text has one of the classes {', '.join(classes)}: leave out the public labels.")
    return PublicTexts(kept_texts, codes)


def _build_features(public: PublicTexts | None, space: Space | None) -> FeatureMap:
    """Return the vocabulary of the public texts, or of a space."""
    if public is not None:
        return build_feature_map(public.texts, "the public texts")
    return build_space_feature_map(Space.glove(hide=()) if space is None else space)
