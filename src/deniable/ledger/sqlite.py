"""A ledger in one SQLite file, for all programs of one machine.

Write-ahead log, ``synchronous=FULL``: what was committed is on disk. Writers wait for each other (``BEGIN IMMEDIATE``).
SQLite's locks do not hold across network file systems, so these are refused.
"""

import contextlib
import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

from deniable.core.errors import InputError
from deniable.core.files import NewFile, create_files
from deniable.ledger.accounts import AccountName, Amounts, Cost
from deniable.ledger.charges import Charges, Decision, decide_charges
from deniable.ledger.mounts import find_network_file_system
from deniable.ledger.store import SCHEMA_VERSION, LedgerFacts, Total, Units

_WAIT_SECONDS = 120
"""How long a writer waits for the others."""
_CHUNK = 500
"""Values of one query; older versions of SQLite take 999."""
_APPLICATION_ID = 0x646E6C67
"""Marks the file as a ledger: "dnlg"."""
_SCHEMA = (
    "CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE costs (number INTEGER PRIMARY KEY, cost TEXT NOT NULL UNIQUE)",
    (
        "CREATE TABLE totals (person BLOB NOT NULL, account TEXT NOT NULL, amounts TEXT NOT NULL, "
        "PRIMARY KEY (person, account)) WITHOUT ROWID"
    ),
    (
        "CREATE TABLE charges (fingerprint BLOB PRIMARY KEY, person BLOB NOT NULL, "
        "cost INTEGER NOT NULL REFERENCES costs, units INTEGER NOT NULL CHECK (units > 0)) WITHOUT ROWID"
    ),
)
MIGRATIONS: dict[int, Sequence[str]] = {}
"""The statements that bring a ledger from each schema version to the next."""


def create_sqlite_ledger(path: Path, facts: LedgerFacts, key_file: NewFile | None = None) -> None:
    """Create the file of a ledger, for its owner only, and with it the file of its key: both or neither.

    Raises:
        InputError: a file exists or cannot be written, or the ledger would lie on a network file system.
        OSError: the disk is full, or fails.
    """
    _refuse_network(path)
    files = [NewFile(path, _encode_ledger(facts)), *([] if key_file is None else [key_file])]
    try:
        create_files(*files[::-1])  # the key first: no ledger is there without one
    except FileExistsError as error:
        raise InputError(
            f"The file {str(error.filename)!r} exists: ledgers and keys are never overwritten. Choose another name."
        ) from None
    except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
        names = " and ".join(repr(str(file.path)) for file in files)
        raise InputError(f"{names} cannot be created: {error.strerror}. Choose another folder.") from None


def _encode_ledger(facts: LedgerFacts) -> bytes:
    """Return the file of an empty ledger."""
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for statement in _SCHEMA:
            connection.execute(statement)
        connection.executemany("INSERT INTO facts VALUES (?, ?)", _encode_facts(facts).items())
        connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        return connection.serialize()


class SQLiteStore:
    """A ledger in a file.

    The file is opened by SQLite alone: where a process opens and closes it by other means, the system drops SQLite's
    locks on it, and another process could remove the log that this one writes to.

    Args:
        path: of the file.

    Raises:
        InputError: there is no ledger at the path, it was written by a newer version, or lies on a network file
            system.
    """

    def __init__(self, path: Path) -> None:
        with _translate_errors(path):
            if not path.is_file():
                raise InputError(f"There is no ledger {str(path)!r}: make one with: deniable ledger create {path}")
            _refuse_network(path)
            self._path, self._lock, self._identity = path, threading.Lock(), _identify(path)
            self._connection = _connect(path)
            try:
                self._migrate()
                rows = dict(self._connection.execute("SELECT name, value FROM facts").fetchall())
            except BaseException:
                self._connection.close()
                raise
        self.facts = _decode_facts(rows, path)

    def charge(self, cost: Cost, charges: Charges) -> Decision:
        """See `deniable.ledger.store.Store.charge`."""
        with self._lock, _translate_errors(self._path), _write(self._connection):
            if _identify(self._path) != self._identity:
                raise InputError(
                    f"The ledger {str(self._path)!r} was moved, removed or replaced while it is in use: start the "
                    "program again."
                )
            known = {
                row[0]
                for row in self._select("SELECT fingerprint FROM charges WHERE fingerprint", charges.fingerprints)
            }
            totals = self._find_totals(cost.account, set(charges.persons))
            decision = decide_charges(cost, charges, known, totals, self.facts.caps[cost.account])
            if decision.new_cells and not decision.refused_rows:
                self._write_charges(cost, charges, decision)
            return decision

    def list_totals(self, person: bytes | None = None) -> Iterator[Total]:
        """See `deniable.ledger.store.Store.list_totals`."""
        condition, values = ("", ()) if person is None else (" WHERE person = ?", (person,))
        with self._read() as connection:
            query = f"SELECT person, account, amounts FROM totals{condition} ORDER BY person, account"  # noqa: S608
            for name, account, amounts in connection.execute(query, values):
                yield Total(name, account, tuple(json.loads(amounts)))

    def list_units(self, person: bytes | None = None) -> Iterator[Units]:
        """See `deniable.ledger.store.Store.list_units`."""
        condition, values = ("", ()) if person is None else (" WHERE person = ?", (person,))
        with self._read() as connection:
            costs = {number: Cost.decode(text) for number, text in connection.execute("SELECT number, cost FROM costs")}
            query = (
                f"SELECT person, cost, COUNT(*), SUM(units) FROM charges{condition} "  # noqa: S608
                "GROUP BY person, cost ORDER BY person, cost"
            )
            for name, cost, cells, units in connection.execute(query, values):
                yield Units(name, costs[cost], cells, units)

    def check_integrity(self) -> list[str]:
        """Return what SQLite finds in its file: damaged pages, indices at odds with tables, charges without a cost."""
        with self._read() as connection:
            lines = [row[0] for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
            orphans = connection.execute("PRAGMA foreign_key_check").fetchall()
        return lines + ([f"{len(orphans)} charges at a cost that is not there"] if orphans else [])

    def close(self) -> None:
        """See `deniable.ledger.store.Store.close`."""
        with self._lock:
            self._connection.close()

    @contextlib.contextmanager
    def _read(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection of its own, at one state of the ledger, which writers meanwhile do not change."""
        with _translate_errors(self._path), contextlib.closing(_connect(self._path)) as connection:
            connection.execute("BEGIN")
            yield connection

    def _select(self, query: str, values: Iterable[bytes]) -> Iterator[tuple[bytes, ...]]:
        """Yield the rows of a query that ends with the name of a column, which is to have one of the values."""
        listed = list(values)
        for first in range(0, len(listed), _CHUNK):
            chunk = listed[first : first + _CHUNK]
            yield from self._connection.execute(f"{query} IN ({','.join('?' * len(chunk))})", chunk)

    def _find_totals(self, account: AccountName, persons: Iterable[bytes]) -> dict[bytes, Amounts]:
        query = f"SELECT person, amounts FROM totals WHERE account = '{account}' AND person"  # noqa: S608
        return {person: tuple(json.loads(str(amounts))) for person, amounts in self._select(query, persons)}

    def _write_charges(self, cost: Cost, charges: Charges, decision: Decision) -> None:
        text = cost.encode()
        self._connection.execute("INSERT OR IGNORE INTO costs (cost) VALUES (?)", (text,))
        (number,) = self._connection.execute("SELECT number FROM costs WHERE cost = ?", (text,)).fetchone()
        rows = sorted(
            (charges.fingerprints[cell], charges.persons[cell], number, charges.units[cell])
            for cell in decision.new_cells
        )
        self._connection.executemany("INSERT INTO charges VALUES (?, ?, ?, ?)", rows)
        totals = sorted((person, cost.account, json.dumps(amounts)) for person, amounts in decision.totals.items())
        self._connection.executemany("INSERT OR REPLACE INTO totals VALUES (?, ?, ?)", totals)

    def _migrate(self) -> None:
        """Bring the file to the schema of this version."""
        connection = self._connection
        if connection.execute("PRAGMA user_version").fetchone()[0] == SCHEMA_VERSION:
            return
        with _write(connection):
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version > SCHEMA_VERSION:
                raise InputError(
                    f"The ledger {str(self._path)!r} has schema {version}, and this version of deniable knows "
                    f"{SCHEMA_VERSION}: install a newer one."
                )
            for step in range(version, SCHEMA_VERSION):
                for statement in MIGRATIONS[step]:
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _connect(path: Path) -> sqlite3.Connection:
    """Return a connection in which every transaction is begun by hand, and is on disk when it is committed.

    Raises:
        InputError: the file is no ledger; nothing of it was changed.
    """
    address = f"file:{quote(str(path.absolute()))}?mode=rw"  # which creates no file
    connection = sqlite3.connect(
        address, uri=True, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        _check_application(connection, path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def _check_application(connection: sqlite3.Connection, path: Path) -> None:
    """Raise `InputError` for a database of another program, or a file that is no database."""
    try:
        application = connection.execute("PRAGMA application_id").fetchone()[0]
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorname != "SQLITE_NOTADB":
            raise
        application = None
    if application != _APPLICATION_ID:
        raise InputError(f"{str(path)!r} is no ledger: name the file that deniable ledger create wrote.")


def _identify(path: Path) -> tuple[int, int]:
    """Return what a file is known by, whatever its name; opening it would drop SQLite's locks."""
    status = path.stat()
    return status.st_dev, status.st_ino


@contextlib.contextmanager
def _write(connection: sqlite3.Connection) -> Iterator[None]:
    """Begin a transaction that writes, and commit it where the block ends well."""
    try:
        connection.execute("BEGIN IMMEDIATE")  # an interruption may come when it is done
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextlib.contextmanager
def _translate_errors(path: Path) -> Iterator[None]:
    """Raise `InputError` in place of what SQLite raises."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error).rstrip(".")
        raise InputError(
            f"The ledger {str(path)!r} cannot be used: {reason}. Nothing was charged by this step."
        ) from None


def _encode_facts(facts: LedgerFacts) -> dict[str, str]:
    return {
        "unit": facts.unit,
        "budget": repr(facts.budget),
        "delta": json.dumps(facts.delta),
        "caps": json.dumps({account: list(amounts) for account, amounts in facts.caps.items()}),
        "key_check": facts.key_check.hex(),
    }


def _decode_facts(rows: dict[str, str], path: Path) -> LedgerFacts:
    try:
        return LedgerFacts(
            unit=rows["unit"],
            budget=float(rows["budget"]),
            delta=json.loads(rows["delta"]),
            caps={account: tuple(amounts) for account, amounts in json.loads(rows["caps"]).items()},
            key_check=bytes.fromhex(rows["key_check"]),
        )
    except (KeyError, ValueError, TypeError, AttributeError):
        raise InputError(
            f"The ledger {str(path)!r} is damaged: restore a copy, which forgets what was charged since."
        ) from None


def _refuse_network(path: Path) -> None:
    file_system = find_network_file_system(path)
    if file_system is not None:
        raise InputError(
            f"The ledger {str(path)!r} would lie on a network file system ({file_system}), across which SQLite's locks "
            "do not hold: put it on a local disk, or into PostgreSQL."
        )
