"""DPText as published: one-sided noise, and an infinite loss."""

import math
from typing import ClassVar

import numpy as np
import pytest
from scipy import stats

from deniable.published.dptext.mechanism import DPText
from tests.contracts.statistics import DRAWS, THRESHOLD
from tests.vectors.contract import SEED, VectorMechanismContract

BAD = [
    *({"epsilon": e} for e in (0, -1.0, math.inf, "1")),
    {"invalid": "nan"},
    {"lower": math.nan},
    {"upper": 0.0},
]


class TestRedrawn(VectorMechanismContract):
    """As published, with missing logarithms drawn again."""

    mechanism = DPText
    options: ClassVar = {"epsilon": 0.7}
    bad: ClassVar = BAD
    status = "refuted"
    source = "Theorem 3.2"
    on_grid = False

    def test_noise_is_one_sided(self):
        """Noise is exponential of scale n (upper - lower) / epsilon: never negative."""
        subject = self.make(lower=-1.0, upper=3.0, seed=SEED)
        assert subject.scale(4) == 16 / 0.7
        noise = subject.sample(np.full((DRAWS // 4, 4), 0.5)).ravel() - 0.5
        assert noise.min() >= 0
        assert stats.kstest(noise / subject.scale(4), stats.expon.cdf).pvalue > THRESHOLD
        assert stats.kstest(noise / subject.scale(4) / 1.3, stats.expon.cdf).pvalue < 1e-20

    @pytest.mark.parametrize("invalid", ["redraw", "zero"])
    def test_loss_is_infinite(self, invalid):
        """Outputs below the second input come from the first and never from the second."""
        subject = self.make(invalid=invalid, seed=SEED)
        upper, lower, (x, other) = DPText(epsilon=0.7, invalid=invalid).exact_loss(3)
        assert upper == lower == math.inf
        low, high = (subject.sample(np.tile(v, (2000, 1))) for v in (x, other))
        assert (low < 1).any(axis=1).mean() > 0.1
        assert not (high < 1).any()


class TestZeroed(VectorMechanismContract):
    """As published, with zero where the logarithm is missing."""

    mechanism = DPText
    options: ClassVar = {"epsilon": 0.7, "invalid": "zero"}
    bad: ClassVar = BAD
    status = "refuted"
    source = "Habernal 2022"
    on_grid = False

    def test_half_of_the_coordinates_get_no_noise(self):
        """Half of the draws are missing, and what stands there is the input itself."""
        y = self.make(seed=SEED).sample(np.full((5000, 4), 0.5))
        assert stats.binomtest(int((y == 0.5).sum()), y.size, 0.5).pvalue > THRESHOLD
