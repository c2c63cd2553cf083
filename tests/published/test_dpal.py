"""DPAL: budget, noise, sensitivity and training."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from scipy import stats
from torch.nn import functional

import deniable as dn
from deniable.models.images.networks import ImageArchitecture
from deniable.published.dpal.certificate import DPALCertificate
from deniable.published.dpal.mechanism import (
    DPALBudget,
    compute_adversarial_objective,
    compute_class_objective,
    compute_dense_reconstruction_objective,
    compute_reconstruction_objective,
    limit_kernel_norms,
)
from deniable.published.dpal.trainer import DPAL_TRAINER
from deniable.published.noise import draw_laplace_noise, recompute_batch_statistics
from tests.models.images.random_images import data
from tests.refusals import refuses

MNIST = DPALBudget(0.2)
CIFAR10 = DPALBudget(5.0, 2.0, 1_851, 3 * (14**2 + 2) * 16)


@pytest.fixture
def draw():
    """Return a source of normal float64 tensors."""
    source = torch.Generator().manual_seed(0)
    return lambda *shape: torch.randn(*shape, generator=source, dtype=torch.float64)


def test_the_dense_objective_is_equation_7(draw):
    """The objective is the double sum of Eq. 7, written out."""
    images, theta, noise = draw(3, 5), draw(5, 4), draw(4)
    for image, value in zip(images, compute_dense_reconstruction_objective(images, theta, noise), strict=True):
        hidden = theta.T @ image + noise
        rebuilt = theta @ hidden
        expected = sum(0.5 * theta[j] @ hidden for j in range(5)) - image @ rebuilt
        assert value == pytest.approx(float(expected), rel=1e-12)


@pytest.mark.parametrize(
    ("size", "kernel", "stride", "padding"), [(28, 5, 2, 2), (9, 3, 2, 1), (8, 4, 2, 1), (6, 3, 1, 0)]
)
def test_a_convolution_is_a_matrix(draw, size, kernel, stride, padding):
    """The convolutional objective is the dense one for the matrix that the convolution is."""
    images, kernels = draw(2, 1, size, size), draw(3, 1, kernel, kernel)
    units = torch.eye(size * size, dtype=torch.float64).view(-1, 1, size, size)
    rows = functional.conv2d(units, kernels, stride=stride, padding=padding)
    theta, noise = rows.flatten(1), draw(*rows.shape[1:])
    expected = compute_dense_reconstruction_objective(images.flatten(1), theta, noise.flatten())
    found = compute_reconstruction_objective(images, kernels, noise, stride=stride, padding=padding)
    assert found == pytest.approx(expected, rel=1e-9)


def test_the_first_layer_of_mnist(draw):
    """28 x 28 pixels become 14 x 14, the feature map that Delta_R is computed with; noise may differ by example."""
    images, kernels = draw(2, 1, 28, 28), draw(32, 1, 5, 5)
    assert functional.conv2d(images, kernels, stride=2, padding=2).shape == (2, 32, 14, 14)
    noise = draw(2, 32, 14, 14)
    both = compute_reconstruction_objective(images, kernels, noise)
    single = [compute_reconstruction_objective(images[i : i + 1], kernels, noise[i]) for i in range(2)]
    assert both == pytest.approx(torch.cat(single), rel=1e-9)


def test_the_class_objective_is_equation_10(draw):
    """The loss is the sum over classes in the paper, written out, and its label coefficients carry the noise."""
    hidden, weights, noise = draw(3, 6).tanh(), draw(6, 4), draw(6)
    labels = functional.one_hot(torch.tensor([2, 0, 3]), 4).double()
    for i, value in enumerate(compute_class_objective(hidden, weights, labels, noise)):
        expected = 0.0
        for k in range(4):
            score = float(hidden[i] @ weights[:, k])
            coefficient = hidden[i] * labels[i, k] + noise
            expected += score - abs(score) / 2 + score**2 / 8 - float(coefficient @ weights[:, k])
        assert float(value) == pytest.approx(expected, rel=1e-12)


def test_the_whole_objective():
    """Adversarial losses count xi times, over m (1 + xi)."""
    assert compute_adversarial_objective(torch.tensor([1.0, 3.0]), torch.tensor([2.0, 6.0]), 1.5) == pytest.approx(
        16 / 5
    )


def test_kernels_are_held(draw):
    """Kernels beyond the norm are scaled down to it, others and a kernel of zeros are left alone."""
    kernels = torch.cat([draw(3, 2, 5, 5), 1e-3 * draw(1, 2, 5, 5), torch.zeros(1, 2, 5, 5, dtype=torch.float64)])
    sizes = limit_kernel_norms(kernels, 1.0).abs().sum((1, 2, 3))
    assert sizes[:3] == pytest.approx(torch.ones(3, dtype=torch.float64))
    assert torch.equal(limit_kernel_norms(kernels, 1.0)[3:], kernels[3:])
    assert torch.nn.functional.cosine_similarity(
        limit_kernel_norms(kernels, 1.0)[0].flatten(), kernels[0].flatten(), dim=0
    ) == (pytest.approx(1.0))


def test_the_parts_make_the_total():
    """eps1 + eps1/gamma_x + eps1/gamma + eps2 = eps_t, the identity that appendix M sets eps1 by."""
    for budget in (MNIST, DPALBudget(2.0, theta_norm=0.3), CIFAR10, dataclasses.replace(CIFAR10, eps_t=10.0)):
        whole = budget.eps1 * (1 + 1 / budget.gamma_x + 1 / budget.gamma) + budget.eps2
        assert whole == pytest.approx(budget.eps_t, rel=1e-12)


def test_the_numbers_of_appendix_m():
    """Sensitivities, gammas and scales on MNIST are those computed by hand."""
    assert (MNIST.delta_r, MNIST.delta_l2, MNIST.m) == (4950, 512, 2499)
    assert MNIST.gamma_x == pytest.approx(4950 / 2499)
    assert MNIST.gamma == pytest.approx(2 * 4950 / 2499)
    assert MNIST.eps1 == pytest.approx(0.1 / (1 + 1.5 * 2499 / 4950))
    assert MNIST.input_claim == pytest.approx(0.02873, abs=1e-5)
    assert MNIST.input_scale == pytest.approx(4950 / (MNIST.eps1 * 2499)) == pytest.approx(MNIST.hidden_scale / 2)
    assert MNIST.label_scale == pytest.approx(512 / (0.1 * 2499))
    assert DPALBudget(0.2, theta_norm=0.522).eps1 == pytest.approx(0.0611, abs=1e-4)


@pytest.mark.parametrize(
    ("build", "value"),
    [
        (lambda: DPALBudget(0.1), 0.1),
        (lambda: DPALBudget(-1.0), -1.0),
        (lambda: DPALBudget(1.0, theta_norm=math.inf), "inf"),
        (lambda: DPALBudget(1.0, m=0), "'m'"),
    ],
)
def test_budgets_that_cannot_be(build, value):
    """A budget that cannot be is refused with its value."""
    with refuses(value):
        build()


def test_dpal_is_refuted():
    """DPAL's claim of privacy and its certificate come with their refutation."""
    options = DPAL_TRAINER.choose_options(
        steps=2, batch_size=30, width=0.25, epsilon=0.2, attack_steps=1, network="paper-mnist"
    )
    model = dn.images.fit_image_model(DPAL_TRAINER, data(), options, seed=3)
    assert model.guarantee.kind == "PureDP"
    assert (model.guarantee.epsilon, model.guarantee.status) == (0.2, "refuted")
    assert model.verdict.status == "refuted"
    assert model.verdict.lower_bound == math.inf
    assert model.verdict.witness is not None
    assert isinstance(model.certificate, DPALCertificate)
    assert model.certificate.status == "refuted"
    assert [noise.place for noise in model.noises] == ["input", "first layer"]
    assert all(noise.offset is not None and noise.scale > 0 for noise in model.noises)


def test_a_small_budget_for_colour_images_is_refused():
    """DPAL's settings for colour images begin at epsilon 2."""
    options = DPAL_TRAINER.choose_options(steps=2, batch_size=30, width=0.25, epsilon=1.0, network="paper-cifar10")
    with refuses("Got 1:"):
        dn.images.fit_image_model(DPAL_TRAINER, data(30, (3, 32, 32), 3), options, seed=0)


@pytest.mark.parametrize("size", [6, pytest.param(7, marks=pytest.mark.deep), pytest.param(8, marks=pytest.mark.deep)])
def test_batches_that_do_not_divide_by_three(size):
    """DPAL's attacks share a batch of any size from 6 on."""
    options = DPAL_TRAINER.choose_options(steps=1, batch_size=size, width=0.1, epsilon=2.0, attack_steps=1)
    model = dn.images.fit_image_model(DPAL_TRAINER, data(count=30, shape=(1, 16, 16), classes=3), options, seed=1)
    assert all(torch.isfinite(value).all() for value in model.network.state_dict().values())


def test_the_law():
    """Draws have the Laplace law of their scale, and neither of 0.7 nor of 1.3 times the scale."""
    noise = draw_laplace_noise(np.random.default_rng(0), 3.0, (200, 100), torch.float64).flatten().numpy()
    assert stats.kstest(noise / 3.0, "laplace").pvalue > 1e-6
    for factor in (0.7, 1.3):
        assert stats.kstest(noise / (3.0 * factor), "laplace").pvalue < 1e-6


def test_statistics_are_those_of_the_batches():
    """Running means become plain averages over the batches, and the network ends in evaluation mode."""
    network = ImageArchitecture("paper-mnist", (1, 28, 28), 3, 0.25, normalised=True).build(0)
    batches = torch.rand((2, 8, 1, 28, 28), generator=torch.Generator().manual_seed(0))
    network(100 * batches[0])  # statistics of other inputs, which must not last
    recompute_batch_statistics(network, network, batches)
    with torch.no_grad():
        hidden = [network.rest[0](network.first(2 * images - 1)) for images in batches]
        expected = sum(values.mean((0, 2, 3)) for values in hidden) / 2
    torch.testing.assert_close(network.rest[1].running_mean, expected)
    assert not network.training
