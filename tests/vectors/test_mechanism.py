"""The contract of a vector mechanism, held by one that is new: what it gets without writing it."""

import math

import numpy as np
import pytest

from deniable.core.errors import InputError, NotTractable
from deniable.core.guarantees import PureDP
from deniable.vectors import Box, L1Ball, L2Ball, Laplace, RandomMechanism, VectorMechanism
from deniable.vectors.mechanism import check_domain


class Coins(VectorMechanism):
    """Adds a fair coin to every coordinate."""

    name = "coins"
    claim = PureDP(1.0, "a test")

    def sensitivity(self, n):
        return float(n)

    def scale(self, n):
        return float(n)

    def worst_pair(self, n):
        return np.zeros(n), np.ones(n)

    def _sample_rows(self, rows, generator):
        return rows + np.random.Generator(generator).integers(2, size=rows.shape)


class Lying(Laplace):
    """A subclass from elsewhere with another claim."""

    claim = PureDP(1e-9, "a lie")


class Copying(Laplace):
    """A subclass from elsewhere with other draws."""

    def _sample_rows(self, rows, generator):
        del generator
        return rows


class Moving(Box):
    """A domain from elsewhere."""


BOX = Box(0.0, 1.0)


def test_a_new_mechanism_needs_no_more_than_its_steps():
    """Shapes are kept, the rows that it gets are float64, and a seed repeats its draws."""
    one, other = Coins(seed=1), Coins(seed=1)
    for x in ([1, 2, 3], np.zeros((4, 2), dtype=np.int8)):
        drawn = one.sample(x)
        assert drawn.shape == np.shape(x)
        assert drawn.dtype == np.float64
        assert (drawn == other(x)).all()
        assert set(np.ravel(drawn - x)) <= {0.0, 1.0}


def test_an_abstract_mechanism_cannot_be_made():
    """What lacks a step is refused by Python."""
    with pytest.raises(TypeError, match="abstract"):
        VectorMechanism()


def test_no_pure_loss_is_made_up():
    """Without an exact loss the mechanism says so; under a public seed the loss is infinite at its worst pair."""
    with pytest.raises(NotTractable, match="No pure loss of Coins is known"):
        Coins().exact_loss(2)
    loss = Coins(seed=0).exact_loss(2)
    assert loss.lower == loss.upper == math.inf
    assert loss.pair[1].tolist() == [1.0, 1.0]
    assert Coins(seed=0).guarantee.status == "refuted"
    assert Coins().guarantee == Coins.claim


def test_code_from_elsewhere_is_told_from_this_package_s():
    """Another claim leaves the draws ours; other draws, a patched instance and a domain from elsewhere do not."""
    assert Laplace(epsilon=1.0, domain=BOX).is_builtin
    assert RandomMechanism().is_builtin
    assert Lying(epsilon=1.0, domain=BOX).has_builtin_sampler
    assert not Lying(epsilon=1.0, domain=BOX).is_builtin
    assert not Copying(epsilon=1.0, domain=BOX).has_builtin_sampler
    assert not Coins().has_builtin_sampler
    assert not Laplace(epsilon=1.0, domain=Moving(0.0, 1.0)).has_builtin_sampler
    patched = Laplace(epsilon=1.0, domain=BOX)
    patched.sample = lambda x: x
    assert not patched.has_builtin_sampler


@pytest.mark.parametrize("domain", [None, "box", (0.0, 1.0), Box, 1.0])
def test_a_domain_is_a_domain(domain):
    """Anything else is refused with the names of those that are; domains come back as they are."""
    with pytest.raises(InputError, match="'domain' parameter of Test must be a Box, L1Ball or L2Ball"):
        check_domain("Test", domain)
    for good in (BOX, L1Ball(1.0), L2Ball(2.0)):
        assert check_domain("Test", good) is good


def test_the_place_of_a_number_that_is_not_finite_is_named():
    """The error gives the index, so that the owner finds the vector."""
    x = np.zeros((3, 2))
    x[2, 1] = math.nan
    with pytest.raises(InputError, match=r"Got nan at index \(2, 1\); fix or drop that vector"):
        Coins().sample(x)
