"""The private records of a release, the units that its guarantee hides, and what is public beside them."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from deniable.core.arrays import IntArray
from deniable.core.errors import InputError, check_count
from deniable.core.guarantees import Unit
from deniable.persons.features import FeatureMap, build_feature_map, build_space_feature_map
from deniable.persons.options import ClassifierOptions, SynthesisOptions
from deniable.space import Space
from deniable.text.batches import read_batch_texts
from deniable.text.columns import format_name, read_cells, read_identities, require_identities

RECORD: Unit = "record"
PERSON: Unit = "person"


@dataclasses.dataclass(frozen=True)
class UnitRows:
    """Which rows belong to which unit: unit u has the rows ``rows[offsets[u] : offsets[u + 1]]``.

    Attributes:
        unit: ``record`` or ``person``.
        rows: (n,) row numbers.
        offsets: (m + 1,) where the rows of each unit begin.
    """

    unit: Unit
    rows: IntArray
    offsets: IntArray

    def __len__(self) -> int:
        """Return m, the number of units; it is private."""
        return len(self.offsets) - 1


def group_rows(count: int, persons: Sequence[Any] | None = None, maximum: int | None = None) -> UnitRows:
    """Return the units of some rows.

    Args:
        count: n, number of rows.
        persons: (n,) to whom each row belongs, by their identities, see `deniable.core.identity`; None where each row
            is a unit by itself.
        maximum: number of rows that count of each person, the first ones; None for all.

    Raises:
        InputError: there is not one person for each row, one is missing or is neither a text nor a whole number, or the
            maximum is below 1.
    """
    if persons is None:
        return UnitRows(RECORD, np.arange(count), np.arange(count + 1))
    if len(persons) != count:
        raise InputError(f"{count:,} rows need as many people. Got {len(persons):,}: give one for each row.")
    identities = require_identities("Persons", persons)
    numbers: dict[str, int] = {}
    person_numbers = np.array([numbers.setdefault(person, len(numbers)) for person in identities], dtype=np.int64)
    rows = np.argsort(person_numbers, kind="stable")
    row_counts = np.bincount(person_numbers, minlength=len(numbers))
    if maximum is not None:
        check_count("a collection", "maximum", maximum)
        first_places = np.repeat(np.cumsum(row_counts) - row_counts, row_counts)
        rows = rows[np.arange(count) - first_places < maximum]
        row_counts = np.minimum(row_counts, maximum)
    return UnitRows(PERSON, rows, np.concatenate([[0], np.cumsum(row_counts)]))


@dataclasses.dataclass(frozen=True, eq=False)
class Collection:
    """n private records that are released together.

    Attributes:
        texts: n texts.
        labels: (n,) class numbers; a text with any other, such as -1, teaches nothing.
        persons: n identities of whose they are, see `deniable.core.identity`; None to hide each record by itself.
        columns: n cells of each further column, by its name.

    Raises:
        InputError: there is not one cell for each text.
    """

    texts: Sequence[str]
    labels: IntArray
    persons: Sequence[str] | None = None
    columns: Mapping[str, Sequence[str | None]] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        named = {"labels": self.labels, "persons": self.persons, **self.columns}
        for name, column in named.items():
            if column is not None and len(column) != len(self.texts):
                raise InputError(
                    f"{len(self.texts):,} texts need as many cells of {name!r}. Got {len(column):,}: give one for each."
                )

    @property
    def unit(self) -> Unit:
        """What is hidden as a whole: all records of a person where persons are known."""
        return RECORD if self.persons is None else PERSON

    def take(self, rows: Sequence[int]) -> "Collection":
        """Return some records, in their order."""
        return Collection(
            [self.texts[row] for row in rows],
            self.labels[np.array(rows, dtype=np.int64)],
            None if self.persons is None else [self.persons[row] for row in rows],
            {name: [cells[row] for row in rows] for name, cells in self.columns.items()},
        )


@dataclasses.dataclass(frozen=True, eq=False)
class PublicKnowledge:
    """What everybody may know beside a collection.

    Attributes:
        feature_map: of the classifier.
        texts: m texts of the kind of the private ones; none where only words are public.
        labels: (m,) their class numbers, -1 for a text without one; None where no text has one.
    """

    feature_map: FeatureMap
    texts: Sequence[str] = ()
    labels: IntArray | None = None

    @property
    def has_labels(self) -> bool:
        """Whether any text has a label."""
        return self.labels is not None and bool((self.labels >= 0).any())


@dataclasses.dataclass(frozen=True, eq=False)
class PublicTexts:
    """Texts of the kind of the private ones that everybody may read.

    Attributes:
        texts: m texts, of which those that are null or blank are left out.
        labels: m classes, null for a text without one; with them training begins from public weights. None for none.
    """

    texts: Sequence[str | None]
    labels: Sequence[Any] | None = None

    def list_classes(self) -> tuple[str, ...]:
        """Return the names of the classes that occur, by the alphabet."""
        names = map(format_name, [] if self.labels is None else read_cells("Public labels", self.labels))
        return tuple(sorted({name for name in names if name is not None}))


def read_public(public: PublicTexts | Space, classes: Sequence[str]) -> PublicKnowledge:
    """Return what public texts teach, or the words of a space.

    Raises:
        InputError: no text holds a word, or none has one of the classes where there are labels.
    """
    if isinstance(public, Space):
        return PublicKnowledge(build_space_feature_map(public))
    cells, labels = read_batch_texts(public.texts), None
    rows = [row for row, text in enumerate(cells) if text and text.strip()]
    if public.labels is not None:
        labels = Collection([""] * len(cells), number_labels(public.labels, classes)).take(rows).labels
        if not (labels >= 0).any():
            raise InputError(
                f"No public text has one of the classes {', '.join(classes) or '(none)'} as its label: give other "
                "labels, or leave them out."
            )
    texts = [str(cells[row]) for row in rows]
    return PublicKnowledge(build_feature_map(texts, "the public texts"), texts, labels)


def number_labels(labels: Sequence[Any], classes: Sequence[str]) -> IntArray:
    """Return the class number of each label, see `format_name`; -1 for one that is none of the classes."""
    numbers = {name: number for number, name in enumerate(classes)}
    names = map(format_name, read_cells("Labels", labels))
    return np.array([-1 if name is None else numbers.get(name, -1) for name in names], dtype=np.int64)


def read_collection(
    texts: Sequence[str | None],
    labels: Sequence[Any],
    options: ClassifierOptions,
    persons: Sequence[Any] | None = None,
    columns: Mapping[str, Sequence[Any]] | None = None,
) -> tuple[Collection, int]:
    """Return the records that have a text, one of the classes, and a person where one is needed; and all their number.

    Each record is judged by itself. Arguments are those of `deniable.persons.release.synthesize`.

    Raises:
        InputError: columns of different lengths, none that is declared, or no record that can be used.
    """
    columns, domains = columns or {}, options.domains if isinstance(options, SynthesisOptions) else {}
    if {*columns} != {*domains}:
        raise InputError(
            f"Each further column needs the list of all its values. Got columns {sorted(columns)}, domains "
            f"{sorted(domains)}: declare the domain of each."
        )
    whole = Collection(
        [text or "" for text in read_batch_texts(texts)],
        number_labels(labels, options.classes),
        None if persons is None else [person or "" for person in read_identities("Persons", persons)],
        {name: [*map(format_name, read_cells("Columns", cells))] for name, cells in columns.items()},
    )
    rows = [
        row
        for row, text in enumerate(whole.texts)
        if text.strip() and whole.labels[row] >= 0 and (whole.persons is None or whole.persons[row])
    ]
    if not rows:
        raise InputError(
            "No record has a text and one of the declared classes: declare the classes as labels spell them."
        )
    return whole.take(rows), len(whole.texts)
