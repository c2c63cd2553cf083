"""The controls: one that hides nothing, one that hides all."""

import math
from typing import ClassVar

import numpy as np
from scipy import stats

from deniable.vectors import CopyMechanism, RandomMechanism
from tests.contracts.statistics import THRESHOLD
from tests.vectors.contract import SEED, VectorMechanismContract


class TestCopy(VectorMechanismContract):
    """No privacy, whatever is claimed."""

    mechanism = CopyMechanism
    options: ClassVar = {"epsilon": 0.7}
    bad: ClassVar = [{"epsilon": e} for e in (0, -1.0, math.inf, "1")]
    status = "refuted"
    source = "Habernal 2022"
    on_grid = False
    noisy = False

    def test_output_is_the_input(self):
        """What comes out is a copy of what went in."""
        x = np.random.default_rng(0).normal(size=(3, 4))
        y = self.make().release(x)
        assert (y == x).all()
        assert not np.shares_memory(y, x)
        assert self.make().exact(2)[:2] == (math.inf, math.inf)
        assert self.make().scale(2) == 0.0


class TestRandom(VectorMechanismContract):
    """Nothing of the input."""

    mechanism = RandomMechanism
    options: ClassVar = {}
    source = "Habernal 2022"
    on_grid = False
    seed_voids = False

    def test_output_does_not_depend_on_the_input(self):
        """With one seed any two inputs give the same uniform draws."""
        one, other = self.make(seed=SEED).release(np.zeros((5000, 2))), self.make(seed=SEED).release(np.ones((5000, 2)))
        assert (one == other).all()
        assert stats.kstest(one.ravel(), stats.uniform_share.cdf).pvalue > THRESHOLD
        assert self.make().exact(3)[:2] == (0.0, 0.0)
