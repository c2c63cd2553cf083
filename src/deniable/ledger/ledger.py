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
from typing import Any, NamedTuple

from deniable.core.classes import get_picklable_state
from deniable.core.errors import BudgetExceeded, InputError, make_parameter_error
from deniable.core.keys import Key, KeyReference, parse_key, read_key
from deniable.core.randomness import SecretBytes
from deniable.core.signatures import create_key_file
from deniable.ledger.accounts import Amounts, Cost, add_amounts, is_within
from deniable.ledger.charges import HASH_BYTES, Charges, LedgerKeys
from deniable.ledger.postgres import PostgresStore, create_postgres_ledger
from deniable.ledger.sqlite import SQLiteStore, create_sqlite_ledger
from deniable.ledger.store import (
    MAX_UNIT_LENGTH,
    ChargedUnits,
    LedgerFacts,
    Store,
    Total,
    check_location,
    find_key_path,
    is_database_address,
    show_location,
)


@dataclasses.dataclass(frozen=True)
class Ledger:
    """Where a ledger is, and where its key is kept: small, and picklable like a `deniable.text.release.Release`.

    The key gives people and cells their names in the database, and seeds the noise. Whoever has both learns who had
    texts released and how many, and can undo the noise; whoever has only the database learns numbers.

    Relative paths are those of the folder in which a process is when it makes the object, wherever it goes later.

    Args:
        location: path of a file that ``deniable ledger create`` wrote, or the address of a PostgreSQL database,
            ``postgresql://user@host/database``.
        key: ``"file:PATH"``, ``"env:NAME"``, or 32 bytes; None for the file that was written next to the ledger, its
            name with ``.key`` at its end.

    Raises:
        InputError: an argument that is none of these, or a database without a key.
    """

    location: str
    key: Key | str | bytes | None = None

    def __post_init__(self) -> None:
        """Check the arguments, and bring the key into its one form."""
        if not isinstance(self.location, str | os.PathLike) or not (location := os.fspath(self.location)):
            raise make_parameter_error("Ledger", "location", "a path, or the address of a database", self.location)
        if not is_database_address(check_location(location)):
            location = str(Path(location).absolute())
        key = parse_key("Ledger", self.key) or KeyReference("file", find_key_path(location, None))
        if isinstance(key, KeyReference) and key.scheme == "seed":
            raise InputError("A ledger's key must be secret. Got a public seed: give its key file.")
        if isinstance(key, KeyReference) and key.scheme == "file":
            key = KeyReference("file", str(Path(key.name).absolute()))
        object.__setattr__(self, "location", location)
        object.__setattr__(self, "key", key)

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
            raise BudgetExceeded(decision.refused_rows, self.facts.describe_caps())
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

    def check_account(self, cost: Cost) -> Amounts:
        """Return the caps of the account of a cost, or raise `InputError` where the ledger does not have it."""
        caps = self.facts.find_caps(cost.account)
        if caps is None:
            raise InputError(
                f"The ledger {self.shown_location} has no delta, and {cost.facts.get('mechanism', 'this release')} is "
                "(epsilon, delta)-differentially private: create a ledger with --delta, or choose another method."
            )
        return caps

    @property
    def shown_location(self) -> str:
        """The location as messages show it."""
        return show_location(self.location)

    def list_totals(self, person: str | None = None) -> Iterator[Total]:
        """Yield what each person, or one who is named, has spent."""
        return self._session.store.list_totals(None if person is None else self.keys.hash_person(person))

    def list_units(self, person: str | None = None) -> Iterator[ChargedUnits]:
        """Yield the cells of each person, or of one who is named, added up by cost."""
        return self._session.store.list_units(None if person is None else self.keys.hash_person(person))

    def find_problems(self) -> list[str]:
        """Return what is wrong with the ledger, a line each: its database, sums that differ, caps that are exceeded.

        Raises:
            InputError: the ledger cannot be read.
        """
        store = self._session.store
        return store.check_integrity() or list(_check_sums(store))

    @functools.cached_property
    def _opened(self) -> list["_Session"]:
        return []

    @property
    def _session(self) -> "_Session":
        """The connection, opened where there is none."""
        with _OPENING:
            if not self._opened or self._opened[0].store.is_closed:
                store = (PostgresStore if is_database_address(self.location) else SQLiteStore)(self.location)
                _STORES.add(store)
                self._opened[:] = [_Session(store, _read_keys(self, store.facts))]
            return self._opened[0]


class _Session(NamedTuple):
    """An open ledger and its keys."""

    store: Store
    keys: LedgerKeys


_OPENING, _STORES = threading.Lock(), weakref.WeakSet[Store]()


def _close_before_fork() -> None:
    """End all connections: what two processes inherit they would share, and the locks of a database's file with it."""
    _OPENING.acquire()
    for store in list(_STORES):
        store.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_close_before_fork, after_in_parent=_OPENING.release, after_in_child=_OPENING.release)


def _read_keys(ledger: Ledger, facts: LedgerFacts) -> LedgerKeys:
    """Return the keys of a ledger, or raise `InputError` where they are missing or another's."""
    key = ledger.key
    assert isinstance(key, KeyReference | SecretBytes)  # noqa: S101 - __post_init__ has parsed it
    if isinstance(key, KeyReference) and key.scheme == "file" and not Path(key.name).exists():
        raise InputError(
            f"The key of the ledger {ledger.shown_location} is not at {key.name!r}: name the file that was written "
            "with it, with --key-file (privatize: --key)."
        )
    keys = LedgerKeys(read_key(key))
    if keys.check != facts.key_check:
        raise InputError(
            f"The key is not that of the ledger {ledger.shown_location}: give the key file that was written with it."
        )
    return keys


def create_ledger(
    location: str, budget: float, *, delta: float | None, unit: str, secret: bytes, key_path: str | Path | None = None
) -> LedgerFacts:
    """Create a ledger, and return what it was created with.

    Args:
        location: see `Ledger`.
        budget: the most that each account of a person may spend.
        delta: of the approximate account; None for no such account.
        unit: whose spending is counted, such as ``person``.
        secret: 32 bytes, the ledger's key, of which the ledger keeps a check only.
        key_path: where the key is written too; None for nowhere.

    Raises:
        InputError: a parameter outside its domain, or the ledger or its key exists or cannot be created; neither is
            there then.
    """
    if not (isinstance(unit, str) and unit.isprintable() and 0 < len(unit) <= MAX_UNIT_LENGTH):
        raise make_parameter_error("the ledger", "unit", f"a word of at most {MAX_UNIT_LENGTH} characters", unit)
    check_location(location)
    facts = LedgerFacts(unit, budget, delta, LedgerKeys(secret).check)
    _ = facts.caps
    if key_path is not None:  # first: no ledger is there without its key
        create_key_file(Path(key_path), secret)
    try:
        (create_postgres_ledger if is_database_address(location) else create_sqlite_ledger)(location, facts)
    except BaseException:
        if key_path is not None:
            Path(key_path).unlink(missing_ok=True)
        raise
    return facts


def _check_sums(store: Store) -> Iterator[str]:
    """Yield a line for each account whose charges do not add up to the total that is kept, or exceed a cap."""
    rows = heapq.merge(store.list_totals(), store.list_units(), key=operator.attrgetter("person"))
    for person, group in itertools.groupby(rows, key=operator.attrgetter("person")):
        kept, summed = dict[str, Amounts](), dict[str, Amounts]()
        for row in group:
            if isinstance(row, Total):
                kept[row.account] = row.amounts
            elif isinstance(row, ChargedUnits):
                cost = row.cost
                zeros = (0,) * len(cost.amounts)
                summed[cost.account] = add_amounts(summed.get(cost.account, zeros), cost.amounts, row.units)
        for account in sorted({*kept, *summed}):
            name, caps = f"the {account} account of person {person.hex()}", store.facts.find_caps(account)
            if kept.get(account) != summed.get(account):
                yield f"{name} does not hold the sum of its charges"
            if account in kept and (caps is None or not is_within(account, kept[account], caps)):
                yield f"{name} is above its cap"
