"""What `ledger show` reads of a ledger."""

import deniable as dn
from deniable.cli.commands.ledger.show import Spending, read_spending
from deniable.ledger.accounts import compute_spent_epsilon
from tests.ledger.store import PERSON, SECRET, TEXT, WORD, cells


def test_spending(tmp_path):
    """Each account has its persons and the most that one has spent; of one person, hers; of nobody, nothing."""
    dn.create_ledger(str(tmp_path / "l.db"), 50.0, delta=1e-6, unit="person", secret=SECRET)
    ledger = dn.Ledger(str(tmp_path / "l.db"), SECRET)
    ledger.charge(WORD, cells(ledger, ("ann", "a", 4), ("bob", "b", 2), ("ann", "c", 1)))
    ledger.charge(TEXT, cells(ledger, ("bob", "d", 1)))
    ledger.charge(PERSON, cells(ledger, ("ann", "e", 1), ("eve", "f", 1)))
    spending, one = read_spending(ledger), compute_spent_epsilon(PERSON.amounts, 1e-6)
    found = {account.name: (account.persons, account.largest) for account in spending.accounts}
    assert found == {"metric steps": (2, 12.5), "pure": (1, 3.0), "approximate": (2, one)}
    found = {release.facts["mechanism"]: (release.cells, release.units) for release in spending.releases}
    assert found == {"tem": (3, 7), "adept-l1": (1, 1), "synthesize": (2, 2)}
    assert [read_spending(ledger, *who).largest_loss for who in ((), ("bob",), ("eve",))] == [150.0, 60.0, None]
    assert read_spending(ledger, "nobody") == Spending([], [], None)
    for number in range(10):
        ledger.charge(PERSON, cells(ledger, ("max", str(number), 1)))
    [account] = read_spending(ledger, "max").accounts
    assert account.largest < 5 * one  # ten releases compose
    rows = sorted((row.cost.account, row.units, row.person) for row in ledger.list_units("ann"))
    ann = ledger.keys.hash_person("ann")
    assert rows == [("approximate", 1, ann), ("metric steps", 5, ann)]
