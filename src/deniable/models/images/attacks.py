"""Attacks on image classifiers inside l_inf, l2 and l1 balls, by gradients that average over a model's noise.

Sizes are in the unit of the pixels, which lie in [0, 1] by default: a size in a paper with pixels in [-1, 1] is twice
the size here. Every attack increases the same loss, see `compute_loss_gradient`, and stays inside both the ball and the
bounds of the pixels, up to the rounding of the tensor's type.
"""

import abc
import dataclasses
from collections.abc import Callable, Sequence
from numbers import Real

import torch
from torch import Tensor

from deniable.core.errors import InputError, check_count, check_positive, make_parameter_error
from deniable.core.numbers import format_exact
from deniable.models.tally import ImageScorer, check_logits, make_noise_generator

_SPARSITY = 100
"""One pixel in this many moves in a step of `L1Attack`, those with the largest gradients."""
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
            logits = check_logits(scores(points), len(targets))
            if not logits.requires_grad:
                raise InputError(_DETACHED_SCORES)
            unknown_labels = targets[(targets < 0) | (targets >= logits.shape[1])]
            if len(unknown_labels):
                raise InputError(
                    f"The label {unknown_labels[0].item()} is not a class of the model: labels must be 0 to "
                    f"{logits.shape[1] - 1}."
                )
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


ImageMap = Callable[[Tensor], Tensor]
"""From images (b, ...) to others of their shape."""


@dataclasses.dataclass(frozen=True)
class ImageAttack(abc.ABC):
    """An attack inside a ball around each image: called, it returns images whose classes have a larger loss.

    Attributes:
        steps: number of gradients.
        draws: calls of the model that each gradient averages over.
        bounds: smallest and largest pixel; (-inf, inf) for none.
        stride: length of a step in units of size / steps; at 2.5, as in Madry et al. 2018, the border of the ball can
            be reached from any point in it, with steps left to move along it.

    Raises:
        InputError: a value outside its domain.
    """

    steps: int = 40
    draws: int = 1
    bounds: tuple[float, float] = (0.0, 1.0)
    stride: float = 2.5

    def __post_init__(self) -> None:
        for name in ("steps", "draws"):
            check_count("an attack", name, getattr(self, name))
        check_positive("an attack", "stride", self.stride)
        if not self.bounds[0] < self.bounds[1]:
            raise make_parameter_error("an attack", "bounds", "two numbers, the lower first", self.bounds)

    def __call__(
        self,
        scores: ImageScorer,
        images: Tensor,
        labels: Tensor,
        size: float | Tensor,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return the attacked images, of the shape and type of the given ones.

        Args:
            scores: the model; a randomized one draws fresh noise at every call.
            images: floats (b, ...) inside the bounds.
            labels: int64 (b,), the classes whose loss is increased.
            size: radius of the ball, one for all or (b,), such as certified radii, in the unit of the pixels.
            generator: source of a random start; None for fresh randomness.

        Raises:
            InputError: an argument outside its domain, pixels outside the bounds, or what `compute_loss_gradient`
                raises.
        """
        _check_attacked_images(images, labels, self.bounds)
        sizes = _parse_attack_sizes(size, images)

        def gradient_at(points: Tensor) -> Tensor:
            return compute_loss_gradient(scores, points, labels, self.draws)

        return self._climb(gradient_at, images, sizes, generator or make_noise_generator())

    @abc.abstractmethod
    def _climb(self, gradient_at: ImageMap, images: Tensor, sizes: Tensor, generator: torch.Generator) -> Tensor:
        """Return where the steps from the images lead; ``sizes`` is shaped as `broadcast_per_image`."""


@dataclasses.dataclass(frozen=True)
class SignAttack(ImageAttack):
    """Sign steps inside the l_inf ball: FGSM, I-FGSM, MIM and PGD.

    With one step and the stride 1 it is FGSM (Goodfellow et al. 2015), with more of them I-FGSM (Kurakin et al. 2017,
    section 2.2), with a decay MIM (Dong et al. 2018, Algorithm 1), and from a uniform random point of the ball PGD
    (Madry et al. 2018).

    Attributes:
        decay: of the momentum along which steps are taken: ``decay`` times the one before, plus the gradient over its
            l1 norm.
        random_start: whether it starts at a random point of the ball, and not at the image.
    """

    decay: float = 0.0
    random_start: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.decay >= 0:
            raise make_parameter_error("an attack", "decay", "a float of at least 0", self.decay)

    def _climb(self, gradient_at: ImageMap, images: Tensor, sizes: Tensor, generator: torch.Generator) -> Tensor:
        # The box that ball and bounds share.
        low, high = (images - sizes).clamp(*self.bounds), (images + sizes).clamp(*self.bounds)
        points, momentum = images, torch.zeros_like(images)
        if self.random_start:
            points = images + sizes * (2 * _draw_uniform(images.shape, images, generator) - 1)
        points = points.clamp(low, high)
        for _ in range(self.steps if sizes.any() else 0):
            gradient = gradient_at(points)
            momentum = self.decay * momentum + gradient / compute_norms(gradient, order=1)
            points = (points + self.stride * sizes / self.steps * momentum.sign()).clamp(low, high)
        return points


@dataclasses.dataclass(frozen=True)
class L2Attack(ImageAttack):
    """Steps along the gradient from a uniform random point of the l2 ball (Madry et al. 2018)."""

    def _climb(self, gradient_at: ImageMap, images: Tensor, sizes: Tensor, generator: torch.Generator) -> Tensor:
        points = (images + sizes * draw_in_unit_ball(images, generator)).clamp(*self.bounds)
        for _ in range(self.steps if sizes.any() else 0):
            moved = points + self.stride * sizes / self.steps * normalize_images(gradient_at(points)) - images
            moved = moved * (sizes / compute_norms(moved)).clamp(max=1.0)
            points = (images + moved).clamp(*self.bounds)  # moves no pixel away from its image, nor out of the ball
        return points


@dataclasses.dataclass(frozen=True)
class L1Attack(ImageAttack):
    """Sparse ascent in the l1 ball (Tramer and Boneh 2019, section 4.2), from the image.

    A step moves the pixels with the largest gradients that the bounds still let move, each alike and by
    stride size / steps in all, and the image is projected back on the ball.
    """

    def _climb(self, gradient_at: ImageMap, images: Tensor, sizes: Tensor, generator: torch.Generator) -> Tensor:  # noqa: ARG002 - nothing is drawn
        points, moved_count = images, max(1, images.shape[1:].numel() // _SPARSITY)
        for _ in range(self.steps if sizes.any() else 0):
            gradient = gradient_at(points)
            is_at_bound = torch.where(gradient > 0, points >= self.bounds[1], points <= self.bounds[0])
            magnitudes = gradient.abs().masked_fill(is_at_bound, 0.0).flatten(1)
            thresholds = magnitudes.topk(moved_count, dim=1).values[:, -1]
            directions = gradient.sign() * ((magnitudes >= thresholds[:, None]) & (magnitudes > 0)).view_as(images)
            moved = points + self.stride * sizes / self.steps / moved_count * directions - images
            points = (images + project_on_l1_balls(moved, sizes.flatten())).clamp(*self.bounds)
        return points


IMAGE_ATTACKS: dict[str, SignAttack] = {
    "fgsm": SignAttack(steps=1, stride=1.0),
    "i-fgsm": SignAttack(steps=10, stride=1.0),
    "mim": SignAttack(steps=10, stride=1.0, decay=1.0),
    "pgd": SignAttack(random_start=True),
}
"""The l_inf attacks of Phan et al. 2020 at their settings: 10 steps, momentum with decay 1, and 40 steps of PGD."""


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


def _draw_uniform(shape: Sequence[int], images: Tensor, generator: torch.Generator) -> Tensor:
    """Return uniform draws from [0, 1) of the type and on the device of the images."""
    return torch.rand(tuple(shape), generator=generator, dtype=images.dtype, device=generator.device).to(images.device)


def draw_in_unit_ball(images: Tensor, generator: torch.Generator) -> Tensor:
    """Return uniform draws from the l2 ball of radius 1, one for each image."""
    normals = torch.randn(images.shape, generator=generator, dtype=images.dtype, device=generator.device)
    radii = _draw_uniform((len(images),), images, generator) ** (1 / images.flatten(1).shape[1])
    return broadcast_per_image(radii, images) * normalize_images(normals.to(images.device))


def broadcast_per_image(values: Tensor, images: Tensor) -> Tensor:
    """Return one value per image (b,) in a shape that multiplies images."""
    return values.view(-1, *[1] * (images.ndim - 1))


def compute_norms(images: Tensor, order: float = 2.0) -> Tensor:
    """Return the norm of each image, shaped as `broadcast_per_image`, and never 0, so that 0 can be divided by it."""
    lengths = torch.linalg.vector_norm(images.flatten(1), ord=order, dim=1)
    return broadcast_per_image(lengths.clamp_min(torch.finfo(images.dtype).tiny), images)


def normalize_images(images: Tensor) -> Tensor:
    """Return each image over its l2 norm; over its largest entry first, since small squares underflow."""
    scaled = images / compute_norms(images, order=torch.inf)
    return scaled / compute_norms(scaled)


def _parse_attack_sizes(size: float | Tensor, images: Tensor) -> Tensor:
    """Return one size per image, shaped as `broadcast_per_image`."""
    if not isinstance(size, bool) and isinstance(size, Real | Tensor):
        sizes = torch.as_tensor(size, dtype=images.dtype, device=images.device)
        if sizes.shape in {(), (len(images),)} and (sizes.isfinite() & (sizes >= 0)).all():
            return broadcast_per_image(sizes.expand(len(images)), images)
    raise make_parameter_error("an attack", "size", "a finite number of at least 0, or one per image", size)


def _check_attacked_images(images: Tensor, labels: Tensor, bounds: tuple[float, float]) -> None:
    """Raise `InputError` unless images, labels and bounds fit together."""
    if not images.is_floating_point() or images.ndim < 2:  # noqa: PLR2004 - the batch and one axis of pixels
        shape = f"{images.dtype} {tuple(images.shape)}"
        raise make_parameter_error("an attack", "images", "floats (b, channels, height, width)", shape)
    if labels.dtype != torch.int64 or labels.shape != images.shape[:1]:
        shape = f"{labels.dtype} {tuple(labels.shape)}"
        raise make_parameter_error("an attack", "labels", f"int64 ({len(images)},), one per image", shape)
    is_outside = ~((images >= bounds[0]) & (images <= bounds[1]) & images.isfinite())
    if is_outside.any():
        index = tuple(is_outside.nonzero()[0].tolist())
        raise InputError(
            f"The pixel {index} is {images[index].item():g}, outside the bounds {format_exact(bounds[0])} to "
            f"{format_exact(bounds[1])}: rescale the images."
        )
