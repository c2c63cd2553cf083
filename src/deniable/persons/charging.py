"""What a release of a collection costs each of its persons, charged to a ledger before anything is measured.

Noise is fresh, so every run pays: the persons of a collection whose rows changed cannot be told from those of the same
collection, and noise that two of them shared would show the difference.
"""

from collections.abc import Sequence
from typing import Any

from deniable.core.errors import BudgetExceeded
from deniable.ledger import Cost, Ledger, get_charged_guarantee, make_gaussian_cost
from deniable.persons.budget import Budget
from deniable.text.columns import require_identities


def make_budget_cost(budget: Budget, mechanism: str) -> Cost:
    """Return what a release costs a person whose records are in it.

    Raises:
        InputError: the budget hides records and not persons, or is not proved.
    """
    guarantee = get_charged_guarantee(mechanism, budget.verify(), "person")
    facts = {
        "mechanism": mechanism,
        "epsilon": guarantee.epsilon,
        "delta": guarantee.delta,
        "unit": guarantee.unit,
    }
    return make_gaussian_cost(budget.squared_mu, facts, delta=budget.selection_delta)


def charge_persons(
    ledger: Ledger, budget: Budget, mechanism: str, persons: Sequence[Any], *, drops: bool = False
) -> set[str]:
    """Charge each person once, and return the identities left out; when this returns, the charges are on disk.

    Args:
        ledger: whose unit is a person.
        budget: of the release, which hides persons.
        mechanism: its name in the ledger.
        persons: of the rows, each as often as they have rows, by their identities, see `deniable.core.identity`.
        drops: whether persons whom the ledger's budget does not cover are left out, in place of an error.

    Raises:
        InputError: see `make_budget_cost`; or the ledger has no such account, or cannot be used.
        BudgetExceeded: the budget of some persons does not cover the release; nobody was charged then.
    """
    identities = require_identities("Persons", persons)
    cost, names, left_out = make_budget_cost(budget, mechanism), [*dict.fromkeys(identities)], set[str]()
    while True:
        covered = [name for name in names if name not in left_out]
        try:
            ledger.charge_afresh(cost, [ledger.keys.hash_person(name) for name in covered], range(len(covered)))
        except BudgetExceeded as error:
            refused = [covered[row] for row in error.rows]
            if not drops:
                raise BudgetExceeded(
                    [row for row, name in enumerate(identities) if name in set(refused)], error.caps, refused
                ) from None
            left_out.update(refused)
        else:
            return left_out
