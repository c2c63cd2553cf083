"""What rounding can add to the losses of pairs of inputs, against 50 digits: every proof of the family rests on it."""

import itertools
from decimal import Decimal, localcontext

import numpy as np
import pytest

import deniable as dn
from deniable.words.laws.worst_pairs import bound_rounding


@pytest.mark.parametrize("scale", [0.1, 2.0, 30.0])
def test_rounding_bounds_what_float64_adds(scale):
    """The losses computed from normalisers differ from those in 50 digits, by no more than the bound."""
    vectors = np.unique(np.random.default_rng(5).choice(20, size=(40, 3)), axis=0).astype(float)
    space = dn.Space([f"w{number}" for number in range(len(vectors))], vectors, metric="manhattan")
    distances = np.abs(vectors[:, None] - vectors[None]).sum(axis=2).astype(int).tolist()
    kernel = dn.laws.ExponentialKernel(scale)
    logs = np.log(kernel.normalisers(space)).tolist()
    with localcontext(prec=50):
        exact = [sum((-Decimal(scale) * apart).exp() for apart in row).ln() for row in distances]
        errors = [
            abs(
                Decimal(scale * distances[w][v] + logs[v] - logs[w])
                - (Decimal(scale) * distances[w][v] + exact[v] - exact[w])
            )
            for w, v in itertools.permutations(range(len(distances)), 2)
        ]
        assert 0 < max(errors) <= Decimal(bound_rounding(space, kernel))


def test_rounding_grows_with_the_scale(small_space):
    """The bound on rounding is positive, far below a nat, and never falls as the scale grows."""
    bounds = [bound_rounding(small_space, dn.laws.ExponentialKernel(scale)) for scale in (0.1, 1.0, 10.0, 1000.0)]
    assert 0 < bounds[0] <= bounds[1] <= bounds[2] <= bounds[3] < 1e-6
