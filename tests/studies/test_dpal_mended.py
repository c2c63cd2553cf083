"""DPAL mended: its noise is what its true epsilon needs, and what it trains on is released once."""

import dataclasses

import numpy as np
import pytest
import torch
from scipy import stats

from deniable.models.images.certificates import LaplaceSmoothing
from studies.dpal_mended import MendedBudget, MendedOptions, fit_mended_model, release_records
from tests.models.images.random_images import data

BUDGET = MendedBudget(11.0, 1.0, 784)


def test_the_noise_is_made_for_the_sensitivity():
    """A black image and a white one are 2 d apart in l1, two labels 2: both parts of epsilon are spent, no more."""
    black, white = -np.ones(784), np.ones(784)
    pixels = np.abs(white - black).sum() / BUDGET.scale
    labels = np.abs(np.eye(10)[0] - np.eye(10)[1]).sum() / BUDGET.label_scale
    assert (pixels, labels) == pytest.approx((10.0, 1.0))


@pytest.mark.parametrize("epsilon", [3.0, 30.0, 1_000.0])
def test_epsilon_at_delta(epsilon):
    """Approximate privacy costs less than pure privacy, and more than what a Gaussian of the same variance suggests."""
    budget = MendedBudget(epsilon, 1.0, 784)
    found = budget.compute_epsilon_at_delta(1e-5)
    loss = (epsilon - 1.0) / 784  # of one pixel, its mean is loss - 1 + e^-loss
    assert 784 * (loss - 1 + np.exp(-loss)) < found < epsilon


def test_every_record_has_noise_of_its_own():
    """Pixels and labels have Laplace noise of their scales, independent between images, and a key repeats it."""
    images = data().train
    release = release_records(images, 10, BUDGET, bytes(32))
    noise = (release.pixels - images.pixels).flatten(1)
    assert stats.kstest((noise / (BUDGET.scale / 2)).flatten().numpy(), "laplace").pvalue > 1e-3
    assert abs(np.corrcoef(noise[0], noise[1])[0, 1]) < 0.2
    label_noise = release.labels - torch.nn.functional.one_hot(images.labels, 10)
    assert stats.kstest((label_noise / BUDGET.label_scale).flatten().numpy(), "laplace").pvalue > 1e-3
    assert torch.equal(release_records(images, 10, BUDGET, bytes(32)).pixels, release.pixels)


def test_the_model_has_the_noise_of_the_release():
    """The model is certified by the noise on its input, which is that of the release; nothing is claimed beyond it."""
    dataset = data()
    budget = dataclasses.replace(BUDGET, pixels=dataset.train.pixels[0].numel())
    options = MendedOptions("paper-mnist", width=0.25, steps=2, batch_size=30, learning_rate=1e-3, attack_steps=1)
    model = fit_mended_model(dataset, budget, options, 1, torch.device("cpu"))
    assert isinstance(model.certificate, LaplaceSmoothing)
    assert model.certificate.scale == pytest.approx(float(model.noises[0].scale)) == pytest.approx(budget.scale / 2)
    assert float(model.network.first.weight.detach().abs().flatten(1).sum(1).max()) <= 1 + 1e-6
    assert model.verdict is None
