"""DP-SGD that clips the mean of a batch: refuted by its first step, as far as that goes."""

import math

import pytest
import torch
from scipy import integrate, optimize, stats
from torch.nn import functional

from deniable.models.images.training.fitting import fit_image_model
from deniable.published.securesgd.batch_clipping import _clip_mean_gradient
from deniable.registry.trainers import IMAGE_TRAINERS
from tests.models.images.random_images import data

TRAINER = IMAGE_TRAINERS["dp-sgd-batch-clipped"]
DELTA = 1e-5


def fit(batch_size, **options):
    """Return a model of 60 random images after two steps."""
    chosen = {"steps": 2, "width": 0.25, "epsilon": 0.5, "delta": DELTA, "batch_size": batch_size} | options
    return fit_image_model(TRAINER, data(), TRAINER.choose_options(**chosen), seed=0)


def test_batches_clipped_as_one_are_refuted():
    """Clipping the mean of a batch, with noise made for clipped examples, spends more than it claims."""
    model = fit(30)
    assert model.verdict.status == model.guarantee.status == "refuted"
    assert model.verdict.lower_bound > 0.5
    assert model.verdict.witness is not None


def find_mixture_epsilon(rate, shift):
    """Return the exact epsilon at delta of N(0, 1) against its mixture with N(shift, 1), by integrating the excess."""

    def compute_delta(epsilon):
        def excess(x):
            null = stats.norm.pdf(x)
            return max(rate * stats.norm.pdf(x - shift) + (1 - rate) * null - math.exp(epsilon) * null, 0.0)

        return integrate.quad(excess, -10, shift + 12, points=[0, shift / 2, shift], limit=500)[0]

    return optimize.brentq(lambda epsilon: compute_delta(epsilon) - DELTA, 1e-9, shift**2 / 2 + 12 * shift + 1)


@pytest.mark.parametrize(
    ("batch_size", "clip"), [(1, 0.1), (1, 1.0), (1, 1e-3), (2, 0.1), (7, 0.1), (7, 5.0), (60, 0.1), (200, 1e-3)]
)
def test_the_lower_bound_is_at_most_the_true_loss_of_its_witness(batch_size, clip):
    """At every batch size, 1 too: g of one record in a batch of empty ones, the clip included, and the mixture."""
    model = fit(batch_size, clip=clip)
    size = min(batch_size, 60)
    network = model.architecture.build(0)
    train = data().train
    losses = [functional.cross_entropy(network(x[None]), y[None]) for x, y in zip(train.pixels, train.labels)]  # noqa: B905
    gradients = [torch.autograd.grad(loss, list(network.parameters())) for loss in losses]
    norm = max(math.sqrt(sum(float(part.double().square().sum()) for part in parts)) for parts in gradients)
    shift = min(norm, size * clip) / (clip * model.facts["noise multiplier"])
    truth = find_mixture_epsilon(size / 60, shift)
    assert truth * 0.9 < model.verdict.lower_bound <= truth * (1 + 1e-6)
    if batch_size == 1:  # then it is DP-SGD on a batch of fixed size, which its accounting covers
        assert model.verdict.status == "undecided"


def test_the_step_is_the_mean_gradient_clipped_to_its_norm():
    """Empty records count in the divisor and add nothing; a mean within the norm stays what it is."""
    network = torch.nn.Linear(3, 2)
    images, labels = torch.eye(3)[:2], torch.tensor([0, 1])
    loss = functional.cross_entropy(network(images), labels)
    expected = torch.autograd.grad(loss, list(network.parameters()))
    mean, value = _clip_mean_gradient(network, images, labels, 100.0)
    assert value == pytest.approx(float(loss.detach()))
    torch.testing.assert_close(mean, expected)
    half, _ = _clip_mean_gradient(network, images[[0, 0]], torch.tensor([0, -1]), 100.0)
    whole, _ = _clip_mean_gradient(network, images[:1], labels[:1], 100.0)
    torch.testing.assert_close(tuple(2 * part for part in half), whole)
    clipped, _ = _clip_mean_gradient(network, images, labels, 0.25)
    assert torch.cat([part.flatten() for part in clipped]).norm() == pytest.approx(0.25)
