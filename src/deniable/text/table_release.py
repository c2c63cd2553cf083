"""One table in; out come one private table and its certificate, or the same table with further columns."""

import contextlib
import dataclasses
from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, BinaryIO

from deniable.core.errors import InputError
from deniable.core.files import check_outputs, open_input, open_outputs
from deniable.core.signatures import list_signature_paths, open_release
from deniable.text.certificate import Certificate
from deniable.text.release import Release
from deniable.text.row_release import OverBudget, RowPrivatizer
from deniable.text.tables import extend_table, release_table
from deniable.text.tables.layout import CopiedContent, NewColumns, TableLayout
from deniable.text.tables.rows import CellMaker, RowReleaser

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


@dataclasses.dataclass(frozen=True)
class TableFiles:
    """Which table is read, and where what becomes of it is written.

    Attributes:
        source: path of the table, or ``-``.
        target: path of the new table, or ``-``.
        table_format: a name from `deniable.text.tables.TABLE_FORMATS`.
        layout: where the texts stand.
        force: overwrite existing outputs.
        input_paths: paths of what else the run reads: keys, lists, vectors, models; no output may be one of them.
        report: called with the number of input bytes of every read.
    """

    source: str
    target: str
    _: dataclasses.KW_ONLY
    table_format: str
    layout: TableLayout
    force: bool = False
    input_paths: Collection[str] = ()
    report: Callable[[int], None] = lambda _: None

    def check_paths(self) -> None:
        """Raise `InputError` where an output cannot be written, or would destroy what is read; see `check_outputs`."""
        check_outputs([self.target], [self.source, *self.input_paths], force=self.force)

    def open_source(self) -> contextlib.AbstractContextManager[BinaryIO]:
        """Open the table to read; `InputError` where it cannot be."""
        return open_input(self.source, self.report, seekable=self.table_format == "parquet")


@dataclasses.dataclass(frozen=True)
class ReleaseFiles(TableFiles):
    """Which table is released, and where to.

    Attributes:
        certificate: path of the certificate.
        signing_key: signs the certificate and the released table, in a file beside the certificate; None for none.
        see_copied: called with what is copied unchanged, before anything is written.
    """

    _: dataclasses.KW_ONLY
    certificate: str
    signing_key: "Ed25519PrivateKey | None" = None
    see_copied: Callable[[CopiedContent], None] = lambda _: None

    @property
    def outputs(self) -> list[str]:
        """Every path that is written."""
        return [self.target, self.certificate, *list_signature_paths(self.signing_key, self.certificate)]

    def check_paths(self) -> None:
        """Raise `InputError` as before."""
        check_outputs(self.outputs, [self.source, *self.input_paths], force=self.force)


@contextlib.contextmanager
def write_released_table(
    files: ReleaseFiles, release_rows: RowReleaser
) -> Iterator[tuple[CopiedContent, Callable[[str], int]]]:
    """Write a table with its texts released; give what was copied, and what writes the certificate.

    Both appear, whole, when the context ends, or not at all.

    Args:
        files: from where to where.
        release_rows: gives the new texts of rows.

    Raises:
        InputError: the input or an output cannot be used; nothing is written then.
    """
    files.check_paths()
    files.layout.check_text_columns()
    with (
        open_release(files.signing_key, files.certificate, {"table": files.target}, force=files.force) as (
            certificate_file,
            sink,
        ),
        files.open_source() as stream,
    ):
        copied = release_table(files.table_format, stream, sink, files.layout, release_rows)
        files.see_copied(copied)
        yield copied, lambda text: certificate_file.write(text.encode("utf-8", "backslashreplace"))


def write_extended_table(files: TableFiles, new_columns: NewColumns, make_cells: CellMaker) -> None:
    """Write a table with columns added behind its own, whole or not at all; everything that was there stays.

    Args:
        files: from where to where.
        new_columns: names of the columns, and what they hold.
        make_cells: gives the new cells of rows.

    Raises:
        InputError: the input or the output cannot be used, or a column to be added exists; nothing is written then.
    """
    files.check_paths()
    files.layout.check_text_columns()
    with open_outputs(files.target, force=files.force) as (sink,), files.open_source() as stream:
        extend_table(files.table_format, stream, sink, files.layout, new_columns, make_cells)


def privatize_table(
    files: ReleaseFiles,
    release: Release,
    *,
    chosen_from_data: bool = False,
    workers: int | None = None,
    over_budget: OverBudget = "refuse",
) -> tuple[Certificate, RowPrivatizer]:
    """Write the private table and its certificate; both appear whole or not at all.

    Args:
        files: from where to where.
        release: how texts are released; under a key the layout must name a column of ids.
        chosen_from_data: whether epsilon was chosen by looking at the private texts.
        workers: threads.
        over_budget: what becomes of rows that a ledger's budget does not cover: ``refuse`` ends the run, and ``drop``
            leaves them out, as the certificate then says.

    Returns:
        The certificate, and the privatizer with its counts, which are for the owner only.

    Raises:
        InputError: the input, an option or an output cannot be used; nothing is written then.
        BudgetExceeded: the budget of some persons does not cover their rows; nothing is written then.
    """
    if release.noise in {"keyed", "ledger"} and files.layout.id_column is None:
        raise InputError(
            f"A {'ledger' if release.noise == 'ledger' else 'key'} needs a column of record ids: the noise follows the "
            "record's id, and row numbers change when rows do. Name the column, with --id on the command line."
        )
    privatizer = RowPrivatizer(files.layout, release, over_budget=over_budget, workers=workers)
    with write_released_table(files, privatizer) as (copied, write_certificate):
        certificate = Certificate.of(
            release,
            privatizer.tally,
            chosen_from_data=chosen_from_data,
            copied=copied,
            drops_rows=release.ledger is not None and over_budget == "drop",
        )
        write_certificate(certificate.to_json())
    return certificate, privatizer
