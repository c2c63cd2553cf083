"""The attack on l1 balls: sparse ascent (Tramer and Boneh 2019, section 4.2)."""

import torch
from torch import Tensor

from deniable.robust.balls import UNIT_BOUNDS, PixelBounds, broadcast_per_image, check_attack_inputs, parse_attack_sizes
from deniable.robust.gradients import compute_loss_gradient
from deniable.robust.types import ImageScorer

_SPARSITY = 100
"""One pixel in so many moves in a step, those with the largest gradients."""


def pgd_l1(
    scores: ImageScorer,
    images: Tensor,
    labels: Tensor,
    size: float | Tensor,
    *,
    generator: torch.Generator,
    bounds: PixelBounds = UNIT_BOUNDS,
    draws: int = 1,
    steps: int = 40,
) -> Tensor:
    """Return images after steps along the largest gradients in the l1 ball; arguments as of `pgd`.

    A step moves the pixels with the largest gradients that the bounds still let move, each alike and by
    2.5 size / steps in all, and the image is projected back on the ball. It starts at the image, so the generator
    draws nothing.
    """
    del generator
    check_attack_inputs(images, labels, bounds, draws, steps)
    sizes = parse_attack_sizes(size, images)
    points, moved_count = images, max(1, images[0].numel() // _SPARSITY)
    for _ in range(steps if sizes.any() else 0):
        gradient = compute_loss_gradient(scores, points, labels, draws)
        is_at_bound = torch.where(gradient > 0, points >= bounds[1], points <= bounds[0])
        magnitudes = gradient.abs().masked_fill(is_at_bound, 0.0).flatten(1)
        thresholds = magnitudes.topk(moved_count, dim=1).values[:, -1]
        directions = gradient.sign() * ((magnitudes >= thresholds[:, None]) & (magnitudes > 0)).view_as(images)
        perturbations = points + 2.5 * sizes / steps / moved_count * directions - images
        points = (images + project_on_l1_balls(perturbations, sizes.flatten())).clamp(*bounds)
    return points


def project_on_l1_balls(perturbations: Tensor, radii: Tensor) -> Tensor:
    """Return the nearest points (b, ...) of l1 balls of the given sizes (b,) (Duchi et al. 2008, Figure 1)."""
    magnitudes = perturbations.flatten(1).abs()
    sorted_magnitudes = magnitudes.sort(dim=1, descending=True).values
    levels = (sorted_magnitudes.cumsum(1) - radii[:, None]) / torch.arange(
        1, magnitudes.shape[1] + 1, device=perturbations.device
    )
    support_sizes = (sorted_magnitudes > levels).sum(1, keepdim=True).clamp(min=1)
    thresholds = broadcast_per_image(levels.gather(1, support_sizes - 1).clamp(min=0)[:, 0], perturbations)
    return perturbations.sign() * (perturbations.abs() - thresholds).clamp(min=0)
