"""One table in, one private table and its certificate out."""

import dataclasses
import hashlib
from collections.abc import Callable, Collection, Sequence
from typing import Literal, Protocol, TypeVar

import numpy as np

from deniable.core.errors import BudgetExceeded, InputError
from deniable.core.files import check_outputs, open_input, open_outputs
from deniable.core.signatures import SIGNATURE_ENDING, SigningKey, list_signature_paths, make_release_seal
from deniable.text.batches import CellBatch, PrivatizedBatch, Tally, TextCell
from deniable.text.certificate import Certificate
from deniable.text.encoded import Texts, join_texts, take_texts
from deniable.text.person_tally import PersonTally
from deniable.text.release import Release
from deniable.text.tables import TABLE_FORMATS
from deniable.text.tables.layout import CopiedContent, TableLayout
from deniable.text.tables.rows import (
    NewTexts,
    ReleasedRows,
    RowReleaser,
    TextRows,
    measure_texts,
    replace_texts,
    select_texts,
)
from deniable.words.prior import Prior

OverBudget = Literal["refuse", "drop"]
"""What becomes of rows that a ledger's budget does not cover."""
_MAX_SHOWN_CHARACTERS = 50
"""Characters of a record id that a message shows."""


class SupportsToJson(Protocol):
    """What accompanies a released table."""

    def to_json(self) -> str:
        """Return it as JSON text."""


class ReleaseWatcher(Protocol):
    """Sees what becomes of each row, for the owner of the texts; nothing of the release depends on it."""

    def see_rows(self, rows: Sequence[Sequence[TextCell]], batch: PrivatizedBatch) -> None:
        """Look at rows: their released cells, and what became of these, cell after cell."""

    def finish(self) -> None:
        """Look at the end, before anything is written; an `InputError` leaves nothing."""


CertificateT = TypeVar("CertificateT", bound=SupportsToJson)


@dataclasses.dataclass(frozen=True)
class ReleaseFiles:
    """Which table is released, and where to.

    Attributes:
        source: path of the table, or ``-``.
        target: path of the released table, or ``-``.
        certificate: path of the certificate.
        table_format: a name from `TABLE_FORMATS`.
        layout: where the texts stand.
        force: overwrite existing outputs.
        input_paths: paths of what else the run reads: keys, lists, vectors, models; no output may be one of them.
        signing_key: signs the certificate and the released table, in a file beside the certificate; None for none.
    """

    source: str
    target: str
    certificate: str
    table_format: str
    layout: TableLayout
    force: bool = dataclasses.field(default=False, kw_only=True)
    input_paths: Collection[str] = dataclasses.field(default=(), kw_only=True)
    signing_key: SigningKey | None = dataclasses.field(default=None, kw_only=True)

    @property
    def outputs(self) -> list[str]:
        """Every path that is written."""
        signatures = [] if self.signing_key is None else [self.certificate + SIGNATURE_ENDING]
        return [self.target, self.certificate, *signatures]


@dataclasses.dataclass
class ChargeCounts:
    """What a ledger was charged for in one run, for its owner only.

    Attributes:
        charged: texts that were charged.
        known: texts that had been charged before, and cost nothing again.
        left_out_rows: numbers of the rows, from 0 on, that no budget covered.
    """

    charged: int = 0
    known: int = 0
    left_out_rows: list[int] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class OwnerCounts:
    """Counts of one run, of which the certificate uses those that the texts show; the others are for the owner only.

    Attributes:
        tally: of what was released.
        charges: of a ledger; all 0 without one.
    """

    tally: Tally
    charges: ChargeCounts


def write_released_table(
    files: ReleaseFiles,
    release_rows: RowReleaser,
    make_certificate: Callable[[CopiedContent], CertificateT],
    report: Callable[[int], None] = lambda _: None,
) -> CertificateT:
    """Write a table with its texts released, and its certificate; both appear whole or not at all.

    Args:
        files: from where to where.
        release_rows: gives the new texts of rows.
        make_certificate: makes the certificate from what was copied, when all texts are released.
        report: called with the number of input bytes of every read.

    Raises:
        InputError: the input or an output cannot be used; nothing is written then.
    """
    check_release_paths(files)
    files.layout.check_text_columns()
    seal = make_release_seal(files.signing_key, files.certificate, ["table"])
    with (
        # The certificate comes first: no released table appears without one.
        open_outputs(files.certificate, files.target, force=files.force, seal=seal) as (certificate_file, sink),
        open_input(files.source, report, seekable=files.table_format == "parquet") as stream,
    ):
        certificate = make_certificate(TABLE_FORMATS[files.table_format](stream, sink, files.layout, release_rows))
        certificate_file.write(certificate.to_json().encode("utf-8", "backslashreplace"))
    return certificate


def privatize_table(
    files: ReleaseFiles,
    release: Release,
    *,
    chosen_from_data: bool = False,
    prior: Prior | None = None,
    workers: int | None = None,
    report: Callable[[int], None] = lambda _: None,
    watcher: ReleaseWatcher | None = None,
    persons: PersonTally | None = None,
    over_budget: OverBudget = "refuse",
) -> tuple[Certificate, OwnerCounts]:
    """Write the private table and its certificate; both appear whole or not at all.

    Args:
        files: from where to where.
        release: how texts are released; under a key the layout must name a column of ids.
        chosen_from_data: whether epsilon was chosen by looking at the private texts.
        prior: public word frequencies, see `Certificate.of`.
        workers: threads.
        report: called with the number of input bytes of every read.
        watcher: sees the rows, in the order of the table.
        persons: counts the words of each person's records, for their owner only; the layout names the column.
        over_budget: what becomes of rows that a ledger's budget does not cover: ``refuse`` ends the run, and ``drop``
            leaves them out, as the certificate then says.

    Returns:
        The certificate, and the counts, which are for the owner only.

    Raises:
        InputError: the input, an option or an output cannot be used; nothing is written then.
        BudgetExceeded: the budget of some persons does not cover their rows; nothing is written then.
    """
    if release.noise in {"keyed", "ledger"} and files.layout.id_column is None:
        raise InputError(
            f"A {'ledger' if release.noise == 'ledger' else 'key'} needs a column of record ids: the noise follows the "
            "record's id, and row numbers change when rows do. Name the column, with --id on the command line."
        )
    privatizer = RowPrivatizer(files.layout, release, over_budget=over_budget, workers=workers, watcher=watcher)

    def release_rows(rows: TextRows) -> ReleasedRows:
        released = privatizer(rows)
        if persons is not None:
            kept = rows if released.is_released is None else rows.filter(released.is_released)
            persons.add_records(kept.persons or [None] * len(kept), privatizer.lengths)
        return released

    def make_certificate(copied: CopiedContent) -> Certificate:
        if watcher is not None:
            watcher.finish()
        return Certificate.of(
            release,
            privatizer.tally,
            chosen_from_data=chosen_from_data,
            prior=prior,
            copied=copied,
            drops_rows=release.ledger is not None and over_budget == "drop",
        )

    certificate = write_released_table(files, release_rows, make_certificate, report)
    return certificate, OwnerCounts(privatizer.tally, privatizer.charges)


def check_release_paths(files: ReleaseFiles) -> None:
    """Raise `InputError` where the outputs cannot be written, or would destroy what is read; see `check_outputs`."""
    signatures = list_signature_paths(files.signing_key, files.certificate)
    outputs = [files.target, files.certificate, *signatures]
    check_outputs(outputs, [files.source, *files.input_paths], force=files.force)


class TableReleaser:
    """Gives the texts of rows to a release with their places, and puts the new texts into the rows.

    An empty cell is released like any other where the layout says so, else it stays; null always stays.

    Args:
        layout: where the texts stand.
        release_cells: returns the new texts of cells, row after row.
        over_budget: see `privatize_table`.
    """

    def __init__(
        self,
        layout: TableLayout,
        release_cells: Callable[[CellBatch], Texts],
        over_budget: OverBudget = "refuse",
    ) -> None:
        self.records = 0
        self.left_out_rows: list[int] = []
        self._layout, self._release_cells, self._over_budget = layout, release_cells, over_budget
        # Digests of ids, to find a repeated one in bounded memory per row.
        self._first_rows: dict[bytes, int] = {}

    def __call__(self, rows: TextRows) -> ReleasedRows:
        """Return the new texts of rows, in their columns."""
        first_number = self.records
        record_ids = self._resolve_record_ids(rows)
        rows = dataclasses.replace(rows, record_ids=record_ids)
        is_released = np.ones(len(rows), dtype=bool)
        while True:
            covered = rows if is_released.all() else rows.filter(is_released)
            try:
                columns = self._release_columns(covered)
            except BudgetExceeded as error:
                if self._over_budget == "refuse":
                    raise _name_persons(error, covered) from None
                is_released[np.flatnonzero(is_released)[error.rows]] = False
                continue
            left_out = np.flatnonzero(~is_released)
            self.left_out_rows += (first_number + left_out).tolist()
            return ReleasedRows(columns, is_released if len(left_out) else None)

    def _release_columns(self, rows: TextRows) -> NewTexts:
        """Return the new texts of rows that have their ids."""
        least = 0 if self._layout.replace_empty else 1
        masks = {name: measure_texts(column) >= least for name, column in rows.columns.items()}
        row_numbers = np.concatenate([np.empty(0, dtype=np.int64), *map(np.flatnonzero, masks.values())])
        names = np.repeat(np.array(list(masks), dtype=object), [int(mask.sum()) for mask in masks.values()])
        texts = [select_texts(column, masks[name]) for name, column in rows.columns.items()]
        # Row after row; the cells of one column, whose numbers ascend, are so already.
        order = np.argsort(row_numbers, kind="stable")
        ordered_rows = row_numbers[order]
        cells = CellBatch(
            np.array(rows.record_ids, dtype=object)[ordered_rows].tolist(),
            names[order].tolist(),
            [0] * len(order),  # each column is there once
            texts[0] if len(texts) == 1 else take_texts(join_texts(texts), order),
            ordered_rows,
            len(rows),
            None if rows.persons is None else [rows.persons[row] for row in ordered_rows.tolist()],
        )
        new_texts = self._release_cells(cells)
        if len(texts) == 1:
            return {name: replace_texts(column, masks[name], new_texts) for name, column in rows.columns.items()}
        places, first, new_columns = np.argsort(order), 0, {}
        for name, column in rows.columns.items():
            last = first + int(masks[name].sum())
            new_columns[name] = replace_texts(column, masks[name], take_texts(new_texts, places[first:last]))
            first = last
        return new_columns

    def _resolve_record_ids(self, rows: TextRows) -> list[str]:
        """Return the ids of rows, by default their numbers from 0 on; refuse one that was there before."""
        numbers = range(self.records, self.records + len(rows))
        self.records += len(rows)
        return [
            str(number) if record_id is None else self._check_record_id(record_id, number)
            for record_id, number in zip(rows.record_ids or [None] * len(rows), numbers, strict=True)
        ]

    def _check_record_id(self, record_id: str, number: int) -> str:
        digest = hashlib.blake2b(record_id.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        first_row = self._first_rows.setdefault(digest, number)
        if first_row != number:
            raise InputError(
                f"The record id {record_id[:_MAX_SHOWN_CHARACTERS]!r} of {self._layout.name} is in rows "
                f"{first_row + 1} and {number + 1}: ids must be unique, since equal ids share their noise."
            )
        return record_id


def _name_persons(error: BudgetExceeded, rows: TextRows) -> BudgetExceeded:
    """Return the error with the names of those whose rows are not covered, each once."""
    persons = rows.persons or [None] * len(rows)
    names = dict.fromkeys(persons[row] or "a row without a person" for row in error.rows)
    return BudgetExceeded(error.rows, error.caps, [*names])


class RowPrivatizer:
    """Privatizes the texts of rows under one release, and counts what became of them.

    Attributes:
        tally: counts over all rows so far.
        lengths: words of each of the rows that came last and were released.

    Args:
        layout: where the texts stand.
        release: how texts are released; where it has no key, one fresh key serves all rows.
        over_budget: see `privatize_table`.
        workers: threads.
        watcher: sees the rows.

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
        watcher: ReleaseWatcher | None = None,
    ) -> None:
        if release.ledger is not None:
            layout.check_charged_columns()
        self.tally = Tally()
        self.lengths: list[int] = []
        self._release, self._workers, self._watcher = release, workers, watcher
        self._key = release.read_key()
        self._release_rows = TableReleaser(layout, self._privatize_cells, over_budget)
        self._charges = ChargeCounts()

    def __call__(self, rows: TextRows) -> ReleasedRows:
        """Return the new texts of rows, in their columns."""
        return self._release_rows(rows)

    @property
    def charges(self) -> ChargeCounts:
        """What a ledger was charged for so far."""
        return dataclasses.replace(self._charges, left_out_rows=self._release_rows.left_out_rows)

    def _privatize_cells(self, cells: CellBatch) -> Texts:
        batch = self._release.privatize_cells(cells, key=self._key, workers=self._workers)
        lengths = np.zeros(cells.row_count, dtype=np.int64)
        np.add.at(lengths, cells.rows, batch.lengths)
        self.lengths = lengths.tolist()
        self.tally += Tally.count(self.lengths, batch)
        if self._release.ledger is not None:
            self._charges.charged += batch.charged
            self._charges.known += int((np.diff(batch.offsets) > 0).sum()) - batch.charged
        if self._watcher is not None:
            self._watcher.see_rows(cells.list_rows(), batch)
        return batch.new_texts
