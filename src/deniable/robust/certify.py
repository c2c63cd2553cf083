"""Certifying the predictions of a model: classes, radii, and the curve of certified accuracy."""

import dataclasses
import math
from collections.abc import Sequence

import torch
from torch import Tensor

from deniable.errors import InputError, bad_parameter
from deniable.measure.estimate import Estimate
from deniable.parallel import reporter
from deniable.robust.certificates import (
    Certified,
    DPALCertificate,
    GaussianSmoothing,
    LaplaceSmoothing,
    certified_accuracy,
    tallies,
)
from deniable.robust.certificates.dpal import in_pixels
from deniable.robust.model import Model
from deniable.robust.noise import Law, Noise

SELECTION = 100
"""Draws that choose the class, as in Cohen et al. 2019."""
_TOGETHER = 16
"""Images between two reports of progress."""
_POINTS = 5
_LARGEST = 1e30
"""Noise is drawn in float32, whose reach this is: noise that is rounded to nothing certifies nothing."""


@dataclasses.dataclass(frozen=True)
class Curve:
    """Certified accuracy over the size of an attack.

    Attributes:
        radii: sizes, in the norm of the certificate and pixels of [0, 1].
        accuracy: share of images that are right and certified beyond each size.
        certified: class and radius of each image.
        draws: of the noise for each image.
        alpha: chance, at most, that the certificate of an image is wrong.
    """

    radii: tuple[float, ...]
    accuracy: tuple[Estimate, ...]
    certified: tuple[Certified, ...]
    draws: int
    alpha: float


def smoothed(model: Model, scale: float, law: Law = "gaussian") -> Model:
    """Return a deterministic model with noise on its input, and the certificate that follows.

    Args:
        model: without noise of its own.
        scale: standard deviation, or scale of a Laplace law, in pixels of [0, 1].
        law: gaussian certifies in l2, laplace in l1.

    Raises:
        InputError: the model has noise of its own, or the scale is out of reach.
    """
    if model.noises:
        raise InputError(f"The model {model.system} has noise of its own: certify it as it is, without --noise.")
    if not 1 / _LARGEST <= scale <= _LARGEST:
        raise bad_parameter("smoothing", "noise", f"a float from {1 / _LARGEST:g} to {_LARGEST:g}", scale)
    certificate = GaussianSmoothing(scale) if law == "gaussian" else LaplaceSmoothing(scale)
    return dataclasses.replace(model, noises=(Noise("input", law, torch.tensor(scale)),), certificate=certificate)


def certify(
    model: Model,
    images: Tensor,
    labels: Tensor,
    *,
    source: torch.Generator,
    radii: Sequence[float] | None = None,
    draws: int = 1_000,
    alpha: float = 0.001,
) -> Curve:
    """Certify the predictions of a randomized model.

    Args:
        model: with a certificate.
        images: (n, channels, height, width), pixels in [0, 1].
        labels: (n,).
        source: generator of the noise.
        radii: sizes at which accuracy is given; None for steps up to the largest radius that is certified.
        draws: of the noise for each image, besides those that choose the class.
        alpha: chance, at most, that the certificate of an image is wrong.

    Raises:
        InputError: a model without noise, or a parameter outside its domain.
    """
    if model.certificate is None:
        raise InputError(
            f"The model {model.system} is deterministic, and nothing is certified of it: give --noise, for example "
            "0.25, to smooth it."
        )
    scores, report = model.scores(source), reporter()
    found: list[Certified] = []
    report(0, len(images))
    for batch in torch.split(images, _TOGETHER):
        pairs = zip(tallies(scores, batch, SELECTION), tallies(scores, batch, draws), strict=True)
        found += [model.certificate.certify(*pair, alpha) for pair in pairs]
        report(len(found), len(images))
    if isinstance(model.certificate, DPALCertificate):  # claims in the paper's unit
        found = [in_pixels(held) for held in found]
    chosen = tuple(radii) if radii is not None else _steps([held.radius for held in found])
    accuracy = certified_accuracy(
        labels.tolist(), [held.label for held in found], [held.radius for held in found], chosen
    )
    return Curve(chosen, tuple(accuracy), tuple(found), draws, alpha)


def _steps(radii: list[float]) -> tuple[float, ...]:
    """Return a few round sizes from 0 to about the largest radius."""
    largest = max((radius for radius in radii if math.isfinite(radius)), default=0.0)
    if largest <= 0:
        return (0.0,)
    step = largest / _POINTS
    unit = 10.0 ** math.floor(math.log10(step))
    step = next(size * unit for size in (1, 2, 2.5, 5, 10) if size * unit >= step)
    return tuple(float(f"{index * step:.12g}") for index in range(_POINTS + 1) if index * step <= largest)
