"""Noise after a linear layer, and the noise on the pixels that it is equivalent to.

An attack v on the pixels moves h = W x + c by W v. With independent noise of scale s_j on h_j, all that is computed
from h is a function of (h + noise) / s, and there the attack has the size ||diag(1/s) W v||. The layer's noise
therefore certifies what noise on the pixels of scale 1 / ||diag(1/s) W|| would, with the operator norm from the norm of
the attack to that of the noise: l2 to l2 for Gaussian noise, l1 to l1 for Laplace noise. That holds for noise that
differs among the coordinates.
"""

import copy
import math
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn

from deniable.core.errors import InputError, make_parameter_error
from deniable.models.images.networks import ImageNetwork, ImageShape
from deniable.models.shared.draws import make_noise_generator

_BASIS_BATCH = 128
"""Number of basis images in one call of the layer."""
_NORM_ROUNDING = 2.0**-34
"""Relative error granted to the norm: 2^-52 for each of at most 2^18 sums of float64. The scale is smaller by it."""


class PixelFirstLayer(nn.Module):
    """The first layer of a network as a map of pixels in [0, 1]."""

    def __init__(self, network: ImageNetwork) -> None:
        super().__init__()
        self.first = network.first

    def forward(self, images: Tensor) -> Tensor:
        """Return (b, maps, height', width') of images (b, channels, height, width)."""
        hidden: Tensor = self.first(2 * images - 1)
        return hidden


def compute_equivalent_gaussian_scale(layer: nn.Module, shape: ImageShape, deviations: float | Tensor = 1.0) -> float:
    """Return the standard deviation of pixel noise equivalent to Gaussian noise after a linear layer, for l2 attacks.

    It is 1 / ||diag(1/s) W||_2, by the largest eigenvalue of the Gram matrix W^T diag(1/s^2) W (d, d) in float64. For
    noise of deviation 1, one over it is the layer's operator norm, from above. A layer that computes in float32 differs
    from its matrix by roundings of about 1e-7, relative, which the certificates do not count.

    Args:
        layer: linear or affine, from (b, *shape) to (b, ...); evaluated as a copy in float64.
        shape: of an image, (channels, height, width).
        deviations: s, > 0, of a shape that fits the layer's output for one image.

    Raises:
        InputError: a layer that is not affine or always 0, or deviations that are not positive or do not fit.
    """
    layer64, offset, scales = _prepare_layer(layer, shape, deviations)
    rows = []
    for basis in _iterate_unit_images(shape):
        basis.requires_grad_()
        output = layer64(basis) - offset  # W e_i
        (row,) = torch.autograd.grad(output, basis, output.detach() / scales**2)
        rows.append(row.flatten(1))
    return _invert_norm(math.sqrt(max(np.linalg.eigvalsh(torch.cat(rows).numpy())[-1], 0.0)))


def compute_equivalent_laplace_scale(layer: nn.Module, shape: ImageShape, scales: float | Tensor = 1.0) -> float:
    """Return the scale of pixel noise equivalent to Laplace noise after a linear layer, for l1 attacks.

    It is 1 / max over pixels i of sum_j |W_ji| / b_j, the largest weighted column sum. Arguments and errors as of
    `compute_equivalent_gaussian_scale`.
    """
    layer64, offset, scales64 = _prepare_layer(layer, shape, scales)
    with torch.no_grad():
        sums = [((layer64(basis) - offset).abs() / scales64).flatten(1).sum(1) for basis in _iterate_unit_images(shape)]
    return _invert_norm(float(torch.cat(sums).max()))


def _invert_norm(norm: float) -> float:
    if norm <= 0:
        raise InputError("The layer gives the same output for every image: noise after it hides the image entirely.")
    return (1 - _NORM_ROUNDING) / norm


def _iterate_unit_images(shape: ImageShape) -> Iterator[Tensor]:
    """Yield the unit images e_i (b, *shape) in float64, a batch at a time."""
    size = math.prod(shape)
    for first in range(0, size, _BASIS_BATCH):
        basis = torch.zeros(min(_BASIS_BATCH, size - first), size, dtype=torch.float64)
        basis[:, first:].fill_diagonal_(1.0)
        yield basis.view(-1, *shape)


def _prepare_layer(layer: nn.Module, shape: ImageShape, scales: float | Tensor) -> tuple[nn.Module, Tensor, Tensor]:
    """Return the layer in float64, its output c at 0, and the scales in the shape of one output."""
    layer64 = copy.deepcopy(layer).cpu().double().eval()
    scales64 = torch.as_tensor(scales, dtype=torch.float64).cpu()
    if not (scales64.isfinite() & (scales64 > 0)).all():
        raise make_parameter_error("noise after a layer", "scales", "finite numbers above 0", scales)
    first, second = torch.randn(2, 4, *shape, generator=make_noise_generator(), dtype=torch.float64)
    with torch.no_grad():
        offset = layer64(torch.zeros(1, *shape, dtype=torch.float64))
        output_of_sum, sum_of_outputs = layer64(first + second) - offset, layer64(first) + layer64(second) - 2 * offset
    if not torch.allclose(output_of_sum, sum_of_outputs, rtol=1e-8, atol=1e-8 * float(1 + sum_of_outputs.abs().max())):
        raise InputError("The layer is not affine: give only the part before the noise, without activation.")
    try:
        return layer64, offset, scales64.expand(offset.shape[1:])
    except RuntimeError:
        expected = f"of a shape that fits {tuple(offset.shape[1:])}"
        raise make_parameter_error("noise after a layer", "scales", expected, tuple(scales64.shape)) from None
