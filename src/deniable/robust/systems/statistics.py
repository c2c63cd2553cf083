"""The running statistics of batch normalisation, taken anew for the parameters that a run ends with."""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn

from deniable.robust.networks import ImageNetwork


def recompute_batch_statistics(
    network: ImageNetwork, forward: Callable[[Tensor], Tensor], batches: Iterable[Tensor]
) -> None:
    """Replace the running means and variances by averages over batches, and leave the network in evaluation mode.

    Under shared noise far larger than what distinguishes two images, a step moves the mean of a unit by more than that;
    a running mean over past steps then does not fit the last parameters.

    Args:
        network: whose normalisation is settled.
        forward: of the network under the noise of training.
        batches: of training images (m, channels, height, width), as the run sees them.
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
