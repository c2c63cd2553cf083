"""Noise in the ball: the law that is verified is that of the draws, and loses more than the sphere's."""

import math

import numpy as np
import pytest

from deniable.published.packages.laplace_in_ball import ENTRY


def test_the_law_verified_is_that_of_the_draws():
    """Noise U(-1, 1) times Gamma(1, 1), drawn here anew, passes half the distance as often as the exact loss says."""
    random = np.random.default_rng(4)
    noise = random.uniform(-1, 1, size=400_000) * random.gamma(1, 1, size=400_000)
    flipped = (noise > 0.5).mean()
    assert ENTRY.verify_law().lower_bound == pytest.approx(math.log((1 - flipped) / flipped), abs=0.04)


def test_a_direction_on_the_sphere_would_keep_the_claim():
    """The same game with directions +-1 loses exactly less than the claim, which the ball's law exceeds by half."""
    flipped = math.exp(-0.5) / 2
    sphere = math.log((1 - flipped) / flipped)
    assert sphere < 1.0
    verdict = ENTRY.verify_law()
    assert verdict.status == "refuted"
    assert verdict.lower_bound > 1.5
    assert {verdict.witness.input, verdict.witness.other} == {"near", "far"}
