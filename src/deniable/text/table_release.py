"""One table in; out come one private table and its certificate, or the same table with further columns.

The fresh key of a run beside its output, so that a run that is killed can be begun again with the same noise.

Noise follows from the key, the id, the column and the words of a text. Whatever a dead run has left of its output is
therefore the beginning of what the same run gives when it is resumed, and no text is drawn twice. The key of a run is
derived from that of the journal and the name of the release, so that one with other options draws noise of its own. A
run with a key file, a seed or a ledger draws the same noise by itself, and keeps no journal.

The journal ``.NAME.journal`` beside the output NAME is a file of `KEY_BYTES` bytes for its owner alone (0600). It goes
at the end of the run, whether that is good or bad: whoever has the key can undo the noise.
"""

import contextlib
import dataclasses
import hashlib
import os
import stat
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from deniable.core.errors import InputError
from deniable.core.files import PIPE, check_outputs, open_input, open_outputs
from deniable.core.parts import write_whole
from deniable.core.randomness import KEY_BYTES, SecretBytes, generate_key
from deniable.core.signatures import list_signature_paths, open_release
from deniable.text.certificate import Certificate
from deniable.text.release import Release
from deniable.text.row_release import OverBudget, ReleaseWatcher, RowPrivatizer
from deniable.text.tables import extend_table, release_table
from deniable.text.tables.layout import CopiedContent, NewColumns, TableLayout
from deniable.text.tables.rows import CellMaker, RowReleaser
from deniable.words.prior import Prior

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


def name_journal(output: str) -> Path:
    """Where the journal of an output is kept: beside the file, behind links."""
    target = Path(os.path.realpath(output) if Path(output).is_symlink() else output)
    return target.with_name(f".{target.name}.journal")


@contextlib.contextmanager
def open_journal(output: str, release_name: str | None, *, force: bool) -> Iterator[bytes | None]:
    """Give the key of a run that keeps a journal, from that of a dead run or a fresh one. Any journal goes at the end.

    Args:
        output: path of the released table.
        release_name: fingerprint of the release; None for a run that keeps no journal, and is given no key.
        force: take no key that is there.

    Raises:
        InputError: others could open the journal, or it is damaged.
    """
    path, key = name_journal(output), None
    if release_name is not None:
        if force or not os.path.lexists(path):
            remove_journal(output)
            write_whole(path, generate_key())
        secret, name = _read_journal(path), release_name.encode()
        key = SecretBytes(hashlib.blake2b(name, key=secret, person=b"deniable journal", digest_size=KEY_BYTES).digest())
    try:
        yield key
    finally:
        remove_journal(output)


def remove_journal(output: str) -> None:
    """Overwrite and remove the journal of an output, if there is one."""
    path = name_journal(output)
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISREG(path.lstat().st_mode):
            with path.open("r+b") as file:
                file.write(bytes(path.stat().st_size))
                file.flush()
                os.fsync(file.fileno())
        path.unlink()


def _read_journal(path: Path) -> SecretBytes:
    """The key in a journal.

    Raises:
        InputError: it is not the user's own, so that others may know its key, or is damaged.
    """
    status = path.lstat()
    is_own = os.name != "posix" or (status.st_uid == os.geteuid() and not status.st_mode & 0o077)
    if not stat.S_ISREG(status.st_mode) or not is_own:
        raise InputError(
            f"The journal {str(path)!r} must be a file of your own that nobody else may open: remove it, and write to "
            "a folder that keeps owners and modes."
        )
    key = SecretBytes(path.read_bytes())
    if len(key) != KEY_BYTES or not any(key):  # zeros, which everybody knows: the run died while it removed its key
        raise InputError(f"The journal {str(path)!r} is damaged: start anew with --force.")
    return key


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
        resume: keep the fresh key of a run without one in a journal beside the output, and take the one that a dead
            run has left; see `deniable.text.table_release`.
    """

    _: dataclasses.KW_ONLY
    certificate: str
    signing_key: "Ed25519PrivateKey | None" = None
    see_copied: Callable[[CopiedContent], None] = lambda _: None
    resume: bool = False

    @property
    def outputs(self) -> list[str]:
        """Every path that is written."""
        return [self.target, self.certificate, *list_signature_paths(self.signing_key, self.certificate)]

    def check_paths(self) -> None:
        """Raise `InputError` as before, or where a run cannot be resumed, or another one for the output can be."""
        check_outputs(self.outputs, [self.source, *self.input_paths], force=self.force)
        if self.resume and PIPE in (self.source, self.target):
            raise InputError("A run can be resumed only from file to file: give paths in place of -.")
        journal = name_journal(self.target)
        if not (self.resume or self.force or self.target == PIPE) and os.path.lexists(journal):
            raise InputError(
                f"A run that was to write {self.target!r} has left the journal {str(journal)!r}: "
                "resume it with --resume, or remove the journal with --force."
            )


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
    prior: Prior | None = None,
    workers: int | None = None,
    watcher: ReleaseWatcher | None = None,
    over_budget: OverBudget = "refuse",
) -> tuple[Certificate, RowPrivatizer]:
    """Write the private table and its certificate; both appear whole or not at all.

    Args:
        files: from where to where.
        release: how texts are released; under a key the layout must name a column of ids.
        chosen_from_data: whether epsilon was chosen by looking at the private texts.
        prior: public word frequencies, see `Certificate.of`.
        workers: threads.
        watcher: sees the rows, in the order of the table.
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
    files.check_paths()
    keeps_journal = files.resume and release.noise == "random"
    if keeps_journal and not release.mechanism.has_fingerprint:
        raise InputError(
            f"A run can be resumed only where its law can be named. {type(release.mechanism).__name__} over "
            f"{release.mechanism.space.metric} has no fingerprint: use a metric and a mechanism of this package, or do "
            "not resume."
        )
    with open_journal(files.target, release.fingerprint if keeps_journal else None, force=files.force) as key:
        privatizer = RowPrivatizer(
            files.layout, release, key=key, over_budget=over_budget, workers=workers, watcher=watcher
        )
        with write_released_table(files, privatizer) as (copied, write_certificate):
            if watcher is not None:
                watcher.finish()
            certificate = Certificate.of(
                release,
                privatizer.tally,
                chosen_from_data=chosen_from_data,
                prior=prior,
                copied=copied,
                drops_rows=release.ledger is not None and over_budget == "drop",
            )
            write_certificate(certificate.to_json())
    return certificate, privatizer
