"""Arrays of pixels of any usual form, as (n, channels, height, width)."""

from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.errors import InputError

Array = npt.NDArray[Any]
Named = tuple[str, Array]
CHANNELS = (1, 3)
"""Grey, and red, green and blue."""


def channels_first(name: str, x: Array) -> Array:
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
    first, last = x.shape[1] in CHANNELS, x.shape[3] in CHANNELS
    if first == last:
        which = "both the second and the last axis may be" if first else "neither the second nor the last axis is"
        raise InputError(f"{shape}: {which} that of 1 or 3 channels. Save the images as (n, channels, height, width).")
    return x if first else np.moveaxis(x, 3, 1)


def scaled(train: Named, test: Named) -> tuple[Array, Array, str]:
    """Return both arrays as uint8, or as float32 in [0, 1], and how they were read.

    Floats lie in [0, 1], or in [-1, 1] where either array holds a negative value: x is then read as (x + 1) / 2.
    Nothing is clamped.

    Raises:
        InputError: another type, two types, a value outside the range, or uint8 of 0 and 1 only.
    """
    names = f"{train[0]} and {test[0]}"
    kinds = [_kind(*named) for named in (train, test)]
    if kinds[0] != kinds[1]:
        raise InputError(f"{train[0]} is of type {train[1].dtype} and {test[0]} of {test[1].dtype}: save both alike.")
    if kinds[0] == "uint8":
        if max(x.max(initial=0) for _, x in (train, test)) == 1:
            raise InputError(f"{names} are uint8 of 0 and 1 only, where 255 is white: multiply them by 255.")
        return train[1], test[1], f"{names} are uint8, divided by 255"
    low = -1.0 if any((x < 0).any() for _, x in (train, test)) else 0.0
    for name, x in (train, test):
        _check(name, x, low)
    floats = (train[1].astype(np.float32), test[1].astype(np.float32))
    if low == 0:
        return *floats, f"{names} are floats in [0, 1]"
    return (floats[0] + 1) / 2, (floats[1] + 1) / 2, f"{names} are floats in [-1, 1], read as (x + 1) / 2"


def _kind(name: str, x: Array) -> str:
    if x.dtype == np.uint8:
        return "uint8"
    if x.dtype.kind != "f":
        raise InputError(f"{name} is of type {x.dtype}: save pixels as uint8 (0 to 255) or as floats in [0, 1].")
    return "float"


def _check(name: str, x: Array, low: float) -> None:
    """Raise `InputError` that names the first value outside [low, 1]."""
    wrong = ~((x >= low) & (x <= 1))
    if wrong.any():
        at = np.unravel_index(int(wrong.argmax()), x.shape)
        where, value = ", ".join(map(str, at)), x[at]
        mend = "replace it" if not np.isfinite(value) else "divide by the greatest possible value, or save uint8"
        reason = " as another value is negative" if low < 0 else ""
        raise InputError(f"{name}[{where}] is {value}: floats must lie in [{low:g}, 1]{reason}. To mend it, {mend}.")
