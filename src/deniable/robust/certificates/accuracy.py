"""Conventional and certified accuracy, as in section 4 of paper 004."""

from collections.abc import Sequence

from deniable.errors import InputError, bad_parameter
from deniable.measure.estimate import CONFIDENCE, Estimate, share


def conventional_accuracy(
    labels: Sequence[int], predicted: Sequence[int | None], confidence: float = CONFIDENCE
) -> Estimate:
    """Return the share of images that get their own class; an image without a prediction counts as wrong.

    Args:
        labels: (n,) true classes.
        predicted: (n,) classes; None for none.
        confidence: of the interval.

    Raises:
        InputError: no images, or predictions of other images.
    """
    _check(labels, predicted)
    return share(sum(map(_correct, labels, predicted)), len(labels), confidence)


def certified_accuracy(
    labels: Sequence[int],
    certified: Sequence[int | None],
    radii: Sequence[float],
    at: Sequence[float],
    confidence: float = CONFIDENCE,
) -> list[Estimate]:
    """Return the share of images that are right and robust, for each attack size.

    An image is robust if its radius is larger than the attack size. The estimates come from the same images, and each
    interval holds for itself.

    Args:
        labels: (n,) true classes.
        certified: (n,) certified classes; None where the certificate abstains.
        radii: (n,) certified radii.
        at: attack sizes, >= 0, in the norm and unit of the radii.
        confidence: of each interval.

    Raises:
        InputError: no images, certificates of other images, or a size below 0.
    """
    _check(labels, certified)
    _check(labels, radii)
    for size in at:
        if not size >= 0:
            raise bad_parameter("certified_accuracy", "at", "sizes of at least 0", size)
    right = list(map(_correct, labels, certified))
    held = [[is_right and radius > size for is_right, radius in zip(right, radii, strict=True)] for size in at]
    return [share(sum(robust), len(labels), confidence) for robust in held]


def _correct(label: int, predicted: int | None) -> bool:
    return predicted is not None and int(label) == int(predicted)


def _check(labels: Sequence[int], others: Sequence[int | None] | Sequence[float]) -> None:
    if len(labels) != len(others):
        raise InputError(f"Give one prediction for each of the {len(labels)} labels. Got {len(others)}.")
