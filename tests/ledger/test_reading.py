"""What a ledger says of all persons together, and of one."""

import json
from fractions import Fraction

import pytest

from deniable.ledger import Ledger, create_ledger, make_gaussian_cost
from deniable.ledger.accounts import compute_spent_epsilon
from deniable.ledger.reading import encode_units, read_spending
from tests.contracts.store import PERSON, SECRET, TEXT, WORD, cells


@pytest.fixture
def ledger(tmp_path):
    create_ledger(str(tmp_path / "l.db"), 50.0, delta=1e-6, unit="person", secret=SECRET)
    ledger = Ledger(str(tmp_path / "l.db"), SECRET)
    ledger.charge(WORD, cells(ledger, ("ann", "a", 4), ("bob", "b", 2), ("ann", "c", 1)))
    ledger.charge(TEXT, cells(ledger, ("bob", "d", 1)))
    ledger.charge(PERSON, cells(ledger, ("ann", "e", 1), ("eve", "f", 1)))
    return ledger


def test_accounts_of_all(ledger):
    """Each account has the number of its persons, and what the one has spent who has spent most."""
    spending = read_spending(ledger)
    assert {one.name: (one.persons, one.largest) for one in spending.accounts} == {
        "metric": (2, 12.5),
        "pure": (1, 3.0),
        "approximate": (2, compute_spent_epsilon(PERSON.amounts, 1e-6)),
    }
    assert {one.facts["mechanism"]: (one.cells, one.units) for one in spending.releases} == {
        "tem": (3, 7),
        "adept-l1": (1, 1),
        "synthesize": (2, 2),
    }


def test_the_largest_loss_is_that_of_one_person(ledger):
    """Losses of a person add up over words; the largest of all persons is told, and of one person that person's."""
    assert read_spending(ledger).largest_loss == 5 * 30.0
    assert read_spending(ledger, "bob").largest_loss == 2 * 30.0
    assert read_spending(ledger, "eve").largest_loss is None


def test_nobody(ledger):
    """Of a person who is not in it nothing is told."""
    assert read_spending(ledger, "nobody").to_dict() == {"accounts": [], "releases": [], "largest_loss": None}


def test_many_releases_compose(ledger):
    """Ten Gaussian releases spend less than ten times one."""
    cost = make_gaussian_cost(Fraction(1, 50), {"mechanism": "synthesize"})
    for number in range(10):
        ledger.charge(cost, cells(ledger, ("max", str(number), 1)))
    [account] = read_spending(ledger, "max").accounts
    assert account.largest < 5 * compute_spent_epsilon(cost.amounts, 1e-6)


def test_rows_of_an_export(ledger):
    """A row is one JSON object, without a name."""
    rows = [json.loads(encode_units(units)) for units in ledger.list_units("ann")]
    assert sorted((row["account"], row["units"]) for row in rows) == [("approximate", 1), ("metric", 5)]
    assert all(row["person"] == ledger.keys.hash_person("ann").hex() for row in rows)
