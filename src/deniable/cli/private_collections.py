"""Private collections on the command line: the table, what is public beside it, and the release of both, charged."""

import dataclasses
import operator
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deniable.cli.charging import LedgerChoice
from deniable.cli.commandline import option
from deniable.cli.owner_remarks import describe_source_markup, describe_unlisted_words, warn_owner
from deniable.cli.progress import show_passes
from deniable.cli.rows import Roles, Rows, describe_rows, format_row_count, read_public_table, read_table
from deniable.cli.tables import TableOptions
from deniable.cli.terminal import say
from deniable.core.errors import InputError
from deniable.core.guarantees import UNIT_PLURALS
from deniable.core.numbers import format_exact

if TYPE_CHECKING:
    from deniable.core.arrays import FloatArray
    from deniable.measure.intervals import Estimate
    from deniable.models.text.model import TextPredictor
    from deniable.persons.budget import Budget
    from deniable.persons.classifier import LinearClassifier
    from deniable.persons.collection import PublicTexts
    from deniable.persons.options import ClassifierOptions
    from deniable.persons.release import Release
    from deniable.space import Space

_SPACE_ENDINGS = {".npz", ".vec"}
_OTHER_PUBLIC_TEXTS = (
    "Are the texts in another language, or of another kind, than the public ones? Give public texts of their kind with "
    "--public"
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class CollectionData:
    """Data.

    Attributes:
        column: name of the column with text, in the public table too.
        label: name of the column with the class of each text.
        person: column that identifies people; protects whole people, not single records.
        public: public texts similar to yours, a table or one text per line; or words with vectors, .npz or .vec.
        public_label: column of labels in the public table.
        test: table to test on.

    Raises:
        InputError: a column for two purposes, or labels without public texts.
    """

    column: str = dataclasses.field(default="text", metadata=option("--column", "-c", metavar="COLUMN"))
    label: str = dataclasses.field(metadata=option(metavar="COLUMN"))
    person: str | None = dataclasses.field(default=None, metadata=option(metavar="COLUMN"))
    public: Path | None = dataclasses.field(
        default=None, metadata=option(metavar="FILE", show_default="the words of glove")
    )
    public_label: str | None = dataclasses.field(default=None, metadata=option(metavar="COLUMN"))
    test: Path | None = dataclasses.field(
        default=None, metadata=option(metavar="FILE", show_default="a tenth of INPUT")
    )

    def __post_init__(self) -> None:
        """Refuse what contradicts itself before anything is read."""
        _ = self.roles
        if self.public_label is not None and (self.public is None or holds_vectors(self.public)):
            raise InputError("--public-label is for a table with --public: name that too, or leave it out.")

    @property
    def roles(self) -> Roles:
        """What the columns of the private table are for."""
        return Roles(text=self.column, label=self.label, person=self.person)

    def read_public(self, source: str, table: TableOptions) -> "PublicTexts | Space":
        """The public texts, or the space whose words are the vocabulary.

        Raises:
            InputError: the file, or the one to test on, is the private table, by its name or by its content; or it
                cannot be read.
        """
        from deniable.space import Space

        check_test_file(self.test, source)
        if self.public is None:
            return Space.glove(hide=())
        return read_public_file(self.public, source, Roles(text=self.column, label=self.public_label), table)


def choose_classes(declared: Sequence[Any], public: "PublicTexts | Space", option_text: str) -> tuple[Any, ...]:
    """The classes that are declared, or else those of the public labels.

    Raises:
        InputError: there are none.
    """
    from deniable.persons.collection import PublicTexts

    classes = tuple(declared) or (public.list_classes() if isinstance(public, PublicTexts) else ())
    if not classes:
        raise InputError(
            "The classes must be declared, since which labels occur is private: give "
            f"{option_text}A,B,... or public labels with --public and --public-label."
        )
    return classes


def check_test_file(test: Path | None, private: str) -> None:
    """Refuse to test on the private table itself, by its name or by its content.

    Raises:
        InputError: it is.
    """
    if test is not None and _is_same_file(test, Path(private)):
        raise InputError(
            f"The table to test on, {str(test)!r}, is the private table itself: texts learned by heart would count "
            "as right. Give other rows, or leave out --test to hold out a tenth of the private rows."
        )


def holds_vectors(path: Path) -> bool:
    """Whether a file holds words with vectors, by its name; it may be compressed."""
    return not _SPACE_ENDINGS.isdisjoint(path.suffixes)


def read_public_file(path: Path, private: str, roles: Roles, table: TableOptions) -> "PublicTexts | Space":
    """The texts of a public table or the lines of a public file; of an .npz or .vec, words with vectors.

    Args:
        path: of the file.
        private: path of the private table, which it must not be.
        roles: what the columns of a table are for.
        table: how the private table is written.

    Raises:
        InputError: it is the private table, by its name or by its content, or cannot be read.
    """
    from deniable.persons.collection import PublicTexts
    from deniable.space import Space

    if _is_same_file(path, Path(private)):
        raise InputError(
            f"The public file {str(path)!r} is the private table itself: what is taken from a public file is published "
            "as it is. Give texts that anybody may read, or leave out --public."
        )
    if holds_vectors(path):
        return Space.load(str(path), metric="euclidean", hide=())
    rows = read_public_table(str(path), table, roles)
    return PublicTexts(rows.texts, None if rows.roles.label is None else rows.labels)


def prepare_release(
    source: str,
    data: CollectionData,
    table: TableOptions,
    options: "ClassifierOptions",
    public: "PublicTexts | Space",
    ledger: LedgerChoice | None,
    key: bytes | None = None,
) -> "tuple[Release, Rows, Rows]":
    """The release of a private table, charged to the ledger; all rows that were read; and those to test on.

    Args:
        source: path of the private table.
        data: what its columns are for, and what is public beside it.
        table: how it is written.
        options: of the release.
        public: texts, or a space.
        ledger: that is charged; None for a run that was charged before.
        key: by which rows are held out; None for a fresh one.

    Raises:
        InputError: the table cannot be used, the ledger covers no row, or a blind guess would be as good.
        BudgetExceeded: the ledger does not cover the persons of some rows, and these are not to be left out.
    """
    from deniable.core.randomness import generate_key
    from deniable.persons.collection import Collection, number_labels, read_public
    from deniable.persons.linear_training import TOO_LITTLE_SIGNAL, compute_signal
    from deniable.persons.options import SynthesisOptions
    from deniable.persons.planning import plan_budget
    from deniable.persons.release import Release

    with show_passes("public features"):
        knowledge = read_public(public, options.classes)
    budget = plan_budget(options, len(knowledge.feature_map), "record" if data.person is None else "person")
    if options.records is not None:
        if compute_signal(budget, options.records) < TOO_LITTLE_SIGNAL and not knowledge.has_labels:
            raise InputError(
                f"{options.records:,} {UNIT_PLURALS[budget.unit]} at epsilon {format_exact(budget.epsilon)} teach no "
                "more than a blind guess: give more of them, a larger epsilon, or labelled public texts to begin with "
                "(--public, --public-label)."
            )
        warn_of_delta(options.delta, options.records)
    domains = options.domains if isinstance(options, SynthesisOptions) else {}
    read = read_table(source, table, data.roles, further=[*domains])
    rows = read.usable(options.classes)
    remarks = [
        *rows.remarks,
        *describe_unlisted_words(source, rows.texts, knowledge.feature_map.words, _OTHER_PUBLIC_TEXTS),
        *describe_source_markup(source, rows.texts),
    ]
    for name, values in domains.items():
        known = {*map(str, values)}
        foreign = [row for row, cell in enumerate(rows.columns[name]) if cell is None or cell.strip() not in known]
        if foreign:
            noun = format_row_count(foreign)
            remarks.append(f"{source}: {noun} whose {name!r} is outside its domain not counted for it")
    if data.test is None:
        rows, test_rows = rows.hold_out(generate_key() if key is None else key)
    else:
        try:
            test_rows = read_table(str(data.test), table, dataclasses.replace(data.roles, person=None))
            test_rows = test_rows.usable(options.classes)
        except InputError as error:
            raise InputError(f"In --test: {error}") from None
    columns = {name: rows.columns[name] for name in domains}
    labels = number_labels(rows.labels, options.classes)
    release = Release(Collection(rows.texts, labels, rows.persons, columns), options, knowledge)
    capped = sorted({*range(len(rows))} - {*release.units.rows.tolist()})
    reason = f"beyond the first {options.max_records} of their person not used"
    warn_owner([*describe_rows(source, [rows.numbers[row] for row in capped], reason), *remarks])
    opened = None if ledger is None else ledger.open()
    if ledger is not None and opened is not None:
        release = release.charge(opened, drops=ledger.drops_rows)
        covered, persons = {*(release.collection.persons or ())}, rows.persons or ()
        others = [number for number, person in zip(rows.numbers, persons, strict=True) if person not in covered]
        warn_owner(describe_rows(source, others, "left out, which the ledger's budget does not cover"))
    return release, read, test_rows


def describe_accuracy(predictor: "TextPredictor", rows: Rows) -> tuple[str, dict[str, Any]]:
    """A line about the accuracy on private rows, and what the owner's file says of it; nothing of no rows."""
    if not len(rows):
        return "for you only: too few rows were held out to measure an accuracy", {}
    accuracy = estimate_accuracy(predictor.classes, predictor.predict_probabilities(rows.texts), rows)
    figures = (
        f"for you only: accuracy {accuracy.format_percent()} on {accuracy.count:,} test rows; it is a figure about "
        "private records, so do not publish it"
    )
    return figures, {"test accuracy": dataclasses.asdict(accuracy)}


def estimate_accuracy(classes: Sequence[str], probabilities: "FloatArray", rows: Rows) -> "Estimate":
    """The accuracy of a classifier on private rows, for the owner only."""
    from deniable.measure.intervals import estimate_share

    named = [classes[code] for code in probabilities.argmax(axis=1).tolist()]
    return estimate_share(sum(map(operator.eq, named, rows.labels)), len(rows))


def warn_of_delta(delta: float, records: int) -> None:
    """Warn of a delta at which publishing a record or two whole would be allowed."""
    if delta * records >= 1:
        say(
            f"warning: delta {format_exact(delta)} is 1/n or more for n = {records:,}: it would allow somebody's "
            "record to be published. Take a delta far below 1/n.",
            err=True,
        )


def warn_of_signal(budget: "Budget", classifier: "LinearClassifier") -> None:
    """Warn where the nominal number of units is small for the budget, with what to expect."""
    from deniable.persons.linear_training import ENOUGH_SIGNAL, compute_signal, estimate_retained_share

    count = classifier.facts["nominal number of units"]
    signal = compute_signal(budget, count)
    if signal < ENOUGH_SIGNAL:
        say(
            f"warning: about {count:,} {UNIT_PLURALS[budget.unit]} are few at epsilon {format_exact(budget.epsilon)}. "
            f"On film reviews, that many keep about {100 * estimate_retained_share(signal):.0f}% of what a classifier "
            "without privacy gains over a blind guess, more with labelled public texts.",
            err=True,
        )
    if classifier.facts["nominal number"] != "declared":
        warn_of_delta(budget.delta, count)


def _is_same_file(path: Path, other: Path) -> bool:
    """Whether two paths name one file, or files of one content; a pipe is no file."""
    if not path.is_file() or not other.is_file():
        return False
    if path.samefile(other):
        return True
    return path.stat().st_size == other.stat().st_size and path.read_bytes() == other.read_bytes()
