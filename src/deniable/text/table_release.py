"""One table in, one private table and its certificate out."""

import dataclasses
import hashlib
from collections import Counter
from collections.abc import Callable, Collection
from typing import Protocol, TypeVar

from deniable.core.errors import InputError
from deniable.core.files import check_outputs, open_input, open_outputs
from deniable.text.batches import Tally, TextCell
from deniable.text.certificate import Certificate
from deniable.text.release import Release
from deniable.text.tables import TABLE_FORMATS
from deniable.text.tables.layout import CopiedContent, RowReleaser, TableLayout, TextRow
from deniable.words.prior import Prior

_MAX_SHOWN_CHARACTERS = 50
"""Characters of a record id that a message shows."""


class SupportsToJson(Protocol):
    """What accompanies a released table."""

    def to_json(self) -> str:
        """Return it as JSON text."""


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
        input_paths: paths of what else the run reads: key, lists, vectors, models; no output may be one of them.
    """

    source: str
    target: str
    certificate: str
    table_format: str
    layout: TableLayout
    force: bool = dataclasses.field(default=False, kw_only=True)
    input_paths: Collection[str] = dataclasses.field(default=(), kw_only=True)


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
    with (
        # The certificate comes first: no released table appears without one.
        open_outputs(files.certificate, files.target, force=files.force) as (certificate_file, sink),
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
) -> tuple[Certificate, Tally]:
    """Write the private table and its certificate; both appear whole or not at all.

    Args:
        files: from where to where.
        release: how texts are released; under a key the layout must name a column of ids.
        chosen_from_data: whether epsilon was chosen by looking at the private texts.
        prior: public word frequencies, see `Certificate.of`.
        workers: threads.
        report: called with the number of input bytes of every read.

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
    releaser = _PrivatizingReleaser(files, release, workers)
    certificate = write_released_table(
        files,
        releaser,
        lambda copied: Certificate.of(
            release, releaser.tally, chosen_from_data=chosen_from_data, prior=prior, copied=copied
        ),
        report,
    )
    return certificate, releaser.tally


def check_release_paths(files: ReleaseFiles) -> None:
    """Raise `InputError` where the outputs cannot be written, or would destroy what is read; see `check_outputs`."""
    check_outputs([files.target, files.certificate], [files.source, *files.input_paths], force=files.force)


class _PrivatizingReleaser:
    """Gives every row of a table an id of its own and its texts to the release."""

    def __init__(self, files: ReleaseFiles, release: Release, workers: int | None) -> None:
        self.tally = Tally()
        self._files, self._release, self._workers = files, release, workers
        self._key = release.read_key()
        # Digests of ids, to find a repeated one in bounded memory per row.
        self._first_rows: dict[bytes, int] = {}
        self._rows = 0

    def __call__(self, rows: list[TextRow]) -> list[list[str | None]]:
        cells: list[TextCell] = []
        for row in rows:
            record_id = self._resolve_record_id(row)
            column_counts: Counter[str] = Counter()
            for column, text in row.cells:
                if text:
                    cells.append(TextCell(record_id, column, column_counts[column], text))
                column_counts[column] += 1
        batch = self._release.privatize_cells(cells, key=self._key, workers=self._workers)
        new_texts, word_counts = iter(batch.texts), iter(batch.lengths)
        lengths = [sum(next(word_counts) for _, text in row.cells if text) for row in rows]
        self.tally += Tally.count(lengths, batch)
        return [[next(new_texts) if text else text for _, text in row.cells] for row in rows]

    def _resolve_record_id(self, row: TextRow) -> str:
        """Return the row's id, by default its number from 0 on; refuse one that was there before."""
        number = self._rows
        self._rows += 1
        if row.record_id is None:
            return str(number)
        digest = hashlib.blake2b(row.record_id.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        first_row = self._first_rows.setdefault(digest, number)
        if first_row != number:
            raise InputError(
                f"The record id {row.record_id[:_MAX_SHOWN_CHARACTERS]!r} of {self._files.layout.name} is in rows {first_row + 1} and "
                f"{number + 1}: ids must be unique, since equal ids share their noise."
            )
        return row.record_id
