"""The attack on l1 balls: sparse ascent (Tramer and Boneh 2019, section 4.2)."""

import torch
from torch import Tensor

from deniable.robust.balls import PIXELS, Bounds, check, rows, sizes_of
from deniable.robust.gradients import loss_gradient
from deniable.robust.types import Scores

_SPARSE = 100
"""One pixel in so many moves in a step, those with the largest gradients."""


def pgd_l1(
    scores: Scores,
    images: Tensor,
    labels: Tensor,
    size: float | Tensor,
    *,
    generator: torch.Generator,
    bounds: Bounds = PIXELS,
    draws: int = 1,
    steps: int = 40,
) -> Tensor:
    """Return images after steps along the largest gradients in the l1 ball; arguments as of `pgd`.

    A step moves the pixels with the largest gradients that the bounds still let move, each alike and by
    2.5 size / steps in all, and the image is projected back on the ball. It starts at the image, so the generator
    draws nothing.
    """
    del generator
    check(images, labels, bounds, draws, steps)
    sizes = sizes_of(size, images)
    point, moved = images, max(1, images[0].numel() // _SPARSE)
    for _ in range(steps if sizes.any() else 0):
        gradient = loss_gradient(scores, point, labels, draws)
        stuck = torch.where(gradient > 0, point >= bounds[1], point <= bounds[0])
        chosen = gradient.abs().masked_fill(stuck, 0.0).flatten(1)
        most = chosen.topk(moved, dim=1).values[:, -1]
        step = gradient.sign() * ((chosen >= most[:, None]) & (chosen > 0)).view_as(images)
        shift = point + 2.5 * sizes / steps / moved * step - images
        point = (images + l1_projected(shift, sizes.flatten())).clamp(*bounds)
    return point


def l1_projected(shift: Tensor, sizes: Tensor) -> Tensor:
    """Return the nearest points (b, ...) of l1 balls of the given sizes (b,) (Duchi et al. 2008, Figure 1)."""
    flat = shift.flatten(1).abs()
    ordered = flat.sort(dim=1, descending=True).values
    levels = (ordered.cumsum(1) - sizes[:, None]) / torch.arange(1, flat.shape[1] + 1, device=shift.device)
    kept = (ordered > levels).sum(1, keepdim=True).clamp(min=1)
    cut = rows(levels.gather(1, kept - 1).clamp(min=0)[:, 0], shift)
    return shift.sign() * (shift.abs() - cut).clamp(min=0)
