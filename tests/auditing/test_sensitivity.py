"""The search for far pairs, the count of pairs beyond a claim, and the exact sums of real neighbours."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from deniable import Gaussian, L1Ball, L2Ball
from deniable.auditing.sensitivity import count_sensitivity_violations, find_farthest_pair, verify_sum_sensitivity
from tests.refusals import refuses

RADIUS = 1.5


@pytest.mark.parametrize("n", [1, 2, 8, pytest.param(16, marks=pytest.mark.deep)])
def test_the_l2_clip_reaches_theorem_5_1(n):
    """The search finds the l1 sensitivity 2 C sqrt(n) of the l2 clip (Habernal 2021, Theorem 5.1), and no more."""
    found = find_farthest_pair(L2Ball(RADIUS).clip, n, order=1)
    proved = 2 * RADIUS * math.sqrt(n)
    assert proved * (1 - 1e-6) <= found.distance <= proved
    ends = L2Ball(RADIUS).clip(np.stack([found.x, found.x_prime]))
    assert np.abs(ends[0] - ends[1]).sum() == pytest.approx(found.distance, rel=1e-12)
    assert np.abs(ends) == pytest.approx(np.full((2, n), RADIUS / math.sqrt(n)), rel=1e-2)


@pytest.mark.parametrize(("ball", "order"), [(L2Ball(RADIUS), 2), (L1Ball(RADIUS), 1)])
def test_the_norm_that_fits_the_ball_gives_two_radii(ball, order):
    """The l2 sensitivity of the l2 clip and the l1 sensitivity of the l1 clip are 2 C, and both are found."""
    found = find_farthest_pair(ball.clip, 4, order=order)
    assert 2 * RADIUS * (1 - 1e-6) <= found.distance <= 2 * RADIUS * (1 + 1e-15)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("workers", [1, 2])
def test_violations_are_those_of_brute_force(order, workers):
    """Over all unordered pairs, those farther apart than claimed are counted, on any number of cores."""
    points = np.random.default_rng(order).normal(size=(83, 5))
    distances = [np.linalg.norm(a - b, ord=order) for a, b in itertools.combinations(points, 2)]
    for claimed in (0.01, float(np.median(distances)) + 1e-9, 1000.0):
        found = count_sensitivity_violations(points, claimed, order=order, workers=workers)
        assert found.pair_count == len(distances) == 83 * 82 // 2
        assert found.violation_count == sum(distance > claimed for distance in distances)
        assert found.violation_share == found.violation_count / found.pair_count


@pytest.mark.parametrize("law", ["uniform", "normal"])
def test_most_clipped_pairs_are_beyond_adepts_claim(law):
    """At n = 32 almost all pairs of clipped vectors are farther apart than 2 C in l1 (Habernal 2021, Figure 1)."""
    random = np.random.default_rng(32)
    points = random.uniform(-1, 1, (500, 32)) if law == "uniform" else random.normal(size=(500, 32))
    assert count_sensitivity_violations(L2Ball(1.0).clip(points), 2.0).violation_share > 0.999
    assert count_sensitivity_violations(L1Ball(1.0).clip(points), 2.0).violation_count == 0


STEP = 2**36
UNITS = [np.array(row) * STEP for row in ([3, 4, 0], [0, 0, 5], [0, -1, 0], [4, 0, 3])]
RATIO = Gaussian(epsilon=1.0, delta=1e-5, domain=L2Ball(0.5)).scale(1)
"""Noise of epsilon 1 on a sum of sensitivity 1."""


def sum_units(units):
    """Return a sum in which each unit counts once."""
    return sum(units, np.zeros(3, dtype=np.int64))


def test_sums_within_their_bound_stand_exactly():
    """A unit as long as the bound is not refuted and spends the claim; one step less is, for its last bit."""
    bound = 5 * STEP
    verdict = verify_sum_sensitivity(sum_units, UNITS, bound, RATIO * bound)
    assert verdict.status == "not refuted"
    assert verdict.lower_bound == verdict.claim == pytest.approx(1.0, rel=1e-6)
    refuted = verify_sum_sensitivity(sum_units, UNITS, bound - 1, RATIO * bound)
    assert refuted.status == "refuted"
    assert refuted.claim < refuted.lower_bound == pytest.approx(1.0, rel=1e-6)
    assert (refuted.samples, refuted.confidence) == (0, 1.0)
    assert verify_sum_sensitivity(sum_units, UNITS, bound, bound, unit="person").guarantee.unit == "person"


def test_the_farthest_unit_is_the_witness():
    """Noise for half the norm of unit 2 is refuted by it, with the epsilon of Gaussian noise at twice the shift."""
    units = [np.array([1, 0, 0]), np.array([0, 1, 0]), np.array([0, 0, 2]), np.array([0, 1, 0])]
    verdict = verify_sum_sensitivity(sum_units, units, 1, RATIO)
    assert verdict.status == "refuted"
    assert verdict.witness.other == "all units but number 2"
    assert "moves the sum by 2 times" in verdict.method
    # Theorem 8 of Balle and Wang 2018, at half the noise of epsilon 1.
    mu, epsilon = 2 / RATIO, verdict.lower_bound
    delta = stats.norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * stats.norm.cdf(-mu / 2 - epsilon / mu)
    assert delta == pytest.approx(1e-5, rel=1e-6)


def test_a_unit_that_acts_through_the_others_is_seen():
    """A sum divided by the number of units moves by more than any unit's own contribution."""

    def sum_means(units):
        return sum_units(units) // len(units)

    units = [np.array([900, 0, 0])] * 2 + [np.array([0, 0, 1])]
    assert verify_sum_sensitivity(sum_units, units, 900, 900.0).status == "not refuted"
    assert verify_sum_sensitivity(sum_means, units, 299, 299.0).status == "refuted"
    assert verify_sum_sensitivity(sum_means, units, 299, 299.0).witness.other == "all units but number 2"


def test_some_neighbours_are_drawn():
    """As many units as asked for are left out, each once; without a seed no sum can know which."""
    lengths = []

    def count_calls(units):
        lengths.append(len(units))
        return sum_units(units) * 0

    verdict = verify_sum_sensitivity(count_calls, UNITS, 1, 1.0, neighbours=3, seed=1)
    assert sorted(lengths) == [3, 3, 3, 4]
    assert verdict.lower_bound == 0
    assert "3 of 4 units" in verdict.method
    for seeds in (range(20), [None] * 60):  # of four units: each is missed with a chance of 3e-8
        witnesses = {
            verify_sum_sensitivity(sum_units, UNITS, 1, 1.0, neighbours=1, seed=seed).witness for seed in seeds
        }
        assert len({witness.other for witness in witnesses}) == 4


@pytest.mark.parametrize(
    ("call", "value"),
    [
        (lambda: count_sensitivity_violations(np.zeros((1, 3)), 1.0), "(N, m)"),
        (lambda: count_sensitivity_violations(np.zeros(3), 1.0), "(N, m)"),
        (lambda: count_sensitivity_violations(np.array([[0.0], [math.nan]]), 1.0), "finite"),
        (lambda: count_sensitivity_violations(np.array([[0], [1j]]), 1.0), "complex"),
        (lambda: count_sensitivity_violations(np.array([[0], [None]]), 1.0), "object"),
        (lambda: count_sensitivity_violations(np.ma.masked_array(np.eye(2), mask=np.eye(2)), 1.0), "masked"),
        (lambda: find_farthest_pair(lambda x: np.ma.masked_greater(x, 0), 2), "masked"),
        (lambda: find_farthest_pair(lambda x: x + 1j, 2), "complex128"),
        (lambda: verify_sum_sensitivity(lambda _: np.ma.masked_equal([1, 2], 2), UNITS, 1, 1), "masked"),
        (lambda: count_sensitivity_violations(np.zeros((2, 1)), 0.0), "'claimed_sensitivity'"),
        (lambda: count_sensitivity_violations(np.zeros((2, 1)), math.inf), "'claimed_sensitivity'"),
        (lambda: count_sensitivity_violations(np.zeros((2, 1)), 1.0, order=3), "'order'"),
        (lambda: verify_sum_sensitivity(sum_units, [], 1, 1), "units"),
        (lambda: verify_sum_sensitivity(sum_units, UNITS, 0, 1), "'bound'"),
        (lambda: verify_sum_sensitivity(sum_units, UNITS, 1, math.inf), "'noise'"),
        (lambda: verify_sum_sensitivity(sum_units, UNITS, 1, 1, delta=0), "'delta'"),
        (lambda: verify_sum_sensitivity(sum_units, UNITS, 1, 1, neighbours=5), "'neighbours'"),
        (lambda: verify_sum_sensitivity(lambda _: np.zeros(3), UNITS, 1, 1), "float64"),
        (lambda: verify_sum_sensitivity(lambda _: np.array([2**62]), UNITS, 1, 1), "2^62"),
        (lambda: verify_sum_sensitivity(lambda units: np.zeros(len(units), int), UNITS, 1, 1), "length"),
        (lambda: find_farthest_pair(L2Ball(1.0).clip, 0), "'dimension'"),
        (lambda: find_farthest_pair(L2Ball(1.0).clip, 2, order=0), "'order'"),
        (lambda: find_farthest_pair(lambda x: x[0], 2), "(k, m)"),
        (lambda: find_farthest_pair(lambda x: x * math.nan, 2), "(k, m)"),
    ],
)
def test_refusals(call, value):
    """What cannot be searched or counted is named in one line."""
    with refuses(value):
        call()
