"""One table in, one private table and its certificate out."""

import dataclasses
import hashlib
from collections.abc import Callable, Collection
from typing import Protocol, TypeVar

from deniable.errors import InputError
from deniable.text.certificate import Certificate, Noise, certify
from deniable.text.release import Tally, privatize_texts, start_of
from deniable.text.tables import FORMATS
from deniable.text.tables.files import check_outputs, reading, writing
from deniable.text.tables.layout import Layout, Release, Row
from deniable.text.tokens import Case, Lexer, Unknown
from deniable.words import WordMechanism


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


@dataclasses.dataclass(frozen=True)
class Job(Files):
    """What to privatize and how.

    Attributes:
        key: the run's key, 32 bytes.
        noise: where the key came from.
        unknown: see `Lexer`.
        case: see `Lexer`.
        keep: see `Lexer`.
        chosen_from_data: whether epsilon was chosen by looking at the private texts.
        workers: threads.
    """

    key: bytes
    noise: Noise
    unknown: Unknown = "draw"
    case: Case = "lower"
    keep: Collection[str] = ()
    chosen_from_data: bool = False
    workers: int | None = None


def released(
    files: Files,
    release: Release,
    certified: Callable[[list[str]], Made],
    report: Callable[[int], None] = lambda _: None,
) -> Made:
    """Write a table with its texts released, and its certificate; both appear whole or not at all.

    Args:
        files: from where to where.
        release: gives the new texts of rows.
        certified: makes the certificate from the names of the columns copied, when all texts are released.
        report: called with the number of input bytes of every read.

    Raises:
        InputError: the input or an output cannot be used; nothing is written then.
    """
    check_paths(files)
    with (
        # The certificate comes first: no released table appears without one.
        writing(files.certificate, files.target, force=files.force) as (certificate_file, sink),
        reading(files.source, report, seekable=files.format == "parquet") as stream,
    ):
        made = certified(FORMATS[files.format](stream, sink, files.layout, release))
        certificate_file.write(made.to_json().encode("utf-8", "backslashreplace"))
    return made


def privatize_table(
    job: Job, mechanism: WordMechanism, report: Callable[[int], None] = lambda _: None
) -> tuple[Certificate, Tally]:
    """Write the private table and its certificate; both appear whole or not at all.

    Args:
        job: what to do.
        mechanism: draws the words.
        report: called with the number of input bytes of every read.

    Returns:
        The certificate, and the counts of which `changed` and `unknown` are for the owner only.

    Raises:
        InputError: the input, an option or an output cannot be used; nothing is written then.
    """
    releaser = _Releaser(job, mechanism)
    certificate = released(
        job,
        releaser,
        lambda copied: certify(
            mechanism,
            releaser.tally,
            unknown=job.unknown,
            case=job.case,
            kept_words=len(releaser.lexer.keep),
            noise=job.noise,
            chosen_from_data=job.chosen_from_data,
            copied_columns=copied,
        ),
        report,
    )
    return certificate, releaser.tally


def check_paths(files: Files) -> None:
    """Raise `InputError` where the outputs cannot be written, or would destroy what is read; see `check_outputs`."""
    check_outputs([files.target, files.certificate], [files.source, *files.reads], force=files.force)


class _Releaser:
    """Gives every row of a table an id of its own and its texts to the mechanism."""

    def __init__(self, job: Job, mechanism: WordMechanism) -> None:
        self.tally = Tally()
        self.lexer = Lexer(mechanism.space, job.unknown, job.case, job.keep)
        self._job = job
        self._mechanism = mechanism
        # Digests of ids, to find a repeated one in bounded memory per row.
        self._seen: dict[bytes, int] = {}

    def __call__(self, rows: list[Row]) -> list[list[str | None]]:
        texts: list[str] = []
        starts: list[bytes] = []
        for row in rows:
            record_id = self._identify(row)
            for column, text in row.cells:
                if text:
                    texts.append(text)
                    starts.append(start_of(self._job.key, self._mechanism, record_id, column, text))
        drawn = privatize_texts(self._mechanism, self.lexer, texts, self._job.key, starts, self._job.workers)
        self.tally.add(drawn)
        released, counts = iter(drawn.texts), iter(drawn.lengths)
        self.tally.lengths.update(sum(next(counts) for _, text in row.cells if text) for row in rows)
        return [[next(released) if text else text for _, text in row.cells] for row in rows]

    def _identify(self, row: Row) -> str:
        """Return the row's id, by default its number from 0 on; refuse one that was there before."""
        number = self.tally.records
        self.tally.records += 1
        if row.record_id is None:
            return str(number)
        digest = hashlib.blake2b(row.record_id.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        first = self._seen.setdefault(digest, number)
        if first != number:
            raise InputError(
                f"The record id {row.record_id!r} of {self._job.layout.name} is in rows {first + 1} and "
                f"{number + 1}: ids must be unique, since equal ids share their noise."
            )
        return row.record_id
