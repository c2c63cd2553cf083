"""Batches of texts: their places and ids, what became of them, and the counts that a certificate is made of."""

import dataclasses
import functools
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import BoolArray, IntArray
from deniable.core.errors import InputError, PersonsMissing
from deniable.core.identity import is_null
from deniable.text.columns import read_cells, require_identities
from deniable.text.encoded import EncodedTexts
from deniable.text.escapes import MarkupCounts
from deniable.text.remarks import describe_markup, describe_unknown_words

DEFAULT_COLUMN = "text"
"""Column name that stands in a text's stream where there is no table."""


@dataclasses.dataclass(frozen=True, eq=False)
class CellBatch:
    """C texts and their places, by which their noise streams are named.

    Attributes:
        record_ids: (C,) identities of their rows.
        columns: (C,) their names.
        ordinals: (C,) numbers of the cells among those of their row with this column; 0 where names are unique.
        texts: (C,) the private texts.
        rows: (C,) numbers of their rows among the R rows of the batch; of one row they stand together.
        row_count: R.
        persons: (C,) identities of whose they are, None where that is not known; None where nobody asks.
    """

    record_ids: Sequence[str]
    columns: Sequence[str]
    ordinals: Sequence[int]
    texts: EncodedTexts
    rows: IntArray
    row_count: int
    persons: Sequence[str | None] | None = None

    @classmethod
    def of_texts(
        cls, texts: Sequence[str], record_ids: Sequence[str], persons: Sequence[str | None] | None = None
    ) -> "CellBatch":
        """Texts without a table, each a row of its own."""
        count = len(texts)
        places = [DEFAULT_COLUMN] * count, [0] * count
        return cls(record_ids, *places, EncodedTexts.of(texts), np.arange(count), count, persons)

    def __len__(self) -> int:
        """C."""
        return len(self.record_ids)


def require_persons(cells: CellBatch) -> list[str]:
    """Whose the cells of a batch are, which a ledger needs to know of each.

    Raises:
        PersonsMissing: some name no person; ``rows`` are those of the batch.
    """
    persons = cells.persons or [None] * len(cells)
    names = [person for person in persons if person is not None]
    if len(names) < len(cells):
        nameless = np.array([person is None for person in persons])
        raise PersonsMissing(np.unique(cells.rows[nameless]).tolist())
    return names


@dataclasses.dataclass(frozen=True)
class PrivatizedBatch:
    """A batch of texts, privatized; everything but `texts` is for their owner only.

    Attributes:
        new_texts: R private texts.
        offsets: (R + 1,) where the words of each text begin among the N words of all.
        words: (N,) numbers of the words that were read, the public word in place of unknown ones.
        outputs: (N,) numbers of the words that were drawn for them.
        unknown_mask: (N,) True where a word stands for one that the space lacks: the public word for an unknown one,
            the first word of a hidden class for another of the class.
        unknown_count: words that the vocabulary lacks, those masked or dropped among them.
        kept_counts: (R,) words of each text that passed through as public ones.
        markup: how many texts hold HTML; none are counted where the batch is a part of another.
        charged: how many texts a ledger was charged for, those aside that it had been charged for before.
    """

    new_texts: EncodedTexts
    offsets: IntArray
    words: npt.NDArray[np.int32]
    outputs: npt.NDArray[np.int32]
    unknown_mask: BoolArray
    unknown_count: int
    kept_counts: IntArray
    markup: MarkupCounts = dataclasses.field(default_factory=MarkupCounts)
    charged: int = 0

    @functools.cached_property
    def texts(self) -> list[str]:
        """R private texts."""
        return self.new_texts.decode_all()

    @property
    def lengths(self) -> list[int]:
        """Number of words of each released text, kept ones among them: nothing tells those from drawn ones."""
        lengths: list[int] = (np.diff(self.offsets) + self.kept_counts).tolist()
        return lengths

    @property
    def read_words(self) -> int:
        """Number of words of the private texts, those that were kept, masked or dropped among them."""
        left_out = self.unknown_count - int(self.unknown_mask.sum())
        return len(self.words) + int(self.kept_counts.sum()) + left_out

    @property
    def changed_mask(self) -> BoolArray:
        """(N,) True where another word came out; an unknown word always counts as changed."""
        is_changed: BoolArray = (self.outputs != self.words) | self.unknown_mask
        return is_changed


@dataclasses.dataclass(frozen=True)
class Tally:
    """Counts over what was released. Tallies add up: ``sum(tallies, Tally())`` counts several batches.

    `records`, `words` and `lengths` show in the released text itself; the others are statistics of the
    private text, for its owner only.

    Attributes:
        records: number of records.
        words: number of words of the released texts, except "[unknown]".
        lengths: how many records have so many of these words.
        changed: words that differ from the private ones.
        unknown: words that the vocabulary lacks.
        missing: texts of batches that were null, and stay so.
        read_words: words of the private texts, which those of `unknown` are a part of.
        markup: how many texts hold HTML.
    """

    records: int = 0
    words: int = 0
    lengths: Counter[int] = dataclasses.field(default_factory=Counter)
    changed: int = 0
    unknown: int = 0
    missing: int = 0
    read_words: int = 0
    markup: MarkupCounts = dataclasses.field(default_factory=MarkupCounts)

    @classmethod
    def count(cls, lengths: Sequence[int], batch: PrivatizedBatch, *, missing: int = 0) -> "Tally":
        """Return the counts of a batch.

        Args:
            lengths: words of each record, which may have several texts or none.
            batch: what became of the texts.
            missing: number of nulls besides them.
        """
        return cls(
            len(lengths),
            sum(lengths),
            Counter(lengths),
            int(batch.changed_mask.sum()),
            batch.unknown_count,
            missing,
            batch.read_words,
            batch.markup,
        )

    def __add__(self, other: "Tally") -> "Tally":
        """The counts of both."""
        return Tally(*(getattr(self, field.name) + getattr(other, field.name) for field in dataclasses.fields(self)))

    def summary(self) -> str:
        """Return lines about the private texts, for their owner only: the counts, and each remark as a warning."""
        share = 100 * self.changed / max(self.words, 1)
        missing = f"{self.missing:,} without a text, " if self.missing else ""
        counts = (
            f"for you only   {missing}{self.changed:,} words changed ({share:.1f}%), {self.unknown:,} not in the "
            "vocabulary; these figures depend on the private text: do not publish them"
        )
        return "\n".join([counts, *(f"warning (for you only): {remark}" for remark in self.remarks)])

    @property
    def remarks(self) -> list[str]:
        """Whether the texts fit the space and are free of HTML, for their owner only: no line where they are."""
        return describe_unknown_words(self.unknown, self.read_words) + describe_markup(self.markup)

    def median_length(self) -> int:
        """Return the median number of words of a record (the lower one of two)."""
        remaining = (sum(self.lengths.values()) + 1) // 2
        for length in sorted(self.lengths):
            remaining -= self.lengths[length]
            if remaining <= 0:
                return length
        return 0


@dataclasses.dataclass(frozen=True)
class Released:
    """A batch as it may leave, and its counts.

    Attributes:
        texts: one private text for each text, None where there was none.
        tally: counts, of which the certificate uses those that the texts show.
    """

    texts: list[str | None]
    tally: Tally


def read_batch_texts(texts: Sequence[str | None]) -> list[str | None]:
    """Return the texts of a batch, None for each null of whatever kind.

    Raises:
        InputError: they are no sequence of str and nulls; the row that is neither is named.
    """
    return [None if is_null(cell) else _check_text(cell, row) for row, cell in enumerate(read_cells("A batch", texts))]


def _check_text(cell: object, row: int) -> str:
    if not isinstance(cell, str):
        raise InputError(f"Texts must be str or None. Got {type(cell).__name__} in row {row}: make it a text, or None.")
    return cell


def check_record_ids(ids: Sequence[Any], count: int) -> list[str]:
    """Return the identities of records.

    Args:
        ids: one id for each text, see `deniable.core.identity`.
        count: number of texts.

    Raises:
        InputError: ids are missing, repeated, of another kind or of another number.
    """
    first_rows: dict[str, int] = {}
    for row, name in enumerate(require_identities("Record ids", ids)):
        if first_rows.setdefault(name, row) != row:
            raise InputError(f"Record ids must be unique. {name!r} is in rows {first_rows[name]} and {row}.")
    if len(first_rows) != count:
        raise InputError(f"There must be one record id per text. Got {len(first_rows)} for {count}.")
    return [*first_rows]
