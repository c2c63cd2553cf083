"""Certified accuracy, as in Phan et al. 2020, section 4."""

from collections.abc import Sequence

from deniable.core.errors import InputError, make_parameter_error
from deniable.measure.intervals import DEFAULT_CONFIDENCE, Estimate, estimate_share


def measure_certified_accuracy(
    labels: Sequence[int],
    certified: Sequence[int | None],
    radii: Sequence[float],
    sizes: Sequence[float],
    confidence: float = DEFAULT_CONFIDENCE,
) -> list[Estimate]:
    """Return the share of images that are right and robust, for each attack size.

    An image is robust if its radius is larger than the attack size. The estimates come from the same images, and each
    interval holds separately.

    Args:
        labels: (n,) true classes.
        certified: (n,) certified classes; None where the certificate abstains.
        radii: (n,) certified radii.
        sizes: attack sizes, >= 0, in the norm and unit of the radii.
        confidence: of each interval.

    Raises:
        InputError: no images, certificates of other images, or a size below 0.
    """
    _check_lengths(labels, certified)
    _check_lengths(labels, radii)
    for size in sizes:
        if not size >= 0:
            raise make_parameter_error("certified accuracy", "sizes", "sizes of at least 0", size)
    is_correct = list(map(_is_correct, labels, certified))
    is_robust = [
        [correct and radius > size for correct, radius in zip(is_correct, radii, strict=True)] for size in sizes
    ]
    return [estimate_share(sum(robust_flags), len(labels), confidence) for robust_flags in is_robust]


def _is_correct(label: int, predicted: int | None) -> bool:
    return predicted is not None and int(label) == int(predicted)


def _check_lengths(labels: Sequence[int], others: Sequence[int | None] | Sequence[float]) -> None:
    if len(labels) != len(others):
        raise InputError(f"Give one prediction for each of the {len(labels)} labels. Got {len(others)}.")
