"""A ledger of what each person has spent: charged first, committed, and only then is noise drawn."""

import dataclasses
import functools
import heapq
import itertools
import operator
import os
import secrets
import threading
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from deniable.core.classes import get_picklable_state
from deniable.core.errors import BudgetExceeded, InputError, make_parameter_error
from deniable.core.files import NewFile
from deniable.core.keys import Key, KeyReference, SecretKey, parse_key
from deniable.core.signatures import create_key_file
from deniable.ledger.accounts import ACCOUNT_NAMES, Amounts, Cost, add_amounts, compute_caps, is_within
from deniable.ledger.charges import Charges
from deniable.ledger.keys import HASH_BYTES, LedgerKeys
from deniable.ledger.records import is_unit
from deniable.ledger.store import MAX_UNIT_LENGTH, LedgerFacts, Store, Total, Units

KEY_ENDING = ".key"
_POSTGRES_SCHEMES = ("postgresql://", "postgres://")


@dataclasses.dataclass(frozen=True)
class Ledger:
    """Where a ledger is, and where its key is kept: small, and picklable like a `deniable.text.release.Release`.

    The key names persons and cells in the database, and noise follows from it. Whoever has both learns who had texts
    released and how many, and can undo the noise; whoever has the database alone learns numbers.

    Relative paths are those of the folder in which a process is when it makes the object, wherever it goes later.

    Args:
        location: path of a file that ``deniable ledger create`` wrote, or the address of a PostgreSQL database,
            ``postgresql://user@host/database``.
        key: ``"file:PATH"``, ``"env:NAME"``, or 32 bytes; None for the file that was written beside the ledger, its
            name with ``.key`` at its end.

    Raises:
        InputError: an argument that is none of these, or a database without a key.
    """

    location: str
    key: Key | str | bytes | None = None

    def __post_init__(self) -> None:
        """Check the arguments, and bring the key into its one form."""
        object.__setattr__(self, "key", parse_key("Ledger", self.key))
        location = os.fspath(self.location) if isinstance(self.location, os.PathLike) else self.location
        if not isinstance(location, str) or not location:
            raise make_parameter_error("Ledger", "location", "a path, or the address of a database", location)
        if not is_database_address(check_location(location)):
            location = _make_absolute(location)
        object.__setattr__(self, "location", location)
        if self.key is None:
            object.__setattr__(self, "key", KeyReference("file", find_key_path(location, None)))
        elif isinstance(self.key, KeyReference) and self.key.scheme == "file":
            object.__setattr__(self, "key", KeyReference("file", _make_absolute(self.key.name)))
        if isinstance(self.key, KeyReference) and self.key.scheme == "seed":
            raise InputError("A ledger's key must be secret. Got a public seed: give its key file.")

    def __getstate__(self) -> dict[str, Any]:
        """Return what pickles: no connection, and no key."""
        return get_picklable_state(self)

    @property
    def facts(self) -> LedgerFacts:
        """What the ledger was created with.

        Raises:
            InputError: the ledger or its key cannot be read, or they do not belong together.
        """
        return self._session.store.facts

    @property
    def keys(self) -> LedgerKeys:
        """What is computed with the ledger's key; raises as `facts`."""
        return self._session.keys

    def charge(self, cost: Cost, charges: Charges) -> int:
        """Charge cells, all or none, and return how many were not charged before; then they are on disk.

        Raises:
            InputError: the ledger has no such account, or cannot be read or written; nothing is charged then, unless
                the message says that this is not known.
            BudgetExceeded: of some rows the new cells do not fit; nothing is charged then.
        """
        if not len(charges):
            return 0
        self.check_account(cost)
        decision = self._session.store.charge(cost, charges)
        if decision.refused_rows:
            raise BudgetExceeded(decision.refused_rows, self.describe_caps())
        return len(decision.new_cells)

    def charge_afresh(self, cost: Cost, persons: Sequence[bytes], rows: Sequence[int], units: int = 1) -> None:
        """Charge what is drawn with fresh noise: each row pays, whatever was released before.

        Args:
            cost: of one unit.
            persons: (k,) hashes of whose the rows are.
            rows: (k,) their numbers, ascending.
            units: of each of them.

        Raises:
            InputError, BudgetExceeded: see `charge`.
        """
        fingerprints = [secrets.token_bytes(HASH_BYTES) for _ in persons]
        self.charge(cost, Charges(fingerprints, persons, [units] * len(persons), rows))

    def check_account(self, cost: Cost) -> None:
        """Raise `InputError` where the ledger does not have the account of a cost."""
        if cost.account not in self.facts.caps:
            raise InputError(
                f"The ledger {self.shown_location} has no delta, and {cost.facts.get('mechanism', 'this release')} is "
                "(epsilon, delta)-differentially private: create a ledger with --delta, or choose another method."
            )

    @property
    def shown_location(self) -> str:
        """The location as messages show it."""
        if not is_database_address(self.location):
            return repr(self.location)
        from deniable.ledger.postgres import hide_user  # noqa: PLC0415 - one of two backends is needed

        return hide_user(self.location)

    def describe_caps(self) -> str:
        """Return what nobody may exceed, in plain words."""
        return self.facts.describe_caps()

    def list_totals(self, person: str | None = None) -> Iterator[Total]:
        """Yield what each person, or one who is named, has spent."""
        return self._session.store.list_totals(None if person is None else self.keys.hash_person(person))

    def list_units(self, person: str | None = None) -> Iterator[Units]:
        """Yield the cells of each person, or of one who is named, added up by cost."""
        return self._session.store.list_units(None if person is None else self.keys.hash_person(person))

    def find_problems(self) -> list[str]:
        """Return what is wrong with the ledger, a line each: its database, sums that differ, caps that are exceeded.

        Raises:
            InputError: the ledger cannot be read.
        """
        store = self._session.store
        problems = store.check_integrity()
        try:
            return [*problems, *_compare_sums(store), *_find_excess(store)]
        except InputError as error:
            if not problems:
                raise
            return [*problems, str(error)]

    @functools.cached_property
    def _opened(self) -> list["_Session"]:
        return []

    @property
    def _session(self) -> "_Session":
        """The connection, opened where there is none."""
        with _OPENING:
            if not self._opened or self._opened[0].is_closed:
                self._opened[:] = [_open_session(self)]
                _SESSIONS.add(self._opened[0])
            return self._opened[0]


class _Session:
    """An open ledger and its keys; its connection ends with it, or with the program."""

    def __init__(self, store: Store, keys: LedgerKeys) -> None:
        self.store, self.keys = store, keys
        self._finalizer = weakref.finalize(self, store.close)

    @property
    def is_closed(self) -> bool:
        """Whether the connection has ended."""
        return not self._finalizer.alive

    def close(self) -> None:
        """End the connection; the next charge opens another."""
        self._finalizer()


_OPENING, _SESSIONS = threading.Lock(), weakref.WeakSet[_Session]()


def _close_before_fork() -> None:
    """End all connections: what two processes inherit they would share, and the locks of a database's file with it."""
    _OPENING.acquire()
    for session in list(_SESSIONS):
        session.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_close_before_fork, after_in_parent=_OPENING.release, after_in_child=_OPENING.release)


def _open_session(ledger: Ledger) -> _Session:
    store = _open_store(ledger.location)
    try:
        return _Session(store, _read_keys(ledger, store.facts))
    except BaseException:
        store.close()
        raise


def _read_keys(ledger: Ledger, facts: LedgerFacts) -> LedgerKeys:
    """Return the keys of a ledger, or raise `InputError` where they are missing or another's."""
    key = ledger.key
    assert isinstance(key, KeyReference | SecretKey)  # noqa: S101 - __post_init__ has parsed it
    if isinstance(key, KeyReference) and key.scheme == "file" and not Path(key.name).exists():
        raise InputError(
            f"The key of the ledger {ledger.shown_location} is not at {key.name!r}: name the file that was written "
            "with it, with --key-file."
        )
    keys = LedgerKeys(key.read())
    if keys.check != facts.key_check:
        raise InputError(
            f"The key is not that of the ledger {ledger.shown_location}: give the key file that was written with it."
        )
    return keys


def _open_store(location: str) -> Store:
    if is_database_address(location):
        from deniable.ledger.postgres import PostgresStore  # noqa: PLC0415 - needs an extra

        return PostgresStore(location)
    from deniable.ledger.sqlite import SQLiteStore  # noqa: PLC0415 - one of two backends is needed

    return SQLiteStore(Path(location))


def create_ledger(
    location: str,
    budget: float,
    *,
    delta: float | None,
    unit: str,
    secret: bytes,
    key_path: str | os.PathLike[str] | None = None,
) -> LedgerFacts:
    """Create a ledger, and return what it was created with.

    Args:
        location: see `Ledger`.
        budget: epsilon that each account of a person has.
        delta: of the approximate account; None for no such account.
        unit: whose spending is counted, such as ``person``.
        secret: 32 bytes, the ledger's key, of which the ledger keeps a check only.
        key_path: where the key is written too; None for nowhere.

    Raises:
        InputError: a parameter outside its domain, or the ledger or its key exists or cannot be created; neither is
            there then.
    """
    if not is_unit(unit):
        raise make_parameter_error("the ledger", "unit", f"a word of at most {MAX_UNIT_LENGTH} characters", unit)
    check_location(location)
    facts = LedgerFacts(unit, float(budget), delta, compute_caps(budget, delta), LedgerKeys(secret).check)
    key_file = None if key_path is None else NewFile(Path(key_path), secret)
    if not is_database_address(location):
        from deniable.ledger.sqlite import create_sqlite_ledger  # noqa: PLC0415 - one of two backends is needed

        create_sqlite_ledger(Path(location), facts, key_file)
        return facts
    from deniable.ledger.postgres import create_postgres_ledger  # noqa: PLC0415 - needs an extra

    if key_file is not None:
        create_key_file(key_file.path, key_file.content)
    try:
        create_postgres_ledger(location, facts)
    except BaseException:
        if key_file is not None:
            key_file.path.unlink(missing_ok=True)
        raise
    return facts


def is_database_address(location: str) -> bool:
    """Return whether a location is that of a PostgreSQL database."""
    return location.startswith(_POSTGRES_SCHEMES)


def check_location(location: str) -> str:
    """Return where a ledger is, or raise `InputError` for what is neither a path nor an address without a password."""
    if is_database_address(location):
        from deniable.ledger.postgres import check_address  # noqa: PLC0415 - one of two backends is needed

        return check_address(location)
    if "://" in location or "password=" in location.lower():  # it is not shown: it may hold a password
        raise InputError(
            "A ledger is a file, or postgresql://user@host/database. Got an address of another form: give one of these."
        )
    return location


def _make_absolute(path: str) -> str:
    """Return a path that stays what it is when the process goes to another folder."""
    try:
        return str(Path(path).absolute())
    except OSError as error:
        raise InputError(
            f"The path {path!r} is relative to a folder that cannot be found: {error.strerror}. Give the whole path."
        ) from None


def list_files(location: str) -> list[str]:
    """Return the files in which a database keeps a ledger; none for a server."""
    return [] if is_database_address(location) else [location, f"{location}-wal", f"{location}-shm"]


def find_key_path(location: str, given_path: str | os.PathLike[str] | None) -> str:
    """Return where the key of a ledger is kept, by default beside its file.

    Raises:
        InputError: a database, beside which nothing is.
    """
    if given_path is not None:
        return os.fspath(given_path)
    if is_database_address(location):
        raise InputError("A ledger in a database keeps its key elsewhere: name the file with --key-file.")
    return location + KEY_ENDING


def _compare_sums(store: Store) -> Iterator[str]:
    """Yield a line for each account of a person whose charges do not add up to the total that is kept."""
    rows = heapq.merge(store.list_totals(), store.list_units(), key=operator.attrgetter("person"))
    for person, group in itertools.groupby(rows, key=operator.attrgetter("person")):
        kept, summed = dict[str, Amounts](), dict[str, Amounts]()
        for row in group:
            if isinstance(row, Total):
                kept[row.account] = row.amounts
            elif isinstance(row, Units):
                cost = row.cost
                zeros = (0,) * len(cost.amounts)
                summed[cost.account] = add_amounts(summed.get(cost.account, zeros), cost.amounts, row.units)
        for account in sorted({*kept, *summed}):
            if kept.get(account) != summed.get(account):
                yield f"the {account} account of person {person.hex()} does not hold the sum of its charges"


def _find_excess(store: Store) -> Iterator[str]:
    """Yield a line for each person who has spent more than the caps allow."""
    for total in store.list_totals():
        caps = store.facts.caps.get(total.account)
        if total.account not in ACCOUNT_NAMES or caps is None or not is_within(total.account, total.amounts, caps):
            yield f"the {total.account} account of person {total.person.hex()} is above its cap"
