"""Our noise beside OpenDP's: privacy maps on the same grid, integer laws, and conversions to epsilon and delta."""

import itertools
import math

import numpy as np
import pytest

from deniable.learning.accounting import SamplingSchedule, compute_epsilon_spent
from deniable.persons.budget import NOISE_STEPS, Budget, Measurement
from deniable.vectors import Box, Gaussian, L1Ball, L2Ball, Laplace
from deniable.vectors.discrete_noise import make_noise_generator, sample_discrete_gaussian, sample_discrete_laplace
from tests.contracts.statistics import THRESHOLD, same

dp = pytest.importorskip("opendp.prelude")
dp.enable_features("contrib", "honest-but-curious")

DOMAINS = (Box(0.0, 1.0), Box(1e5, 1e5 + 3), L1Ball(0.3), L2Ball(7.0))
PARAMETERS = list(itertools.product(DOMAINS, (1e-3, 1.0, 30.0), (1, 3, 400)))
DRAWS = 20_000
SAMPLERS = {"laplace": sample_discrete_laplace, "gaussian": sample_discrete_gaussian}


def make_float_space(dimension, order):
    """Return OpenDP's domain of so many floats and its metric."""
    metric = dp.l1_distance(T=float) if order == 1 else dp.l2_distance(T=float)
    return dp.vector_domain(dp.atom_domain(T=float, nan=False), size=dimension), metric


def make_gaussian(scale, dimension, exponent=None):
    """Return OpenDP's Gaussian mechanism, whose privacy is zero-concentrated, on multiples of 2^exponent."""
    return dp.m.make_gaussian(*make_float_space(dimension, 2), scale=scale, k=exponent)


@pytest.mark.parametrize(("domain", "epsilon", "n"), PARAMETERS)
def test_laplace_costs_what_opendp_says(domain, epsilon, n):
    """On the same grid, with the same noise, OpenDP charges at most epsilon, and what our exact loss is, to 1e-12.

    A tenth less noise costs more than epsilon.
    """
    subject = Laplace(epsilon=epsilon, domain=domain)
    grid, sensitivity = subject.grid(n), subject.sensitivity(n)
    charges = [
        dp.m.make_laplace(*make_float_space(n, 1), scale=factor * subject.scale(n), k=grid.exponent).map(sensitivity)
        for factor in (1.0, 0.9)
    ]
    assert charges[0] <= epsilon * (1 + 1e-14)
    assert charges[0] == pytest.approx(subject.exact_loss(n).upper, rel=1e-12)
    assert charges[1] > epsilon * 1.1


@pytest.mark.parametrize(("domain", "epsilon", "n"), PARAMETERS)
@pytest.mark.parametrize("delta", [1e-10, 1e-3])
def test_gaussian_costs_what_opendp_says(domain, epsilon, n, delta):
    """On the same grid OpenDP's rho is half of our mu^2, and its looser conversion gives no less than our claim."""
    subject = Gaussian(epsilon=epsilon, delta=delta, domain=domain)
    measurement = make_gaussian(subject.scale(n), n, subject.grid(n).exponent)
    assert measurement.map(subject.sensitivity(n)) == pytest.approx(float(subject.squared_mu(n) / 2), rel=1e-12)
    profile = dp.c.make_zCDP_to_approxDP(measurement).map(subject.sensitivity(n))
    assert epsilon <= profile.epsilon(delta) <= 2.5 * epsilon
    assert delta <= profile.delta(epsilon) <= 15 * delta


def test_too_little_noise_costs_more_than_opendp_allows():
    """With 0.7 times our noise even the tight epsilon is above what OpenDP's looser conversion gives for ours."""
    subject = Gaussian(epsilon=1.0, delta=1e-6, domain=Box(0.0, 1.0))
    profiles = [
        dp.c.make_zCDP_to_approxDP(make_gaussian(factor * subject.scale(1), 1)).map(1.0) for factor in (1.0, 0.7)
    ]
    assert profiles[1].epsilon(1e-6) > 1.3 * profiles[0].epsilon(1e-6)
    # One step of DP-SGD without sampling is the Gaussian mechanism.
    spent = compute_epsilon_spent(SamplingSchedule(1.0, 1), 0.7 * subject.scale(1), 1e-6)
    assert spent > profiles[0].epsilon(1e-6) > 1.0


@pytest.mark.parametrize("scale", [1, 2, 7, 40, 1000])
@pytest.mark.parametrize("kind", SAMPLERS)
def test_integer_noise_has_the_law_of_opendps(kind, scale):
    """20,000 integers of ours and of OpenDP come from one law, and not from laws whose scales differ by 30 %."""
    space = (
        dp.vector_domain(dp.atom_domain(T=int)),
        dp.l1_distance(T=int) if kind == "laplace" else dp.l2_distance(T=float),
    )
    make = dp.m.make_laplace if kind == "laplace" else dp.m.make_gaussian
    ours = SAMPLERS[kind](make_noise_generator(41), scale, DRAWS)
    for factor in (1.0, 0.7, 1.3):
        theirs = np.array(make(*space, scale=factor * scale)([0] * DRAWS))
        width = max(1, scale // 8)
        cells = [np.floor_divide(draws, width) for draws in (ours, theirs)]
        low = min(part.min() for part in cells)
        length = max(part.max() for part in cells) - low + 1
        p = same(*(np.bincount(part - low, minlength=length) for part in cells))
        assert p > THRESHOLD if factor == 1 else p < 1e-12, (factor, p)


@pytest.mark.parametrize(("epsilon", "delta"), list(itertools.product((0.1, 1.0, 8.0), (1e-8, 1e-4))))
def test_a_budget_composes_as_opendp_says(epsilon, delta):
    """All sums of a collection's budget have the rho of OpenDP's composition, which converts to no less than epsilon.

    With 0.7 times the noise they cost more than OpenDP allows.
    """
    budget = Budget(epsilon, delta, "person", (Measurement("sums", 1.0, 5, 7), Measurement("count", 0.1, 1)))
    rows = budget.describe_measurements()
    assert {row["noise"] for row in rows} == {NOISE_STEPS}

    def compose(factor):
        parts = [
            make_gaussian(factor * row["noise"] / row["norm bound of a unit"], 1)
            for row in rows
            for _ in range(row["sums"])
        ]
        return dp.c.make_composition(parts)

    rho = sum(row["sums"] * (row["norm bound of a unit"] / row["noise"]) ** 2 for row in rows) / 2
    assert compose(1.0).map(1.0) == pytest.approx(rho, rel=1e-9)
    spent, overspent = (dp.c.make_zCDP_to_approxDP(compose(factor)).map(1.0).epsilon(delta) for factor in (1.0, 0.7))
    assert epsilon <= spent <= 1.3 * epsilon
    assert overspent > 1.3 * epsilon


@pytest.mark.parametrize("steps", [1, 10, 100])
def test_training_without_sampling_costs_less_than_opendps_bound(steps):
    """Our epsilon of so many Gaussian steps lies below what OpenDP's composition converts to, and not far below."""
    multiplier, delta = 4.0 * math.sqrt(steps), 1e-5
    composed = dp.c.make_composition([make_gaussian(multiplier, 1) for _ in range(steps)])
    bound = dp.c.make_zCDP_to_approxDP(composed).map(1.0).epsilon(delta)
    assert 0.85 * bound <= compute_epsilon_spent(SamplingSchedule(1.0, steps), multiplier, delta) <= bound
