"""The Gaussian mechanism: calibration from above, the discrete accounting, the law."""

import math
from typing import ClassVar

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.accounting.gaussian import compute_noise_ratio
from tests.contracts.statistics import FEW_DRAWS, THRESHOLD
from tests.refusals import refuses
from tests.vectors.contract import SEED, VectorMechanismContract


class TestGaussian(VectorMechanismContract):
    """The contract, on an l2 ball."""

    mechanism = dn.Gaussian
    options: ClassVar = {"epsilon": 1.0, "delta": 1e-6, "domain": dn.L2Ball(1.0)}
    bad: ClassVar = [
        *({"epsilon": e} for e in (0, -1.0, math.nan, math.inf, "1", 1e9)),
        *({"delta": d} for d in (0, 1, -1e-5, math.nan, "1e-5", None, 1e-300)),
        {"domain": 1.0},
    ]
    source = "Balle and Wang 2018, Theorem 8"

    @pytest.mark.parametrize("far", [0.0, 1e4, -1e6])
    def test_noise_has_the_deviation_it_says_and_no_other(self, far):
        """Draws fit the normal law of the stated deviation, and none 30 % off, also where values outgrow the noise."""
        subject = self.make(domain=dn.Box(far, far + 0.25), seed=SEED)
        noise = (subject.sample(np.full((FEW_DRAWS // 4, 4), far)).ravel() - far) / subject.scale(4)
        assert stats.kstest(noise, stats.norm.cdf).pvalue > THRESHOLD
        for factor in (0.7, 1.3):
            assert stats.kstest(noise / factor, stats.norm.cdf).pvalue < 1e-20

    @pytest.mark.parametrize("domain", [dn.Box(0.0, 1.0), dn.L1Ball(2.0), dn.L2Ball(2.0)], ids=repr)
    @pytest.mark.parametrize("n", [1, 300, 1 << 20])
    def test_scale_is_the_calibrated_one_plus_what_rounding_costs(self, domain, n):
        """Deviation over sensitivity is at least the analytic ratio, sqrt(n) steps charged, and little more."""
        subject = dn.Gaussian(epsilon=0.7, delta=1e-5, domain=domain)
        least = compute_noise_ratio(0.7, 1e-5) * (subject.sensitivity(n) + math.sqrt(n) * subject.grid(n).step)
        assert least < subject.scale(n) < least * (1 + 2.0**-31)
        assert subject.grid(n).noise_steps >= 1 << 39

    def test_parameters_that_the_grid_cannot_serve_are_refused(self):
        """Where the charge eats epsilon, or inputs outgrow the grid, there is an error; large epsilons are served."""
        for epsilon in (1e-3, 1000.0, 9e8):
            assert np.isfinite(self.make(epsilon=epsilon).sample(np.ones(5))).all()
        for changes, n, value in (
            ({"epsilon": 1e-20}, 300, "1e-20"),
            ({"epsilon": 9e8, "domain": dn.Box(1000.0, 1001.0)}, 1, 1001),
            ({"domain": dn.Box(1e9, 1e9 + 1)}, 1, "1e+09"),
        ):
            with refuses(value):
                self.make(**changes).scale(n)
