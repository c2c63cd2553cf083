"""Balls around images and bounds of pixels: checks, norms, directions and uniform draws."""

from collections.abc import Sequence
from numbers import Real

import torch
from torch import Tensor

from deniable.errors import InputError, bad_parameter

Bounds = tuple[float, float]
"""Least and greatest pixel; either may be infinite."""
PIXELS: Bounds = (0.0, 1.0)


def uniform(shape: Sequence[int], images: Tensor, generator: torch.Generator) -> Tensor:
    """Return uniform draws from [0, 1) of the type and on the device of the images."""
    drawn = torch.rand(tuple(shape), generator=generator, dtype=images.dtype, device=generator.device)
    return drawn.to(images.device)


def unit_ball(images: Tensor, generator: torch.Generator) -> Tensor:
    """Return uniform draws from the l2 ball of radius 1, one for each image."""
    normal = torch.randn(images.shape, generator=generator, dtype=images.dtype, device=generator.device)
    radius = uniform((len(images),), images, generator) ** (1 / images.flatten(1).shape[1])
    return rows(radius, images) * directions(normal.to(images.device))


def rows(values: Tensor, images: Tensor) -> Tensor:
    """Return one value per image (b,) in a shape that multiplies images."""
    return values.view(-1, *[1] * (images.ndim - 1))


def norms(images: Tensor, order: float = 2.0) -> Tensor:
    """Return the norm of each image, shaped as `rows`, and never 0: what is divided by it stays 0."""
    lengths = torch.linalg.vector_norm(images.flatten(1), ord=order, dim=1)
    return rows(lengths.clamp_min(torch.finfo(images.dtype).tiny), images)


def directions(images: Tensor) -> Tensor:
    """Return each image over its l2 norm; over its largest entry first, for squares of small gradients underflow."""
    scaled = images / norms(images, order=torch.inf)
    return scaled / norms(scaled)


def sizes_of(size: float | Tensor, images: Tensor) -> Tensor:
    """Return one size per image, shaped as `rows`."""
    expected = "a finite number of at least 0, or one per image"
    if isinstance(size, bool) or not isinstance(size, Real | Tensor):
        raise bad_parameter("an attack", "size", expected, size)
    sizes = torch.as_tensor(size, dtype=images.dtype, device=images.device)
    if sizes.shape not in {(), (len(images),)} or not (sizes.isfinite() & (sizes >= 0)).all():
        raise bad_parameter("an attack", "size", expected, size)
    return rows(sizes.expand(len(images)), images)


def check(images: Tensor, labels: Tensor, bounds: Bounds, draws: int, steps: int) -> None:
    """Raise `InputError` unless images, labels, bounds and counts fit together."""
    if not images.is_floating_point() or images.ndim < 2:  # noqa: PLR2004 - the batch and one axis of pixels
        raise bad_parameter("an attack", "images", "floats (b, channels, height, width)", _kind(images))
    if labels.dtype != torch.int64 or labels.shape != images.shape[:1]:
        raise bad_parameter("an attack", "labels", f"int64 ({len(images)},), one per image", _kind(labels))
    for name, count in (("draws", draws), ("steps", steps)):
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise bad_parameter("an attack", name, "an integer of at least 1", count)
    low, high = bounds
    if not low < high:
        raise bad_parameter("an attack", "bounds", "two numbers, the lower first", bounds)
    wrong = ~((images >= low) & (images <= high) & images.isfinite())
    if wrong.any():
        at = tuple(wrong.nonzero()[0].tolist())
        got = images[at].item()
        raise InputError(f"The pixel {at} is {got:g}, outside the bounds {low:g} to {high:g}: rescale the images.")


def _kind(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} {tuple(tensor.shape)}"
