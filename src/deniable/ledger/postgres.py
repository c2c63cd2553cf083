"""A ledger in PostgreSQL, for programs on several machines. Needs ``deniable[postgres]``.

Its tables stand in the schema ``deniable_ledger`` of the database that the address names. A batch locks the totals of
its persons, in the order of their hashes, so that two batches never wait for each other.
"""

import dataclasses
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from deniable.core.errors import InputError, import_extra
from deniable.ledger.accounts import Cost
from deniable.ledger.store import (
    INSERT_FACTS,
    SCHEMA_VERSION,
    TABLES,
    LedgerFacts,
    Store,
    explain_errors,
    show_location,
)

_CONNECT_SECONDS, _KEEPALIVE_SECONDS = 20, 60
"""How long to wait for a connection, and for a machine that does not answer."""
_SETTINGS = "SET synchronous_commit = on; SET lock_timeout = '120s'; SET search_path TO deniable_ledger"
_ROWS_AT_A_TIME = 10_000


def create_postgres_ledger(address: str, facts: LedgerFacts) -> None:
    """Create the tables of a ledger in a database that has none.

    Raises:
        InputError: the database cannot be reached or written, or has a ledger.
    """
    driver, shown = _import_driver(), show_location(address)
    with explain_errors(shown, (driver.Error,)), _connect(address) as connection, connection.transaction():
        try:
            connection.execute("CREATE SCHEMA deniable_ledger")
        except driver.errors.DuplicateSchema:
            raise InputError(
                f"The database {shown} has a ledger: ledgers are never overwritten. Name another."
            ) from None
        for table in TABLES:
            connection.execute(table)
        connection.execute(INSERT_FACTS, (SCHEMA_VERSION, *dataclasses.astuple(facts)))


class PostgresStore(Store):
    """A ledger in a database.

    Args:
        address: such as ``postgresql://host/database``; it holds no password.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        super().__init__(show_location(address), (_import_driver().Error,))

    def connect(self) -> Any:  # noqa: ANN401 - see `Store`
        """See `deniable.ledger.store.Store.connect`."""
        return _connect(self._address)

    def read_facts(self) -> LedgerFacts:
        """See `deniable.ledger.store.Store.read_facts`."""
        [(table,)] = self.execute("SELECT to_regclass('facts')")
        if table is None:
            raise InputError(f"The database {self.shown} has no ledger: make one with: deniable ledger create")
        return super().read_facts()

    def begin(self, cost: Cost, persons: Sequence[bytes]) -> None:
        """See `deniable.ledger.store.Store.begin`: who has no total gets one of zeros, which is locked like the others.

        Rows are locked, at which other isolation levels would fail. In the order of hashes, two batches never wait for
        each other.
        """
        self.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
        self.execute(
            "INSERT INTO totals SELECT person, %s, %s FROM unnest(%s::bytea[]) AS person ORDER BY person "
            "ON CONFLICT DO NOTHING",
            (cost.account, json.dumps([0] * len(cost.amounts)), persons),
        )
        self.execute(
            "SELECT 1 FROM totals WHERE account = %s AND person = ANY(%s) ORDER BY person FOR UPDATE",
            (cost.account, persons),
        )

    def roll_back(self) -> None:
        """See `deniable.ledger.store.Store.roll_back`: whatever state the connection is in, its end is that."""
        self._finalizer()

    def select(self, query: str, wanted: Sequence[bytes], *values: str) -> Iterable[tuple[Any, ...]]:
        """See `deniable.ledger.store.Store.select`."""
        rows: list[tuple[Any, ...]] = self.execute(f"{query} = ANY(%s)", (*values, wanted)).fetchall()
        return rows

    def execute_many(self, query: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """See `deniable.ledger.store.Store.execute_many`."""
        with self._connection.cursor() as cursor:
            cursor.executemany(query, rows)

    def execute(self, query: str, values: Sequence[Any] = ()) -> Any:  # noqa: ANN401 - a cursor of the driver
        """See `deniable.ledger.store.Store.execute`."""
        return self._connection.execute(query, values)

    def read(self, query: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """See `deniable.ledger.store.Store.read`."""
        with self.connect() as connection, connection.transaction(), connection.cursor("rows") as cursor:
            cursor.itersize = _ROWS_AT_A_TIME
            yield from cursor.execute(query, values)


def _import_driver() -> Any:  # noqa: ANN401 - a module without types
    return import_extra("psycopg", "A ledger in PostgreSQL", "postgres")


def _connect(address: str) -> Any:  # noqa: ANN401 - of an optional package
    """Return a connection in which every transaction is begun by hand, and is on disk when it is committed."""
    connection = _import_driver().connect(
        address,
        autocommit=True,
        connect_timeout=_CONNECT_SECONDS,
        client_encoding="utf-8",
        keepalives_idle=_KEEPALIVE_SECONDS,
    )
    connection.execute(_SETTINGS)
    return connection
