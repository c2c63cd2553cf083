"""Noise after a linear layer: the noise on the pixels that it is worth.

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

from deniable.errors import InputError, bad_parameter
from deniable.robust.networks import Network

Shape = tuple[int, ...]
_BATCH = 128
"""Basis images in one call of the layer."""
_ROUNDING = 2.0**-34
"""Relative error granted to the norm: 2^-52 for each of at most 2^18 sums of float64. The scale is smaller by it."""


class FirstLayer(nn.Module):
    """The first layer of a network as a map of pixels in [0, 1]."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.first = network.first

    def forward(self, images: Tensor) -> Tensor:
        """Return (b, maps, height', width') of images (b, channels, height, width)."""
        hidden: Tensor = self.first(2 * images - 1)
        return hidden


def gaussian_scale(layer: nn.Module, shape: Shape, deviations: float | Tensor = 1.0) -> float:
    """Return the standard deviation of pixel noise that Gaussian noise after a linear layer is worth, for l2 attacks.

    It is 1 / ||diag(1/s) W||_2, by the largest eigenvalue of the Gram matrix W^T diag(1/s^2) W (d, d) in float64. For
    noise of deviation 1, one over it is the layer's operator norm, from above. A layer that computes in float32 differs
    from its matrix by roundings of about 1e-7, relative, which the certificates do not count.

    Args:
        layer: linear or affine, from (b, *shape) to (b, ...); a copy of it in float64 is evaluated.
        shape: of an image, (channels, height, width).
        deviations: s, > 0, of a shape that fits the layer's output for one image.

    Raises:
        InputError: a layer that is not affine or always 0, or deviations that are not positive or do not fit.
    """
    exact, start, weights = _prepared(layer, shape, deviations)
    rows = []
    for basis in _bases(shape):
        basis.requires_grad_()
        moved = exact(basis) - start  # W e_i
        (row,) = torch.autograd.grad(moved, basis, moved.detach() / weights**2)
        rows.append(row.flatten(1))
    return _worth(math.sqrt(max(np.linalg.eigvalsh(torch.cat(rows).numpy())[-1], 0.0)))


def laplace_scale(layer: nn.Module, shape: Shape, scales: float | Tensor = 1.0) -> float:
    """Return the scale of pixel noise that Laplace noise after a linear layer is worth, for l1 attacks.

    It is 1 / max over pixels i of sum_j |W_ji| / b_j, the largest weighted column sum. Arguments and errors as of
    `gaussian_scale`.
    """
    exact, start, weights = _prepared(layer, shape, scales)
    with torch.no_grad():
        sums = [((exact(basis) - start).abs() / weights).flatten(1).sum(1) for basis in _bases(shape)]
    return _worth(float(torch.cat(sums).max()))


def _worth(norm: float) -> float:
    if norm <= 0:
        raise InputError("The layer gives the same output for every image: noise after it is worth infinitely much.")
    return (1 - _ROUNDING) / norm


def _bases(shape: Shape) -> Iterator[Tensor]:
    """Yield the unit images e_i (b, *shape) in float64, a batch at a time."""
    size = math.prod(shape)
    for first in range(0, size, _BATCH):
        basis = torch.zeros(min(_BATCH, size - first), size, dtype=torch.float64)
        basis[:, first:].fill_diagonal_(1.0)
        yield basis.view(-1, *shape)


def _prepared(layer: nn.Module, shape: Shape, scales: float | Tensor) -> tuple[nn.Module, Tensor, Tensor]:
    """Return the layer in float64, its output c at 0, and the scales in the shape of one output."""
    exact = copy.deepcopy(layer).cpu().double().eval()
    weights = torch.as_tensor(scales, dtype=torch.float64).cpu()
    if not (weights.isfinite() & (weights > 0)).all():
        raise bad_parameter("noise after a layer", "scales", "finite numbers above 0", scales)
    first, second = torch.randn(2, 4, *shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    with torch.no_grad():
        start = exact(torch.zeros(1, *shape, dtype=torch.float64))
        together, apart = exact(first + second) - start, exact(first) + exact(second) - 2 * start
    if not torch.allclose(together, apart, rtol=1e-8, atol=1e-8 * float(1 + apart.abs().max())):
        raise InputError("The layer is not affine: give only what stands before the noise, without activation.")
    try:
        return exact, start, weights.expand(start.shape[1:])
    except RuntimeError:
        fits = f"of a shape that fits {tuple(start.shape[1:])}"
        raise bad_parameter("noise after a layer", "scales", fits, tuple(weights.shape)) from None
