"""Certifying the predictions of a model: classes, radii, and the curve of certified accuracy."""

import dataclasses
import math
from collections.abc import Sequence

import torch
from torch import Tensor

from deniable.core.errors import InputError
from deniable.core.parallel import get_progress_reporter
from deniable.measure.intervals import Estimate
from deniable.models.images.model import ImageModel
from deniable.models.images.networks import NetworkNoise, NetworkNoiseLaw
from deniable.models.images.robustness import CertifiedImage, RobustnessCertificate
from deniable.models.images.smoothing import GaussianSmoothing, LaplaceSmoothing
from deniable.models.shared.accuracy import measure_certified_accuracy
from deniable.models.shared.draws import make_noise_generator
from deniable.models.shared.tally import PredictionTally, tally_images

IMAGE_SELECTION_DRAWS = 100
"""Draws that choose the class, as in Cohen et al. 2019."""
_REPORT_EVERY = 16
"""Number of images between two reports of progress."""
_CURVE_POINTS = 5


@dataclasses.dataclass(frozen=True)
class CertifiedAccuracyCurve:
    """Certified accuracy over the size of an attack.

    Attributes:
        radii: sizes, in the norm of the certificate and pixels of [0, 1].
        accuracy: share of images that are right and certified beyond each size.
        certified: class and radius of each image, in pixels of [0, 1].
        draws: draws of the noise for each image.
        alpha: largest probability that the certificate of one image is wrong.
        is_noise_fresh: whether the draws were fresh; otherwise alpha holds for models made without knowledge of them.
    """

    radii: tuple[float, ...]
    accuracy: tuple[Estimate, ...]
    certified: tuple[CertifiedImage, ...]
    draws: int
    alpha: float
    is_noise_fresh: bool = False


def smooth_image_model(model: ImageModel, scale: float, law: NetworkNoiseLaw = "gaussian") -> ImageModel:
    """Return a deterministic model with noise on its input, and the certificate that follows.

    Args:
        model: without noise of its own.
        scale: standard deviation, or scale of a Laplace law, in pixels of [0, 1].
        law: gaussian certifies in l2, laplace in l1.

    Raises:
        InputError: the model already has noise, or the scale is out of range.
    """
    if model.noises:
        raise InputError(f"The model {model.trainer} already has noise: certify it without --noise.")
    noises = (NetworkNoise("input", law, torch.tensor(scale, dtype=torch.float64)),)
    kind = GaussianSmoothing if law == "gaussian" else LaplaceSmoothing
    certificate = kind.from_network(model.network, model.architecture.shape, noises)
    return dataclasses.replace(model, noises=noises, certificate=certificate)


def certify_image_model(
    model: ImageModel,
    images: Tensor,
    labels: Tensor,
    *,
    generator: torch.Generator | None = None,
    radii: Sequence[float] | None = None,
    draws: int = 1_000,
    alpha: float = 0.001,
) -> CertifiedAccuracyCurve:
    """Certify the predictions of a randomized model.

    Args:
        model: with a certificate.
        images: (n, channels, height, width), pixels in [0, 1].
        labels: (n,).
        generator: source of the noise, to repeat a run: ``alpha`` then holds for models made without knowledge of its
            draws. None for fresh noise.
        radii: sizes at which accuracy is measured; None for steps up to the largest certified radius.
        draws: draws of the noise for each image, besides those that choose the class.
        alpha: largest probability that the certificate of one image is wrong.

    Raises:
        InputError: a model without noise, or a parameter outside its domain.
    """
    if model.certificate is None:
        raise InputError(
            f"The model {model.trainer} is deterministic, and has no certificate: give --noise, for example 0.25, "
            "to smooth it."
        )
    scores, report = model.scores(generator or make_noise_generator()), get_progress_reporter()
    certificate = model.certificate
    certified: list[CertifiedImage] = []
    report(0, len(images))
    for batch in torch.split(images, _REPORT_EVERY):
        tally_pairs = zip(
            tally_images(scores, batch, IMAGE_SELECTION_DRAWS), tally_images(scores, batch, draws), strict=True
        )
        certified += [_certify_in_pixels(certificate, *pair, alpha) for pair in tally_pairs]
        report(len(certified), len(images))
    sizes = tuple(radii) if radii is not None else _choose_radii([prediction.radius for prediction in certified])
    accuracy = measure_certified_accuracy(
        labels.tolist(),
        [prediction.label for prediction in certified],
        [prediction.radius for prediction in certified],
        sizes,
    )
    return CertifiedAccuracyCurve(sizes, tuple(accuracy), tuple(certified), draws, alpha, generator is None)


def _certify_in_pixels(
    certificate: RobustnessCertificate, selection: PredictionTally, estimation: PredictionTally, alpha: float
) -> CertifiedImage:
    """Return the class and the radius in pixels of [0, 1], whatever the unit of the certificate."""
    certified = certificate.certify(selection, estimation, alpha)
    return dataclasses.replace(certified, radius=certificate.pixels_per_unit * certified.radius)


def _choose_radii(radii: list[float]) -> tuple[float, ...]:
    """Return a few round sizes from 0 to about the largest radius."""
    largest = max((radius for radius in radii if math.isfinite(radius)), default=0.0)
    if largest <= 0:
        return (0.0,)
    step = largest / _CURVE_POINTS
    magnitude = 10.0 ** math.floor(math.log10(step))
    step = next(size * magnitude for size in (1, 2, 2.5, 5, 10) if size * magnitude >= step)
    return tuple(float(f"{index * step:.12g}") for index in range(_CURVE_POINTS + 1) if index * step <= largest)
