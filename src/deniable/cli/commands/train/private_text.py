"""Private kinds of ``deniable train text``: every record, or every person, is hidden in the model."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from deniable.cli.charging import LedgerChoice, charge_table
from deniable.cli.commands.train.options import parse_classes
from deniable.cli.model_runs import ModelFiles, ModelOutput, commit_to_data, translate_memory_errors
from deniable.cli.owner_remarks import describe_source_markup, describe_unlisted_words, warn_owner
from deniable.cli.private_tables import (
    PrivateColumns,
    PrivateTable,
    PublicFile,
    check_test_file,
    describe_capped_rows,
    hold_out_rows,
    read_private_table,
)
from deniable.cli.progress import show_passes, show_steps
from deniable.core.errors import InputError
from deniable.core.guarantees import Unit
from deniable.core.numbers import format_exact

if TYPE_CHECKING:
    from deniable.models.text.prediction import TextPredictor
    from deniable.persons.budget import Budget
    from deniable.persons.classifier import LinearClassifier
    from deniable.persons.classifier_training import ClassifierOptions, PublicTexts
    from deniable.persons.features import FeatureMap


_OTHER_PUBLIC_TEXTS = (
    "Are the texts in another language, or of another kind, than the public ones? Give public texts of their kind with "
    "--public"
)


@dataclasses.dataclass(frozen=True)
class PrivateTraining:
    """What the options of a private training say.

    Attributes:
        source: path of the private table.
        columns: its columns.
        epsilon: None where it was not given.
        delta: None where it was not given.
        classes: names with commas between them; None for those of the public labels.
        records: declared number of units; None to measure it.
        max_records: rows that count of each person; None for all.
        public: public file; None for the words of the space.
        space: vector file, or ``glove``.
        test: table to test on; None for a tenth of the private rows.
        chosen_from_data: whether epsilon was chosen by looking at the private rows.
        ledger: charged for each person before anything is measured.
    """

    source: Path
    columns: PrivateColumns
    epsilon: float | None
    delta: float | None
    classes: str | None
    records: int | None
    max_records: int | None
    public: PublicFile | None
    space: str
    test: Path | None
    chosen_from_data: bool = False
    ledger: LedgerChoice = dataclasses.field(default_factory=LedgerChoice)


def train_private_text(training: PrivateTraining, output: ModelOutput) -> None:
    """Train a private linear classifier, and write it with its card.

    Nothing is released before the end, on the terminal neither: an interrupted run has spent nothing, and can be run
    again; but a ledger that it had charged stays charged.

    Raises:
        InputError: an option is missing, a table cannot be used, or a blind guess would be as good.
    """
    from deniable.persons.charging import note_ledger
    from deniable.persons.classifier_training import fit_linear_classifier

    training.ledger.require_persons(training.columns.person)
    training.ledger.open()
    options, feature_map, public = prepare_training(training)
    table = read_training_table(training, options.classes, feature_map)
    table, test_table = split_test_rows(training, options.classes, table)
    unit: Unit = "record" if training.columns.person is None else "person"
    table, ledger_steps = charge_table(table, training.ledger, options.plan_budget(feature_map, unit), "dp-linear")
    with translate_memory_errors():
        private = table.to_private_texts(options.classes, training.max_records)
        with show_steps("training") as steps:
            classifier = fit_linear_classifier(
                private, feature_map, options, public, lambda done, total: steps.update(done, total, "")
            )
        classifier = note_ledger(classifier, ledger_steps)
        files = _describe_classifier(classifier, table, test_table)
        output.write(files)
    warn_of_signal(options.plan_budget(feature_map, private.units.unit), classifier)
    typer.echo(files.card.to_text(), err=True)
    typer.echo(files.figures, err=True)


def prepare_training(training: PrivateTraining) -> "tuple[ClassifierOptions, FeatureMap, PublicTexts | None]":
    """Return options, features and public texts; nothing private is read.

    Raises:
        InputError: the budget or the classes are missing, a public file cannot be used, the table to test on is the
            private one, or a blind guess would be as good as what the declared number of units can teach.
    """
    from deniable.persons.classifier_training import ClassifierOptions
    from deniable.persons.features import build_feature_map

    epsilon, delta = check_budget(training.epsilon, training.delta)
    if training.max_records is not None and training.columns.person is None:
        raise InputError("--max-records is for --person: leave it out, or name the column of persons.")
    check_test_file(training.test, str(training.source))
    classes, public = parse_classes(training.classes), None
    if training.public is not None:
        training.public.check_is_other_file(str(training.source))
        public, classes = training.public.read_texts(classes)
    if classes is None:
        raise InputError(
            "The classes must be declared, since which labels occur is private: give --classes A,B,... or public "
            "labels with --public and --public-label."
        )
    options = ClassifierOptions(classes, epsilon, delta, training.records, chosen_from_data=training.chosen_from_data)
    with show_passes("public features"):
        if public is None:
            feature_map = _build_space_features(training.space)
        else:
            feature_map = build_feature_map(public.texts, "the public texts")
    budget = options.plan_budget(feature_map, "record" if training.columns.person is None else "person")
    if training.records is not None:
        check_signal(budget, training.records, has_public_labels=public is not None and public.has_labels)
        warn_of_delta(delta, training.records)
    return options, feature_map, public


def check_budget(epsilon: float | None, delta: float | None) -> tuple[float, float]:
    """Return epsilon and delta, or raise `InputError` where one was not given."""
    if epsilon is None or delta is None:
        raise InputError("A private model needs a budget: give --epsilon and --delta, for example 1 and 1e-6.")
    return epsilon, delta


def check_signal(budget: "Budget", records: int, *, has_public_labels: bool) -> None:
    """Raise `InputError` where so few units teach nothing at a budget, as declared numbers say."""
    from deniable.persons.expectation import TOO_LITTLE_SIGNAL, compute_signal

    if compute_signal(budget, records) < TOO_LITTLE_SIGNAL and not has_public_labels:
        raise InputError(
            f"{records:,} {budget.unit}s at epsilon {format_exact(budget.epsilon)} teach no more than a blind "
            "guess: give more of "
            "them, a larger epsilon, or labelled public texts to begin with (--public, --public-label)."
        )


def warn_of_delta(delta: float, records: int) -> None:
    """Warn of a delta at which publishing a record or two whole would be allowed."""
    if delta * records >= 1:
        typer.echo(
            f"warning: delta {format_exact(delta)} is 1/n or more for n = {records:,}: it allows to publish "
            "somebody's record as "
            "it is. Take a delta far below 1/n.",
            err=True,
        )


def warn_of_signal(budget: "Budget", classifier: "LinearClassifier") -> None:
    """Warn where the nominal number of units is small for the budget, with what to expect."""
    from deniable.persons.expectation import ENOUGH_SIGNAL, compute_signal, estimate_retained_share

    count = classifier.facts["nominal number of units"]
    signal = compute_signal(budget, count)
    if signal < ENOUGH_SIGNAL:
        typer.echo(
            f"warning: about {count:,} {budget.unit}s are few at epsilon {format_exact(budget.epsilon)}. On film "
            "reviews so many "
            f"keep about {100 * estimate_retained_share(signal):.0f} % of what a classifier without privacy gains over "
            "a blind guess, more with labelled public texts.",
            err=True,
        )
    if classifier.facts["nominal number"] != "declared":
        warn_of_delta(budget.delta, count)


def _build_space_features(space: str) -> "FeatureMap":
    from deniable.cli.building import build_space
    from deniable.cli.choices import MetricName
    from deniable.persons.features import build_space_feature_map

    return build_space_feature_map(build_space(space, MetricName.STEPS, "none"))


def read_training_table(
    training: PrivateTraining, classes: tuple[str, ...], feature_map: "FeatureMap", other_columns: Sequence[str] = ()
) -> PrivateTable:
    """Return the usable rows of the private table, with remarks on them for the owner.

    Args:
        training: names the table and its columns.
        classes: declared or public.
        feature_map: whose words the texts should have.
        other_columns: names of further columns.

    Raises:
        InputError: the table cannot be used.
    """
    source = str(training.source)
    table = read_private_table(source, training.columns, classes, other_columns)
    warn_owner(
        [
            *table.remarks,
            *describe_capped_rows(source, table.persons, training.max_records),
            *describe_unlisted_words(source, table.texts, feature_map.words, _OTHER_PUBLIC_TEXTS),
            *describe_source_markup(source, table.texts),
        ]
    )
    return table


def split_test_rows(
    training: PrivateTraining, classes: tuple[str, ...], table: PrivateTable
) -> tuple[PrivateTable, PrivateTable]:
    """Return rows to train on and rows to test on: those of the test table, where one was named."""
    test_table = read_private_test_table(training.test, training.columns, classes)
    return hold_out_rows(table) if test_table is None else (table, test_table)


def read_private_test_table(
    test: Path | None, columns: PrivateColumns, classes: tuple[str, ...]
) -> PrivateTable | None:
    """Return the usable rows of the test table, where one was named.

    Args:
        test: its path; None for no table.
        columns: of the private table, whose persons the test table need not have.
        classes: declared or public.

    Raises:
        InputError: it cannot be used; the message says which table it is about.
    """
    if test is None:
        return None
    try:
        return read_private_table(str(test), dataclasses.replace(columns, person=None), classes)
    except InputError as error:
        raise InputError(f"In --test: {error}") from None


def _describe_classifier(classifier: "LinearClassifier", table: PrivateTable, test_table: PrivateTable) -> ModelFiles:
    """Return the files of a classifier; what was measured on private rows goes to the owner alone."""
    from deniable.persons.card import build_linear_card

    owner_record: dict[str, Any] = dict(commit_to_data(table.fingerprint))
    figures, accuracy = describe_test_accuracy(classifier, test_table)
    if accuracy:
        owner_record |= accuracy | {"training rows": len(table)}
    card = build_linear_card(classifier, owner_record["commitment"])
    return ModelFiles(classifier, card, owner_record, figures, are_figures_private=True)


def describe_test_accuracy(predictor: "TextPredictor", test_table: PrivateTable) -> tuple[str, dict[str, Any]]:
    """Return a line about the accuracy on private rows, and what the owner's file says of it; nothing of no rows.

    A text that the classifier cannot read counts as one of the first class.
    """
    from deniable.measure.intervals import estimate_share

    if not len(test_table):
        return "for you only: too few rows were held out to measure an accuracy", {}
    with show_passes("testing the model"):
        predicted = predictor.predict_probabilities(test_table.texts).argmax(axis=1)
    hits = [predictor.classes[code] == label for code, label in zip(predicted, test_table.labels, strict=True)]
    accuracy = estimate_share(sum(hits), len(hits))
    figures = (
        f"for you only: accuracy {accuracy.format_percent()} on {len(hits):,} test rows; it is a figure about "
        "private records, so do not publish it"
    )
    return figures, {"test accuracy": dataclasses.asdict(accuracy)}
