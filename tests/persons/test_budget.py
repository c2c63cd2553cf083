"""How a budget is divided: what the sums compose to, recomputed in other ways, and what is refused."""

import math

import mpmath
import pytest

from deniable.core.errors import InputError
from deniable.persons.budget import NOISE_STEPS, Budget, Measurement

LISTS = (
    (Measurement("one", 1.0, 1),),
    (Measurement("many sums", 1.0, 1_000, 24), Measurement("count", 0.01, 1)),
    tuple(Measurement(f"number {number}", 0.3 + number, 7, 1 + number % 3) for number in range(40)),
)


def compute_mu(budget):
    """Return mu of all sums together, in 60 digits, from the listed integers alone."""
    listed = budget.describe_measurements()
    squares = (row["sums"] * mpmath.mpf(row["norm bound of a unit"]) ** 2 / row["noise"] ** 2 for row in listed)
    return mpmath.sqrt(mpmath.fsum(squares))


def compute_delta(epsilon, mu):
    """Return delta of mu-Gaussian DP at an epsilon (Dong, Roth, Su 2022, Corollary 2.13)."""
    return mpmath.ncdf(-epsilon / mu + mu / 2) - mpmath.exp(epsilon) * mpmath.ncdf(-epsilon / mu - mu / 2)


@pytest.mark.parametrize("measurements", LISTS)
@pytest.mark.parametrize("delta", [1e-200, 1e-30, 1e-6, 0.3])
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 8.0, 300.0])
def test_all_sums_compose_to_the_budget_and_waste_nothing(epsilon, delta, measurements):
    """In 60 digits the listed bounds spend at most delta at epsilon, and more than it where mu is 0.01 % larger."""
    budget = Budget(epsilon, delta, "record", measurements)
    with mpmath.workdps(400 if delta < 1e-100 else 60):
        mu = compute_mu(budget)
        assert compute_delta(mpmath.mpf(epsilon), mu) <= delta
        assert compute_delta(mpmath.mpf(epsilon), mu * mpmath.mpf("1.0001")) > delta
    assert budget.verify().status == "proved"
    assert budget.verify().epsilon == epsilon


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-6), (1.0, 1e-5), (8.0, 1e-7)])
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


def test_noise_below_the_calibration_is_no_proof():
    """With half the noise ratio that the budget needs the verdict is undecided, not proved."""
    budget = Budget(1.0, 1e-6, "record", LISTS[0])
    budget.__dict__["noise_ratio"] = budget.noise_ratio / 2
    assert (budget.verify().status, budget.verify().epsilon) == ("undecided", math.inf)


def test_a_list_that_claims_more_than_its_sums_is_no_proof():
    """Where a bound is larger than the share allows the verdict is undecided."""

    class Careless(Budget):
        """A budget that adds one to every bound."""

        def compute_norm_bound(self, name):
            """Return a bound that is too large."""
            return super().compute_norm_bound(name) + 1

    assert Careless(1.0, 1e-6, "record", LISTS[0]).verify().status == "undecided"


@pytest.mark.parametrize(("unit", "word"), [("record", "record"), ("person", "person")])
def test_the_guarantee_names_its_unit(unit, word):
    """The guarantee is proved, for a unit more or less, and its noise is the listed parameter."""
    budget = Budget(2.0, 1e-7, unit, LISTS[0])
    guarantee = budget.guarantee
    assert (guarantee.epsilon, guarantee.delta, guarantee.status, guarantee.unit) == (2.0, 1e-7, "proved", unit)
    assert word in guarantee.adjacency
    assert budget.describe_measurements()[0]["noise"] == NOISE_STEPS


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"epsilon": 0.0}, "'epsilon' parameter"),
        ({"epsilon": math.nan}, "'epsilon' parameter"),
        ({"epsilon": 1e3}, "'epsilon' parameter"),
        ({"delta": 0.0}, "'delta' parameter"),
        ({"delta": 1.0}, "'delta' parameter"),
        ({"measurements": ()}, "different names"),
        ({"measurements": (Measurement("a", 1.0, 1), Measurement("a", 1.0, 1))}, "different names"),
        ({"measurements": (Measurement("a", 1.0, 1 << 40, 2),)}, "at most 1,099,511,627,776 noisy coordinates"),
        ({"epsilon": 1e-12, "measurements": (Measurement("a", 1.0, 1 << 36),)}, "larger one"),
        ({"epsilon": 1e-12, "delta": 1e-200}, "Nothing of 'one' is left"),
        ({"measurements": (Measurement("a", 1.0, 1), Measurement("b", 1e-30, 1))}, "Nothing of 'b' is left"),
    ],
)
def test_what_cannot_be_divided_is_refused(options, reason):
    """Parameters outside their domains, equal names, and sums for which nothing is left are refused in one line."""
    with pytest.raises(InputError, match=reason) as caught:
        Budget(**{"epsilon": 1.0, "delta": 1e-6, "unit": "record", "measurements": LISTS[0], **options})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("options", [{"weight": 0.0}, {"weight": math.inf}, {"coordinates": 0}, {"sums": 0}])
def test_measurements_have_positive_parts(options):
    """A measurement without weight, coordinates or sums is refused."""
    with pytest.raises(InputError, match="parameter of sums must be"):
        Measurement(**{"name": "sums", "weight": 1.0, "coordinates": 1, **options})
