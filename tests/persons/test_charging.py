"""Persons of a collection pay for a release before anything is measured, and never less than its sums move."""

import contextlib
import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn
from deniable.persons import noisy_sums
from deniable.persons.budget import NOISE_STEPS, Budget, Measurement
from deniable.persons.charging import charge_persons, make_budget_cost
from deniable.persons.collection import group_rows
from deniable.persons.linear_training import compute_contrasts
from tests.persons.collections import CLASSES, draw_reviews, fit_classifier, synthesize
from tests.refusals import refuses

SECRET = bytes(range(32))
BUDGET = Budget(4.0, 1e-6, "person", (Measurement("classifier", 3.0, 1_000, 64), Measurement("classes", 1.0, 2)))
PERSONS = ["ann", "bob", "ann", "eve"]


def make_ledger(folder, cap=8.0, delta=4e-6):
    """Return a new ledger of persons."""
    dn.create_ledger(str(folder / "l.db"), cap, delta=delta, unit="person", secret=SECRET)
    return dn.Ledger(str(folder / "l.db"), SECRET)


@pytest.fixture
def ledger(tmp_path):
    """Return a ledger that covers a few releases of each person."""
    return make_ledger(tmp_path)


def count_units(ledger, *person):
    """Return how many releases each person was charged."""
    return [units.units for units in ledger.list_units(*person)]


@pytest.mark.parametrize(("cap", "is_covered"), [(4.0, False), (4.5, True)])
def test_the_cost_is_that_of_the_budget(tmp_path, cap, is_covered):
    """Divergences convert to about the epsilon that the budget claims, from above: its own composition is exact."""
    ledger = make_ledger(tmp_path, cap, 2e-6)
    if is_covered:
        assert charge_persons(ledger, BUDGET, "synthesize", ["ann"]) == set()
    else:
        with pytest.raises(dn.BudgetExceeded):
            charge_persons(ledger, BUDGET, "synthesize", ["ann"])


def test_a_budget_of_records_is_no_cost_of_a_person():
    """What a release costs that hides each record by itself is not known for a person with many: it is refused."""
    with refuses("one record"):
        make_budget_cost(dataclasses.replace(BUDGET, unit="record"), "synthesize")


def test_everybody_pays_once_a_run(ledger):
    """A person with several records pays once, and every run pays; twenty spellings of one person pay once."""
    for number in (1, 2):
        assert charge_persons(ledger, BUDGET, "synthesize", PERSONS) == set()
        assert count_units(ledger) == [number] * 3
    names = [f"17.{'0' * zeros}" for zeros in range(20)]
    assert len(group_rows(20, names)) == 1
    charge_persons(ledger, BUDGET, "synthesize", names)
    assert count_units(ledger, "17") == [1]


def test_who_is_not_covered(ledger):
    """Without drops the rows and names are in the error and nobody pays; with them the others pay."""
    with contextlib.suppress(dn.BudgetExceeded):
        for _ in range(1_000):
            charge_persons(ledger, BUDGET, "synthesize", ["ann"])
    with pytest.raises(dn.BudgetExceeded) as caught:
        charge_persons(ledger, BUDGET, "synthesize", PERSONS)
    assert caught.value.rows == [0, 2]
    assert "'ann'" in caught.value.args[0]
    assert count_units(ledger, "bob") == []
    assert charge_persons(ledger, BUDGET, "synthesize", PERSONS, drops=True) == {"ann"}
    assert count_units(ledger, "bob") == [1]


def test_from_python(ledger):
    """`dn.synthesize` charges the persons, says so, and refuses a ledger without persons or with a seed."""
    texts, codes = draw_reviews(60, 1)
    persons = [f"p{row // 3}" for row in range(60)]
    options = {
        "labels": [CLASSES[code] for code in codes],
        "classes": CLASSES,
        "epsilon": 4.0,
        "delta": 1e-6,
        "records": 20,
        "public": dn.PublicTexts(["the film was good.", "the plot was very bad.", "a fine film and a great plot."] * 4),
        "ledger": ledger,
    }
    released = synthesize(texts, persons=persons, rows=5, generator="recombined", **options)
    assert "charged to a ledger" in released.certificate.steps[-1]
    assert len(list(ledger.list_totals())) == 20
    classifier = fit_classifier(texts, persons=persons, **options)
    assert "charged to a ledger" in classifier.facts["ledger"][0]
    assert count_units(ledger, "p0") in ([2], [1, 1])
    for wrong, problem in (({}, "pass `persons` too"), ({"persons": persons, "seed": 1}, "public seed")):
        with refuses(problem):
            synthesize(texts, rows=5, **options, **wrong)


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


@pytest.fixture(scope="module")
def large_ledger(tmp_path_factory):
    """Return a ledger that covers many releases."""
    return make_ledger(tmp_path_factory.mktemp("ledger"), 1e4)


@settings(max_examples=12)
@given(rows=ROWS)
def test_the_ledger_is_never_below_what_the_sums_move(large_ledger, rows):
    """However names are spelled: without all rows of one of a ledger's persons no sum moves further than it charged."""
    before = {total.person: total.amounts for total in large_ledger.list_totals()}
    charge_persons(large_ledger, BUDGET, "synthesize", [person for person, _ in rows])
    after = {total.person: total.amounts for total in large_ledger.list_totals()}
    hashes = [large_ledger.keys.hash_person(person) for person, _ in rows]
    for one in {*hashes}:
        spent = np.array(after[one][1:], dtype=object) - np.array(before.get(one, [0] * 99)[1 : len(after[one])])
        charged = min(map(Fraction, spent, make_budget_cost(BUDGET, "synthesize").amounts[1:])) * BUDGET.squared_mu
        others = [row for row, other in zip(rows, hashes, strict=True) if other != one]
        assert _measure_movement(rows, others) <= charged
