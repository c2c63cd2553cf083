"""The control that hides all."""

from typing import ClassVar

import numpy as np
from scipy import stats

from deniable.vectors.controls import RandomMechanism
from tests.contracts.statistics import THRESHOLD
from tests.vectors.contract import SEED, VectorMechanismContract


class TestRandom(VectorMechanismContract):
    """Nothing of the input."""

    mechanism = RandomMechanism
    options: ClassVar = {}
    source = "Habernal 2022"
    on_grid = False
    seed_voids = False

    def test_output_does_not_depend_on_the_input(self):
        """With one seed any two inputs give the same uniform draws."""
        one, other = self.make(seed=SEED).sample(np.zeros((5000, 2))), self.make(seed=SEED).sample(np.ones((5000, 2)))
        assert (one == other).all()
        assert stats.kstest(one.ravel(), stats.uniform.cdf).pvalue > THRESHOLD
        assert self.make().exact_loss(3)[:2] == (0.0, 0.0)
        assert self.make().is_builtin
