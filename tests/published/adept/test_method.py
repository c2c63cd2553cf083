"""ADePT as a rewriting method: refuted, whatever the model, in more than one dimension."""

import math

import pytest

from deniable.core.errors import InputError
from deniable.published.adept.mechanism import ADePT
from deniable.published.adept.method import make_adept_method
from deniable.rewriting.methods.clipped_noise import make_l2_ball_method
from tests.rewriting.untrained import untrained


def test_the_method_is_refuted_by_its_own_verdict():
    """The exact loss of a text is epsilon times the root of the vector's size, and the guarantee says refuted."""
    method = make_adept_method(untrained(latent=4, radius=2.0), epsilon=3.0)
    assert isinstance(method.mechanism, ADePT)
    assert method.guarantee.status == "refuted"
    verdict = method.verify()
    assert verdict.status == "refuted"
    assert verdict.lower_bound == pytest.approx(3.0 * math.sqrt(4), rel=1e-8)


def test_one_dimension_is_not_refuted():
    """With vectors of one number both sensitivities are one: the loss is the claim, which is then not refuted."""
    method = make_adept_method(untrained(latent=1, radius=2.0), epsilon=3.0)
    verdict = method.verify()
    assert verdict.lower_bound <= 3.0
    assert (method.guarantee.status, verdict.guarantee.status, verdict.status) == ("claimed", "claimed", "proved")


def test_its_noise_is_too_small_by_the_root_of_the_dimension():
    """The remedy for the same ball adds sqrt(n) times the noise; both report the radius of the model's training."""
    model = untrained(latent=4, radius=2.0)
    method, remedy = make_adept_method(model, epsilon=3.0), make_l2_ball_method(model, name="remedy", epsilon=3.0)
    assert remedy.parameters["scale"] == pytest.approx(2 * method.parameters["scale"], rel=1e-8)
    assert method.parameters["radius"] == remedy.parameters["radius"] == 2.0
    assert method.parameters["sensitivity"] == 4.0


@pytest.mark.parametrize("epsilon", [0, -1.0, math.inf])
def test_an_epsilon_outside_its_domain_is_refused(epsilon):
    """The error names ADePT's parameter."""
    with pytest.raises(InputError, match="'epsilon' parameter of ADePT"):
        make_adept_method(untrained(), epsilon=epsilon)
