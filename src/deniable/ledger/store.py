"""What a database must do to hold a ledger: four operations, and what they return.

======================  ==================================================================================
``charge``              one transaction: read, decide (`deniable.ledger.charges`), write all or nothing
``list_totals``         what persons have spent, as it is kept
``list_units``          how many cells and units of each cost persons were charged for, added up anew
``check_integrity``     what the database itself says of its files
======================  ==================================================================================

Names, hashes and amounts arrive ready: no store knows a key, and none decides.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from deniable.core.numbers import format_exact
from deniable.ledger.accounts import AccountName, Amounts, Caps, Cost
from deniable.ledger.charges import Charges, Decision

SCHEMA_VERSION = 1
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
        caps: integers that follow from budget and delta, see `deniable.ledger.accounts.compute_caps`.
        key_check: by which the ledger knows its key.
    """

    unit: str
    budget: float
    delta: float | None
    caps: Caps
    key_check: bytes

    def describe_caps(self) -> str:
        """Return what nobody may exceed, in plain words."""
        delta = (
            "" if self.delta is None else f", epsilon {format_exact(self.budget)} at delta {format_exact(self.delta)}"
        )
        return (
            f"per {self.unit}: metric epsilon {format_exact(self.budget)} (summed over words), pure epsilon "
            f"{format_exact(self.budget)}{delta}"
        )


class Total(NamedTuple):
    """What a person has spent on an account."""

    person: bytes
    account: AccountName
    amounts: Amounts


class Units(NamedTuple):
    """How many cells, with how many units, a person was charged for at one cost."""

    person: bytes
    cost: Cost
    cells: int
    units: int


class Store(Protocol):
    """A database that holds one ledger. Its methods may be called from several threads, one after the other."""

    @property
    def facts(self) -> LedgerFacts:
        """What the ledger was created with."""

    def charge(self, cost: Cost, charges: Charges) -> Decision:
        """Charge cells, all or none; when this returns, the database has them on disk.

        Raises:
            InputError: the database cannot be reached or written; nothing is charged then, unless the message says
                that this is not known.
        """

    def list_totals(self, person: bytes | None = None) -> Iterator[Total]:
        """Yield what each person, or one, has spent, ordered by person and account."""

    def list_units(self, person: bytes | None = None) -> Iterator[Units]:
        """Yield the cells of each person, or of one, added up by cost; ordered by person."""

    def check_integrity(self) -> list[str]:
        """Return what is wrong with the database, a line each."""

    def close(self) -> None:
        """End the connection."""
