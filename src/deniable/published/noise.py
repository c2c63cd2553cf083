"""What DPAL and AdLM share: one draw of Laplace noise for all images, and batch statistics of a network under it."""

from collections.abc import Callable, Iterable

import numpy as np
import torch
from torch import Tensor, nn

from deniable.models.images.networks import ImageNetwork


def draw_laplace_noise(
    random: np.random.Generator, scale: float, shape: tuple[int, ...], dtype: torch.dtype = torch.float32
) -> Tensor:
    """Return a tensor of independent Laplace draws."""
    return torch.from_numpy(random.laplace(0.0, scale, shape)).to(dtype)


def recompute_batch_statistics(
    network: ImageNetwork, forward: Callable[[Tensor], Tensor], batches: Iterable[Tensor]
) -> None:
    """Replace the running means and variances by averages over batches, and leave the network in evaluation mode.

    Under shared noise far larger than what distinguishes two images, a step moves the mean of a unit by more than that;
    a running mean over past steps then does not fit the last parameters.

    Args:
        network: its normalisation layers are updated in place.
        forward: evaluates the network under the noise of training.
        batches: batches of training images (m, channels, height, width), as the run sees them.
    """
    layers = [layer for layer in network.modules() if isinstance(layer, nn.BatchNorm1d | nn.BatchNorm2d)]
    for layer in layers:
        layer.reset_running_stats()
        layer.momentum = None  # the plain average
    network.train()
    with torch.no_grad():
        for images in batches:
            forward(images)
    network.eval()
