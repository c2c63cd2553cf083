"""One table in, one private table and its certificate out."""

import contextlib
import dataclasses
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Protocol, TypeVar, cast

import numpy as np

from deniable.core.errors import InputError
from deniable.core.files import PIPE, check_outputs, open_input, open_outputs
from deniable.core.signatures import SIGNATURE_ENDING, SigningKey
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
from deniable.text.tables.rows import NewTexts, RowReleaser, TextRows, measure_texts, replace_texts, select_texts
from deniable.words.prior import Prior

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
    seal = None if files.signing_key is None else files.signing_key.make_seal(files.certificate, ["table"])
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
    resume: bool = False,
) -> tuple[Certificate, Tally]:
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
        resume: keep what is finished in a journal beside the output, and go on from the one that a run has left; see
            `deniable.text.journal`.

    Returns:
        The certificate, and the counts of which `changed` and `unknown` are for the owner only.

    Raises:
        InputError: the input, an option or an output cannot be used; nothing is written then.
    """
    if release.noise == "keyed" and files.layout.id_column is None:
        raise InputError(
            "A key needs a column of record ids: under one key the noise follows the record's id, and row numbers "
            "change when rows do. Name the column, with --id on the command line."
        )
    check_release_paths(files)
    check_journal(files, resume=resume, has_watcher=watcher is not None)
    with _open_run_journal(files, release, resume=resume) as journal:
        privatizer = RowPrivatizer(
            files.layout, release, key=None if journal is None else journal.key, workers=workers, watcher=watcher
        )
        release_window: Callable[[TextRows], Window] = privatizer.release_window
        if journal is not None:
            release_window = journal.keep_windows(release_window, privatizer.restore_window)

        def release_rows(rows: TextRows) -> NewTexts:
            window = release_window(rows)
            if persons is not None:
                persons.add_records(rows.persons or [None] * len(rows), window.lengths)
            return window.new_texts

        def make_certificate(copied: CopiedContent) -> Certificate:
            if watcher is not None:
                watcher.finish()
            return Certificate.of(
                release, privatizer.tally, chosen_from_data=chosen_from_data, prior=prior, copied=copied
            )

        certificate = write_released_table(files, release_rows, make_certificate, report)
    return certificate, privatizer.tally


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
def _open_run_journal(files: ReleaseFiles, release: Release, *, resume: bool) -> Iterator[Journal | None]:
    """Open the journal of a run, where it has one; else remove that of another run, where outputs may be replaced."""
    if not resume:
        if files.target != PIPE:
            remove_journal(files.target)
        yield None
        return
    run = describe_run(release, files.source, files.table_format, files.layout)
    key = None if release.noise == "random" else release.read_key()
    with open_journal(files.target, run, key, force=files.force) as journal:
        yield journal


def check_release_paths(files: ReleaseFiles) -> None:
    """Raise `InputError` where the outputs cannot be written, or would destroy what is read; see `check_outputs`."""
    check_outputs(files.outputs, [files.source, *files.input_paths], force=files.force)


class TableReleaser:
    """Gives the texts of rows to a release with their places, and puts the new texts into the rows.

    An empty cell is released like any other where the layout says so, else it stays; null always stays.

    Args:
        layout: where the texts stand.
        release_cells: returns the new texts of cells, row after row.
    """

    def __init__(self, layout: TableLayout, release_cells: Callable[[CellBatch], Texts]) -> None:
        self.records = 0
        self._layout, self._release_cells = layout, release_cells
        self._seen_ids = SeenIds()

    def skip_rows(self, rows: TextRows) -> None:
        """Take note of rows whose new texts are known.

        Raises:
            InputError: a record id that was there before.
        """
        self._resolve_record_ids(rows)

    def __call__(self, rows: TextRows) -> NewTexts:
        """Return the new texts of rows, in their columns."""
        record_ids = np.array(self._resolve_record_ids(rows), dtype=object)
        least = 0 if self._layout.replace_empty else 1
        masks = {name: measure_texts(column) >= least for name, column in rows.columns.items()}
        row_numbers = np.concatenate([np.empty(0, dtype=np.int64), *map(np.flatnonzero, masks.values())])
        names = np.repeat(np.array(list(masks), dtype=object), [int(mask.sum()) for mask in masks.values()])
        texts = [select_texts(column, masks[name]) for name, column in rows.columns.items()]
        # Row after row; the cells of one column, whose numbers ascend, are so already.
        order = np.argsort(row_numbers, kind="stable")
        cells = CellBatch(
            record_ids[row_numbers[order]].tolist(),
            names[order].tolist(),
            [0] * len(order),  # each column is there once
            texts[0] if len(texts) == 1 else take_texts(join_texts(texts), order),
            row_numbers[order],
            len(rows),
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
        if rows.record_ids is None or None in rows.record_ids:  # of a table either all rows have one, or none
            return list(map(str, numbers))
        record_ids = cast("Sequence[str]", rows.record_ids)
        repeat = self._seen_ids.add(record_ids)
        if repeat is not None:
            first_row, row = repeat
            raise InputError(
                f"The record id {record_ids[row - numbers.start][:_MAX_SHOWN_CHARACTERS]!r} of {self._layout.name} is "
                f"in rows {first_row + 1} and {row + 1}: ids must be unique, since equal ids share their noise."
            )
        return record_ids


class RowPrivatizer:
    """Privatizes the texts of rows under one release, and counts what became of them.

    Attributes:
        tally: counts over all rows so far.

    Args:
        layout: where the texts stand.
        release: how texts are released.
        key: that noise is drawn with, where it is known; by default that of the release, or a fresh one for all rows.
        workers: threads.
        watcher: sees the rows.

    Raises:
        InputError: the key cannot be read.
    """

    def __init__(
        self,
        layout: TableLayout,
        release: Release,
        *,
        key: bytes | None = None,
        workers: int | None = None,
        watcher: ReleaseWatcher | None = None,
    ) -> None:
        self.tally = Tally()
        self._lengths: list[int] = []
        self._window_tally = Tally()
        self._release, self._workers, self._watcher = release, workers, watcher
        self._key = release.read_key() if key is None else key
        self._release_rows = TableReleaser(layout, self._privatize_cells)

    def __call__(self, rows: TextRows) -> NewTexts:
        """Return the new texts of rows, in their columns."""
        return self.release_window(rows).new_texts

    def release_window(self, rows: TextRows) -> Window:
        """Return the new texts of rows, in their columns, and the counts of these rows."""
        new_texts = self._release_rows(rows)
        self.tally += self._window_tally
        return Window(new_texts, self._window_tally, self._lengths)

    def restore_window(self, rows: TextRows, window: Window) -> None:
        """Count rows whose new texts were drawn before, under the same release and key."""
        self._release_rows.skip_rows(rows)
        self.tally += window.tally

    def _privatize_cells(self, cells: CellBatch) -> Texts:
        batch = self._release.privatize_cells(cells, key=self._key, workers=self._workers)
        lengths = np.zeros(cells.row_count, dtype=np.int64)
        np.add.at(lengths, cells.rows, batch.lengths)
        self._lengths = lengths.tolist()
        self._window_tally = Tally.count(self._lengths, batch)
        if self._watcher is not None:
            self._watcher.see_rows(cells.list_rows(), batch)
        return batch.new_texts
