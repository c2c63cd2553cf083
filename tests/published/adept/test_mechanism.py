"""ADePT: refuted as published, proved as mended."""

import math
from typing import ClassVar

import numpy as np
import pytest

import deniable as dn
from deniable.published.adept.mechanism import ADePT
from deniable.vectors import Gaussian, L1Ball, L2Ball, Laplace
from tests.vectors.contract import SEED, VectorMechanismContract, refused

COMMON = [
    *({"epsilon": e} for e in (0, -1.0, math.inf, "1")),
    *({"radius": r} for r in (0, -1.0, math.inf)),
    {"clip": "l3"},
    {"noise": "cauchy"},
]


class TestPublished(VectorMechanismContract):
    """ADePT as in Krishna et al. 2021."""

    mechanism = ADePT
    options: ClassVar = {"epsilon": 0.7}
    bad: ClassVar = [*COMMON, {"sensitivity": "best"}, {"delta": 1e-5}]
    status = "refuted"
    source = "Habernal 2021 (When differential privacy meets NLP), Theorem 5.1"

    @pytest.mark.parametrize("n", [1, 2, 8, 32, 1024])
    def test_opposite_corners_lose_epsilon_sqrt_n(self, n):
        """The exact loss at opposite corners of the inscribed cube is epsilon sqrt(n), not epsilon."""
        upper, lower, (x, other) = self.make(radius=2.5).exact(n)
        assert lower == pytest.approx(0.7 * math.sqrt(n), rel=1e-8)
        assert upper == pytest.approx(0.7 * math.sqrt(n), rel=1e-8)
        assert (x == -other).all()
        assert x == pytest.approx(2.5 / math.sqrt(n))

    def test_an_attacker_sees_the_loss(self):
        """From samples alone: the event that all outputs are positive is far too likely from one corner."""
        n, draws = 4, 60_000
        subject = self.make(epsilon=1.0, seed=SEED)
        x, other = subject.worst_pair(n)
        hits, misses = ((subject.sample(np.tile(v, (draws, 1))) > 0.5).all(axis=1).sum() for v in (x, other))
        assert math.log(hits / misses) > 1.5

    def test_its_noise_is_that_of_laplace_with_a_smaller_sensitivity(self):
        """Sensitivity 2 C whatever n, the scale that goes with it, and in one dimension the draws of `Laplace`."""
        subject = self.make(epsilon=1.0, radius=2.0, seed=5)
        assert subject.sensitivity(64) == 4.0
        assert subject.scale(64) == pytest.approx(4.0, rel=1e-8)
        twin = Laplace(epsilon=1.0, domain=L2Ball(2.0), seed=5)
        x = np.linspace(-3, 3, 50)[:, None]
        assert (subject.sample(x) == twin.sample(x)).all()


class TestTrueSensitivity(VectorMechanismContract):
    """The second remedy of Habernal 2021, Section 7."""

    mechanism = ADePT
    options: ClassVar = {"epsilon": 0.7, "sensitivity": "true"}
    bad: ClassVar = COMMON
    source = "Dwork"

    def test_is_laplace_on_the_l2_ball(self):
        """Scale 2 C sqrt(n) / epsilon, and the draws of `Laplace` on the same ball."""
        subject, twin = self.make(radius=2.0, seed=5), Laplace(epsilon=0.7, domain=L2Ball(2.0), seed=5)
        assert subject.scale(64) == pytest.approx(4.0 * 8 / 0.7, rel=1e-8)
        assert (subject.sample(np.ones(64)) == twin.sample(np.ones(64))).all()


class TestL1Clip(VectorMechanismContract):
    """The first remedy of Habernal 2021, Section 7."""

    mechanism = ADePT
    options: ClassVar = {"epsilon": 0.7, "clip": "l1"}
    bad: ClassVar = COMMON
    source = "Dwork"

    def test_is_laplace_on_the_l1_ball(self):
        """Scale 2 C / epsilon, right for this ball, and the draws of `Laplace` on it."""
        subject, twin = self.make(radius=2.0, seed=5), Laplace(epsilon=0.7, domain=L1Ball(2.0), seed=5)
        assert subject.scale(64) == pytest.approx(4.0 / 0.7, rel=1e-8)
        assert (subject.sample(np.ones(64)) == twin.sample(np.ones(64))).all()
        assert (self.make(radius=2.0, sensitivity="true", seed=5).sample(np.ones(64)) != 0).all()


class TestGaussianNoise(VectorMechanismContract):
    """Gaussian noise, for which the l2 sensitivity is the right one."""

    mechanism = ADePT
    options: ClassVar = {"epsilon": 0.7, "noise": "gaussian", "delta": 1e-6}
    bad: ClassVar = [*COMMON, {"delta": None}, {"delta": 0.0}, {"delta": 1.0}]
    source = "Balle and Wang 2018, Theorem 8"

    def test_is_gaussian_on_the_ball(self):
        """Sensitivity 2 C, an approximate guarantee, and the draws of `Gaussian`."""
        subject = self.make(radius=2.0, seed=5)
        twin = Gaussian(epsilon=0.7, delta=1e-6, domain=L2Ball(2.0), seed=5)
        assert subject.sensitivity(64) == 4.0
        assert (subject.sample(np.ones(64)) == twin.sample(np.ones(64))).all()
        assert isinstance(self.make().guarantee, dn.ApproxDP)


def test_delta_belongs_to_gaussian_noise():
    """Delta with Laplace noise, or Gaussian noise without, is refused by name."""
    refused(lambda: ADePT(epsilon=1.0, delta=1e-5), "delta")
    refused(lambda: ADePT(epsilon=1.0, noise="gaussian"), "delta")
