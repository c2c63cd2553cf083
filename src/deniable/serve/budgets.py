"""What callers spend, counted in a ledger: charged and committed before a private text leaves.

Noise stays fresh and every request pays. None is recognised by its text: a repeat that costs nothing would confirm a
guess. So that not each request waits for the disk, a caller pays for some words ahead; what is left of them when the
service stops is lost to the caller, and never to the account.
"""

import threading
from collections import defaultdict

from deniable.core.errors import BudgetExceeded, InputError
from deniable.ledger import Cost, Ledger
from deniable.ledger.store import CALLER
from deniable.serve.problems import Problem

ANYBODY = "anybody"
"""The one caller of a service without tokens."""
_MAX_AHEAD, _AHEAD_SHARE = 1_000, 100
"""Units that are paid ahead at most, and the share of a caller's budget that they may take, as its denominator."""
_BUDGET_SPENT = 429


class CallerBudgets:
    """The budgets of the callers of one service.

    Args:
        ledger: whose unit is a caller.
        cost: of one word, or of one text that is rewritten as a whole.

    Raises:
        InputError: the ledger has another unit, no such account, or cannot be reached.
    """

    def __init__(self, ledger: Ledger, cost: Cost) -> None:
        if ledger.facts.unit != CALLER:
            raise InputError(
                f"Ledger {ledger.shown_location} counts for each {ledger.facts.unit}, but a service counts callers: "
                "make one with deniable ledger create --unit caller."
            )
        caps = ledger.check_account(cost)
        self._ledger, self._cost = ledger, cost
        counts = [cap // amount for cap, amount in zip(caps, cost.amounts, strict=True) if amount]
        self._ahead = max(1, min(_MAX_AHEAD, max(counts, default=1) // _AHEAD_SHARE))
        self._paid: dict[str, int] = {}
        self._lock = threading.Lock()  # never held while the disk is waited for
        self._caller_locks = defaultdict[str, threading.Lock](threading.Lock)

    def spend_paid(self, caller: str, units: int) -> bool:
        """Take units from what a caller has paid ahead, and return whether that was enough; nothing is waited for."""
        with self._lock:
            remaining = self._paid.get(caller, 0) - units
            if remaining >= 0:
                self._paid[caller] = remaining
            return remaining >= 0

    def pay(self, caller: str, units: int) -> None:
        """Charge a caller; when this returns, the charge is on disk.

        Args:
            caller: its name.
            units: what is about to leave.

        Raises:
            Problem: the budget does not cover it, or the ledger cannot be reached: nothing may leave then.
        """
        with self._lock:
            caller_lock = self._caller_locks[caller]
        with caller_lock:
            if self.spend_paid(caller, units):
                return
            person = self._ledger.keys.hash_person(caller)
            # Some ahead where the budget covers them; other requests of the caller spend these.
            for amount in dict.fromkeys((max(units, self._ahead), units)):
                try:
                    self._ledger.charge_afresh(self._cost, [person], [0], amount)
                except BudgetExceeded:
                    continue
                except InputError as error:
                    raise Problem(
                        503, "The ledger cannot be reached, so no text may leave: try again later."
                    ) from error
                with self._lock:
                    self._paid[caller] = self._paid.get(caller, 0) + amount - units
                return
        raise Problem(_BUDGET_SPENT, f"The budget of this caller is spent: the ledger allows {self.describe()}.")

    def describe(self) -> str:
        """Return what no caller may exceed, in plain words."""
        return self._ledger.facts.describe_caps()
