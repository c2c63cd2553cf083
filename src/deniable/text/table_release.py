"""One table in, one private table and its certificate out."""

import contextlib
import dataclasses
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Literal, Protocol, TypeVar, cast

import numpy as np

from deniable.core.errors import BudgetExceeded, InputError, PersonsMissing
from deniable.core.files import PIPE, check_outputs, open_input, open_outputs
from deniable.core.signatures import SIGNATURE_ENDING, SigningKey, list_signature_paths, make_release_seal
from deniable.text.batches import CellBatch, PrivatizedBatch, Tally, TextCell
from deniable.text.certificate import Certificate
from deniable.text.encoded import Texts, join_texts, take_texts
from deniable.text.journal import (
    Journal,
    Window,
    check_no_journal,
    describe_run,
    open_journal,
    remove_journal,
)
from deniable.text.person_tally import PersonTally
from deniable.text.release import Release
from deniable.text.seen_ids import SeenIds
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
        see_copied: called with what is copied unchanged, before anything is written.
    """

    source: str
    target: str
    certificate: str
    table_format: str
    layout: TableLayout
    force: bool = dataclasses.field(default=False, kw_only=True)
    input_paths: Collection[str] = dataclasses.field(default=(), kw_only=True)
    signing_key: SigningKey | None = dataclasses.field(default=None, kw_only=True)
    see_copied: Callable[[CopiedContent], None] = dataclasses.field(default=lambda _: None, kw_only=True)

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
        nameless_rows: numbers of those of them that name no person.
    """

    charged: int = 0
    known: int = 0
    left_out_rows: list[int] = dataclasses.field(default_factory=list)
    nameless_rows: list[int] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class OwnerCounts:
    """Counts of one run, of which the certificate uses those that the texts show; the others are for the owner only.

    Attributes:
        tally: of what was released.
        charges: of a ledger; all 0 without one.
        retyped: columns of a parquet file whose equal values are stored as another physical type.
    """

    tally: Tally
    charges: ChargeCounts
    retyped: tuple[str, ...] = ()


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
        copied = TABLE_FORMATS[files.table_format](stream, sink, files.layout, release_rows)
        files.see_copied(copied)
        certificate = make_certificate(copied)
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
    resume: bool = False,
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
        resume: keep what is finished in a journal beside the output, and go on from the one that a run has left; see
            `deniable.text.journal`.

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
    check_release_paths(files)
    check_journal(files, resume=resume, has_watcher=watcher is not None)
    with _open_run_journal(files, release, over_budget, resume=resume) as journal:
        key = None if journal is None else journal.key
        privatizer = RowPrivatizer(
            files.layout, release, key=key, over_budget=over_budget, workers=workers, watcher=watcher
        )
        release_window: Callable[[TextRows], Window] = privatizer.release_window
        if journal is not None:
            release_window = journal.keep_windows(release_window, privatizer.restore_window)

        retyped: list[str] = []

        def make_certificate(copied: CopiedContent) -> Certificate:
            retyped.extend(copied.retyped)
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

        release_rows = _count_persons(release_window, persons)
        certificate = write_released_table(files, release_rows, make_certificate, report)
    return certificate, OwnerCounts(privatizer.tally, privatizer.charges, tuple(retyped))


def _count_persons(release_window: Callable[[TextRows], Window], persons: PersonTally | None) -> RowReleaser:
    """Return what releases rows, and counts those that are released, person by person."""

    def release_rows(rows: TextRows) -> ReleasedRows:
        window = release_window(rows)
        if persons is not None:
            is_released = window.released.is_released
            kept = rows if is_released is None else rows.filter(is_released)
            persons.add_records(kept.persons or [None] * len(kept), window.lengths)
        return window.released

    return release_rows


def check_journal(files: ReleaseFiles, *, resume: bool, has_watcher: bool = False) -> None:
    """Raise `InputError` where a run cannot be resumed, or another one for the same output can be.

    Args:
        files: of the run.
        resume: whether it keeps a journal, and goes on from the one that is there.
        has_watcher: whether each row must be seen as it is drawn.
    """
    if not resume:
        if files.target != PIPE and not files.force:
            check_no_journal(files.target)
        return
    for path, role in ((files.source, "input"), (files.target, "output")):
        if path == PIPE:
            raise InputError(f"A run can be resumed only from file to file: give the path of an {role} in place of -.")
    if has_watcher:
        raise InputError(
            "Entities are counted while words are drawn, and those of an earlier run cannot be counted: leave out "
            "--entities, or --resume."
        )


@contextlib.contextmanager
def _open_run_journal(
    files: ReleaseFiles, release: Release, over_budget: OverBudget, *, resume: bool
) -> Iterator[Journal | None]:
    """Open the journal of a run, where it has one; else remove that of another run, where outputs may be replaced."""
    if not resume:
        if files.target != PIPE:
            remove_journal(files.target)
        yield None
        return
    run = describe_run(release, files.source, files.table_format, files.layout, over_budget)
    key = None if release.noise == "random" else release.read_key()
    with open_journal(files.target, run, key, force=files.force) as journal:
        yield journal


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
        self.nameless_rows: list[int] = []
        self._layout, self._release_cells, self._over_budget = layout, release_cells, over_budget
        self._seen_ids = SeenIds()

    def skip_rows(self, rows: TextRows, released: ReleasedRows) -> None:
        """Take note of rows of which it is known what becomes of them.

        Raises:
            InputError: a record id that was there before.
        """
        self._note_left_out(self.records, rows, released)
        self._resolve_record_ids(rows)

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
            except (BudgetExceeded, PersonsMissing) as error:
                if self._over_budget == "refuse":
                    raise _name_persons(error, covered) from None
                is_released[np.flatnonzero(is_released)[error.rows]] = False
                continue
            released = ReleasedRows(columns, None if is_released.all() else is_released)
            self._note_left_out(first_number, rows, released)
            return released

    def find_table_rows(self, released_rows: Sequence[int]) -> list[int]:
        """Return the numbers that released rows have in the table, from 0 on, where those that were left out count.

        Args:
            released_rows: numbers of rows among those that were released.
        """
        # Before a row that was left out stand as many released ones as its number less those left out before it.
        released_before = np.array(self.left_out_rows, dtype=np.int64) - np.arange(len(self.left_out_rows))
        rows = np.array(released_rows, dtype=np.int64)
        return cast("list[int]", (rows + np.searchsorted(released_before, rows, side="right")).tolist())

    def _note_left_out(self, first_number: int, rows: TextRows, released: ReleasedRows) -> None:
        """Remember which rows were left out, of those from a number on, and which of them name no person."""
        if released.is_released is not None:
            places = np.flatnonzero(~released.is_released).tolist()
            self.left_out_rows += [first_number + place for place in places]
            persons = rows.persons or [None] * len(rows)
            self.nameless_rows += [first_number + place for place in places if persons[place] is None]

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

    def _resolve_record_ids(self, rows: TextRows) -> Sequence[str]:
        """Return the ids of rows, by default their numbers from 0 on; refuse one that was there before."""
        numbers = range(self.records, self.records + len(rows))
        self.records += len(rows)
        if rows.record_ids is None or self._layout.id_column is None:
            return list(map(str, numbers))
        record_ids = self._layout.require_ids(rows.record_ids)
        repeat = self._seen_ids.add(record_ids)
        if repeat is not None:
            first_row, row = repeat
            raise InputError(
                f"The record id {record_ids[row - numbers.start][:_MAX_SHOWN_CHARACTERS]!r} of {self._layout.name} is "
                f"in rows {first_row + 1} and {row + 1}: ids must be unique, since equal ids share their noise."
            )
        return record_ids


def _name_persons(error: BudgetExceeded | PersonsMissing, rows: TextRows) -> BudgetExceeded | PersonsMissing:
    """Return the error with the names of those whose rows are not covered, each once."""
    if isinstance(error, PersonsMissing):
        return error
    names = dict.fromkeys(str(rows.persons[row]) for row in error.rows) if rows.persons is not None else {}
    return BudgetExceeded(error.rows, error.caps, [*names])


class RowPrivatizer:
    """Privatizes the texts of rows under one release, and counts what became of them.

    Attributes:
        tally: counts over all rows so far.

    Args:
        layout: where the texts stand.
        release: how texts are released.
        key: that noise is drawn with, where it is known; by default that of the release, or a fresh one for all rows.
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
        key: bytes | None = None,
        over_budget: OverBudget = "refuse",
        workers: int | None = None,
        watcher: ReleaseWatcher | None = None,
    ) -> None:
        if release.ledger is not None:
            layout.check_charged_columns()
        self.tally = Tally()
        self._window = Window(ReleasedRows({}), Tally(), [])
        self._release, self._workers, self._watcher = release, workers, watcher
        self._key = release.read_key() if key is None else key
        self._release_rows = TableReleaser(layout, self._privatize_cells, over_budget)
        self._charges = ChargeCounts()

    def __call__(self, rows: TextRows) -> ReleasedRows:
        """Return the new texts of rows, in their columns."""
        return self.release_window(rows).released

    def release_window(self, rows: TextRows) -> Window:
        """Return the new texts of rows, in their columns, and the counts of these rows."""
        released = self._release_rows(rows)
        window = dataclasses.replace(self._window, released=released)
        self._count(window)
        return window

    def restore_window(self, rows: TextRows, window: Window) -> None:
        """Count rows whose new texts were drawn before, under the same release and key."""
        self._release_rows.skip_rows(rows, window.released)
        self._count(window)

    @property
    def charges(self) -> ChargeCounts:
        """What a ledger was charged for so far."""
        releaser = self._release_rows
        return dataclasses.replace(
            self._charges, left_out_rows=releaser.left_out_rows, nameless_rows=releaser.nameless_rows
        )

    def _count(self, window: Window) -> None:
        self.tally += window.tally
        self._charges.charged += window.charged
        self._charges.known += window.known

    def _privatize_cells(self, cells: CellBatch) -> Texts:
        batch = self._release.privatize_cells(cells, key=self._key, workers=self._workers)
        lengths = np.zeros(cells.row_count, dtype=np.int64)
        np.add.at(lengths, cells.rows, batch.lengths)
        drawn = int((np.diff(batch.offsets) > 0).sum()) if self._release.ledger is not None else 0
        tally = Tally.count(lengths.tolist(), batch)
        self._window = Window(ReleasedRows({}), tally, lengths.tolist(), batch.charged, drawn - batch.charged)
        if self._watcher is not None:
            self._watcher.see_rows(cells.list_rows(), batch)
        return batch.new_texts
