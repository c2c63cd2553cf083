"""White-box attacks: images near given ones, in an l_inf or l2 ball, that a model is led to misclassify.

Sizes are in the unit of the pixels, which lie in [0, 1] by default; a size of a paper with pixels in [-1, 1]
is twice the size here. Every attack climbs the same loss, see `deniable.robust.gradients`, and stays inside both
the ball and the bounds, up to the rounding of the tensor's type.
"""

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

from deniable.errors import check_positive, make_parameter_error
from deniable.robust.balls import (
    UNIT_BOUNDS,
    PixelBounds,
    check_attack_inputs,
    compute_norms,
    draw_in_unit_ball,
    draw_uniform,
    normalize_images,
    parse_attack_sizes,
)
from deniable.robust.gradients import compute_loss_gradient
from deniable.robust.types import ImageScorer


class ImageAttack(Protocol):
    """What every entry of `IMAGE_ATTACKS` can be called as; see `pgd` for the arguments."""

    def __call__(
        self,
        scores: ImageScorer,
        images: Tensor,
        labels: Tensor,
        size: float | Tensor,
        *,
        bounds: PixelBounds = UNIT_BOUNDS,
        draws: int = 1,
        generator: torch.Generator,
    ) -> Tensor:
        """Return the attacked images, of the shape and type of the given ones."""


def fgsm(
    scores: ImageScorer,
    images: Tensor,
    labels: Tensor,
    size: float | Tensor,
    *,
    bounds: PixelBounds = UNIT_BOUNDS,
    draws: int = 1,
) -> Tensor:
    """Return images after one sign step of the whole size (Goodfellow et al. 2015); arguments as of `pgd`."""
    return i_fgsm(scores, images, labels, size, bounds=bounds, draws=draws, steps=1)


def i_fgsm(
    scores: ImageScorer,
    images: Tensor,
    labels: Tensor,
    size: float | Tensor,
    *,
    bounds: PixelBounds = UNIT_BOUNDS,
    draws: int = 1,
    steps: int = 10,
) -> Tensor:
    """Return images after sign steps of size / steps (Kurakin et al. 2017, section 2.2); arguments as of `pgd`."""
    return mim(scores, images, labels, size, bounds=bounds, draws=draws, steps=steps, decay=0.0)


def mim(
    scores: ImageScorer,
    images: Tensor,
    labels: Tensor,
    size: float | Tensor,
    *,
    bounds: PixelBounds = UNIT_BOUNDS,
    draws: int = 1,
    steps: int = 10,
    decay: float = 1.0,
) -> Tensor:
    """Return images after sign steps of size / steps along a momentum (Dong et al. 2018, Algorithm 1).

    The momentum is ``decay`` times the one before plus the gradient over its l1 norm; other arguments as of `pgd`.
    """
    check_attack_inputs(images, labels, bounds, draws, steps)
    if not decay >= 0:
        raise make_parameter_error("mim", "decay", "a float of at least 0", decay)
    sizes = parse_attack_sizes(size, images)
    return _take_sign_steps(scores, images, images, labels, sizes, sizes / steps, bounds, draws, steps, decay)


def pgd(
    scores: ImageScorer,
    images: Tensor,
    labels: Tensor,
    size: float | Tensor,
    *,
    generator: torch.Generator,
    bounds: PixelBounds = UNIT_BOUNDS,
    draws: int = 1,
    steps: int = 40,
    step_size: float | None = None,
) -> Tensor:
    """Return images after sign steps from a uniform random point of the l_inf ball (Madry et al. 2018).

    Args:
        scores: the model; a randomized one draws fresh noise at every call.
        images: floats (b, ...) inside the bounds.
        labels: int64 (b,), the classes to lead away from.
        size: radius of the ball, one for all or (b,), in the unit of the pixels.
        generator: draws the start.
        bounds: least and greatest pixel; (-inf, inf) for none.
        draws: calls of the model that each gradient averages over.
        steps: number of gradients.
        step_size: length of one; None for the 2.5 size / steps of Madry et al., which reaches the border of the ball
            from any point in it and then still moves along it.

    Raises:
        InputError: a parameter outside its domain, pixels outside the bounds, or scores that `compute_loss_gradient` refuses.
    """
    check_attack_inputs(images, labels, bounds, draws, steps)
    sizes = parse_attack_sizes(size, images)
    starts = images + sizes * (2 * draw_uniform(images.shape, images, generator) - 1)
    step_sizes = (
        2.5 * sizes / steps if step_size is None else torch.full_like(sizes, check_positive("pgd", "step", step_size))
    )
    return _take_sign_steps(scores, starts, images, labels, sizes, step_sizes, bounds, draws, steps, decay=0.0)


def pgd_l2(
    scores: ImageScorer,
    images: Tensor,
    labels: Tensor,
    size: float | Tensor,
    *,
    generator: torch.Generator,
    bounds: PixelBounds = UNIT_BOUNDS,
    draws: int = 1,
    steps: int = 40,
    step_size: float | None = None,
) -> Tensor:
    """Return images after steps along the gradient from a uniform random point of the l2 ball (Madry et al. 2018).

    To attack inside certified balls, give the certified radii (b,) as the size; other arguments as of `pgd`.
    """
    check_attack_inputs(images, labels, bounds, draws, steps)
    sizes = parse_attack_sizes(size, images)
    step_sizes = (
        2.5 * sizes / steps
        if step_size is None
        else torch.full_like(sizes, check_positive("pgd_l2", "step", step_size))
    )
    perturbations = sizes * draw_in_unit_ball(images, generator)
    points = (images + perturbations).clamp(*bounds)
    for _ in range(steps if sizes.any() else 0):
        perturbations = (
            points + step_sizes * normalize_images(compute_loss_gradient(scores, points, labels, draws)) - images
        )
        perturbations = perturbations * (sizes / compute_norms(perturbations)).clamp(max=1.0)
        points = (images + perturbations).clamp(*bounds)  # moves no pixel away from its image, so the ball is not left
    return points


def _take_sign_steps(
    scores: ImageScorer,
    start: Tensor,
    images: Tensor,
    labels: Tensor,
    sizes: Tensor,
    step_sizes: Tensor,
    bounds: PixelBounds,
    draws: int,
    steps: int,
    decay: float,
) -> Tensor:
    """Climb from the start by sign steps, each projected on the box that ball and bounds share."""
    low, high = (images - sizes).clamp(*bounds), (images + sizes).clamp(*bounds)
    points, momentum = start.clamp(low, high), torch.zeros_like(images)
    for _ in range(steps if sizes.any() else 0):
        gradient = compute_loss_gradient(scores, points, labels, draws)
        momentum = decay * momentum + gradient / compute_norms(gradient, order=1)
        points = (points + step_sizes * momentum.sign()).clamp(low, high)
    return points


def _ignore_generator(attack: Callable[..., Tensor]) -> ImageAttack:
    """Return an attack that draws nothing of its own as one that is called like those that do."""

    def attack_without_generator(
        scores: ImageScorer,
        images: Tensor,
        labels: Tensor,
        size: float | Tensor,
        *,
        bounds: PixelBounds = UNIT_BOUNDS,
        draws: int = 1,
        generator: torch.Generator,
    ) -> Tensor:
        del generator
        return attack(scores, images, labels, size, bounds=bounds, draws=draws)

    return attack_without_generator


IMAGE_ATTACKS: dict[str, ImageAttack] = {
    "fgsm": _ignore_generator(fgsm),
    "i-fgsm": _ignore_generator(i_fgsm),
    "mim": _ignore_generator(mim),
    "pgd": pgd,
}
"""The l_inf attacks of Phan et al. 2020 at their settings: 10 steps, momentum with decay 1, and 40 steps of PGD."""
