"""What a rewritten text costs."""

import pytest

import deniable as dn
from deniable.rewriting.charging import make_method_cost
from tests.refusals import refuses
from tests.rewriting.untrained import untrained

MODEL = untrained()
VectorMethod = type(dn.rewriting_method("adept-true", MODEL, epsilon=1.0))


def cost(name, epsilon, **options):
    return make_method_cost(dn.rewriting_method(name, MODEL, epsilon=epsilon, **options))


@pytest.mark.parametrize("name", ["adept-true", "adept-l1", "tokens", "dptext-fixed"])
def test_pure_methods(name):
    """What is epsilon-private costs epsilon."""
    [amount], [unit] = cost(name, 5.0).amounts, cost("adept-true", 1.0).amounts
    assert (cost(name, 5.0).account, amount) == ("pure", 5 * unit)


@pytest.mark.parametrize("claim", [4.0, 20.0])
def test_a_method_of_ones_own(claim):
    """What a text costs follows from the guarantee that was verified: refused below the exact loss, else as claimed."""
    stated = type("Own", (dn.Laplace,), {"claim": dn.Guarantee(claim, "Theorem 1 of my paper")})
    method = VectorMethod("own", MODEL, stated(epsilon=5.0, domain=dn.L2Ball(1.0)), {})
    if claim < 5.0:
        with refuses("refuted"):
            make_method_cost(method)
    else:
        assert make_method_cost(method).amounts == cost("adept-true", claim).amounts


def test_gaussian_noise():
    """Gaussian noise is counted by its divergences, which grow with epsilon; another's claim about it is not."""
    small, large = (cost("adept-gaussian", epsilon, delta=1e-6) for epsilon in (1.0, 5.0))
    assert small.account == large.account == "approximate"
    assert all(less <= more for less, more in zip(small.amounts, large.amounts, strict=True))
    assert small.amounts[1] < large.amounts[1]
    stated = type("Own", (dn.Gaussian,), {"claim": dn.Guarantee(0.1, "Theorem 1 of my paper", delta=1e-6)})
    with refuses("undecided"):
        make_method_cost(VectorMethod("own", MODEL, stated(epsilon=5.0, delta=1e-6, domain=dn.L2Ball(1.0)), {}))


def test_what_cannot_be_charged():
    """Nobody knows what a text costs under a claim that is false, nor what a class of another rewrites."""
    for name in ("adept", "dptext"):
        with refuses("refuted"):
            cost(name, 5.0)

    class Own:
        name = "own"

        def verify(self):
            return dn.rewriting_method("tokens", MODEL, epsilon=0.1).verify()

    with refuses("Own"):
        make_method_cost(Own())
