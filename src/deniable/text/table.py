"""One table in, one private table and its certificate out."""

import dataclasses
import hashlib
from collections import Counter
from collections.abc import Callable, Collection
from typing import Protocol, TypeVar

from deniable.errors import InputError
from deniable.text.certificate import Certificate
from deniable.text.release import Cell, Release, Tally
from deniable.text.tables import FORMATS
from deniable.text.tables.files import check_outputs, reading, writing
from deniable.text.tables.layout import Copied, Layout, ReleaseRows, Row
from deniable.words.prior import Prior

_SHOWN = 50
"""Characters of a record id that a message shows."""


class Written(Protocol):
    """What accompanies a released table."""

    def to_json(self) -> str:
        """Return it as JSON text."""


Made = TypeVar("Made", bound=Written)


@dataclasses.dataclass(frozen=True)
class Files:
    """Which table is released, and where to.

    Attributes:
        source: path of the table, or ``-``.
        target: path of the released table, or ``-``.
        certificate: path of the certificate.
        format: a name from `FORMATS`.
        layout: where the texts stand.
        force: overwrite existing outputs.
        reads: paths of what else the run reads: key, lists, vectors, models; no output may be one of them.
    """

    source: str
    target: str
    certificate: str
    format: str
    layout: Layout
    force: bool = dataclasses.field(default=False, kw_only=True)
    reads: Collection[str] = dataclasses.field(default=(), kw_only=True)


def write_released(
    files: Files,
    release: ReleaseRows,
    certify: Callable[[Copied], Made],
    report: Callable[[int], None] = lambda _: None,
) -> Made:
    """Write a table with its texts released, and its certificate; both appear whole or not at all.

    Args:
        files: from where to where.
        release: gives the new texts of rows.
        certify: makes the certificate from what was copied, when all texts are released.
        report: called with the number of input bytes of every read.

    Raises:
        InputError: the input or an output cannot be used; nothing is written then.
    """
    check_paths(files)
    files.layout.check_released()
    with (
        # The certificate comes first: no released table appears without one.
        writing(files.certificate, files.target, force=files.force) as (certificate_file, sink),
        reading(files.source, report, seekable=files.format == "parquet") as stream,
    ):
        made = certify(FORMATS[files.format](stream, sink, files.layout, release))
        certificate_file.write(made.to_json().encode("utf-8", "backslashreplace"))
    return made


def privatize_table(
    files: Files,
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
    releaser = _Releaser(files, release, workers)
    certificate = write_released(
        files,
        releaser,
        lambda copied: Certificate.of(
            release, releaser.tally, chosen_from_data=chosen_from_data, prior=prior, copied=copied
        ),
        report,
    )
    return certificate, releaser.tally


def check_paths(files: Files) -> None:
    """Raise `InputError` where the outputs cannot be written, or would destroy what is read; see `check_outputs`."""
    check_outputs([files.target, files.certificate], [files.source, *files.reads], force=files.force)


class _Releaser:
    """Gives every row of a table an id of its own and its texts to the release."""

    def __init__(self, files: Files, release: Release, workers: int | None) -> None:
        self.tally = Tally()
        self._files, self._release, self._workers = files, release, workers
        self._key = release.read_key()
        # Digests of ids, to find a repeated one in bounded memory per row.
        self._seen: dict[bytes, int] = {}
        self._rows = 0

    def __call__(self, rows: list[Row]) -> list[list[str | None]]:
        cells: list[Cell] = []
        for row in rows:
            record_id = self._identify(row)
            before: Counter[str] = Counter()
            for column, text in row.cells:
                if text:
                    cells.append(Cell(record_id, column, before[column], text))
                before[column] += 1
        drawn = self._release.draw(cells, key=self._key, workers=self._workers)
        new, counts = iter(drawn.texts), iter(drawn.lengths)
        lengths = [sum(next(counts) for _, text in row.cells if text) for row in rows]
        self.tally += Tally.count(lengths, drawn)
        return [[next(new) if text else text for _, text in row.cells] for row in rows]

    def _identify(self, row: Row) -> str:
        """Return the row's id, by default its number from 0 on; refuse one that was there before."""
        number = self._rows
        self._rows += 1
        if row.record_id is None:
            return str(number)
        digest = hashlib.blake2b(row.record_id.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        first = self._seen.setdefault(digest, number)
        if first != number:
            raise InputError(
                f"The record id {row.record_id[:_SHOWN]!r} of {self._files.layout.name} is in rows {first + 1} and "
                f"{number + 1}: ids must be unique, since equal ids share their noise."
            )
        return row.record_id
