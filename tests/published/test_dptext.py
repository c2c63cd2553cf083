"""DPText: one-sided noise, an infinite loss, as a mechanism, as a method and in training."""

import math
from typing import ClassVar

import numpy as np
import pytest
import torch
from scipy import stats

import deniable as dn
from deniable.published.controls import CopyMechanism, RandomMechanism
from deniable.published.dptext.mechanism import ENTRIES
from deniable.published.dptext.method import make_dptext_method
from deniable.published.dptext.training import BOX_LOWER, BOX_UPPER, INITIAL_EPSILON_SHARE, TrainableNoise
from deniable.rewriting.methods import choose_box, make_box_method
from tests.contracts.statistics import DRAWS, THRESHOLD
from tests.refusals import refuses
from tests.rewriting.untrained import TEXTS, untrained
from tests.vectors.contract import SEED, VectorMechanismContract

BAD = [
    *({"epsilon": e} for e in (0, -1.0, math.inf, "1")),
    {"invalid": "nan"},
    {"lower": math.nan},
    {"upper": 0.0},
]


class TestRedrawn(VectorMechanismContract):
    """As published, with missing logarithms drawn again."""

    mechanism = dn.DPText
    options: ClassVar = {"epsilon": 0.7}
    bad: ClassVar = BAD
    status = "refuted"
    source = "Theorem 3.2"
    on_grid = False

    def test_noise_is_one_sided(self):
        """Noise is exponential of scale n (upper - lower) / epsilon: never negative."""
        subject = self.make(lower=-1.0, upper=3.0, seed=SEED)
        assert subject.scale(4) == 16 / 0.7
        noise = subject.sample(np.full((DRAWS // 4, 4), 0.5)).ravel() - 0.5
        assert noise.min() >= 0
        assert stats.kstest(noise / subject.scale(4), stats.expon.cdf).pvalue > THRESHOLD
        assert stats.kstest(noise / subject.scale(4) / 1.3, stats.expon.cdf).pvalue < 1e-20

    @pytest.mark.parametrize("invalid", ["redraw", "zero"])
    def test_loss_is_infinite(self, invalid):
        """Outputs below the second input come from the first and never from the second."""
        subject = self.make(invalid=invalid, seed=SEED)
        upper, lower, (x, other) = dn.DPText(epsilon=0.7, invalid=invalid).exact_loss(3)
        assert upper == lower == math.inf
        low, high = (subject.sample(np.tile(v, (2000, 1))) for v in (x, other))
        assert (low < 1).any(axis=1).mean() > 0.1
        assert not (high < 1).any()


class TestZeroed(VectorMechanismContract):
    """As published, with zero where the logarithm is missing."""

    mechanism = dn.DPText
    options: ClassVar = {"epsilon": 0.7, "invalid": "zero"}
    bad: ClassVar = BAD
    status = "refuted"
    source = "Habernal 2022"
    on_grid = False

    def test_half_of_the_coordinates_get_no_noise(self):
        """Half of the draws are missing, and what stands there is the input itself."""
        y = self.make(seed=SEED).sample(np.full((5000, 4), 0.5))
        assert stats.binomtest(int((y == 0.5).sum()), y.size, 0.5).pvalue > THRESHOLD


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


class TestRandom(VectorMechanismContract):
    """The control that hides all: nothing of the input comes out."""

    mechanism = RandomMechanism
    options: ClassVar = {}
    source = "Habernal 2022"
    on_grid = False
    seed_voids = False

    def test_output_does_not_depend_on_the_input(self):
        """With one seed any two inputs give the same uniform draws."""
        one, other = self.make(seed=SEED).sample(np.zeros((5000, 2))), self.make(seed=SEED).sample(np.ones((5000, 2)))
        assert (one == other).all()
        assert stats.kstest(one.ravel(), stats.uniform.cdf).pvalue > THRESHOLD
        assert self.make().exact_loss(3)[:2] == (0.0, 0.0)


def test_the_loss_is_infinite():
    """Some outputs of one input never come from the other, so no epsilon holds."""
    verdict = ENTRIES[0].verify_law()
    assert verdict.status == ENTRIES[0].exact_status == "refuted"
    assert verdict.lower_bound == math.inf


def test_samples_alone_refute_it():
    """A thousand samples show more than the claim, under a seed of one's own too."""
    verdict = ENTRIES[0].audit_samples(11)
    assert verdict.status == ENTRIES[0].sampled_status == "refuted"
    assert verdict.lower_bound > 1.0


MODEL = untrained()


def test_the_method_is_refuted_by_its_own_verdict():
    """The mechanism is DPText on the public box, and no epsilon holds for it."""
    method = make_dptext_method(MODEL, epsilon=2.0)
    assert isinstance(method.mechanism, dn.DPText)
    assert method.mechanism.domain == choose_box(MODEL)
    assert method.guarantee.status == method.verify().status == "refuted"
    assert method.verify().lower_bound == math.inf


def test_released_vectors_never_lie_below_the_input():
    """Noise of the remedy's scale that is never negative: the flaw as it reaches the decoder."""
    method, remedy = make_dptext_method(MODEL, epsilon=2.0), make_box_method(MODEL, epsilon=2.0)
    own = method.mechanism.domain.clip(method.encode(TEXTS))
    assert (method.release(TEXTS) >= own).all()
    assert (remedy.release(TEXTS) < own).any()
    assert method.parameters["scale"] == pytest.approx(remedy.parameters["scale"], rel=1e-8)


def test_its_noise_cannot_be_trained_with():
    """Noise that is no Laplace noise is refused by name where a decoder would be trained with it."""
    with refuses("dptext"):
        _ = make_dptext_method(MODEL, epsilon=2.0).training_noise


def test_an_epsilon_too_small_for_floating_point_is_refused():
    """Noise beyond the range of float64 is refused before any is drawn."""
    with refuses("4.94066e-324"):
        make_dptext_method(MODEL, epsilon=np.nextafter(0, 1))


ROWS, N, EPSILON = 20_000, 4, 2.0


def coins(seed=0):
    return torch.Generator().manual_seed(seed)


def in_training(variant, invalid="redraw"):
    """Return noise (ROWS, N) added to zeros in training, and its epsilon."""
    noise = TrainableNoise(variant, N, EPSILON, invalid)
    with torch.no_grad():
        return noise(torch.zeros(ROWS, N), coins()).double().numpy(), noise.epsilon.item()


def released(variant, epsilon, invalid):
    """Return noise (ROWS, N) of the mechanism that releases."""
    if variant in {"fixed", "norm"}:
        kind = dn.Laplace if variant == "fixed" else dn.KNorm
        mechanism = kind(epsilon=epsilon, domain=dn.Box(BOX_LOWER, BOX_UPPER), seed=3)
    else:
        mechanism = dn.DPText(epsilon=epsilon, invalid=invalid, lower=BOX_LOWER, upper=BOX_UPPER, seed=3)
    return mechanism.sample(np.zeros((ROWS, N)))


@pytest.mark.parametrize(("variant", "invalid"), [("published", "redraw"), ("published", "zero"), ("fixed", "redraw")])
def test_the_law_is_the_released_one(variant, invalid):
    """Noise in training and of the release have one law, and another scale does not."""
    trained, epsilon = in_training(variant, invalid)
    drawn = released(variant, epsilon, invalid)
    assert stats.binomtest(int((trained == 0).sum()), trained.size, max((drawn == 0).mean(), 1e-9)).pvalue > THRESHOLD
    trained, drawn = trained[trained != 0], drawn[drawn != 0]
    assert stats.ks_2samp(trained, drawn).pvalue > THRESHOLD
    assert stats.ks_2samp(trained, 1.3 * drawn).pvalue < THRESHOLD


def test_noise_in_the_maximum_norm_is_the_released_one():
    """Its norm and a coordinate have one law in training and in the release, and another scale does not."""
    trained, epsilon = in_training("norm")
    drawn = released("norm", epsilon, "redraw")
    for one, other in ((np.abs(trained).max(axis=1), np.abs(drawn).max(axis=1)), (trained[:, 0], drawn[:, 0])):
        assert stats.ks_2samp(one, other).pvalue > THRESHOLD
        assert stats.ks_2samp(one, 1.3 * other).pvalue < THRESHOLD
    # Readers divide what they see by the scale, so it must be the size of the noise.
    lengths, scale = np.abs(trained).max(axis=1), TrainableNoise("norm", N, EPSILON).scale().item()
    assert lengths.mean() == pytest.approx(scale, abs=6 * lengths.std() / math.sqrt(ROWS))


@pytest.mark.parametrize("invalid", ["redraw", "zero"])
def test_published_noise_is_one_sided(invalid):
    """As published no noise is negative; with zeros half of the coordinates have none."""
    trained, _ = in_training("published", invalid)
    assert (trained >= 0).all()
    missing = int((trained == 0).sum())
    assert stats.binomtest(missing, trained.size, 0.5).pvalue > THRESHOLD if invalid == "zero" else missing < 10


def test_epsilon_is_learned_below_its_bound():
    """A learned epsilon starts at a tenth of its bound, has a gradient, and stays below whatever its parameter is."""
    noise = TrainableNoise("published", N, EPSILON)
    assert noise.epsilon.item() == pytest.approx(INITIAL_EPSILON_SHARE * EPSILON)
    noise(torch.zeros(50, N), coins()).square().sum().backward()
    assert noise.raw.grad.item() < 0  # a larger epsilon makes less noise
    with torch.no_grad():
        noise.raw.fill_(50.0)
    assert noise.epsilon.item() <= EPSILON


def test_a_fixed_epsilon_is_no_parameter():
    """Fixed, epsilon is what it was given, and training cannot change it."""
    noise = TrainableNoise("fixed", N, EPSILON)
    assert noise.epsilon.item() == EPSILON
    assert noise.scale().item() == N * (BOX_UPPER - BOX_LOWER) / EPSILON
    assert not noise.raw.requires_grad


def test_the_gradient_is_that_of_the_scale():
    """What a released number gains from a change of the parameter is what a difference of two scales gives."""
    noise, step = TrainableNoise("published", 1, EPSILON).double(), 1e-6
    noise(torch.zeros(1, 1, dtype=torch.float64), coins(5)).sum().backward()
    ends = []
    for sign in (1, -1):
        with torch.no_grad():
            noise.raw.add_(sign * step)
            ends.append(noise(torch.zeros(1, 1, dtype=torch.float64), coins(5)).item())
            noise.raw.sub_(sign * step)
    assert noise.raw.grad.item() == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-5)


def test_without_noise():
    """Without noise vectors come back as they are, and the scale is nothing."""
    noise, latent = TrainableNoise("none", N, EPSILON), torch.ones(3, N)
    assert noise(latent, coins()) is latent
    assert noise.scale().item() == 0
