"""DPAL's objectives: the formulas of the paper written out, and a convolution that is a matrix."""

import pytest
import torch
from torch.nn import functional

from deniable.published.dpal.mechanism import (
    apply_noisy_first_layer,
    compute_adversarial_objective,
    compute_class_objective,
    compute_dense_reconstruction_objective,
    compute_reconstruction_objective,
    limit_kernel_norms,
)


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
    assert apply_noisy_first_layer(images, kernels, draw(32, 14, 14)).shape == (2, 32, 14, 14)
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
