"""Arrays of pixels of any usual form, as (n, channels, height, width)."""

from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.errors import InputError
from deniable.robust.images.declared import PixelRange

PixelValues = npt.NDArray[Any]
NamedPixels = tuple[str, PixelValues]
CHANNEL_COUNTS = (1, 3)
"""Grey, and red, green and blue."""


def move_channels_first(name: str, x: PixelValues) -> PixelValues:
    """Return images (n, h, w), (n, h, w, c) or (n, c, h, w) as (n, c, h, w); c is the axis of size 1 or 3.

    Raises:
        InputError: another number of axes, no axis of channels, or two that may be it.
    """
    shape = f"{name} has the shape {x.shape}"
    if x.ndim == 2:  # noqa: PLR2004 - (n, pixels)
        raise InputError(f"{shape}, flat images: save {name}.reshape(n, channels, height, width) instead.")
    if x.ndim == 3:  # noqa: PLR2004 - (n, h, w)
        return x[:, None]
    if x.ndim != 4:  # noqa: PLR2004 - (n, h, w, c)
        raise InputError(f"{shape}: images must have (n, height, width), with an axis of 1 or 3 channels or none.")
    first, last = x.shape[1] in CHANNEL_COUNTS, x.shape[3] in CHANNEL_COUNTS
    if first == last:
        problem = "both the second and the last axis may be" if first else "neither the second nor the last axis is"
        raise InputError(
            f"{shape}: {problem} that of 1 or 3 channels. Save the images as (n, channels, height, width)."
        )
    return x if first else np.moveaxis(x, 3, 1)


def scale_both_splits(
    train: NamedPixels, test: NamedPixels, pixel_range: PixelRange | None
) -> tuple[PixelValues, PixelValues, str]:
    """Return both arrays as `scale_pixels` does, and how they were read.

    Raises:
        InputError: another type than uint8 or floats, two types, a pixel outside the range, or uint8 of 0 and 1 only
            without a declared range.
    """
    names = f"{train[0]} and {test[0]}"
    kinds = [_name_pixel_type(*named) for named in (train, test)]
    if kinds[0] != kinds[1]:
        raise InputError(f"{train[0]} is of type {train[1].dtype} and {test[0]} of {test[1].dtype}: save both alike.")
    if pixel_range is None and kinds[0] == "uint8" and max(x.max(initial=0) for _, x in (train, test)) == 1:
        raise InputError(f"{names} are uint8 of 0 and 1 only, where 255 is white: declare it by --range=0,1.")
    scaled = scale_pixels(*train, pixel_range), scale_pixels(*test, pixel_range)
    return *scaled, f"{names} are {describe_range(kinds[0], pixel_range)}"


def scale_pixels(name: str, x: PixelValues, pixel_range: PixelRange | None) -> PixelValues:
    """Return pixels as they are for uint8 without a declared range, else as float32 (x - low) / (high - low).

    The range is never inferred from the pixels: one private pixel would then change all other images. Nothing is
    clamped.

    Args:
        name: of the array, for messages.
        x: uint8 or floats of any shape.
        pixel_range: as declared; None for [0, 1] of floats.

    Raises:
        InputError: a pixel outside the range, or a range that the type of the pixels does not hold.
    """
    if pixel_range is None and x.dtype == np.uint8:
        return x
    low, high = pixel_range or (0.0, 1.0)
    if x.dtype.kind == "f":  # the range as the type holds it, as the largest pixel is
        low, high = x.dtype.type(low), x.dtype.type(high)
        if not (np.isfinite([low, high]).all() and low < high):
            raise InputError(f"{name} is of type {x.dtype}, which cannot hold the declared range: declare another.")
    _check_pixel_range(name, x, low, high, is_declared=pixel_range is not None)
    if (low, high) == (0, 1):
        return x.astype(np.float32)
    wide = x.astype(np.result_type(x.dtype, np.float32))
    low, high = wide.dtype.type(low), wide.dtype.type(high)
    wide -= low
    wide /= high - low
    return wide.astype(np.float32)


def describe_range(kind: str, pixel_range: PixelRange | None) -> str:
    """Return in words how numbers became pixels."""
    if pixel_range is not None:
        return f"{kind} in [{pixel_range[0]:g}, {pixel_range[1]:g}], as declared"
    return "uint8, divided by 255" if kind == "uint8" else f"{kind} in [0, 1]"


def _name_pixel_type(name: str, x: PixelValues) -> str:
    if x.dtype == np.uint8:
        return "uint8"
    if x.dtype.kind != "f":
        raise InputError(f"{name} is of type {x.dtype}: save pixels as uint8 (0 to 255) or as floats in [0, 1].")
    return "floats"


def _check_pixel_range(name: str, x: PixelValues, low: float, high: float, *, is_declared: bool) -> None:
    """Raise `InputError` that names the first value outside [low, high]."""
    is_outside = ~((x >= low) & (x <= high))
    if is_outside.any():
        index = np.unravel_index(int(is_outside.argmax()), x.shape)
        position, value = ", ".join(map(str, index)), x[index]
        reason = "as declared by --range" if is_declared else "as no other range is declared"
        if np.isfinite(value):
            fix = "declare the range of all pixels when training, for example --range=-1,1"
        else:
            fix = "replace it"
        raise InputError(
            f"{name}[{position}] is {value}: pixels must lie in [{low:g}, {high:g}], {reason}. To mend it, {fix}."
        )
