"""Attacks on image classifiers inside l_inf, l2 and l1 balls, by gradients that average over a model's noise.

Sizes are in the unit of the pixels, which lie in [0, 1] by default: a size in a paper with pixels in [-1, 1] is twice
the size here. Every attack increases the same loss, see `compute_loss_gradient`, and stays inside both the ball and the
bounds of the pixels, up to the rounding of the tensor's type.
"""

from typing import Protocol

import torch
from torch import Tensor

from deniable.core.errors import InputError, check_positive, make_parameter_error
from deniable.models.images.balls import (
    UNIT_BOUNDS,
    PixelBounds,
    broadcast_per_image,
    check_attack_inputs,
    compute_norms,
    draw_in_unit_ball,
    draw_uniform,
    normalize_images,
    parse_attack_sizes,
)
from deniable.models.shared.tally import ImageScorer

_SPARSITY = 100
"""One pixel in this many moves in a step of `pgd_l1`, those with the largest gradients."""
_DETACHED_SCORES = (
    "The scores do not depend on the images in a way that torch can differentiate: return logits, undetached."
)


def compute_loss_gradient(scores: ImageScorer, images: Tensor, labels: Tensor, draws: int = 1) -> Tensor:
    """Return the gradient, by the images, of minus the log of the label's probability averaged over draws.

    This is expectation over transformation (Athalye et al. 2018, section 3) for the classifier that averages
    the softmax over its noise: with p_s the label's probability in draw s, the gradient is the average of
    grad(-log p_s) weighted by p_s. With one draw, or without noise, it is that of the cross-entropy. One draw is
    kept at a time, so memory does not grow with their number. Parameters of the model get no gradient.

    Args:
        scores: the model.
        images: floats (b, ...).
        labels: int64 (b,).
        draws: how often a randomized model is called.

    Raises:
        InputError: the scores are not finite (b, K), do not depend on the images, or lack the class of a label.
    """
    with torch.inference_mode(mode=False), torch.enable_grad():
        points, targets = images.detach().clone().requires_grad_(), labels.clone()
        # The largest log p_s so far, so that no sum underflows.
        maximum_log_p = images.new_full(labels.shape, -torch.inf)
        total_weight, gradient = torch.zeros_like(maximum_log_p), torch.zeros_like(images)
        for _ in range(draws):
            logits = _check_scores(scores(points), targets)
            log_p = logits.log_softmax(dim=1).gather(1, targets[:, None])[:, 0]
            (draw_gradient,) = torch.autograd.grad(log_p.sum(), points, allow_unused=True)
            if draw_gradient is None:
                raise InputError(_DETACHED_SCORES)
            log_p = log_p.detach().to(maximum_log_p)
            new_maximum = maximum_log_p.maximum(log_p)
            old_weight, weight = (maximum_log_p - new_maximum).exp(), (log_p - new_maximum).exp()
            total_weight = old_weight * total_weight + weight
            gradient = (
                broadcast_per_image(old_weight, images) * gradient - broadcast_per_image(weight, images) * draw_gradient
            )
            maximum_log_p = new_maximum
    gradient /= broadcast_per_image(total_weight, images)
    if not gradient.isfinite().all():
        raise InputError("The gradient of the scores is not finite: an attack needs a differentiable model.")
    return gradient


def _check_scores(scores: Tensor, labels: Tensor) -> Tensor:
    """Return the scores (b, K) if they can be used, else raise `InputError`."""
    if scores.ndim != 2 or len(scores) != len(labels):  # noqa: PLR2004 - (b, K)
        shape = tuple(scores.shape)
        raise InputError(f"The model must give scores ({len(labels)}, K), a row for each image. Got the shape {shape}.")
    if not scores.isfinite().all():
        raise InputError("The model gives scores that are not finite: an attack needs finite logits.")
    if not scores.requires_grad:
        raise InputError(_DETACHED_SCORES)
    classes = scores.shape[1]
    unknown_labels = labels[(labels < 0) | (labels >= classes)]
    if len(unknown_labels):
        raise InputError(
            f"The label {unknown_labels[0].item()} is no class of the model: labels must be 0 to {classes - 1}."
        )
    return scores


class ImageAttack(Protocol):
    """How every entry of `IMAGE_ATTACKS` can be called; see `pgd` for the arguments."""

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
    generator: torch.Generator | None = None,  # noqa: ARG001 - an `ImageAttack`; nothing is drawn
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
    generator: torch.Generator | None = None,  # noqa: ARG001 - an `ImageAttack`; nothing is drawn
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
    generator: torch.Generator | None = None,  # noqa: ARG001 - an `ImageAttack`; nothing is drawn
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
        labels: int64 (b,), the classes whose loss is increased.
        size: radius of the ball, one for all or (b,), in the unit of the pixels.
        generator: source of the random start.
        bounds: smallest and largest pixel; (-inf, inf) for none.
        draws: calls of the model that each gradient averages over.
        steps: number of gradients.
        step_size: length of a step; None for the 2.5 size / steps of Madry et al., which reaches the border of the
            ball from any point in it and can still move along it.

    Raises:
        InputError: a parameter outside its domain, pixels outside the bounds, or what `compute_loss_gradient` raises.
    """
    check_attack_inputs(images, labels, bounds, draws, steps)
    sizes = parse_attack_sizes(size, images)
    starts = images + sizes * (2 * draw_uniform(images.shape, images, generator) - 1)
    step_sizes = _choose_step_sizes(sizes, steps, step_size)
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
    step_sizes = _choose_step_sizes(sizes, steps, step_size)
    perturbations = sizes * draw_in_unit_ball(images, generator)
    points = (images + perturbations).clamp(*bounds)
    for _ in range(steps if sizes.any() else 0):
        perturbations = (
            points + step_sizes * normalize_images(compute_loss_gradient(scores, points, labels, draws)) - images
        )
        perturbations = perturbations * (sizes / compute_norms(perturbations)).clamp(max=1.0)
        points = (images + perturbations).clamp(*bounds)  # moves no pixel away from its image, so the ball is not left
    return points


def _choose_step_sizes(sizes: Tensor, steps: int, step_size: float | None) -> Tensor:
    if step_size is None:
        return 2.5 * sizes / steps
    return torch.full_like(sizes, check_positive("an attack", "step_size", step_size))


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


IMAGE_ATTACKS: dict[str, ImageAttack] = {
    "fgsm": fgsm,
    "i-fgsm": i_fgsm,
    "mim": mim,
    "pgd": pgd,
}
"""The l_inf attacks of Phan et al. 2020 at their settings: 10 steps, momentum with decay 1, and 40 steps of PGD."""


def pgd_l1(
    scores: ImageScorer,
    images: Tensor,
    labels: Tensor,
    size: float | Tensor,
    *,
    generator: torch.Generator,  # noqa: ARG001 - an `ImageAttack`; nothing is drawn
    bounds: PixelBounds = UNIT_BOUNDS,
    draws: int = 1,
    steps: int = 40,
) -> Tensor:
    """Return images after sparse ascent in the l1 ball (Tramer and Boneh 2019, section 4.2); arguments as of `pgd`.

    A step moves the pixels with the largest gradients that the bounds still let move, each alike and by
    2.5 size / steps in all, and the image is projected back on the ball. It starts at the image.
    """
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
