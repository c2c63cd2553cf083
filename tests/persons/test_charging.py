"""Persons of a collection pay for a release before anything is measured."""

import pytest

import deniable as dn
from deniable.core.errors import BudgetExceeded, InputError
from deniable.ledger.accounts import compute_spent_epsilon
from deniable.persons.budget import Budget, Measurement
from deniable.persons.charging import charge_persons, make_budget_cost
from tests.contracts.store import SECRET
from tests.persons.collections import CLASSES, draw_reviews

BUDGET = Budget(4.0, 1e-6, "person", (Measurement("classifier", 3.0, 1_000, 64), Measurement("classes", 1.0, 2)))
PERSONS = ["ann", "bob", "ann", "eve"]


@pytest.fixture
def ledger(tmp_path):
    dn.create_ledger(str(tmp_path / "l.db"), 8.0, delta=4e-6, unit="person", secret=SECRET)
    return dn.Ledger(str(tmp_path / "l.db"), SECRET)


def test_the_cost_is_that_of_the_budget():
    """Divergences convert to about the epsilon that the budget claims, from above: its own composition is exact."""
    spent = compute_spent_epsilon(make_budget_cost(BUDGET, "synthesize").amounts, 2e-6)
    assert 4.0 < spent < 4.5


def test_everybody_pays_once_a_run(ledger):
    """A person with several records pays once, and every run pays."""
    assert charge_persons(ledger, BUDGET, "synthesize", PERSONS) == set()
    assert [units.units for units in ledger.list_units()] == [1, 1, 1]
    charge_persons(ledger, BUDGET, "synthesize", PERSONS)
    assert [units.units for units in ledger.list_units()] == [2, 2, 2]


def test_who_is_not_covered(ledger):
    """Without drops the rows and names are in the error and nobody pays; with them the others pay."""
    while True:
        try:
            charge_persons(ledger, BUDGET, "synthesize", ["ann"])
        except BudgetExceeded:
            break
    with pytest.raises(BudgetExceeded, match="2 rows, of 'ann'") as caught:
        charge_persons(ledger, BUDGET, "synthesize", PERSONS)
    assert caught.value.rows == [0, 2]
    assert list(ledger.list_units("bob")) == []
    assert charge_persons(ledger, BUDGET, "synthesize", PERSONS, drops=True) == {"ann"}
    assert [units.units for units in ledger.list_units("bob")] == [1]


def test_from_python(ledger):
    """`dn.synthesize` charges the persons, says so, and refuses a ledger without persons or with a seed."""
    texts, codes = draw_reviews(60, 1)
    options = {
        "labels": [CLASSES[code] for code in codes],
        "classes": CLASSES,
        "epsilon": 4.0,
        "delta": 1e-6,
        "rows": 5,
        "records": 20,
        "public_texts": ["the film was good.", "the plot was very bad.", "a fine film and a great plot."] * 4,
        "ledger": ledger,
    }
    persons = [f"p{row // 3}" for row in range(60)]
    released = dn.synthesize(texts, persons=persons, **options)
    assert "charged to a ledger" in released.certificate.steps[-1]
    assert len(list(ledger.list_totals())) == 20
    classifier = dn.texts.fit_private_classifier(
        texts, persons=persons, **{name: value for name, value in options.items() if name != "rows"}
    )
    assert "charged to a ledger" in classifier.facts["ledger"][0]
    with pytest.raises(InputError, match="give persons too"):
        dn.synthesize(texts, **options)
    with pytest.raises(InputError, match="public seed"):
        dn.synthesize(texts, persons=persons, seed=1, **options)
