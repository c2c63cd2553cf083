"""The first layer under PixelDP: its norm is estimated well and limited to 1, and its noise is made for that."""

import math

import pytest
import torch

from deniable.models.images.layer_noise import PixelFirstLayer, compute_equivalent_gaussian_scale
from deniable.models.images.networks import ImageArchitecture
from deniable.models.images.pixeldp import compute_pixeldp_sigma
from deniable.models.images.training.fitting import fit_image_model
from deniable.models.images.training.pixeldp import (
    PIXELDP_TRAINER,
    SECURESGD_AGM_TRAINER,
    estimate_first_layer_norm,
    limit_first_layer_norm,
)
from deniable.models.images.training.trainer import ImageTrainingOptions, ImageTrainingTask
from tests.models.images.random_images import data, images

SHAPE = (1, 16, 16)


@pytest.fixture
def task():
    """Return a task of images of 16 x 16 pixels."""
    return ImageTrainingTask("pixeldp", images(4, SHAPE), 3, ImageTrainingOptions(), bytes(32), torch.device("cpu"))


def exact_norm(network):
    """Return the exact norm of the layer on its own input, half of that on pixels of [0, 1]."""
    return 0.5 / compute_equivalent_gaussian_scale(PixelFirstLayer(network), SHAPE)


def test_the_norm_is_estimated(task):
    """Eight power iterations give the operator norm from below, by at most a fifth."""
    network = ImageArchitecture("small", SHAPE, 3).build(0)
    estimate = estimate_first_layer_norm(network, task)
    assert 0.8 * exact_norm(network) < estimate <= exact_norm(network) * (1 + 1e-5)


@pytest.mark.parametrize("factor", [0.01, 30.0])
def test_a_large_norm_is_limited(task, factor):
    """A layer of a larger norm is scaled down to a norm of about 1, and a smaller one is left alone."""
    network = ImageArchitecture("small", SHAPE, 3).build(0)
    with torch.no_grad():
        network.first.weight *= factor
    before = exact_norm(network)
    limit_first_layer_norm(network, task)
    assert exact_norm(network) == pytest.approx(min(before, 1.0), rel=0.25)


@pytest.mark.parametrize(
    ("trainer", "calibration", "budget"),
    [
        (PIXELDP_TRAINER, "gaussian", {}),
        (SECURESGD_AGM_TRAINER, "analytic", {"epsilon": 90.0, "delta": 1e-5, "noise_multiplier": 2.0}),
    ],
)
def test_models_are_certified_by_even_noise(trainer, calibration, budget):
    """The noise is that of the formula for the given attack size, and the certificate knows the layer's exact norm."""
    options = trainer.choose_options(steps=2, batch_size=12, width=0.25, attack_size=0.2, **budget)
    model = fit_image_model(trainer, data(30, SHAPE, 3), options, seed=1)
    (noise,) = model.noises
    sigma = 2 * 0.2 * compute_pixeldp_sigma(calibration, 1.0, 0.05)
    assert (noise.place, noise.law, float(noise.scale)) == ("first layer", "gaussian", pytest.approx(sigma))
    certificate = model.certificate
    assert certificate.calibration == calibration
    assert certificate.sigma == pytest.approx(sigma)
    assert certificate.sensitivity == pytest.approx(2 * exact_norm(model.network))
    assert certificate.sensitivity < 2.2
    assert math.isfinite(certificate.radius(0.9, 0.05))
