"""The noise in training: its law is that of what is released, and its scale can be learned."""

import numpy as np
import pytest
import torch
from scipy import stats

from deniable.core.errors import InputError
from deniable.published.dptext.mechanism import DPText
from deniable.published.dptext.network import BOX_LOWER, BOX_UPPER, INITIAL_EPSILON_SHARE, TrainableNoise
from deniable.vectors import Box, Laplace

ROWS, N, EPSILON = 20_000, 4, 2.0
THRESHOLD = 1e-6


def coins(seed=0):
    return torch.Generator().manual_seed(seed)


def in_training(variant, invalid="redraw"):
    """Return noise (ROWS, N) added to zeros in training, and its epsilon."""
    noise = TrainableNoise(variant, N, EPSILON, invalid)
    with torch.no_grad():
        return noise(torch.zeros(ROWS, N), coins()).double().numpy(), noise.epsilon.item()


def released(variant, epsilon, invalid):
    """Return noise (ROWS, N) of the mechanism that releases."""
    if variant == "fixed":
        mechanism = Laplace(epsilon=epsilon, domain=Box(BOX_LOWER, BOX_UPPER), seed=3)
    else:
        mechanism = DPText(epsilon=epsilon, invalid=invalid, lower=BOX_LOWER, upper=BOX_UPPER, seed=3)
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


@pytest.mark.parametrize("given", [("laplace", 1.0, "redraw"), ("fixed", 0.0, "redraw"), ("published", 1.0, "nan")])
def test_bad_parameters(given):
    """A variant, a bound or a treatment of missing logarithms that does not exist is refused."""
    variant, bound, invalid = given
    with pytest.raises(InputError, match="parameter of DPText must be"):
        TrainableNoise(variant, N, bound, invalid)
