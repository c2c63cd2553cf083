"""Vector mechanisms by name: published forms are refuted, and their remedies are `Laplace` and `Gaussian`."""

import json

import pytest

import deniable as dn
from tests.commands import run

NAMES = {
    "laplace": "proved",
    "gaussian": "proved",
    "adept": "refuted",
    "adept-l1": "proved",
    "adept-true": "proved",
    "adept-gaussian": "proved",
    "dptext": "refuted",
    "dptext-fixed": "proved",
    "random": "proved",
    "copy": "refuted",
}
"""Names of vector mechanisms, and what becomes of their claims."""


@pytest.mark.parametrize("name", NAMES)
def test_every_name_makes_a_mechanism(name):
    """Each is verified on a domain of its own; the published ones and the copy are refuted, and no other."""
    budget = () if name == "random" else ("--epsilon", "1")
    delta = ("--delta", "1e-6") if "gaussian" in name else ()
    result = run("audit", "mechanism", name, *budget, *delta, "--dimension", "8", "--json")
    assert result.code == (NAMES[name] == "refuted")
    assert json.loads(result.text)["status"] == NAMES[name]


def test_what_the_remedies_of_adept_cost():
    """2 C / epsilon in the l1 ball, sqrt(n) times that in the l2 ball; Gaussian noise has the l2 sensitivity 2 C."""
    assert dn.Laplace(epsilon=0.7, domain=dn.L1Ball(2.0)).scale(64) == pytest.approx(4.0 / 0.7, rel=1e-8)
    assert dn.Laplace(epsilon=0.7, domain=dn.L2Ball(2.0)).scale(64) == pytest.approx(4.0 * 8 / 0.7, rel=1e-8)
    gaussian = dn.Gaussian(epsilon=0.7, delta=1e-6, domain=dn.L2Ball(2.0))
    assert gaussian.sensitivity(64) == 4.0
    assert gaussian.guarantee.delta > 0
