"""The Laplace mechanism: its law, its exact loss, and nothing in its last bits."""

import math
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from tests.contracts.statistics import DRAWS, FEW_DRAWS, THRESHOLD
from tests.refusals import refuses
from tests.vectors.contract import SEED, VectorMechanismContract


class TestLaplace(VectorMechanismContract):
    """The contract, on an l2 ball, where sensitivity and dimension go together."""

    mechanism = dn.Laplace
    options: ClassVar = {"epsilon": 1.0, "domain": dn.L2Ball(1.0)}
    bad: ClassVar = [{"epsilon": e} for e in (0, -1.0, math.nan, math.inf, "1", None, True)] + [
        {"domain": 1.0},
        {"domain": None},
    ]
    source = "Dwork"

    @pytest.mark.parametrize(
        "domain", [dn.Box(0.0, 1.0), dn.Box(9999.5, 1e4), dn.L1Ball(0.3), dn.L2Ball(7.0)], ids=repr
    )
    def test_exact_loss_is_the_claim_and_nothing_is_wasted(self, domain):
        """The true loss lies at most epsilon, at least all but 2^-38 n / epsilon of it."""
        for epsilon, n in ((1e-3, 1), (0.37, 5000), (3.0, 3), (100.0, 5000)):
            subject = dn.Laplace(epsilon=epsilon, domain=domain)
            upper, lower, pair = subject.exact_loss(n)
            assert lower <= upper <= epsilon
            grid = subject.grid(n)
            assert Fraction(lower) <= Fraction(grid.l1_distance(*domain.clip(np.array(pair)))) / grid.noise_steps
            assert lower >= epsilon * (1 - 2.0**-38 * (n / epsilon + n + 1))
            expected = subject.sensitivity(n) / epsilon
            assert subject.scale(n) == pytest.approx(expected, rel=2.0**-38 * (n / epsilon + 1))

    def test_the_loss_of_the_worst_pair_is_what_the_law_says(self):
        """At an output beyond both points the log odds, summed from the integer law, equal the lower bound."""
        subject = dn.Laplace(epsilon=0.8, domain=dn.Box(-1.0, 2.0))
        grid, (_, lower, (x, other)) = subject.grid(3), subject.exact_loss(3)
        y = grid.round(x) - 12_345
        log_law = [-np.abs(y - grid.round(point)).sum() / grid.noise_steps for point in (x, other)]
        assert log_law[0] - log_law[1] == pytest.approx(lower, rel=1e-12)

    @pytest.mark.parametrize("x", [0.25, 1e5, -1.6e7])
    def test_noise_has_the_scale_it_says_and_no_other(self, x):
        """Draws fit the Laplace law of the stated scale, and none 30 % off, also far from 0."""
        subject = dn.Laplace(epsilon=0.5, domain=dn.Box(x - 0.25, x + 0.75), seed=SEED)
        noise = subject.sample(np.full((FEW_DRAWS // 4, 4), x)).ravel() - x
        assert stats.kstest(noise / subject.scale(4), stats.laplace.cdf).pvalue > THRESHOLD
        for factor in (0.7, 1.3):
            assert stats.kstest(noise / subject.scale(4) / factor, stats.laplace.cdf).pvalue < 1e-20

    def test_clips_before_it_rounds(self):
        """Inputs far outside and at the boundary have the same law: with one seed the same outputs."""
        inside, outside = (
            dn.Laplace(epsilon=1.0, domain=dn.Box(0, 1), seed=1),
            dn.Laplace(epsilon=1.0, domain=dn.Box(0, 1), seed=1),
        )
        assert (inside.sample([0.0, 1.0]) == outside.sample([-1e300, 1e300])).all()

    def test_last_bits_do_not_betray_the_input(self):
        """The event "small, and y 2^k no integer" gives textbook float noise away and says nothing of ours."""
        draws, k = 20_000, 53

        def seen(y):
            return ((np.abs(y) < 0.5) & (y * 2.0**k != np.rint(y * 2.0**k))).mean()

        textbook = np.random.default_rng(1).laplace(size=(2, draws))
        assert seen(textbook[0]) > 0.2
        assert seen(1.0 + textbook[1]) == 0
        ours = dn.Laplace(epsilon=1.0, domain=dn.Box(0.0, 1.0), seed=SEED)
        from_0, from_1 = (ours.sample(np.full((draws, 1), value))[:, 0] for value in (0.0, 1.0))
        assert seen(from_0) == seen(from_1) == 0
        for bits in range(30, 60):
            events = [((np.abs(y) < 0.5) & (y * 2.0**bits != np.rint(y * 2.0**bits))).mean() for y in (from_0, from_1)]
            # Up to e^epsilon by right, with five deviations of leeway.
            assert events[0] <= math.e * events[1] + 0.02

    def test_last_bits_do_not_betray_the_input_far_from_zero(self):
        """Where floats are coarser than the grid, their last bits are fair coins, whatever the input."""
        low, high = 4e6, 4e6 + 1
        ours = dn.Laplace(epsilon=1.0, domain=dn.Box(low, high), seed=SEED)
        assert ours.grid(1).step < np.spacing(low)
        from_low, from_high = (ours.sample(np.full((DRAWS, 1), value))[:, 0] for value in (low, high))
        for bits in range(4):
            last = [((y / np.spacing(low)).astype(np.int64) >> bits) & 1 for y in (from_low, from_high)]
            assert all(stats.binomtest(int(bit.sum()), DRAWS).pvalue > THRESHOLD for bit in last)

    @pytest.mark.parametrize(
        ("epsilon", "domain", "value"),
        [
            (1e8, dn.Box(0.0, 1.0), "epsilon"),
            (1.0, dn.Box(1e9, 1e9 + 1), "1e+09"),
            (1e-14, dn.Box(0.0, 1.0), "larger"),
            (1e-290, dn.L2Ball(1e140), "usual size"),
            (1e290, dn.L2Ball(1e-140), "usual size"),
            (1e300, dn.L2Ball(1e90), "1e+90"),
        ],
    )
    def test_parameters_that_the_grid_cannot_serve_are_refused(self, epsilon, domain, value):
        """Where float64 or int64 would lose digits there is an error, not a weaker guarantee."""
        with refuses(value):
            dn.Laplace(epsilon=epsilon, domain=domain).sample([0.0] * 2)
