"""Images as DPAL takes them: vectors of pixels in [-1, 1]."""

from torch import Tensor

from deniable.errors import InputError
from deniable.robust.dpal.noise import DPALBudget

HALF_GREY_LEVEL = 1 / 255
"""Half a grey level of [-1, 1]: images closer than this in every pixel are the same image."""


def flatten_to_signed_pixels(images: Tensor) -> Tensor:
    """Return images (n, c, h, w) with pixels in [0, 1] as (n, d) in [-1, 1], in float64."""
    return 2 * images.flatten(1).double() - 1


def restore_unsigned_images(rows: Tensor, reference: Tensor) -> Tensor:
    """Return rows (n, d) of [-1, 1] as images (n, c, h, w) of [0, 1], in the shape of others."""
    return ((rows + 1) / 2).view(len(rows), *reference.shape[1:])


def check_image_count(images: Tensor, budget: DPALBudget, extra: int) -> None:
    """Raise `InputError` unless there are a batch of images and so many more."""
    if len(images) < budget.m + extra:
        raise InputError(
            f"The audit needs {budget.m + extra:,} images: a batch of {budget.m:,} and {extra} more. Got {len(images):,}."
        )
