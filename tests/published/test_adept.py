"""ADePT: refuted as published, as a method behind an encoder, and without its clip."""

import math
from typing import ClassVar

import numpy as np
import pytest

import deniable as dn
from deniable.published.adept.mechanism import ENTRIES, UnclippedADePT
from deniable.published.adept.texts import ENTRIES as ADEPT_TEXT_ENTRIES
from deniable.published.adept.texts import make_adept_method
from deniable.rewriting.methods import make_l2_ball_method
from tests.refusals import refuses
from tests.rewriting.untrained import untrained
from tests.vectors.contract import SEED, VectorMechanismContract


class TestPublished(VectorMechanismContract):
    """ADePT as in Krishna et al. 2021."""

    mechanism = dn.ADePT
    options: ClassVar = {"epsilon": 0.7}
    bad: ClassVar = [
        *({"epsilon": e} for e in (0, -1.0, math.inf, "1")),
        *({"radius": r} for r in (0, -1.0, math.inf)),
    ]
    status = "refuted"
    source = "Habernal 2021 (When differential privacy meets NLP), Theorem 5.1"

    @pytest.mark.parametrize("n", [1, 2, 8, 32, 1024])
    def test_opposite_corners_lose_epsilon_sqrt_n(self, n):
        """The exact loss at opposite corners of the inscribed cube is epsilon sqrt(n), not epsilon."""
        upper, lower, (x, other) = self.make(radius=2.5).exact_loss(n)
        assert lower == pytest.approx(0.7 * math.sqrt(n), rel=1e-8)
        assert upper == pytest.approx(0.7 * math.sqrt(n), rel=1e-8)
        assert (x == -other).all()
        assert x == pytest.approx(2.5 / math.sqrt(n))

    def test_an_attacker_sees_the_loss(self):
        """From samples alone: the event that all outputs are positive is far too likely from one corner."""
        n, draws = 4, 60_000
        subject = self.make(epsilon=1.0, seed=SEED)
        x, other = subject.worst_pair(n)
        hits, misses = ((subject.sample(np.tile(v, (draws, 1))) > 0.5).all(axis=1).sum() for v in (x, other))
        assert math.log(hits / misses) > 1.5

    def test_its_noise_is_that_of_laplace_with_a_smaller_sensitivity(self):
        """Sensitivity 2 C whatever n, the scale that goes with it, and in one dimension the draws of `Laplace`."""
        subject = self.make(epsilon=1.0, radius=2.0, seed=5)
        assert subject.sensitivity(64) == 4.0
        assert subject.scale(64) == pytest.approx(4.0, rel=1e-8)
        twin = dn.Laplace(epsilon=1.0, domain=dn.L2Ball(2.0), seed=5)
        x = np.linspace(-3, 3, 50)[:, None]
        assert (subject.sample(x) == twin.sample(x)).all()


def test_the_method_is_refuted_by_its_own_verdict():
    """The exact loss of a text is epsilon times the root of the vector's size, and the guarantee says refuted."""
    method = make_adept_method(untrained(latent=4, radius=2.0), epsilon=3.0)
    assert isinstance(method.mechanism, dn.ADePT)
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
    method, remedy = make_adept_method(model, epsilon=3.0), make_l2_ball_method(model, epsilon=3.0)
    assert remedy.parameters["scale"] == pytest.approx(2 * method.parameters["scale"], rel=1e-8)
    assert method.parameters["radius"] == remedy.parameters["radius"] == 2.0
    assert method.parameters["sensitivity"] == 4.0


@pytest.mark.parametrize("epsilon", [0, -1.0, math.inf])
def test_an_epsilon_outside_its_domain_is_refused(epsilon):
    """The error names ADePT's parameter."""
    with refuses(epsilon):
        make_adept_method(untrained(), epsilon=epsilon)


def test_the_loss_is_the_root_of_the_dimension():
    """The law spends sqrt(8) of a claim of 1, and its witness are two corners as far apart as the ball allows."""
    verdict = ENTRIES[0].verify_law()
    assert verdict.status == ENTRIES[0].exact_status == "refuted"
    assert verdict.claim == 1.0
    assert verdict.lower_bound == pytest.approx(math.sqrt(8), rel=1e-8)


def test_samples_alone_refute_it():
    """The audit refutes the claim with a bound between the claim and the true loss."""
    verdict = ENTRIES[0].audit_samples(4)
    assert verdict.status == ENTRIES[0].sampled_status == "refuted"
    assert 1.0 < verdict.lower_bound <= math.sqrt(8)


BY_NAME = {entry.name: entry for entry in ADEPT_TEXT_ENTRIES}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == "adept-texts" else pytest.mark.deep) for name in BY_NAME]
)
def test_verdicts_are_as_expected(name):
    """The published claim is refuted from text to vector, those of the controls are not; no bound exceeds the truth."""
    found = BY_NAME[name].examine(20_211_107)
    assert found.is_as_expected, str(found.exact_verdict) + str(found.sampled_verdict)
    assert found.sampled_verdict.lower_bound <= found.exact_verdict.epsilon
    assert found.sampled_verdict.samples == 20_000
    assert found.sampled_verdict.guarantee.delta == (1e-5 if name == "adept-gaussian-texts" else 0)


def test_the_exact_loss():
    """Sixty-four coordinates make it 8 times the claim, whatever the encoder; noise enough makes it the claim."""
    assert BY_NAME["adept-texts"].verify_law().lower_bound == pytest.approx(24, rel=1e-9)
    assert BY_NAME["adept-true-texts"].verify_law().epsilon == pytest.approx(3, rel=1e-9)


@pytest.mark.parametrize("n", [1, 8, 100])
def test_the_loss_is_epsilon_times_the_dimension(n):
    """The noise ignores the dimension, so that the loss grows with it; in one dimension the claim holds."""
    mechanism = UnclippedADePT(epsilon=0.5, domain=dn.Box(0.0, 1.0))
    assert mechanism.sensitivity(n) == 1.0
    assert mechanism.exact_loss(n).lower == pytest.approx(0.5 * n, rel=1e-8)


def test_law_and_samples_refute_it():
    """The law spends eight times the claim, and a few hundred samples show more than the claim."""
    assert ENTRIES[1].verify_law().lower_bound == pytest.approx(8.0, rel=1e-8)
    verdict = ENTRIES[1].audit_samples(9)
    assert verdict.status == "refuted"
    assert 1.0 < verdict.lower_bound <= 8.0


def test_what_the_remedies_of_adept_cost():
    """2 C / epsilon in the l1 ball, sqrt(n) times that in the l2 ball; Gaussian noise has the l2 sensitivity 2 C."""
    assert dn.Laplace(epsilon=0.7, domain=dn.L1Ball(2.0)).scale(64) == pytest.approx(4.0 / 0.7, rel=1e-8)
    assert dn.Laplace(epsilon=0.7, domain=dn.L2Ball(2.0)).scale(64) == pytest.approx(4.0 * 8 / 0.7, rel=1e-8)
    gaussian = dn.Gaussian(epsilon=0.7, delta=1e-6, domain=dn.L2Ball(2.0))
    assert gaussian.sensitivity(64) == 4.0
    assert gaussian.guarantee.delta > 0
