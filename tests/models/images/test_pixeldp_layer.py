"""Noise after a linear layer: its worth is one over the exact weighted operator norm."""

import numpy as np
import pytest
import torch
from torch import nn

from deniable.models.images.pixeldp import PixelFirstLayer, compute_equivalent_gaussian_scale
from tests.models.images.random_images import data, fit
from tests.refusals import refuses

SHAPE = (2, 9, 8)
LAYERS = {
    "convolution": lambda: nn.Conv2d(2, 3, 4, stride=2, padding=1),
    "dense": lambda: nn.Sequential(nn.Flatten(), nn.Linear(144, 20)),
    "wide": lambda: nn.Sequential(nn.Flatten(), nn.Linear(144, 300)),
    "first of a network": lambda: PixelFirstLayer(fit("plain", data(12, (1, 18, 18))).network),
}


def built(name):
    """Return a layer, its image shape, its matrix (D, d) by single basis images, and uneven scales."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        layer = LAYERS[name]()
    shape = (1, 18, 18) if name.startswith("first") else SHAPE
    with torch.no_grad():
        start = layer(torch.zeros(1, *shape))
        columns = [layer(basis.view(1, *shape)) - start for basis in torch.eye(int(np.prod(shape)))]
    scales = 0.2 + torch.rand(start.shape[1:], generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return layer, shape, torch.cat(columns).flatten(1).double().T.numpy(), scales


def test_a_layer_made_for_known_images_is_refused():
    """A layer that is affine on the images of a known seed alone does not pass for an affine one."""
    first, second = torch.randn(2, 4, 1, 3, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    affine = torch.cat([first, second, first + second, torch.zeros(1, 1, 3, 3), torch.eye(9).view(9, 1, 3, 3)])

    class Layer(nn.Module):
        def forward(self, images):
            is_known = ((images[:, None] - affine).abs().flatten(2).amax(2) < 1e-12).any(1)
            return torch.where(is_known[:, None, None, None], images, 1_000 * images.square())

    with refuses("not affine"):
        compute_equivalent_gaussian_scale(Layer(), (1, 3, 3))


@pytest.mark.parametrize("name", LAYERS)
def test_norms_against_the_dense_matrix(name):
    """The scales are one over the largest singular value of the weighted matrix, from below."""
    layer, shape, matrix, scales = built(name)
    weighted = matrix / scales.flatten().numpy()[:, None]
    assert 1 / compute_equivalent_gaussian_scale(layer, shape, scales) == pytest.approx(
        np.linalg.svd(weighted)[1][0], rel=1e-5
    )
    assert compute_equivalent_gaussian_scale(layer, shape, 0.5) == pytest.approx(
        0.5 * compute_equivalent_gaussian_scale(layer, shape)
    )


def test_scales_are_not_larger_than_the_truth():
    """For the identity, whose norm is 1 exactly, the worth of the noise is a little below its deviation."""
    assert 1 - 1e-9 < compute_equivalent_gaussian_scale(nn.Identity(), (1, 3, 3)) < 1


def test_uneven_noise_is_worth_its_worst_direction():
    """Noise that differs among the pixels is worth the least of it, since an attack may use that pixel alone."""
    deviations = torch.tensor([0.1, 1.0, 1.0, 1.0]).view(1, 2, 2)
    sigma = compute_equivalent_gaussian_scale(nn.Identity(), (1, 2, 2), deviations)
    assert sigma == pytest.approx(0.1)


def test_the_layer_is_left_alone():
    """The layer given keeps its type, its gradients and its mode."""
    layer = nn.Conv2d(1, 2, 2).train()
    compute_equivalent_gaussian_scale(layer, (1, 4, 4))
    assert layer.weight.dtype == torch.float32
    assert layer.weight.grad is None
    assert layer.training


def test_what_is_no_linear_layer_is_refused():
    """A layer with an activation, one that ignores the image, and scales that do not fit are refused."""
    flat = nn.Sequential(nn.Flatten(), nn.Linear(4, 3))
    with refuses("not affine"):
        compute_equivalent_gaussian_scale(nn.Sequential(flat, nn.ReLU()), (1, 2, 2))
    nn.init.zeros_(flat[1].weight)
    with refuses("same output"):
        compute_equivalent_gaussian_scale(flat, (1, 2, 2))
    with refuses("fits"):
        compute_equivalent_gaussian_scale(flat, (1, 2, 2), torch.ones(4))
    with refuses("above 0"):
        compute_equivalent_gaussian_scale(flat, (1, 2, 2), 0.0)
