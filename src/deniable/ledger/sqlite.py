"""A ledger in one SQLite file, for all programs of one machine.

Write-ahead log, ``synchronous=FULL``: what was committed is on disk. Writers wait for each other (``BEGIN IMMEDIATE``).
SQLite's locks do not hold across network file systems, so these are refused.
"""

import contextlib
import dataclasses
import os
import re
import shlex
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from deniable.core.errors import InputError, escape_unprintable, shorten_text
from deniable.core.files import open_outputs
from deniable.ledger.accounts import Cost
from deniable.ledger.store import INSERT_FACTS, SCHEMA_VERSION, TABLES, LedgerFacts, Store

_WAIT_SECONDS = 120
"""How long a writer waits for the others."""
_CHUNK = 500
"""Values of one query; older versions of SQLite take 999."""
_APPLICATION_ID = 0x646E6C67
"""Marks the file as a ledger: "dnlg"."""
_NETWORK_TYPES = re.compile(
    r"nfs\d?|cifs|smb\d?|smbfs|ncpfs|9p|virtiofs|afs|ceph|glusterfs|lustre|gpfs|beegfs|ocfs2|gfs2|"
    r"fuse\.(sshfs|glusterfs|ceph.*|s3fs|rclone|gcsfuse|blobfuse2?|davfs2?|smbnetfs|juicefs)|davfs"
)


def create_sqlite_ledger(location: str, facts: LedgerFacts) -> None:
    """Create the file of an empty ledger, for its owner only, whole or not at all.

    Raises:
        InputError: the file exists or cannot be written, or would lie on a network file system.
        OSError: the disk is full, or fails.
    """
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for table in TABLES:
            connection.execute(f"{table} WITHOUT ROWID")
        connection.execute(INSERT_FACTS.replace("%s", "?"), (SCHEMA_VERSION, *dataclasses.astuple(facts)))
        connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        content = connection.serialize()
    if os.path.lexists(location):
        raise InputError(f"The ledger {location!r} exists: ledgers are never overwritten. Choose another name.")
    with open_outputs(location, force=False, owner_only=[location], compress=False) as (stream,):
        _refuse_network(Path(location).absolute().parent)
        stream.write(content)


class SQLiteStore(Store):
    """A ledger in a file.

    The file is opened by SQLite alone: where a process opens and closes it by other means, the system drops SQLite's
    locks on it, and another process could remove the log that this one writes to.

    Args:
        location: path of the file.
    """

    def __init__(self, location: str) -> None:
        self._path = Path(location)
        self._identity: tuple[int, int] | None = None
        super().__init__(repr(location), (sqlite3.Error, OSError))

    def connect(self) -> sqlite3.Connection:
        """See `deniable.ledger.store.Store.connect`; nothing of a file that is not a ledger is changed."""
        if not self._path.is_file():
            command = shlex.join(["deniable", "ledger", "create", str(self._path)])
            raise InputError(f"There is no ledger {self.shown}: make one with: {escape_unprintable(command)}")
        _refuse_network(self._path)
        self._identity = self._identity or self._identify()
        address = f"file:{quote(str(self._path.absolute()))}?mode=rw"
        connection = sqlite3.connect(
            address, uri=True, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            self._check_application(connection)
            # By the first, what is damaged is noticed when it is read.
            for pragma in ("cell_size_check = ON", "journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
                connection.execute(f"PRAGMA {pragma}")
        except BaseException:
            connection.close()
            raise
        return connection

    def begin(self, cost: Cost, persons: Sequence[bytes]) -> None:  # noqa: ARG002 - the whole file is locked
        """See `deniable.ledger.store.Store.begin`."""
        self._connection.execute("BEGIN IMMEDIATE")
        if self._identify() != self._identity:
            raise InputError(
                f"The ledger {self.shown} was moved, removed or replaced while it is in use: start the program again."
            )

    def roll_back(self) -> None:
        """See `deniable.ledger.store.Store.roll_back`."""
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def select(self, query: str, wanted: Sequence[bytes], *values: str) -> Iterator[tuple[Any, ...]]:
        """See `deniable.ledger.store.Store.select`."""
        for first in range(0, len(wanted), _CHUNK):
            chunk = wanted[first : first + _CHUNK]
            # At once: a cursor that is left in the middle would complain when its connection is closed.
            rows = self.execute(f"{query} IN ({','.join('?' * len(chunk))})", (*values, *chunk)).fetchall()
            yield from rows

    def execute_many(self, query: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """See `deniable.ledger.store.Store.execute_many`."""
        self._connection.executemany(query.replace("%s", "?"), rows)

    def execute(self, query: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        """See `deniable.ledger.store.Store.execute`."""
        cursor: sqlite3.Cursor = self._connection.execute(query.replace("%s", "?"), values)
        return cursor

    def read(self, query: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """See `deniable.ledger.store.Store.read`."""
        with contextlib.closing(self.connect()) as connection:
            yield from connection.execute(query.replace("%s", "?"), values)

    def check_integrity(self) -> list[str]:
        """Return what SQLite finds in its file: damaged pages, and indices at odds with tables."""
        with self.explain():
            lines = [line for (text,) in self.read("PRAGMA integrity_check") for line in text.splitlines()]
        return [escape_unprintable(shorten_text(line)) for line in lines if line != "ok"]

    def _identify(self) -> tuple[int, int]:
        """Return what the file is known by, whatever its name; opening it would drop SQLite's locks."""
        status = self._path.stat()
        return status.st_dev, status.st_ino

    def _check_application(self, connection: sqlite3.Connection) -> None:
        """Raise `InputError` for a database of another program."""
        [(application,)] = connection.execute("PRAGMA application_id")
        if application != _APPLICATION_ID:
            raise InputError(f"{self.shown} is not a ledger: name the file that deniable ledger create wrote.")


def _refuse_network(path: Path) -> None:
    """Raise `InputError` for a path on a network file system, as Linux knows it."""
    kind = find_file_system(path)
    if _NETWORK_TYPES.fullmatch(kind):
        raise InputError(
            f"{str(path)!r} lies on a network file system ({kind}), across which SQLite's locks do not hold: put the "
            "ledger on a local disk, or into PostgreSQL."
        )


def find_file_system(path: Path, mounts: Path = Path("/proc/self/mountinfo")) -> str:
    """Return the type of the file system that a file or folder lies on; empty where nothing is known."""
    device = path.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    lines = mounts.read_text("utf-8", "replace").splitlines() if mounts.exists() else []
    kinds = (line.partition(" - ")[2].partition(" ")[0] for line in lines if line.split(" ")[2] == number)
    return next(kinds, "")
