"""White-box attacks: images near given ones, in an l_inf or l2 ball, that a model is led to misclassify.

Sizes are in the unit of the pixels, which lie in [0, 1] by default; a size of a paper with pixels in [-1, 1]
is twice the size here. Every attack climbs the same loss, see `deniable.robust.gradients`, and stays inside both
the ball and the bounds, up to the rounding of the tensor's type.
"""

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

from deniable.errors import bad_parameter, positive
from deniable.robust.balls import PIXELS, Bounds, check, directions, norms, sizes_of, uniform, unit_ball
from deniable.robust.gradients import loss_gradient
from deniable.robust.types import Scores


class Attack(Protocol):
    """What every entry of `ATTACKS` can be called as; see `pgd` for the arguments."""

    def __call__(
        self,
        scores: Scores,
        images: Tensor,
        labels: Tensor,
        size: float | Tensor,
        *,
        bounds: Bounds = PIXELS,
        draws: int = 1,
        generator: torch.Generator,
    ) -> Tensor:
        """Return the attacked images, of the shape and type of the given ones."""


def fgsm(
    scores: Scores, images: Tensor, labels: Tensor, size: float | Tensor, *, bounds: Bounds = PIXELS, draws: int = 1
) -> Tensor:
    """Return images after one sign step of the whole size (Goodfellow et al. 2015); arguments as of `pgd`."""
    return i_fgsm(scores, images, labels, size, bounds=bounds, draws=draws, steps=1)


def i_fgsm(
    scores: Scores,
    images: Tensor,
    labels: Tensor,
    size: float | Tensor,
    *,
    bounds: Bounds = PIXELS,
    draws: int = 1,
    steps: int = 10,
) -> Tensor:
    """Return images after sign steps of size / steps (Kurakin et al. 2017, section 2.2); arguments as of `pgd`."""
    return mim(scores, images, labels, size, bounds=bounds, draws=draws, steps=steps, decay=0.0)


def mim(
    scores: Scores,
    images: Tensor,
    labels: Tensor,
    size: float | Tensor,
    *,
    bounds: Bounds = PIXELS,
    draws: int = 1,
    steps: int = 10,
    decay: float = 1.0,
) -> Tensor:
    """Return images after sign steps of size / steps along a momentum (Dong et al. 2018, Algorithm 1).

    The momentum is ``decay`` times the one before plus the gradient over its l1 norm; other arguments as of `pgd`.
    """
    check(images, labels, bounds, draws, steps)
    if not decay >= 0:
        raise bad_parameter("mim", "decay", "a float of at least 0", decay)
    sizes = sizes_of(size, images)
    return _sign_steps(scores, images, images, labels, sizes, sizes / steps, bounds, draws, steps, decay)


def pgd(
    scores: Scores,
    images: Tensor,
    labels: Tensor,
    size: float | Tensor,
    *,
    generator: torch.Generator,
    bounds: Bounds = PIXELS,
    draws: int = 1,
    steps: int = 40,
    step: float | None = None,
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
        step: length of one; None for the 2.5 size / steps of Madry et al., which reaches the border of the ball
            from any point in it and then still moves along it.

    Raises:
        InputError: a parameter outside its domain, pixels outside the bounds, or scores that `loss_gradient` refuses.
    """
    check(images, labels, bounds, draws, steps)
    sizes = sizes_of(size, images)
    start = images + sizes * (2 * uniform(images.shape, images, generator) - 1)
    pace = 2.5 * sizes / steps if step is None else torch.full_like(sizes, positive("pgd", "step", step))
    return _sign_steps(scores, start, images, labels, sizes, pace, bounds, draws, steps, decay=0.0)


def pgd_l2(
    scores: Scores,
    images: Tensor,
    labels: Tensor,
    size: float | Tensor,
    *,
    generator: torch.Generator,
    bounds: Bounds = PIXELS,
    draws: int = 1,
    steps: int = 40,
    step: float | None = None,
) -> Tensor:
    """Return images after steps along the gradient from a uniform random point of the l2 ball (Madry et al. 2018).

    To attack inside certified balls, give the certified radii (b,) as the size; other arguments as of `pgd`.
    """
    check(images, labels, bounds, draws, steps)
    sizes = sizes_of(size, images)
    pace = 2.5 * sizes / steps if step is None else torch.full_like(sizes, positive("pgd_l2", "step", step))
    shift = sizes * unit_ball(images, generator)
    point = (images + shift).clamp(*bounds)
    for _ in range(steps if sizes.any() else 0):
        shift = point + pace * directions(loss_gradient(scores, point, labels, draws)) - images
        shift = shift * (sizes / norms(shift)).clamp(max=1.0)
        point = (images + shift).clamp(*bounds)  # moves no pixel away from its image, so the ball is not left
    return point


def _sign_steps(
    scores: Scores,
    start: Tensor,
    images: Tensor,
    labels: Tensor,
    sizes: Tensor,
    pace: Tensor,
    bounds: Bounds,
    draws: int,
    steps: int,
    decay: float,
) -> Tensor:
    """Climb from the start by sign steps, each projected on the box that ball and bounds share."""
    low, high = (images - sizes).clamp(*bounds), (images + sizes).clamp(*bounds)
    point, momentum = start.clamp(low, high), torch.zeros_like(images)
    for _ in range(steps if sizes.any() else 0):
        gradient = loss_gradient(scores, point, labels, draws)
        momentum = decay * momentum + gradient / norms(gradient, order=1)
        point = (point + pace * momentum.sign()).clamp(low, high)
    return point


def _without_start(attack: Callable[..., Tensor]) -> Attack:
    """Return an attack that draws nothing of its own as one that is called like those that do."""

    def called(
        scores: Scores,
        images: Tensor,
        labels: Tensor,
        size: float | Tensor,
        *,
        bounds: Bounds = PIXELS,
        draws: int = 1,
        generator: torch.Generator,
    ) -> Tensor:
        del generator
        return attack(scores, images, labels, size, bounds=bounds, draws=draws)

    return called


ATTACKS: dict[str, Attack] = {
    "fgsm": _without_start(fgsm),
    "i-fgsm": _without_start(i_fgsm),
    "mim": _without_start(mim),
    "pgd": pgd,
}
"""The l_inf attacks of Phan et al. 2020 at their settings: 10 steps, momentum with decay 1, and 40 steps of PGD."""
