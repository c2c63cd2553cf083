"""Views of an example for its own gradient: shifted by a pixel, and under noise."""

import torch
from torch import Tensor
from torch.nn import functional

_PIXELS = 1
"""By which an image is shifted at most, each way."""


def shifted(images: Tensor, views: int, source: torch.Generator) -> Tensor:
    """Return the image itself and further views of it, each shifted by at most a pixel, black where nothing was.

    Args:
        images: (b, channels, height, width), pixels in [0, 1].
        views: v, of each image.
        source: of the shifts.

    Returns:
        (b, v, channels, height, width).
    """
    batch, _, height, width = images.shape
    wide = functional.pad(images, (_PIXELS,) * 4)
    # All windows of the padded image: (b, channels, 3, 3, height, width).
    windows = wide.unfold(2, height, 1).unfold(3, width, 1)
    of = torch.arange(batch, device=images.device)
    found = [images]
    for _ in range(views - 1):
        down, right = torch.randint(2 * _PIXELS + 1, (2, batch), generator=source, device=images.device)
        found.append(windows[of, :, down, right])
    return torch.stack(found, dim=1)


def noised(views: Tensor, deviation: float, source: torch.Generator) -> Tensor:
    """Return views (b, v, channels, height, width) with fresh Gaussian noise on every pixel."""
    return views + deviation * torch.randn(views.shape, generator=source, device=views.device)
