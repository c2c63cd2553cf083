"""What a rewritten text costs."""

import pytest

from deniable.core.errors import InputError
from deniable.core.guarantees import ApproxDP, PureDP
from deniable.ledger.accounts import EPSILON_UNITS, compute_spent_epsilon
from deniable.registry.methods import rewriting_method
from deniable.rewriting.charging import make_method_cost
from deniable.rewriting.methods.base import VectorMethod
from deniable.rewriting.methods.token_method import TokenMethod
from deniable.vectors import Gaussian, L2Ball, Laplace
from tests.rewriting.untrained import untrained


@pytest.mark.parametrize("name", ["adept-true", "adept-l1", "tokens", "dptext-fixed"])
def test_pure_methods(name):
    """What is epsilon-private costs epsilon."""
    cost = make_method_cost(rewriting_method(name, untrained(), epsilon=5.0))
    assert (cost.account, cost.amounts) == ("pure", (5 * EPSILON_UNITS,))


@pytest.mark.parametrize("claim", [4.0, 5.0, 20.0])
def test_a_method_of_ones_own(claim):
    """What a text costs follows from the guarantee that was verified: refused below the exact loss, else as claimed."""
    stated = type("Own", (Laplace,), {"claim": PureDP(claim, "Theorem 1 of my paper")})
    mechanism = stated(epsilon=5.0, domain=L2Ball(1.0))
    method = VectorMethod("own", untrained(), mechanism, {})
    if claim < 5.0:
        with pytest.raises(InputError, match="is refuted"):
            make_method_cost(method)
    else:
        assert make_method_cost(method).amounts == (claim * EPSILON_UNITS,)


def test_gaussian_noise_of_ones_own():
    """No claim of another's class about Gaussian noise is counted: nothing proves it."""
    stated = type("Own", (Gaussian,), {"claim": ApproxDP(0.1, 1e-6, "Theorem 1 of my paper")})
    method = VectorMethod("own", untrained(), stated(epsilon=5.0, delta=1e-6, domain=L2Ball(1.0)), {})
    with pytest.raises(InputError, match="is undecided"):
        make_method_cost(method)


def test_gaussian_noise():
    """The divergences of Gaussian noise convert to about the epsilon that was asked for, from above."""
    cost = make_method_cost(rewriting_method("adept-gaussian", untrained(), epsilon=5.0, delta=1e-6))
    assert cost.account == "approximate"
    assert 5.0 < compute_spent_epsilon(cost.amounts, 2e-6) < 5.7


@pytest.mark.parametrize("name", ["adept", "dptext"])
def test_refuted_methods(name):
    """Nobody knows what a text costs under a claim that is false."""
    with pytest.raises(InputError, match="is refuted: choose another mechanism, method"):
        make_method_cost(rewriting_method(name, untrained(), epsilon=5.0))


def test_a_class_of_ones_own():
    """A class that rewrites or promises something else than was verified is neither derived nor charged."""
    for base in (VectorMethod, TokenMethod):
        with pytest.raises(TypeError, match=f"Twice must not derive from {base.__name__}"):
            type("Twice", (base,), {"rewrite": lambda _, texts: [text * 2 for text in texts]})

    class Own:
        name = "own"

        def verify(self):
            return rewriting_method("tokens", untrained(), epsilon=0.1).verify()

    with pytest.raises(InputError, match="Own is a class of another"):
        make_method_cost(Own())
