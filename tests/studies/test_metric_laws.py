"""Laws at a given attacker's success: stored distances, the success by look-up, and the search of a scale."""

import numpy as np
import pytest

import deniable as dn
from deniable.space.metrics import resolve_metric
from deniable.words.prior import compute_zipf_prior
from studies.metric_laws import Exponential, SuccessCurve, prove_epsilon, store_metric
from tests.refusals import refuses

WORDS = [f"w{number}" for number in range(90)]
VECTORS = np.random.default_rng(6).normal(size=(90, 4))
HIDDEN = (dn.WordClass("pets", frozenset(WORDS[10:20])),)
CHOICES = (resolve_metric("euclidean"), resolve_metric("angular"), dn.Metric.geodesic(4))


@pytest.fixture(params=CHOICES, ids=str)
def spaces(request):
    """Return a space under a metric, and the same with stored distances."""
    return tuple(
        dn.Space(WORDS, VECTORS, metric=metric, hide=HIDDEN) for metric in (request.param, store_metric(request.param))
    )


def test_stored_distances_are_those_of_the_metric(spaces):
    """A stored distance is off by no more than a ten-thousandth of the largest, one in a graph by nothing."""
    space, stored = spaces
    exact, rounded = (each.distances(np.arange(len(each.points))) for each in spaces)
    assert np.abs(exact - rounded).max() <= (0.0 if space.edges else 1e-4 * exact.max())
    tiles = stored.map_tiles(lambda rows, columns, tile: np.array_equal(tile, rounded[rows, columns]))
    assert all(tiles)


def test_success_is_that_of_the_law(spaces):
    """What is looked up is the Bayes success of the law at every scale."""
    space, stored = spaces
    prior, scales = compute_zipf_prior(len(space)), (0.5, 1.0, 3.0, 9.0)
    successes = SuccessCurve(stored, prior).evaluate(scales)
    for scale, success in zip(scales, successes, strict=True):
        law = dn.laws.ExponentialLaw(space, dn.laws.ExponentialKernel(scale))
        assert success == pytest.approx(law.outcomes(prior)[1], rel=1e-9 if space.edges else 1e-3)


def test_scale_has_the_success_asked_for(spaces):
    """Each scale that is found has its target within the tolerance, the larger success at the larger scale."""
    _, stored = spaces
    curve = SuccessCurve(stored, compute_zipf_prior(len(stored)))
    (low, low_success), (high, high_success) = curve.find_scales((0.3, 0.5))
    assert low < high
    assert (low_success, high_success) == (pytest.approx(0.3, abs=6e-4), pytest.approx(0.5, abs=6e-4))
    assert curve.evaluate((low, high, 1.0, 2.0))[:2] == pytest.approx((low_success, high_success))


@pytest.mark.deep
def test_scale_is_found_on_a_steep_curve():
    """In many dimensions, where the success stays at its least and then leaps, both targets are found."""
    vectors = np.random.default_rng(7).normal(size=(400, 300))
    space = dn.Space([f"w{number}" for number in range(400)], vectors, metric=store_metric(resolve_metric("euclidean")))
    pairs = SuccessCurve(space, compute_zipf_prior(400)).find_scales((0.25, 0.4))
    assert [success for _, success in pairs] == [pytest.approx(0.25, abs=6e-4), pytest.approx(0.4, abs=6e-4)]


def test_no_scale_below_the_blind_guess(spaces):
    """A target below the share of the most frequent word is refused in one line."""
    _, stored = spaces
    with refuses(0.01, dn.NotTractable):
        SuccessCurve(stored, compute_zipf_prior(len(stored))).find_scales((0.01, 0.4))


def test_epsilon_is_that_of_the_exact_metric(spaces):
    """What is proved is the exact epsilon of the law over the metric itself."""
    space, stored = spaces
    law = dn.laws.ExponentialLaw(space, dn.laws.ExponentialKernel(1.5))
    assert prove_epsilon(space, stored, 1.5) == pytest.approx(law.exact_epsilon().finding.epsilon, rel=1e-12)
    assert Exponential(stored, epsilon=1.5).guarantee.epsilon >= prove_epsilon(space, stored, 1.5)
