"""ADePT as published: refuted, and its only flaw is the sensitivity."""

import math
from typing import ClassVar

import numpy as np
import pytest

from deniable.published.adept.mechanism import ADePT
from deniable.vectors import L2Ball, Laplace
from tests.vectors.contract import SEED, VectorMechanismContract


class TestPublished(VectorMechanismContract):
    """ADePT as in Krishna et al. 2021."""

    mechanism = ADePT
    options: ClassVar = {"epsilon": 0.7}
    bad: ClassVar = [
        *({"epsilon": e} for e in (0, -1.0, math.inf, "1")),
        *({"radius": r} for r in (0, -1.0, math.inf)),
    ]
    status = "refuted"
    source = "Habernal 2021 (When differential privacy meets NLP), Theorem 5.1"

    @pytest.mark.parametrize("n", [1, 2, 8, 32, 1024])
    def test_opposite_corners_lose_epsilon_sqrt_n(self, n):
        """The exact loss at opposite corners of the inscribed cube is epsilon sqrt(n), not epsilon."""
        upper, lower, (x, other) = self.make(radius=2.5).exact_loss(n)
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
