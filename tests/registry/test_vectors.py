"""Vector mechanisms by name: published forms are refuted, and their remedies are `Laplace` and `Gaussian`."""

import math
from typing import ClassVar

import numpy as np
import pytest

import deniable as dn
from deniable.registry.vectors import VECTOR_MECHANISMS
from deniable.vectors import Box, Gaussian, L1Ball, L2Ball, Laplace, VectorMechanism
from tests.vectors.contract import VectorMechanismContract

REFUTED = {"adept", "dptext", "copy"}
REMEDIES = {
    "adept-l1": (Laplace, L1Ball(1.0)),
    "adept-true": (Laplace, L2Ball(1.0)),
    "adept-gaussian": (Gaussian, L2Ball(1.0)),
    "dptext-fixed": (Laplace, Box(0.0, 1.0)),
}


def make(name, epsilon=0.7, **options):
    """Return a mechanism of the registry, with a delta where it needs one."""
    parameters = {} if name == "random" else {"epsilon": epsilon}
    parameters |= {"delta": 1e-6} if "gaussian" in name else {}
    return VECTOR_MECHANISMS[name](**parameters, **options)


@pytest.mark.parametrize("name", VECTOR_MECHANISMS)
def test_every_name_makes_a_mechanism(name):
    """Each has a domain where it needs one; the published ones and the copy are refuted, and no other."""
    mechanism = make(name)
    assert isinstance(mechanism, VectorMechanism)
    assert mechanism.name == (REMEDIES[name][0].name if name in REMEDIES else name)
    assert (mechanism.claim.status == "refuted") == (name in REFUTED)
    assert mechanism.is_builtin


@pytest.mark.parametrize("name", REMEDIES)
def test_a_remedy_is_a_true_mechanism_on_the_domain_of_the_published_one(name):
    """Draws, exact loss and guarantee are those of `Laplace` or `Gaussian` on the domain."""
    mechanism_class, domain = REMEDIES[name]
    delta = {"delta": 1e-6} if mechanism_class is Gaussian else {}
    remedy, expected = make(name, seed=5), mechanism_class(epsilon=0.7, domain=domain, seed=5, **delta)
    assert type(remedy) is mechanism_class
    assert (remedy.sample(np.ones(64)) == expected.sample(np.ones(64))).all()
    assert make(name).guarantee == mechanism_class(epsilon=0.7, domain=domain, **delta).guarantee
    assert make(name).guarantee.status == "proved"
    if not delta:
        assert make(name).exact_loss(8)[:2] == mechanism_class(epsilon=0.7, domain=domain).exact_loss(8)[:2]


def test_what_the_remedies_of_adept_cost():
    """2 C / epsilon in the l1 ball, sqrt(n) times that in the l2 ball; Gaussian noise has the l2 sensitivity 2 C."""
    assert make("adept-l1", domain=L1Ball(2.0)).scale(64) == pytest.approx(4.0 / 0.7, rel=1e-8)
    assert make("adept-true", domain=L2Ball(2.0)).scale(64) == pytest.approx(4.0 * 8 / 0.7, rel=1e-8)
    gaussian = make("adept-gaussian", domain=L2Ball(2.0))
    assert gaussian.sensitivity(64) == 4.0
    assert isinstance(gaussian.guarantee, dn.ApproxDP)


class TestL1Ball(VectorMechanismContract):
    """The contract on an l1 ball: the first remedy of Habernal 2021, Section 7."""

    mechanism = Laplace
    options: ClassVar = {"epsilon": 0.7, "domain": L1Ball(1.0)}
    bad: ClassVar = [{"epsilon": e} for e in (0, -1.0, math.inf, "1")]
    source = "Dwork"


class TestBox(VectorMechanismContract):
    """The contract on a box: DPText's remedy."""

    mechanism = Laplace
    options: ClassVar = {"epsilon": 0.7, "domain": Box(0.0, 1.0)}
    source = "Dwork"
