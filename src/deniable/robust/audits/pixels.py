"""Images as DPAL takes them: vectors of pixels in [-1, 1]."""

from torch import Tensor

from deniable.errors import InputError
from deniable.robust.dpal.noise import Budget

LEVEL = 1 / 255
"""Half a grey level of [-1, 1]: images closer than this in every pixel are the same image."""


def signed(images: Tensor) -> Tensor:
    """Return images (n, c, h, w) with pixels in [0, 1] as (n, d) in [-1, 1], in float64."""
    return 2 * images.flatten(1).double() - 1


def unsigned(rows: Tensor, like: Tensor) -> Tensor:
    """Return rows (n, d) of [-1, 1] as images (n, c, h, w) of [0, 1], in the shape of others."""
    return ((rows + 1) / 2).view(len(rows), *like.shape[1:])


def check_batch(images: Tensor, budget: Budget, more: int) -> None:
    """Raise `InputError` unless there are a batch of images and so many more."""
    if len(images) < budget.m + more:
        raise InputError(
            f"The audit needs {budget.m + more:,} images: a batch of {budget.m:,} and {more} more. Got {len(images):,}."
        )
