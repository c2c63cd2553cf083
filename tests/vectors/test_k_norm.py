"""The K-norm mechanism: the contract on each domain, its exact loss, and how much less noise it needs."""

import math
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from tests.contracts.statistics import FEW_DRAWS, THRESHOLD
from tests.refusals import refuses
from tests.vectors.contract import SEED, VectorMechanismContract

DOMAINS = [dn.Box(0.0, 1.0), dn.Box(9999.5, 1e4), dn.L1Ball(0.3), dn.L2Ball(7.0)]
ORDERS = {dn.Box: math.inf, dn.L1Ball: 1, dn.L2Ball: 2}


class TestKNorm(VectorMechanismContract):
    """The contract, on an l2 ball."""

    mechanism = dn.KNorm
    options: ClassVar = {"epsilon": 1.0, "domain": dn.L2Ball(1.0)}
    bad: ClassVar = [{"epsilon": e} for e in (0, -1.0, math.nan, math.inf, "1", None, True)] + [
        {"domain": 1.0},
        {"domain": None},
    ]
    source = "Hardt and Talwar"

    def test_outputs_lie_on_a_grid_that_the_input_does_not_move(self):
        """Outputs are whole multiples of a step near 2^-40 of a coordinate's noise, which no input changes."""
        subject = self.make(seed=SEED)
        step = subject.grid(3).step
        assert math.frexp(step)[0] == 0.5
        for value in (0.0, 1.0, 0.1, -math.pi):
            y = subject.sample(np.full((500, 3), value))
            assert 2.0**-43 < step / y.std() < 2.0**-37
            assert (y / step == np.rint(y / step)).all()
            assert (np.rint(y / step) % 2 != 0).any()


class TestKNormOnABox(TestKNorm):
    """The contract, on a box."""

    options: ClassVar = {"epsilon": 1.0, "domain": dn.Box(-1.0, 1.0)}


class TestKNormOnAnL1Ball(TestKNorm):
    """The contract, on an l1 ball."""

    options: ClassVar = {"epsilon": 1.0, "domain": dn.L1Ball(1.0)}


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
def test_exact_loss_is_the_claim_and_nothing_is_wasted(domain):
    """The true loss lies at most epsilon, at least all but 2^-37 n / epsilon of it, and the scale is S / epsilon."""
    for epsilon, n in ((1e-3, 1), (0.37, 5000), (3.0, 3), (100.0, 5000)):
        subject = dn.KNorm(epsilon=epsilon, domain=domain)
        upper, lower, pair = subject.exact_loss(n)
        assert epsilon * (1 - 2.0**-37 * (n / epsilon + n + 1)) <= lower <= upper <= epsilon
        sensitivity = np.linalg.norm(pair[0] - pair[1], ord=ORDERS[type(domain)])
        assert subject.sensitivity(n) == pytest.approx(sensitivity, rel=1e-12)
        assert subject.scale(n) == pytest.approx(sensitivity / epsilon, rel=2.0**-37 * (n / epsilon + n + 1))


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
@pytest.mark.parametrize("n", [1, 3, 10])
def test_no_two_inputs_have_levels_farther_apart_than_the_noise_is_for(domain, n):
    """At random outputs the levels of two grid points differ by at most epsilon t; the worst pair comes close."""
    subject, rng = dn.KNorm(epsilon=2.0, domain=domain), np.random.default_rng(5)
    grid, order = subject.grid(n), ORDERS[type(domain)]

    def level(points):
        """Return the level of noise, in integers."""
        sizes = [abs(int(value)) for value in points]
        if order == 2:
            square = sum(size**2 for size in sizes)
            return max(1, math.isqrt(max(-(-square // n) - 1, 0)) + 1)
        return sum(sizes) if order == 1 else max(sizes)

    low, high = (grid.round(domain.clip(x[None])[0]) for x in subject.worst_pair(n))
    others = [grid.round(domain.clip(domain.max_coordinate * rng.normal(size=(1, n)))[0]) for _ in range(20)]
    gaps = []
    for point in (low, *others):
        for k in (0, 1, 1 << 30):
            gap = abs(level(point - low - k * (high - low)) - level(point - high - k * (high - low)))
            gaps.append(Fraction(gap, grid.noise_steps))
    assert max(gaps) <= Fraction(2)
    assert float(max(gaps)) == pytest.approx(subject.exact_loss(n).lower, rel=1e-8)


@pytest.mark.parametrize("domain", [dn.Box(-0.5, 0.5), dn.L1Ball(1.0), dn.L2Ball(2.0)], ids=repr)
def test_noise_has_the_scale_it_says_and_no_other(domain):
    """The norm of the noise is Gamma(n) times the stated scale, and none 30 % off."""
    subject = dn.KNorm(epsilon=0.5, domain=domain, seed=SEED)
    noise = subject.sample(np.zeros((FEW_DRAWS // 4, 8)))
    norms = np.linalg.norm(noise, ord=ORDERS[type(domain)], axis=1) / subject.scale(8)
    assert stats.kstest(norms, stats.gamma(8).cdf).pvalue > THRESHOLD
    for factor in (0.7, 1.3):
        assert stats.kstest(norms / factor, stats.gamma(8).cdf).pvalue < 1e-20


def test_on_an_l1_ball_it_is_the_laplace_mechanism():
    """With one seed both release the same, up to the last digits of the charge for rounding."""
    options = {"epsilon": 3.0, "domain": dn.L1Ball(2.0), "seed": 4}
    x = np.zeros((5, 9))
    assert dn.KNorm(**options).sample(x) == pytest.approx(dn.Laplace(**options).sample(x), rel=1e-9)


@pytest.mark.parametrize(
    ("domain", "factor", "exact"),
    [
        (dn.L2Ball(1.0), 1.40, math.sqrt(2 * 64 / 65)),
        (dn.Box(0.0, 1.0), 2.39, math.sqrt(6 * 64**2 / (65 * 66))),
    ],
    ids=["ball", "box"],
)
def test_how_much_less_noise_it_needs_than_laplace(domain, factor, exact):
    """At n = 64 and equal epsilon Laplace's noise is 1.40 times longer on the ball, and 2.39 times on the box.

    In root mean squares: Laplace b sqrt(2 n) with b = 2 C sqrt(n) / epsilon or n w / epsilon; ball
    sqrt(n (n + 1)) 2 C / epsilon; box sqrt((n + 1) (n + 2) n / 3) w / epsilon.
    """
    x = np.full((4000, 64), 0.0)
    lengths = [
        np.linalg.norm(kind(epsilon=1.0, domain=domain, seed=SEED).sample(x), axis=1) for kind in (dn.Laplace, dn.KNorm)
    ]
    assert np.mean(lengths[0]) / np.mean(lengths[1]) == pytest.approx(factor, abs=0.015)
    assert exact == pytest.approx(factor, abs=0.005)
    assert math.sqrt(np.square(lengths[0]).mean() / np.square(lengths[1]).mean()) == pytest.approx(exact, rel=0.01)


@pytest.mark.parametrize(
    ("epsilon", "domain", "n", "value"),
    [
        (1.0, dn.L2Ball(1.0), (1 << 14) + 1, "16,384"),
        (1.0, dn.Box(0.0, 1.0), (1 << 14) + 1, "16,384"),
        (1e8, dn.Box(0.0, 1.0), 2, "epsilon"),
        (1.0, dn.Box(1e9, 1e9 + 1), 2, "1e+09"),
        (1e-14, dn.Box(0.0, 1.0), 2, "larger"),
        (1e-290, dn.L2Ball(1e140), 2, "usual size"),
        (1e300, dn.L2Ball(1e90), 2, "1e+90"),
    ],
)
def test_parameters_that_the_grid_cannot_serve_are_refused(epsilon, domain, n, value):
    """Where float64 or int64 would lose digits there is an error, not a weaker guarantee."""
    with refuses(value):
        dn.KNorm(epsilon=epsilon, domain=domain).sample(np.zeros(n))
