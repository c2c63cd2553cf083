"""What becomes of the rows of a table: their texts are released with their places, and put back into the rows.

Which record ids were there before: of any number, in a database without a name, on disk where it is large.
"""

import abc
import dataclasses
import itertools
import sqlite3
import weakref
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deniable.core.errors import BudgetExceeded, InputError, PersonsMissing
from deniable.core.guarantees import Status
from deniable.text.batches import CellBatch, Tally
from deniable.text.certificate import encode_document_guarantee, format_total_loss
from deniable.text.encoded import EncodedTexts
from deniable.text.release import Release
from deniable.text.tables.layout import TableLayout
from deniable.text.tables.rows import ReleasedRows, TextRows, measure_texts
from deniable.words import WordMechanism

_SETTINGS = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536;"
"""No transaction is ever undone, and 64 MB are kept in memory."""


class SeenIds:
    """The record ids of a table so far, of which none may come twice."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._database.executescript(
            f"{_SETTINGS} CREATE TABLE ids (name BLOB PRIMARY KEY, number INTEGER) WITHOUT ROWID;"
        )
        self._count = 0
        weakref.finalize(self, self._database.close)

    def add(self, record_ids: Sequence[str]) -> tuple[int, int] | None:
        """Add the ids of the rows that come next.

        Returns:
            The numbers of the first two rows with one id, from 0 on, where an id of these was there before; else None.
        """
        rows = [(name.encode("utf-8", "surrogatepass"), number) for number, name in enumerate(record_ids, self._count)]
        self._count += len(rows)
        before = self._database.total_changes
        self._database.execute("BEGIN")
        # In the order of the index, of which then each page is read once.
        self._database.executemany("INSERT OR IGNORE INTO ids VALUES (?, ?)", sorted(rows))
        self._database.execute("COMMIT")
        if self._database.total_changes == before + len(rows):
            return None
        find = "SELECT number FROM ids WHERE name = ?"
        firsts = itertools.chain.from_iterable(self._database.execute(find, (name,)).fetchone() for name, _ in rows)
        return next((first, number) for first, (_, number) in zip(firsts, rows, strict=True) if first != number)


class PersonTally:
    """Counts records and words of each person, for the owner of the table alone.

    Words are drawn independently, so that all words of a person's records together are protected as one text of as many
    words: the losses add up, and compose (see `deniable.words.composition`). A record that names no person is one of
    its own. Memory grows with the number of persons that are named, not with that of records.
    """

    def __init__(self) -> None:
        self._amounts: dict[str, list[int]] = {}  # words and records of each person
        self._nameless = Counter[int]()

    def add_records(self, persons: Sequence[str | None], lengths: Sequence[int]) -> None:
        """Count records.

        Args:
            persons: (n,) whose they are; None where that is not known.
            lengths: (n,) numbers of their words.
        """
        for person, words in zip(persons, lengths, strict=True):
            if person is None:
                self._nameless[words] += 1
            else:
                amounts = self._amounts.setdefault(person, [0, 0])
                amounts[0] += words
                amounts[1] += 1

    @property
    def person_count(self) -> int:
        """Number of persons, and of records that name none."""
        return len(self._amounts) + self._nameless.total()

    def list_guarantees(self, mechanism: WordMechanism, status: Status) -> list[dict[str, Any]]:
        """Return the guarantees of the median person (the lower one of two) and of the one with most words.

        Each is about all words of the person's records against any other words in their places, and has the fields of
        `deniable.text.certificate.encode_document_guarantee`, ``person`` and ``records``; none for no words.

        Args:
            mechanism: drew the words.
            status: of the guarantee of a word, which no person's exceeds.
        """
        counts = Counter(map(tuple, self._amounts.values()))
        counts.update({(words, 1): count for words, count in self._nameless.items()})
        ranked = sorted(counts)
        if not ranked:
            return []
        ranks = itertools.accumulate(counts[amounts] for amounts in ranked)
        median = next(amounts for amounts, rank in zip(ranked, ranks, strict=True) if 2 * rank >= self.person_count)
        chosen = {"median person": median, "person with most words": ranked[-1]}
        return [
            {"person": label, "records": records, **encode_document_guarantee(mechanism, words, status)}
            for label, (words, records) in chosen.items()
            if words
        ]

    def describe(self, mechanism: WordMechanism, status: Status) -> list[str]:
        """Return lines for the owner only: number of persons, and what the release spends on them.

        Args:
            mechanism: drew the words.
            status: of the guarantee of a word; nothing is said of persons where it is refuted.
        """
        nameless = self._nameless.total()
        note = f", {nameless:,} record{'s' * (nameless != 1)} without one counted as one each" if nameless else ""
        lines = [f"{self.person_count:,} person{'s' * (self.person_count != 1)}{note}"]
        if status != "refuted":
            lines += [
                f"the {entry['person']}, {entry['records']:,} record{'s' * (entry['records'] != 1)}, "
                f"{entry['words']:,} words: {format_total_loss(entry)}"
                for entry in self.list_guarantees(mechanism, status)
            ]
        return [
            f"for you only   {line}"
            for line in (*lines, "these figures about people depend on the private table: do not publish them")
        ]


OverBudget = Literal["refuse", "drop"]
"""What becomes of rows that a ledger's budget does not cover."""
_MAX_SHOWN_CHARACTERS = 50
"""Characters of a record id that a message shows."""


@dataclasses.dataclass
class ChargeCounts:
    """What a ledger was charged for in one run, for its owner only.

    Attributes:
        charged: texts that were charged.
        known: texts that had been charged before, and cost nothing again.
        left_out_rows: numbers of the rows, from 0 on, that no budget covered.
        nameless_rows: numbers of those of them that name no person.
    """

    charged: int = 0
    known: int = 0
    left_out_rows: list[int] = dataclasses.field(default_factory=list)
    nameless_rows: list[int] = dataclasses.field(default_factory=list)


class TableReleaser(abc.ABC):
    """Releases rows, window after window. A subclass says how their cells are released.

    An empty cell is released like any other where the layout says so, else it stays; null always stays.

    Attributes:
        charges: what a ledger was charged for so far.

    Args:
        layout: where the texts stand.
        over_budget: what becomes of rows that a ledger's budget does not cover: ``refuse`` raises its error, ``drop``
            leaves them out.

    Raises:
        InputError: a record id that was there before.
        BudgetExceeded, PersonsMissing: the budget of some persons does not cover their rows, or rows name none.
    """

    def __init__(self, layout: TableLayout, over_budget: OverBudget = "refuse") -> None:
        self.charges = ChargeCounts()
        self._layout, self._over_budget, self._row_count, self._seen_ids = layout, over_budget, 0, SeenIds()

    @abc.abstractmethod
    def release_cells(self, cells: CellBatch, rows: TextRows) -> EncodedTexts:
        """Return the new texts of cells, row after row; of rows that a ledger refuses nothing is counted."""

    def __call__(self, rows: TextRows) -> ReleasedRows:
        """Return the new texts of the rows that come next, in their columns."""
        numbers = range(self._row_count, self._row_count + len(rows))
        self._row_count += len(rows)
        rows = dataclasses.replace(rows, numbers=numbers, record_ids=self._resolve_record_ids(rows, numbers))
        is_released = np.ones(len(rows), dtype=bool)
        while True:
            covered = rows if is_released.all() else rows.filter(is_released)
            try:
                columns = self._release_columns(covered)
                break
            except (BudgetExceeded, PersonsMissing) as error:
                if self._over_budget == "refuse":
                    raise _name_persons(error, covered) from None
                is_released[np.flatnonzero(is_released)[error.rows]] = False
        left_out = np.flatnonzero(~is_released).tolist()
        self.charges.left_out_rows += [numbers[row] for row in left_out]
        self.charges.nameless_rows += [
            numbers[row] for row in left_out if rows.persons is None or not rows.persons[row]
        ]
        return ReleasedRows(columns, is_released)

    def _release_columns(self, rows: TextRows) -> dict[str, pa.LargeStringArray]:
        """Return the new texts of rows that have their ids."""
        least = 0 if self._layout.replace_empty else 1
        masks = {name: measure_texts(column) >= least for name, column in rows.columns.items()}
        row_numbers = np.concatenate([np.empty(0, dtype=np.int64), *map(np.flatnonzero, masks.values())])
        names = np.repeat(np.array(list(masks), dtype=object), [int(mask.sum()) for mask in masks.values()])
        texts = [
            column if masks[name].all() else column.filter(pa.array(masks[name]))
            for name, column in rows.columns.items()
        ]
        # Row after row; the cells of one column, whose numbers ascend, are so already.
        order = np.argsort(row_numbers, kind="stable")
        ordered_rows = row_numbers[order]
        cells = CellBatch(
            np.array(rows.record_ids, dtype=object)[ordered_rows].tolist(),
            names[order].tolist(),
            [0] * len(order),  # each column is there once
            EncodedTexts.of_arrow(texts[0] if len(texts) == 1 else pa.concat_arrays(texts).take(pa.array(order))),
            ordered_rows,
            len(rows),
            None if rows.persons is None else [rows.persons[row] for row in ordered_rows.tolist()],
        )
        new_texts = self.release_cells(cells, rows).to_arrow()
        if len(texts) > 1:
            new_texts = new_texts.take(pa.array(np.argsort(order)))
        new_columns, first = {}, 0
        for (name, column), part in zip(rows.columns.items(), texts, strict=True):
            new_part, first = new_texts[first : first + len(part)], first + len(part)
            new_columns[name] = (
                new_part if len(part) == len(column) else pc.replace_with_mask(column, pa.array(masks[name]), new_part)
            )
        return new_columns

    def _resolve_record_ids(self, rows: TextRows, numbers: range) -> Sequence[str]:
        """Return the ids of rows, by default their numbers; refuse one that was there before."""
        if rows.record_ids is None or self._layout.id_column is None:
            return list(map(str, numbers))
        record_ids = self._layout.require_ids(rows.record_ids)
        repeat = self._seen_ids.add(record_ids)
        if repeat is not None:
            shown = record_ids[repeat[1] - numbers.start][:_MAX_SHOWN_CHARACTERS]
            raise InputError(
                f"The record id {shown!r} of {self._layout.name} is in rows {repeat[0] + 1} and {repeat[1] + 1}: ids "
                "must be unique, since equal ids share their noise."
            )
        return record_ids


def _name_persons(error: BudgetExceeded | PersonsMissing, rows: TextRows) -> BudgetExceeded | PersonsMissing:
    """Return the error with the names of those whose rows are not covered, each once."""
    if isinstance(error, PersonsMissing):
        return error
    names = dict.fromkeys(str(rows.persons[row]) for row in error.rows) if rows.persons is not None else {}
    return BudgetExceeded(error.rows, error.caps, [*names])


class RowPrivatizer(TableReleaser):
    """Privatizes the texts of rows under one release, and counts what became of them.

    Attributes:
        tally: counts over all rows so far.
        persons: counts of the words of each person's records, where the layout names their column.

    Args:
        layout: where the texts stand.
        release: how texts are released.
        over_budget: see `TableReleaser`.
        workers: threads.

    Raises:
        InputError: the key or the ledger cannot be read, or the layout names no column of persons for a ledger.
    """

    def __init__(
        self,
        layout: TableLayout,
        release: Release,
        *,
        over_budget: OverBudget = "refuse",
        workers: int | None = None,
    ) -> None:
        if release.ledger is not None:
            layout.check_charged_columns()
        super().__init__(layout, over_budget)
        self.tally, self.persons = Tally(), None if layout.person_column is None else PersonTally()
        self._release, self._workers, self._key = release, workers, release.read_key()

    def release_cells(self, cells: CellBatch, rows: TextRows) -> EncodedTexts:
        """Return the private texts of cells."""
        batch = self._release.privatize_cells(cells, key=self._key, workers=self._workers)
        lengths = np.zeros(len(rows), dtype=np.int64)
        np.add.at(lengths, cells.rows, batch.lengths)
        self.tally += Tally.count(lengths.tolist(), batch)
        if self._release.ledger is not None:
            self.charges.charged += batch.charged
            self.charges.known += int((np.diff(batch.offsets) > 0).sum()) - batch.charged
        if self.persons is not None:
            self.persons.add_records(rows.persons or [None] * len(rows), lengths.tolist())
        return batch.new_texts
