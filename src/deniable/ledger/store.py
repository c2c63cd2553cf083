"""A database that holds one ledger: its tables, what every database does alike, and what each must add.

A batch is charged in one transaction: lock and read, decide (`deniable.ledger.charges`), write all or nothing. Names,
hashes and amounts arrive ready: no store knows a key, and none decides.

A database may be damaged in a way that it does not see. Whether sums agree, and caps are kept, is found by
``deniable ledger check``; what does not read as a ledger's is one line.

Where a ledger is, the files beside it, and how messages show it.
"""

import contextlib
import functools
import hashlib
import json
import os
import re
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import unquote

from deniable.core.errors import DeniableError, InputError, escape_unprintable, shorten_text
from deniable.core.numbers import format_exact
from deniable.ledger.accounts import Amounts, Caps, Cost, compute_caps, find_kind
from deniable.ledger.charges import Charges, Decision, decide_charges

SCHEMA_VERSION = 2
TABLES = (
    (
        "CREATE TABLE facts (version integer PRIMARY KEY, unit text NOT NULL, budget float8 NOT NULL, delta float8, "
        "key_check bytea NOT NULL)"
    ),
    "CREATE TABLE costs (number bigint PRIMARY KEY, cost text NOT NULL)",
    (
        "CREATE TABLE totals (person bytea NOT NULL, account text NOT NULL, amounts text NOT NULL, "
        "PRIMARY KEY (person, account))"
    ),
    (
        "CREATE TABLE charges (fingerprint bytea PRIMARY KEY, person bytea NOT NULL, "
        "cost bigint NOT NULL REFERENCES costs, units bigint NOT NULL CHECK (units > 0))"
    ),
)
INSERT_FACTS = "INSERT INTO facts VALUES (%s, %s, %s, %s, %s)"
_REPLACE_TOTAL = (
    "INSERT INTO totals VALUES (%s, %s, %s) ON CONFLICT (person, account) DO UPDATE SET amounts = excluded.amounts"
)
_SELECT_TOTALS = (
    "SELECT person, account, amounts FROM totals WHERE person = COALESCE(%s, person) ORDER BY person, account"
)
_SELECT_UNITS = (
    "SELECT person, costs.cost, cells, units FROM (SELECT person, cost AS number, COUNT(*) AS cells, SUM(units) AS "
    "units FROM charges WHERE person = COALESCE(%s, person) GROUP BY person, cost) AS sums JOIN costs USING (number) "
    "ORDER BY person, number"
)
MAX_UNIT_LENGTH = 40
"""Characters of the unit of a ledger."""
CALLER = "caller"
"""Unit of a ledger that counts for the callers of a service."""


@dataclass(frozen=True)
class LedgerFacts:
    """What a ledger was created with.

    Attributes:
        unit: whose spending is counted, such as ``person`` or ``caller``.
        budget: epsilon of each account.
        delta: of the approximate account; None where there is none.
        key_check: by which the ledger knows its key.
    """

    unit: str
    budget: float
    delta: float | None
    key_check: bytes

    @functools.cached_property
    def caps(self) -> Caps:
        """What each person may spend, as integers; raises `InputError` for a budget or delta outside its domain."""
        return compute_caps(self.budget, self.delta)

    def find_caps(self, account: str) -> Amounts | None:
        """Return what each person may spend on an account; None where the ledger does not have it."""
        return self.caps.get(find_kind(account))

    def describe_caps(self) -> str:
        """Return what nobody may exceed, in plain words."""
        cap = format_exact(self.budget)
        approximate = "" if self.delta is None else f", epsilon {cap} at delta {format_exact(self.delta)}"
        metric = f"metric epsilon {cap} (for each metric, summed over words)"
        return f"per {self.unit}: {metric}, pure epsilon {cap}{approximate}"


class Total(NamedTuple):
    """What a person has spent on an account."""

    person: bytes
    account: str
    amounts: Amounts


class ChargedUnits(NamedTuple):
    """How many cells, with how many units, a person was charged for at one cost."""

    person: bytes
    cost: Cost
    cells: int
    units: int


class Store(ABC):
    """A database that holds one ledger. Its methods may be called from several threads, one after the other.

    Args:
        shown: the database as messages show it.
        errors: that its driver raises.

    Attributes:
        facts: what the ledger was created with.

    Raises:
        InputError: the database cannot be reached, has no ledger, or one of another version.
    """

    def __init__(self, shown: str, errors: tuple[type[Exception], ...]) -> None:
        self.shown, self.errors, self._lock = shown, errors, threading.Lock()
        with self.explain():
            self._connection = self.connect()
            self._finalizer = weakref.finalize(self, self._connection.close)
            self.facts = self.read_facts()

    @abstractmethod
    def connect(self) -> Any:  # noqa: ANN401 - of either driver
        """Return a new connection on which every transaction is begun by hand, and is on disk when it is committed."""

    @abstractmethod
    def begin(self, cost: Cost, persons: Sequence[bytes]) -> None:
        """Begin a transaction; until its end no other one reads what persons have spent on the account of a cost."""

    @abstractmethod
    def roll_back(self) -> None:
        """End the transaction without a trace, whatever has happened to it."""

    @abstractmethod
    def select(self, query: str, wanted: Sequence[bytes], *values: str) -> Iterable[tuple[Any, ...]]:
        """Return the rows of a query that ends with the name of a column, which is to have one of the wanted values."""

    @abstractmethod
    def execute_many(self, query: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Run a statement for each of some rows of values, on the connection of the store."""

    @abstractmethod
    def execute(self, query: str, values: Sequence[Any] = ()) -> Iterable[tuple[Any, ...]]:
        """Return the rows of a query, on the connection of the store."""

    @abstractmethod
    def read(self, query: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query, on a connection of its own: those of a large ledger come piece by piece."""

    def charge(self, cost: Cost, charges: Charges) -> Decision:
        """Charge cells, all or none; when this returns, the database has them on disk.

        Raises:
            InputError: the ledger lacks the account, or the database cannot be reached or written; the message says
                whether something may have been charged.
        """
        with self._lock, self.explain("Whether this step was charged is not known: deniable ledger show tells."):
            try:
                with self.explain("Nothing was charged by this step."):
                    decision = self._decide(cost, charges)
                self.execute("COMMIT")
            except BaseException:
                self.roll_back()
                raise
        return decision

    def list_totals(self, person: bytes | None = None) -> Iterator[Total]:
        """Yield what each person, or one, has spent, ordered by person and account."""
        with self.explain():
            for name, account, text in self.read(_SELECT_TOTALS, (person,)):
                amounts = tuple(json.loads(text))
                if any(amounts):  # else a row that was made to be locked
                    yield Total(name, account, amounts)

    def list_units(self, person: bytes | None = None) -> Iterator[ChargedUnits]:
        """Yield the cells of each person, or of one, added up anew by cost; ordered by person."""
        with self.explain():
            for name, cost, cells, units in self.read(_SELECT_UNITS, (person,)):
                yield ChargedUnits(name, Cost.decode(cost), cells, int(units))

    def check_integrity(self) -> list[str]:
        """Return what the database itself says is wrong with its files, a line each."""
        return []

    @property
    def is_closed(self) -> bool:
        """Whether the connection has ended."""
        return not self._finalizer.alive

    def close(self) -> None:
        """End the connection."""
        with self._lock:
            self._finalizer()

    def explain(self, consequence: str = "") -> contextlib.AbstractContextManager[None]:
        """See `explain_errors`."""
        return explain_errors(self.shown, self.errors, consequence)

    def read_facts(self) -> LedgerFacts:
        """Return what the ledger was created with."""
        version, *values = next(iter(self.execute("SELECT * FROM facts")))
        if version != SCHEMA_VERSION:
            raise InputError(
                f"The ledger {self.shown} was made by another version of deniable, whose accounts mean something else: "
                "use that version, or make a new ledger."
            )
        return LedgerFacts(*values)

    def _decide(self, cost: Cost, charges: Charges) -> Decision:
        """Begin a transaction, return what is decided of cells in it, and write what is charged."""
        persons = sorted(set(charges.persons))
        self.begin(cost, persons)
        rows = self.select("SELECT person, amounts FROM totals WHERE account = %s AND person", persons, cost.account)
        totals = {person: tuple(json.loads(amounts)) for person, amounts in rows}
        query = "SELECT fingerprint FROM charges WHERE fingerprint"
        known = {fingerprint for (fingerprint,) in self.select(query, list(charges.fingerprints))}
        decision = decide_charges(cost, charges, known, totals, self.facts.caps[find_kind(cost.account)])
        if decision.new_cells and not decision.refused_rows:
            text = cost.encode()
            number = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) >> 1
            self.execute("INSERT INTO costs VALUES (%s, %s) ON CONFLICT DO NOTHING", (number, text))
            new_charges = sorted(
                (charges.fingerprints[cell], charges.persons[cell], number, charges.units[cell])
                for cell in decision.new_cells
            )
            self.execute_many("INSERT INTO charges VALUES (%s, %s, %s, %s)", new_charges)
            new_totals = sorted((person, cost.account, json.dumps(sums)) for person, sums in decision.totals.items())
            self.execute_many(_REPLACE_TOTAL, new_totals)
        return decision


@contextlib.contextmanager
def explain_errors(shown: str, errors: tuple[type[Exception], ...], consequence: str = "") -> Iterator[None]:
    """Raise `InputError` in place of what a driver raises, and for what does not read as a ledger's.

    Args:
        shown: the database as messages show it.
        errors: of the driver.
        consequence: a sentence about what was charged.
    """
    try:
        yield
    except DeniableError:
        raise
    except errors as error:
        reason = escape_unprintable(shorten_text(str(error), 500)).rstrip(".") or type(error).__name__
        raise InputError(f"The ledger {shown} cannot be used: {reason}. {consequence}".rstrip()) from None
    except (ValueError, TypeError, LookupError):
        raise InputError(
            f"The ledger {shown} is damaged: its content cannot be read. Restore a copy; charges made after it "
            "are lost."
        ) from None


_SCHEMES = ("postgresql://", "postgres://")
_ADDRESS = re.compile(r"postgres(ql)?://([^:@/?#]*@)?[^@]*")
"""An address whose one "@" ends a user without a password; a password may hold others."""


def is_database_address(location: str) -> bool:
    """Return whether a location is the address of a PostgreSQL database."""
    return location.startswith(_SCHEMES)


def check_location(location: str) -> str:
    """Return a location that is a path, or the address of a database without a password; raise `InputError` for others.

    The message does not show the location, which may hold a password.
    """
    if not is_database_address(location) and "://" not in location and "password=" not in location.lower():
        return location
    if not _ADDRESS.fullmatch(location) or re.search(r"[?&]password=", unquote(location).lower()):
        raise InputError(
            "A ledger is a file, or postgresql://user@host:port/database without a password, which every list of "
            "programs would show: keep that in ~/.pgpass or the environment variable PGPASSWORD."
        )
    return location


def show_location(location: str) -> str:
    """Return a location as messages show it, that of a database without its user and options."""
    if not is_database_address(location):
        return repr(location)
    return re.sub(r"//[^/]*@", "//", re.split(r"[?#]", location)[0])


def find_key_path(location: str, given_path: str | os.PathLike[str] | None) -> str:
    """Return where the key of a ledger is kept, by default beside its file.

    Raises:
        InputError: a database, beside which nothing is.
    """
    if given_path is None and is_database_address(location):
        raise InputError(
            "A ledger in a database keeps its key elsewhere: name the file with --key-file (privatize: --key)."
        )
    return f"{location}.key" if given_path is None else os.fspath(given_path)
