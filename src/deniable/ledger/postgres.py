"""A ledger in PostgreSQL, for programs on several machines. Needs ``deniable[postgres]``.

Its tables stand in the schema ``deniable_ledger`` of the database that the address names. A batch locks the totals of
its persons, in the order of their hashes, so that two batches never wait for each other; then it reads, decides and
writes in one transaction. Advisory locks serve migrations alone.
"""

import contextlib
import itertools
import json
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, LiteralString
from urllib.parse import unquote, urlsplit

from deniable.core.errors import InputError
from deniable.core.extras import import_extra
from deniable.ledger.accounts import Amounts, Cost, count_components
from deniable.ledger.charges import Charges, Decision, decide_charges
from deniable.ledger.records import DamageFound, check_facts, check_total, check_units, parse_cost
from deniable.ledger.store import SCHEMA_VERSION, LedgerFacts, Total, Units

if TYPE_CHECKING:
    import psycopg

POSTGRES_SCHEMES = ("postgresql://", "postgres://")
_MIGRATION_LOCK = 0x646E6C67
_CONNECT_SECONDS, _WAIT_SECONDS, _KEEPALIVE_SECONDS = 20, 120, 60
"""How long to wait for a connection, how long a batch waits for others, and for a machine that does not answer."""
_ROWS_AT_A_TIME = 10_000
_SCHEMA: tuple[LiteralString, ...] = (
    "CREATE SCHEMA deniable_ledger",
    (
        "CREATE TABLE deniable_ledger.facts (version integer NOT NULL, unit text NOT NULL, budget float8 NOT NULL, "
        "delta float8, caps jsonb NOT NULL, key_check bytea NOT NULL)"
    ),
    (
        "CREATE TABLE deniable_ledger.costs (number integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "
        "cost text NOT NULL UNIQUE)"
    ),
    (
        "CREATE TABLE deniable_ledger.totals (person bytea NOT NULL, account text NOT NULL, amounts bigint[] NOT NULL, "
        "PRIMARY KEY (person, account))"
    ),
    (
        "CREATE TABLE deniable_ledger.charges (fingerprint bytea PRIMARY KEY, person bytea NOT NULL, "
        "cost integer NOT NULL REFERENCES deniable_ledger.costs, units bigint NOT NULL CHECK (units > 0))"
    ),
)
MIGRATIONS: dict[int, Sequence[LiteralString]] = {}
"""The statements that bring a ledger from each schema version to the next."""


def create_postgres_ledger(address: str, facts: LedgerFacts) -> None:
    """Create the tables of a ledger in a database that has none.

    Raises:
        InputError: the database cannot be reached or written, or has a ledger.
    """
    with _translate_errors(address), _connect(address) as connection, connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_MIGRATION_LOCK,))
        if _has_ledger(connection):
            raise InputError(
                f"The database {hide_user(address)} has a ledger: ledgers are never overwritten. Name another."
            )
        for statement in _SCHEMA:
            connection.execute(statement)
        caps = json.dumps({account: list(amounts) for account, amounts in facts.caps.items()})
        connection.execute(
            "INSERT INTO deniable_ledger.facts VALUES (%s, %s, %s, %s, %s, %s)",
            (SCHEMA_VERSION, facts.unit, facts.budget, facts.delta, caps, facts.key_check),
        )


class PostgresStore:
    """A ledger in a database.

    Args:
        address: such as ``postgresql://host/database``; it holds no password.

    Raises:
        InputError: the database cannot be reached, has no ledger, or one of a newer version.
    """

    def __init__(self, address: str) -> None:
        self._address, self._lock = address, threading.Lock()
        with _translate_errors(address):
            self._connection = _connect(address)
            try:
                self.facts = self._read_facts()
            except BaseException:
                self._connection.close()
                raise

    def charge(self, cost: Cost, charges: Charges) -> Decision:
        """See `deniable.ledger.store.Store.charge`."""
        persons = sorted(set(charges.persons))
        with self._lock, _translate_errors(self._address):
            if self._connection.closed:  # it was lost; a service lives longer than a connection
                self._connection = _connect(self._address)
            with self._connection.transaction() as transaction:
                totals = self._lock_totals(cost, persons)
                known = self._connection.execute(
                    "SELECT fingerprint FROM deniable_ledger.charges WHERE fingerprint = ANY(%s)",
                    (list(charges.fingerprints),),
                )
                decision = decide_charges(
                    cost, charges, {row[0] for row in known}, totals, self.facts.caps[cost.account]
                )
                if not decision.new_cells or decision.refused_rows:
                    import psycopg  # noqa: PLC0415 - an extra, which is there by now

                    raise psycopg.Rollback(transaction)
                self._write_charges(cost, charges, decision)
        return decision

    def list_totals(self, person: bytes | None = None) -> Iterator[Total]:
        """See `deniable.ledger.store.Store.list_totals`."""
        rows = self._read(
            "SELECT person, account, amounts FROM deniable_ledger.totals WHERE %(person)s::bytea IS NULL "
            "OR person = %(person)s ORDER BY person, account",
            person,
        )
        with _translate_errors(self._address):
            yield from itertools.starmap(check_total, rows)

    def list_units(self, person: bytes | None = None) -> Iterator[Units]:
        """See `deniable.ledger.store.Store.list_units`."""
        rows = self._read(
            "SELECT person, costs.cost, COUNT(*), SUM(units) FROM deniable_ledger.charges JOIN deniable_ledger.costs "
            "ON charges.cost = costs.number WHERE %(person)s::bytea IS NULL OR person = %(person)s "
            "GROUP BY person, costs.number ORDER BY person, costs.number",
            person,
        )
        with _translate_errors(self._address):
            for name, cost, cells, units in rows:
                yield check_units(name, parse_cost(cost), cells, int(units))

    def check_integrity(self) -> list[str]:
        """Return nothing: PostgreSQL checks its own pages, and keeps the references between its tables."""
        return []

    def close(self) -> None:
        """See `deniable.ledger.store.Store.close`."""
        with self._lock:
            self._connection.close()

    def _read(self, query: LiteralString, person: bytes | None) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query, on a connection of its own: the rows of a large ledger come piece by piece."""
        with (
            _translate_errors(self._address),
            _connect(self._address) as connection,
            connection.transaction(),
            connection.cursor("rows") as cursor,
        ):
            cursor.itersize = _ROWS_AT_A_TIME
            yield from cursor.execute(query, {"person": person})

    def _lock_totals(self, cost: Cost, persons: list[bytes]) -> dict[bytes, Amounts]:
        """Return what persons have spent; no other batch reads or changes it before the end of the transaction."""
        zeros = [0] * count_components(cost.account)
        self._connection.execute(
            "INSERT INTO deniable_ledger.totals SELECT person, %s, %s FROM unnest(%s::bytea[]) AS person "
            "ORDER BY person ON CONFLICT DO NOTHING",
            (cost.account, zeros, persons),
        )
        rows = self._connection.execute(
            "SELECT person, amounts FROM deniable_ledger.totals WHERE account = %s AND person = ANY(%s) "
            "ORDER BY person FOR UPDATE",
            (cost.account, persons),
        )
        return {person: check_total(person, cost.account, amounts).amounts for person, amounts in rows}

    def _write_charges(self, cost: Cost, charges: Charges, decision: Decision) -> None:
        text = cost.encode()
        self._connection.execute("INSERT INTO deniable_ledger.costs (cost) VALUES (%s) ON CONFLICT DO NOTHING", (text,))
        row = self._connection.execute("SELECT number FROM deniable_ledger.costs WHERE cost = %s", (text,)).fetchone()
        number = row[0] if row is not None else None
        columns = [
            [column[cell] for cell in decision.new_cells]
            for column in (charges.fingerprints, charges.persons, charges.units)
        ]
        self._connection.execute(
            "INSERT INTO deniable_ledger.charges SELECT fingerprint, person, %s, units "
            "FROM unnest(%s::bytea[], %s::bytea[], %s::bigint[]) AS new(fingerprint, person, units)",
            (number, *columns),
        )
        amounts = ["{" + ",".join(map(str, one)) + "}" for one in decision.totals.values()]
        self._connection.execute(
            "UPDATE deniable_ledger.totals SET amounts = new.amounts::bigint[] "
            "FROM unnest(%s::bytea[], %s::text[]) AS new(person, amounts) "
            "WHERE totals.person = new.person AND totals.account = %s",
            (list(decision.totals), amounts, cost.account),
        )

    def _read_facts(self) -> LedgerFacts:
        """Return what the ledger was created with, after bringing it to the schema of this version."""
        with self._connection.transaction():
            self._connection.execute("SELECT pg_advisory_xact_lock(%s)", (_MIGRATION_LOCK,))
            if not _has_ledger(self._connection):
                raise InputError(
                    f"The database {hide_user(self._address)} has no ledger: make one with: deniable ledger create"
                )
            row = self._connection.execute("SELECT * FROM deniable_ledger.facts").fetchone()
            if row is None:
                raise DamageFound("its facts are missing")
            version, unit, budget, delta, caps, key_check = row
            if version > SCHEMA_VERSION:
                raise InputError(
                    f"The ledger in {hide_user(self._address)} has schema {version}, and this version of deniable "
                    f"knows {SCHEMA_VERSION}: install a newer one."
                )
            if not all(step in MIGRATIONS for step in range(version, SCHEMA_VERSION)):
                raise DamageFound(f"it has schema {version}, which no version of deniable wrote")
            for step in range(version, SCHEMA_VERSION):
                for statement in MIGRATIONS[step]:
                    self._connection.execute(statement)
            if version < SCHEMA_VERSION:
                self._connection.execute("UPDATE deniable_ledger.facts SET version = %s", (SCHEMA_VERSION,))
        return check_facts(unit, budget, delta, caps, bytes(key_check))


def check_address(address: str) -> str:
    """Return the address of a database, or raise `InputError` where it holds a password, which others could read."""
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:
        raise _make_address_error() from None
    names = {unquote(part.partition("=")[0]).lower() for part in parts.query.split("&")}
    # A sign that ends the host, as a password may hold one, leaves the rest of the password behind it.
    if parts.password is not None or "password" in names or "@" in parts.path + parts.query + parts.fragment:
        raise _make_address_error()
    return address


def _make_address_error() -> InputError:
    return InputError(
        "The address of the ledger must be postgresql://user@host:port/database, without a password, which every list "
        "of programs would show: keep that in ~/.pgpass or the environment variable PGPASSWORD."
    )


def hide_user(address: str) -> str:
    """Return an address as messages show it."""
    parts = urlsplit(address)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def _has_ledger(connection: "psycopg.Connection[Any]") -> bool:
    row = connection.execute("SELECT to_regclass('deniable_ledger.facts') IS NOT NULL").fetchone()
    return row is not None and bool(row[0])


def _connect(address: str) -> "psycopg.Connection[Any]":
    """Return a connection in which every transaction is begun by hand, and is on disk when it is committed."""
    driver = import_extra("psycopg", "A ledger in PostgreSQL", "postgres")
    connection: psycopg.Connection[Any] = driver.connect(
        check_address(address),
        autocommit=True,
        connect_timeout=_CONNECT_SECONDS,
        client_encoding="utf-8",
        keepalives_idle=_KEEPALIVE_SECONDS,
    )
    connection.isolation_level = driver.IsolationLevel.READ_COMMITTED  # rows are locked; other levels would fail
    connection.execute("SET synchronous_commit = on")
    connection.execute("SELECT set_config('lock_timeout', %s, false)", (f"{_WAIT_SECONDS}s",))
    return connection


@contextlib.contextmanager
def _translate_errors(address: str) -> Iterator[None]:
    """Raise `InputError` in place of what the driver raises."""
    driver = import_extra("psycopg", "A ledger in PostgreSQL", "postgres")
    try:
        yield
    except driver.Error as error:
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise InputError(
            f"The ledger in {hide_user(address)} cannot be used: {reason}. Nothing was charged by this step, "
            "unless the connection was lost while it was written."
        ) from None
    except DamageFound as damage:
        raise InputError(
            f"The ledger in {hide_user(address)} is damaged: {damage}. Restore a copy, which forgets what was charged "
            "since."
        ) from None
