"""Persons of a collection pay for a release before anything is measured."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import deniable as dn
from deniable.core.errors import BudgetExceeded, InputError
from deniable.ledger.accounts import EPSILON_UNITS, RENYI_ORDERS, compute_spent_epsilon
from deniable.persons import noisy_sums
from deniable.persons.budget import NOISE_STEPS, Budget, Measurement
from deniable.persons.charging import charge_persons, make_budget_cost
from deniable.persons.collection import group_rows
from deniable.persons.linear_training import compute_contrasts
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


def test_a_budget_of_records_is_no_cost_of_a_person():
    """What a release costs that hides each record by itself is not known for a person with many: it is refused."""
    with pytest.raises(InputError, match="about one record: state it for a person"):
        make_budget_cost(dataclasses.replace(BUDGET, unit="record"), "synthesize")


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


SPELLINGS = (
    "17",
    "17.0",
    "17.00",
    "17.",
    " 17",
    "1.7e+01",
    17,
    17.0,
    np.float32(17),
    "é",
    "e\u0301",
    "\u00a0é",
    "0",
    -0.0,
)
ROWS = st.lists(st.tuples(st.sampled_from(SPELLINGS), st.integers(0, 1)), min_size=1, max_size=25)


def _sum_rows(rows):
    """Return the exact sums of a release of rows: their histogram, and one sum of gradients."""
    persons, labels = [person for person, _ in rows], np.array([label for _, label in rows], dtype=np.int64)
    units = group_rows(len(rows), persons)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(noisy_sums, "add_noise", lambda sums, _: sums * 1.0)
        bound = BUDGET.compute_norm_bound("classes")
        histogram = noisy_sums.measure_histogram(BUDGET, "classes", labels, units, 2, None) * bound
    arrays = (np.arange(len(rows) + 1), np.zeros(len(rows), dtype=np.int64), np.ones(len(rows)), labels)
    gradients = noisy_sums.ResidualSums(*arrays, units, compute_contrasts(2))
    summed = gradients.sum_gradients(np.zeros((1, 1)), 0.01, BUDGET.compute_norm_bound("classifier"))
    return [round(one) for one in histogram.tolist()], summed.ravel().tolist()


def _measure_movement(rows, others):
    """Return the sum of mu^2 that all sums of the release move by between two collections, exactly."""
    (histogram, gradient), (other_histogram, other_gradient) = (
        _sum_rows(some) if some else ([0, 0], [0]) for some in (rows, others)
    )
    squares = [(one - other) ** 2 for one, other in zip(histogram, other_histogram, strict=True)]
    squares += [64 * (one - other) ** 2 for one, other in zip(gradient, other_gradient, strict=True)]
    return Fraction(sum(squares), NOISE_STEPS**2)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS)
def test_the_ledger_is_never_below_what_the_sums_move(tmp_path_factory, rows):
    """However names are spelled: without all rows of one of a ledger's persons no sum moves further than it charged."""
    location = str(tmp_path_factory.mktemp("ledger") / "l.db")
    dn.create_ledger(location, 1e4, delta=4e-6, unit="person", secret=SECRET)
    ledger = dn.Ledger(location, SECRET)
    charge_persons(ledger, BUDGET, "synthesize", [person for person, _ in rows])
    hashes = [ledger.keys.hash_person(person) for person, _ in rows]
    for one in {*hashes}:
        name = rows[hashes.index(one)][0]
        (total,) = ledger.list_totals(name)
        squared_mu = min(2 * Fraction(amount, EPSILON_UNITS) / Fraction(order)
                         for amount, order in zip(total.amounts[1:], RENYI_ORDERS, strict=True))  # fmt: skip
        others = [row for row, other in zip(rows, hashes, strict=True) if other != one]
        assert _measure_movement(rows, others) <= squared_mu


def test_many_spellings_cost_what_one_costs(ledger):
    """Twenty spellings of one person are clipped as one and pay once."""
    names = [f"17.{'0' * zeros}" for zeros in range(20)]
    assert len(group_rows(20, names)) == 1
    charge_persons(ledger, BUDGET, "synthesize", names)
    assert [units.units for units in ledger.list_units("17")] == [1]
