"""What a rewritten text costs."""

import pytest

from deniable.core.errors import InputError
from deniable.ledger.accounts import EPSILON_UNITS, compute_spent_epsilon
from deniable.registry.methods import rewriting_method
from deniable.rewriting.charging import make_method_cost
from tests.rewriting.untrained import untrained


@pytest.mark.parametrize("name", ["adept-true", "adept-l1", "tokens", "dptext-fixed"])
def test_pure_methods(name):
    """What is epsilon-private costs epsilon."""
    cost = make_method_cost(rewriting_method(name, untrained(), epsilon=5.0))
    assert (cost.account, cost.amounts) == ("pure", (5 * EPSILON_UNITS,))


def test_gaussian_noise():
    """The divergences of Gaussian noise convert to about the epsilon that was asked for, from above."""
    cost = make_method_cost(rewriting_method("adept-gaussian", untrained(), epsilon=5.0, delta=1e-6))
    assert cost.account == "approximate"
    assert 5.0 < compute_spent_epsilon(cost.amounts, 2e-6) < 5.7


@pytest.mark.parametrize("name", ["adept", "dptext"])
def test_refuted_methods(name):
    """Nobody knows what a text costs under a claim that is false."""
    with pytest.raises(InputError, match="is refuted: choose another method"):
        make_method_cost(rewriting_method(name, untrained(), epsilon=5.0))
