"""Our noise beside dp-accounting and OpenDP: what it spends by its scale, and what the samples themselves show."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from tests.contracts.statistics import THRESHOLD
from tests.vectors.contract import SEED

DRAWS = 200_000
UNIT = dn.Box(0.0, 1.0)
DOMAINS = (UNIT, dn.Box(1e5, 1e5 + 3), dn.L1Ball(0.3), dn.L2Ball(7.0))
SHOWN = [(UNIT, 1.0, 1), (DOMAINS[1], 6.0, 3), (DOMAINS[3], 0.1, 400)]
PARAMETERS = [
    pytest.param(*case, marks=[] if case in SHOWN else [pytest.mark.deep])
    for case in dict.fromkeys([*SHOWN, *itertools.product(DOMAINS, (0.1, 1.0, 6.0), (1, 400))])
]


@pytest.fixture(scope="module")
def pld():
    """Return the privacy loss distributions of dp-accounting."""
    return pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")


@pytest.fixture(scope="module")
def dp():
    """Return OpenDP."""
    prelude = pytest.importorskip("opendp.prelude")
    prelude.enable_features("contrib", "honest-but-curious")
    return prelude


def make_space(dp, dimension, order):
    """Return OpenDP's domain of so many floats and its metric."""
    metric = dp.l1_distance(T=float) if order == 1 else dp.l2_distance(T=float)
    return dp.vector_domain(dp.atom_domain(T=float, nan=False), size=dimension), metric


@pytest.mark.parametrize(("domain", "epsilon", "n"), PARAMETERS)
def test_laplace_costs_what_others_say(pld, dp, domain, epsilon, n):
    """By dp-accounting noise of our scale has the claimed epsilon, and by OpenDP, on the same grid, our exact loss."""
    subject = dn.Laplace(epsilon=epsilon, domain=domain)
    loss = pld.from_laplace_mechanism(subject.scale(n), sensitivity=subject.sensitivity(n))
    assert loss.get_epsilon_for_delta(0.0) == pytest.approx(epsilon, abs=1e-4)
    assert loss.get_delta_for_epsilon(0.7 * epsilon) == pytest.approx(-math.expm1(-0.15 * epsilon), rel=1e-2)
    space, exponent = make_space(dp, n, 1), subject.grid(n).exponent
    charge, more = (
        dp.m.make_laplace(*space, scale=factor * subject.scale(n), k=exponent).map(subject.sensitivity(n))
        for factor in (1.0, 0.9)
    )
    assert charge <= epsilon * (1 + 1e-14)
    assert charge == pytest.approx(subject.exact_loss(n).upper, rel=1e-12)
    assert more > epsilon * 1.1


@pytest.mark.parametrize(("domain", "epsilon", "n"), PARAMETERS)
def test_gaussian_costs_what_others_say(pld, dp, domain, epsilon, n):
    """By dp-accounting our deviation has the claimed epsilon, 0.7 times it more; OpenDP's rho is half of our mu^2."""
    subject = dn.Gaussian(epsilon=epsilon, delta=1e-5, domain=domain)
    spent, overspent = (
        pld.from_gaussian_mechanism(
            factor * subject.scale(n), sensitivity=subject.sensitivity(n), value_discretization_interval=1e-3
        ).get_epsilon_for_delta(1e-5)
        for factor in (1.0, 0.7)
    )
    assert spent == pytest.approx(epsilon, rel=1e-3, abs=2e-3)
    assert overspent > 1.3 * epsilon
    measurement = dp.m.make_gaussian(*make_space(dp, n, 2), scale=subject.scale(n), k=subject.grid(n).exponent)
    assert measurement.map(subject.sensitivity(n)) == pytest.approx(float(subject.squared_mu(n) / 2), rel=1e-12)
    profile = dp.c.make_zCDP_to_approxDP(measurement).map(subject.sensitivity(n))
    assert epsilon <= profile.epsilon(1e-5) <= 2.5 * epsilon
    assert 1e-5 <= profile.delta(epsilon) <= 15e-5


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_samples_show_the_delta_of_dp_accounting(pld, kind):
    """From 200,000 outputs of each input delta is that of dp-accounting, and not that of noise 30 % off.

    The event is that the loss is above epsilon: its frequency from one input less e^epsilon times that from the other.
    """
    if kind == "laplace":
        subject = dn.Laplace(epsilon=1.0, domain=UNIT, seed=SEED)
        make, scale = pld.from_laplace_mechanism, subject.scale(1)
    else:
        subject = dn.Gaussian(epsilon=1.0, delta=1e-2, domain=UNIT, seed=SEED)
        make, scale = pld.from_gaussian_mechanism, subject.scale(1)
    samples = [subject.sample(np.full((DRAWS, 1), x))[:, 0] for x in (0.0, 1.0)]
    losses = [(abs(y - 1) - abs(y)) / scale if kind == "laplace" else (1 - 2 * y) / (2 * scale**2) for y in samples]
    right, *wrong = (make(factor * scale) for factor in (1.0, 0.7, 1.3))
    for epsilon in (0.0, 0.3, 0.6):
        p, q = (float((loss > epsilon).mean()) for loss in losses)
        factor = math.exp(epsilon)
        delta, deviation = p - factor * q, math.sqrt((p * (1 - p) + factor**2 * q * (1 - q)) / DRAWS)
        assert abs(delta - right.get_delta_for_epsilon(epsilon)) < 5 * deviation + 1e-4
        assert all(abs(delta - other.get_delta_for_epsilon(epsilon)) > 10 * deviation for other in wrong)


@pytest.mark.deep
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_samples_agree_with_opendp(dp, kind):
    """OpenDP's mechanism of the same scale gives the same law; one of 1.3 times the scale does not."""
    options = {"epsilon": 1.0, "domain": UNIT, "seed": SEED}
    subject = dn.Laplace(**options) if kind == "laplace" else dn.Gaussian(delta=1e-6, **options)
    make, order = (dp.m.make_laplace, 1) if kind == "laplace" else (dp.m.make_gaussian, 2)
    ours = subject.sample(np.zeros((20_000, 1)))[:, 0]
    for factor in (1.0, 1.3):
        theirs = make(*make_space(dp, 20_000, order), scale=factor * subject.scale(1))([0.0] * 20_000)
        p = stats.ks_2samp(ours, theirs).pvalue
        assert p > THRESHOLD if factor == 1 else p < 1e-12
