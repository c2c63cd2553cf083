"""Views of an example for its own gradient: shifted by a pixel, and under noise."""

import torch
from torch import Tensor
from torch.nn import functional

_MAX_SHIFT = 1
"""By which an image is shifted at most, each way."""


def shift_images(images: Tensor, views: int, generator: torch.Generator) -> Tensor:
    """Return the image itself and further views of it, each shifted by at most a pixel, black where nothing was.

    Args:
        images: (b, channels, height, width), pixels in [0, 1].
        views: v, of each image.
        generator: of the shifts.

    Returns:
        (b, v, channels, height, width).
    """
    batch, _, height, width = images.shape
    padded = functional.pad(images, (_MAX_SHIFT,) * 4)
    # All windows of the padded image: (b, channels, 3, 3, height, width).
    windows = padded.unfold(2, height, 1).unfold(3, width, 1)
    image_indices = torch.arange(batch, device=images.device)
    shifted_views = [images]
    for _ in range(views - 1):
        down, right = torch.randint(2 * _MAX_SHIFT + 1, (2, batch), generator=generator, device=images.device)
        shifted_views.append(windows[image_indices, :, down, right])
    return torch.stack(shifted_views, dim=1)


def add_gaussian_noise(views: Tensor, deviation: float, generator: torch.Generator) -> Tensor:
    """Return views (b, v, channels, height, width) with fresh Gaussian noise on every pixel."""
    return views + deviation * torch.randn(views.shape, generator=generator, device=views.device)
