"""The control that hides nothing."""

import math
from typing import ClassVar

import numpy as np

from deniable.published.dptext.copied_input import CopyMechanism
from tests.vectors.contract import VectorMechanismContract


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
        y = self.make().sample(x)
        assert (y == x).all()
        assert not np.shares_memory(y, x)
        assert self.make().exact_loss(2)[:2] == (math.inf, math.inf)
        assert self.make().scale(2) == 0.0
