"""How a budget is divided: what the sums compose to, recomputed in other ways, what groups have, what is refused."""

import math
import re

import mpmath
import pytest

from deniable.persons.budget import (
    GROUP_SIZES,
    NOISE_STEPS,
    Budget,
    Measurement,
    bound_group_epsilon,
    describe_groups,
)
from tests.refusals import refuses

LISTS = (
    (Measurement("one", 1.0, 1),),
    (Measurement("many sums", 1.0, 1_000, 24), Measurement("count", 0.01, 1)),
    tuple(Measurement(f"number {number}", 0.3 + number, 7, 1 + number % 3) for number in range(40)),
)
SUMS = (Measurement("sums", 1.0, 1_000, 24),)


def compute_mu(budget):
    """Return mu of all sums together, in mpmath's digits, from the listed integers alone."""
    listed = budget.describe_measurements()
    squares = (row["sums"] * mpmath.mpf(row["norm bound of a unit"]) ** 2 / row["noise"] ** 2 for row in listed)
    return mpmath.sqrt(mpmath.fsum(squares))


def compute_delta(epsilon, mu):
    """Return delta of mu-Gaussian DP at an epsilon (Dong, Roth, Su 2022, Corollary 2.13)."""
    return mpmath.ncdf(-epsilon / mu + mu / 2) - mpmath.exp(epsilon) * mpmath.ncdf(-epsilon / mu - mu / 2)


@pytest.mark.parametrize("measurements", LISTS, ids=["one", "many sums", "many names"])
@pytest.mark.parametrize("delta", [pytest.param(1e-200, marks=pytest.mark.deep), 1e-30, 1e-6, 0.3])
def test_all_sums_compose_to_the_budget_and_waste_nothing(delta, measurements):
    """In 60 digits the listed bounds spend at most delta at epsilon, and more than it where mu is 0.01 % larger."""
    for epsilon in (1e-3, 0.1, 1.0, 8.0, 300.0):
        budget = Budget(epsilon, delta, "record", measurements)
        with mpmath.workdps(400 if delta < 1e-100 else 60):
            mu = compute_mu(budget)
            assert compute_delta(mpmath.mpf(epsilon), mu) <= delta
            assert compute_delta(mpmath.mpf(epsilon), mu * mpmath.mpf("1.0001")) > delta
        assert (budget.verify().status, budget.verify().epsilon) == ("proved", epsilon)


@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_sums_and_a_selection_share_delta(share):
    """What the selection of keys may pass and what the sums spend is at most delta together, and nearly all of it."""
    budget = Budget(1.0, 1e-6, "record", LISTS[1], share * 1e-6)
    with mpmath.workdps(60):
        spent = compute_delta(mpmath.mpf(1), compute_mu(budget)) + mpmath.mpf(budget.selection_delta)
        assert mpmath.mpf("0.999e-6") < spent <= mpmath.mpf(budget.delta)
    assert (budget.guarantee.delta, budget.verify().status) == (1e-6, "proved")


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [(1.0, 1e-5), *(pytest.param(*one, marks=pytest.mark.deep) for one in ((0.5, 1e-6), (8, 1e-7)))],
)
def test_composition_agrees_with_dp_accounting(epsilon, delta):
    """An accountant of privacy loss distributions finds the same epsilon for the listed sums, to 1 %."""
    accounting = pytest.importorskip("dp_accounting")
    from dp_accounting.pld import PLDAccountant

    accountant = PLDAccountant(accounting.NeighboringRelation.ADD_OR_REMOVE_ONE)
    for row in Budget(epsilon, delta, "person", LISTS[1]).describe_measurements():
        event = accounting.GaussianDpEvent(row["noise"] / row["norm bound of a unit"])
        accountant.compose(event, row["sums"])
    assert 0.99 * epsilon <= accountant.get_epsilon(delta) <= 1.01 * epsilon


def test_shares_follow_the_weights():
    """A measurement's part of the squared mu is its weight over the sum of the weights, whatever its number of sums."""
    budget = Budget(1.0, 1e-6, "record", (Measurement("a", 3.0, 10, 24), Measurement("b", 1.0, 5)))
    assert budget.compute_share("a") == 0.75
    first, second = (budget.compute_norm_bound(name) for name in "ab")
    assert 24 * first**2 / second**2 == pytest.approx(3.0, rel=1e-9)
    assert budget.coordinates == 245


def test_claims_beyond_the_sums_are_no_proof():
    """With half the noise that is needed, or a bound larger than its share allows, the verdict is undecided."""

    class Careless(Budget):
        """A budget that adds one to every bound."""

        def compute_norm_bound(self, name):
            """Return a bound that is too large."""
            return super().compute_norm_bound(name) + 1

    budget = Budget(1.0, 1e-6, "record", LISTS[0])
    budget.__dict__["noise_ratio"] = budget.noise_ratio / 2
    assert (budget.verify().status, budget.verify().epsilon) == ("undecided", math.inf)
    assert Careless(1.0, 1e-6, "record", LISTS[0]).verify().status == "undecided"


@pytest.mark.parametrize("unit", ["record", "person"])
def test_the_guarantee_names_its_unit(unit):
    """The guarantee is proved, for a unit more or less, and its noise is the listed parameter."""
    budget = Budget(2.0, 1e-7, unit, LISTS[0])
    guarantee = budget.guarantee
    assert (guarantee.epsilon, guarantee.delta, guarantee.status, guarantee.unit) == (2.0, 1e-7, "proved", unit)
    assert unit in guarantee.adjacency
    assert budget.describe_measurements()[0]["noise"] == NOISE_STEPS


@pytest.mark.parametrize(
    ("options", "value"),
    [
        ({"epsilon": 0.0}, "'epsilon'"),
        ({"epsilon": math.nan}, "'epsilon'"),
        ({"epsilon": 1e3}, "'epsilon'"),
        ({"delta": 0.0}, "'delta'"),
        ({"delta": 1.0}, "'delta'"),
        ({"selection_delta": 1e-6}, "1e-06"),
        ({"measurements": ()}, "[]"),
        ({"measurements": (Measurement("a", 1.0, 1), Measurement("a", 1.0, 1))}, "['a', 'a']"),
        ({"measurements": (Measurement("a", 1.0, 1 << 40, 2),)}, "1,099,511,627,776"),
        ({"epsilon": 1e-12, "measurements": (Measurement("a", 1.0, 1 << 36),)}, "1e-12"),
        ({"epsilon": 1e-12, "delta": 1e-200}, "'one'"),
        ({"measurements": (Measurement("a", 1.0, 1), Measurement("b", 1e-30, 1))}, "'b'"),
    ],
)
def test_what_cannot_be_divided_is_refused(options, value):
    """Parameters outside their domains, equal names, and sums for which nothing is left are refused in one line."""
    with refuses(value):
        Budget(**{"epsilon": 1.0, "delta": 1e-6, "unit": "record", "measurements": LISTS[0], **options})


def test_measurements_have_positive_parts():
    """A measurement without weight, coordinates or sums is refused."""
    for name, value in (("weight", 0.0), ("weight", math.inf), ("coordinates", 0), ("sums", 0)):
        with refuses(f"'{name}'"):
            Measurement(**{"name": "sums", "weight": 1.0, "coordinates": 1, name: value})


def parse_promise(line):
    """Return epsilon and delta of a line, as a reader takes them."""
    epsilon, delta = re.fullmatch(r"a person with \d+ records: epsilon (\S+) at delta (\S+)", line).groups()
    return mpmath.mpf(epsilon.replace(",", "")), mpmath.mpf(delta)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.01, 1e-6), (1.0, 1 / 300_000), (8.0, 1e-9), (200.0, 1e-6)])
def test_groups_have_the_gaussian_guarantee(epsilon, delta):
    """k units have delta at epsilon by k-fold sensitivity in 60 digits, as printed too; not at a thousandth less."""
    budget = Budget(epsilon, delta, "record", SUMS)
    lines = describe_groups(budget)
    assert [line.split(":")[0] for line in lines] == [f"a person with {size} records" for size in GROUP_SIZES]
    with mpmath.workdps(60):
        mu = compute_mu(budget)
        for size in (1, *GROUP_SIZES, 100):
            found = bound_group_epsilon(budget, size)
            assert compute_delta(mpmath.mpf(found), size * mu) <= delta
            assert compute_delta(mpmath.mpf(found) * mpmath.mpf("0.999"), size * mu) > delta
            if size == 1:
                assert found == pytest.approx(epsilon, rel=1e-4)
        for size, line in zip(GROUP_SIZES, lines, strict=True):
            claim, printed_delta = parse_promise(line)
            assert compute_delta(claim, size * mu) <= printed_delta


@pytest.mark.parametrize("epsilon", [0.1, 0.55, 1.234567, 2.0])
def test_groups_with_a_selection_have_what_is_printed(epsilon):
    """Where words are selected, both printed numbers are at least those of group privacy in 60 digits."""
    budget = Budget(epsilon, 1e-6, "record", SUMS, selection_delta=5e-7)
    for size, line in zip(GROUP_SIZES, describe_groups(budget), strict=True):
        with mpmath.workdps(60):
            whole = mpmath.exp((size - 1) * mpmath.mpf(epsilon)) * size * mpmath.mpf(1e-6)
            if whole < 1:
                claim, printed_delta = parse_promise(line)
                assert claim >= mpmath.mpf(repr(epsilon)) * size
                assert whole <= printed_delta <= mpmath.mpf("1.01") * whole
            else:
                assert line == f"a person with {size} records: nothing"
    assert describe_groups(Budget(epsilon, 1e-6, "person", SUMS)) == []
