"""A ledger in one SQLite file, for all programs of one machine.

Write-ahead log, ``synchronous=FULL``: what was committed is on disk. Writers wait for each other (``BEGIN IMMEDIATE``).
SQLite's locks do not hold across network file systems, so these are refused. Where a file cannot be written it is read
all the same, see `deniable.ledger.access`.

Anything may stand in a file that is damaged. What is read from it is checked (`deniable.ledger.records`), a schema that
is not this one is refused, and work is bounded by the size of the file, which pages that refer to each other would not
do.
"""

import contextlib
import itertools
import json
import shlex
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

from deniable.core.errors import InputError, escape_unprintable, shorten_text
from deniable.core.files import NewFile, create_files
from deniable.ledger.access import LOG_ENDING, Access, choose_access, make_reading_error
from deniable.ledger.accounts import AccountName, Amounts, Cost
from deniable.ledger.charges import Charges, Decision, decide_charges
from deniable.ledger.mounts import find_network_file_system
from deniable.ledger.records import (
    DamageFound,
    check_facts,
    check_hash,
    check_total,
    check_units,
    parse_cost,
    parse_json,
)
from deniable.ledger.store import SCHEMA_VERSION, LedgerFacts, Total, Units

_WAIT_SECONDS = 120
"""How long a writer waits for the others."""
_CHUNK = 500
"""Values of one query; older versions of SQLite take 999."""
_LEAST_STEPS, _STEPS_PER_BYTE, _STEPS_AT_A_TIME = 10**6, 100, 10**5
"""Steps that SQLite may take for one reading, and for each byte of the file; a row of 42 bytes takes about 100."""
_MAXIMUM_FACTS = 100
"""More than any ledger has."""
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
                command = shlex.join(["deniable", "ledger", "create", str(path)])
                raise InputError(f"There is no ledger {str(path)!r}: make one with: {escape_unprintable(command)}")
            _refuse_network(path)
            self._path, self._lock, self._identity = path, threading.Lock(), _identify(path)
            self._access = choose_access(path)
            self._connection = _connect(path, self._access)
            try:
                self._migrate()
                _check_schema(self._connection)
                facts = self._connection.execute("SELECT name, value FROM facts").fetchmany(_MAXIMUM_FACTS)
                self.facts = _decode_facts(facts)
                self._connection.set_progress_handler(None, 0)  # what charges looks rows up, one by one
            except BaseException:
                self._connection.close()
                raise

    def charge(self, cost: Cost, charges: Charges) -> Decision:
        """See `deniable.ledger.store.Store.charge`."""
        if self._access != "mode=rw":
            raise InputError(
                f"The ledger {str(self._path)!r} cannot be charged: its file or its folder cannot be written. Name one "
                "that can."
            )
        with self._lock, _translate_errors(self._path), _write(self._connection):
            if _identify(self._path) != self._identity:
                raise InputError(
                    f"The ledger {str(self._path)!r} was moved, removed or replaced while it is in use: start the "
                    "program again."
                )
            known = {
                check_hash(fingerprint)
                for (fingerprint,) in self._select(
                    "SELECT fingerprint FROM charges WHERE fingerprint", charges.fingerprints
                )
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
            last: tuple[bytes, str] | None = None
            for name, account, amounts in connection.execute(query, values):
                total = check_total(name, account, parse_json(amounts, "a total"))
                if last is not None and (total.person, total.account) <= last:
                    raise DamageFound("its totals are not in order")
                last = total.person, total.account
                yield total

    def list_units(self, person: bytes | None = None) -> Iterator[Units]:
        """See `deniable.ledger.store.Store.list_units`."""
        condition, values = ("", ()) if person is None else (" WHERE person = ?", (person,))
        with self._read() as connection:
            costs = dict[int, Cost]()
            for number, text in connection.execute("SELECT number, cost FROM costs"):
                if number in costs:
                    raise DamageFound("a cost is there twice")
                costs[number] = parse_cost(text)
            query = (
                f"SELECT person, cost, COUNT(*), SUM(units) FROM charges{condition} "  # noqa: S608
                "GROUP BY person, cost ORDER BY person, cost"
            )
            for name, cost, cells, units in connection.execute(query, values):
                yield check_units(name, costs.get(cost), cells, units)

    def check_integrity(self) -> list[str]:
        """Return what SQLite finds in its file: damaged pages, indices at odds with tables, charges without a cost."""
        with self._read() as connection:
            found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check")]
            orphans = sum(1 for _ in connection.execute("PRAGMA foreign_key_check"))
        lines = [_show_reason(line) for text in found if text != "ok" for line in text.splitlines()]
        return lines + ([f"{orphans:,} charges at a cost that is not there"] if orphans else [])

    def close(self) -> None:
        """See `deniable.ledger.store.Store.close`."""
        with self._lock:
            self._connection.close()

    @contextlib.contextmanager
    def _read(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection of its own, at one state of the ledger, which writers meanwhile do not change."""
        with _translate_errors(self._path), contextlib.closing(_connect(self._path, self._access)) as connection:
            connection.execute("BEGIN")
            yield connection

    def _select(self, query: str, values: Iterable[bytes]) -> Iterator[tuple[object, ...]]:
        """Yield the rows of a query that ends with the name of a column, which is to have one of the values."""
        listed = list(values)
        for first in range(0, len(listed), _CHUNK):
            chunk = listed[first : first + _CHUNK]
            # At once: a cursor that is left in the middle would complain when its connection is closed.
            yield from self._connection.execute(f"{query} IN ({','.join('?' * len(chunk))})", chunk).fetchall()

    def _find_totals(self, account: AccountName, persons: Iterable[bytes]) -> dict[bytes, Amounts]:
        query = f"SELECT person, amounts FROM totals WHERE account = '{account}' AND person"  # noqa: S608
        totals = (
            check_total(person, account, parse_json(amounts, "a total"))
            for person, amounts in self._select(query, persons)
        )
        return {total.person: total.amounts for total in totals}

    def _write_charges(self, cost: Cost, charges: Charges, decision: Decision) -> None:
        text = cost.encode()
        self._connection.execute("INSERT OR IGNORE INTO costs (cost) VALUES (?)", (text,))
        found = self._connection.execute("SELECT number FROM costs WHERE cost = ?", (text,)).fetchone()
        if found is None:
            raise DamageFound("a cost that was written cannot be found")
        rows = sorted(
            (charges.fingerprints[cell], charges.persons[cell], found[0], charges.units[cell])
            for cell in decision.new_cells
        )
        self._connection.executemany("INSERT INTO charges VALUES (?, ?, ?, ?)", rows)
        totals = sorted((person, cost.account, json.dumps(amounts)) for person, amounts in decision.totals.items())
        self._connection.executemany("INSERT OR REPLACE INTO totals VALUES (?, ?, ?)", totals)

    def _migrate(self) -> None:
        """Bring the file to the schema of this version."""
        connection, version = self._connection, self._read_version()
        if version == SCHEMA_VERSION:
            return
        if self._access != "mode=rw":
            raise InputError(
                f"The ledger {str(self._path)!r} has schema {version}, which this version of deniable would bring to "
                f"{SCHEMA_VERSION}, and it cannot be written: open it once where it can."
            )
        with _write(connection):
            version = self._read_version()  # another program may have done it
            if not all(step in MIGRATIONS for step in range(version, SCHEMA_VERSION)):
                raise DamageFound(f"it has schema {version}, which no version of deniable wrote")
            for step in range(version, SCHEMA_VERSION):
                for statement in MIGRATIONS[step]:
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")

    def _read_version(self) -> int:
        """Return the version of the schema, or raise `InputError` for one that this program does not know."""
        version: int = self._connection.execute("PRAGMA user_version").fetchone()[0]
        if version > SCHEMA_VERSION:
            raise InputError(
                f"The ledger {str(self._path)!r} has schema {version}, and this version of deniable knows "
                f"{SCHEMA_VERSION}: install a newer one."
            )
        return version


def _connect(path: Path, access: Access) -> sqlite3.Connection:
    """Return a connection in which every transaction is begun by hand, and is on disk when it is committed.

    The steps that it may take are limited, see `_limit_steps`.

    Args:
        path: of the file.
        access: how it is opened.

    Raises:
        InputError: the file is no ledger; nothing of it was changed.
    """
    address = f"file:{quote(str(path.absolute()))}?{access}"
    connection = sqlite3.connect(
        address, uri=True, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        _limit_steps(connection, path)
        with _explain_reading(path, access):
            _check_application(connection, path)
            connection.execute("SELECT 1 FROM sqlite_master").fetchone()
        connection.execute("PRAGMA cell_size_check = ON")  # what is damaged is noticed when it is read
        if access == "mode=rw":
            connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
    except BaseException:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def _explain_reading(path: Path, access: Access) -> Iterator[None]:
    """Raise `InputError` where a file that cannot be written can therefore not be read."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if access == "mode=rw" or not error.sqlite_errorname.startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY")):
            raise
        raise make_reading_error(path) from None


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


def _check_schema(connection: sqlite3.Connection) -> None:
    """Raise `DamageFound` where a table is not as it was made, or something stands between it and what is written."""
    found = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    made = {(name, sql) for kind, name, sql in found if kind == "table"}
    is_whole = all((statement.split(" ")[2], statement) in made for statement in _SCHEMA)
    if not is_whole or any(kind not in {"table", "index"} for kind, _, _ in found):
        raise DamageFound("its tables are not those that a ledger has")


def _limit_steps(connection: sqlite3.Connection, path: Path) -> None:
    """Let SQLite end with SQLITE_INTERRUPT where it takes more steps than any ledger of the size of a file needs."""
    sizes = [part.stat().st_size for part in (path, Path(f"{path}{LOG_ENDING}")) if part.exists()]
    limit = (_LEAST_STEPS + _STEPS_PER_BYTE * sum(sizes)) // _STEPS_AT_A_TIME
    counter = itertools.count(1)
    connection.set_progress_handler(lambda: next(counter) > limit, _STEPS_AT_A_TIME)


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
        try:
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise _CommitError(str(error)) from error
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


class _CommitError(Exception):
    """A commit failed: the log may hold it all the same, or not."""


@contextlib.contextmanager
def _translate_errors(path: Path) -> Iterator[None]:
    """Raise `InputError` in place of what SQLite raises, and for damage."""
    try:
        yield
    except _CommitError as error:
        raise InputError(
            f"The ledger {str(path)!r} could not be written: {_show_reason(str(error))}. Whether this step was charged "
            "is not known: deniable ledger show tells."
        ) from None
    except (DamageFound, UnicodeDecodeError) as error:  # the latter where SQLite quotes what is no text
        damage = error if isinstance(error, DamageFound) else "its tables cannot be read"
        raise InputError(
            f"The ledger {str(path)!r} is damaged: {damage}. Restore a copy, which forgets what was charged since."
        ) from None
    except (sqlite3.Error, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        if getattr(error, "sqlite_errorname", None) == "SQLITE_INTERRUPT":
            reason = "reading it takes longer than any ledger of its size, so that it must be damaged"
        raise InputError(
            f"The ledger {str(path)!r} cannot be used: {_show_reason(reason)}. Nothing was charged by this step."
        ) from None


def _show_reason(text: str) -> str:
    """Return what SQLite says, which may quote a damaged file, as a part of one line."""
    return shorten_text(escape_unprintable(" ".join(text.split()))).rstrip(".")


def _encode_facts(facts: LedgerFacts) -> dict[str, str]:
    return {
        "unit": facts.unit,
        "budget": repr(facts.budget),
        "delta": json.dumps(facts.delta),
        "caps": json.dumps({account: list(amounts) for account, amounts in facts.caps.items()}),
        "key_check": facts.key_check.hex(),
    }


def _decode_facts(rows: list[tuple[object, object]]) -> LedgerFacts:
    values = dict(rows)
    if len(values) < len(rows):
        raise DamageFound("what it was created with is there twice")
    names = ("unit", "budget", "delta", "caps", "key_check")
    if not all(isinstance(values.get(name), str) for name in names):
        raise DamageFound("what it was created with cannot be read")
    unit, budget, delta, caps, key_check = (str(values[name]) for name in names)
    try:
        key_bytes, epsilon = bytes.fromhex(key_check), float(budget)
    except ValueError:
        raise DamageFound("its budget, or what it knows its key by, cannot be read") from None
    return check_facts(unit, epsilon, parse_json(delta, "its delta"), parse_json(caps, "its caps"), key_bytes)


def _refuse_network(path: Path) -> None:
    file_system = find_network_file_system(path)
    if file_system is not None:
        raise InputError(
            f"The ledger {str(path)!r} would lie on a network file system ({file_system}), across which SQLite's locks "
            "do not hold: put it on a local disk, or into PostgreSQL."
        )
