"""Balls around images and bounds of pixels: checks, norms, directions and uniform draws."""

from collections.abc import Sequence
from numbers import Real

import torch
from torch import Tensor

from deniable.core.errors import InputError, check_count, make_parameter_error
from deniable.core.numbers import format_exact

PixelBounds = tuple[float, float]
"""Smallest and largest pixel; either may be infinite."""
UNIT_BOUNDS: PixelBounds = (0.0, 1.0)


def draw_uniform(shape: Sequence[int], images: Tensor, generator: torch.Generator) -> Tensor:
    """Return uniform draws from [0, 1) of the type and on the device of the images."""
    draws = torch.rand(tuple(shape), generator=generator, dtype=images.dtype, device=generator.device)
    return draws.to(images.device)


def draw_in_unit_ball(images: Tensor, generator: torch.Generator) -> Tensor:
    """Return uniform draws from the l2 ball of radius 1, one for each image."""
    normals = torch.randn(images.shape, generator=generator, dtype=images.dtype, device=generator.device)
    radii = draw_uniform((len(images),), images, generator) ** (1 / images.flatten(1).shape[1])
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


def parse_attack_sizes(size: float | Tensor, images: Tensor) -> Tensor:
    """Return one size per image, shaped as `broadcast_per_image`."""
    expected = "a finite number of at least 0, or one per image"
    if isinstance(size, bool) or not isinstance(size, Real | Tensor):
        raise make_parameter_error("an attack", "size", expected, size)
    sizes = torch.as_tensor(size, dtype=images.dtype, device=images.device)
    if sizes.shape not in {(), (len(images),)} or not (sizes.isfinite() & (sizes >= 0)).all():
        raise make_parameter_error("an attack", "size", expected, size)
    return broadcast_per_image(sizes.expand(len(images)), images)


def check_attack_inputs(images: Tensor, labels: Tensor, bounds: PixelBounds, draws: int, steps: int) -> None:
    """Raise `InputError` unless images, labels, bounds and counts fit together."""
    if not images.is_floating_point() or images.ndim < 2:  # noqa: PLR2004 - the batch and one axis of pixels
        raise make_parameter_error(
            "an attack", "images", "floats (b, channels, height, width)", _describe_tensor(images)
        )
    if labels.dtype != torch.int64 or labels.shape != images.shape[:1]:
        raise make_parameter_error(
            "an attack", "labels", f"int64 ({len(images)},), one per image", _describe_tensor(labels)
        )
    for name, count in (("draws", draws), ("steps", steps)):
        check_count("an attack", name, count)
    low, high = bounds
    if not low < high:
        raise make_parameter_error("an attack", "bounds", "two numbers, the lower first", bounds)
    is_outside = ~((images >= low) & (images <= high) & images.isfinite())
    if is_outside.any():
        index = tuple(is_outside.nonzero()[0].tolist())
        pixel = images[index].item()
        raise InputError(
            f"The pixel {index} is {pixel:g}, outside the bounds {format_exact(low)} to {format_exact(high)}: "
            "rescale the images."
        )


def _describe_tensor(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} {tuple(tensor.shape)}"
