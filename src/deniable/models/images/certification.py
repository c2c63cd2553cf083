"""Certifying the predictions of a model: classes, radii, certified accuracy, and attacks that refute certificates."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Self, cast

import torch
from torch import Tensor

from deniable.core.errors import InputError, check_count, check_fraction, check_positive, make_parameter_error
from deniable.core.numbers import format_exact
from deniable.core.parallel import get_progress_reporter
from deniable.measure.intervals import Estimate
from deniable.models.images.attacks import ImageAttack, L1Attack, L2Attack, SignAttack, compute_norms
from deniable.models.images.certificates import (
    CertifiedImage,
    DecisionRule,
    DrawnCertificate,
    GaussianSmoothing,
    LaplaceSmoothing,
    Norm,
    RobustnessCertificate,
)
from deniable.models.images.interval_bounds import IntervalBounds
from deniable.models.images.model import ImageModel
from deniable.models.images.networks import NetworkNoise
from deniable.models.images.options import NetworkNoiseLaw
from deniable.models.intervals import measure_certified_accuracy
from deniable.models.refutation import Refutation, compute_rival_p_value, conclude_refutation
from deniable.models.tally import ImageScorer, PredictionTally, make_noise_generator, tally_images

IMAGE_SELECTION_DRAWS = 100
"""Draws that choose the class, as in Cohen et al. 2019."""
_REPORT_EVERY = 16
"""Number of images between two reports of progress."""
_CURVE_POINTS = 5
_NORM_ORDERS: dict[str, float] = {"l1": 1.0, "l2": 2.0, "linf": torch.inf}
_ATTACKS_OF_NORM: dict[str, type[ImageAttack]] = {"l1": L1Attack, "l2": L2Attack, "linf": SignAttack}
_RADIUS_SHARE = 1 - 1e-4
"""Share of the radius that an attack may use, so that rounding of pixels in float32 does not leave the ball."""
_SAMPLES_WITHOUT_NOISE = 64
"""Equal votes of an attacked image, one half of which has a chance of 2^-32 where both classes are as probable."""
_ATTACK_BATCH = 500
"""Number of images attacked at a time, which bounds memory."""


@dataclasses.dataclass(frozen=True)
class CertifiedAccuracyCurve:
    """Certified accuracy over the size of an attack.

    Attributes:
        certificate: of the predictions.
        radii: sizes, in the norm of the certificate and pixels of [0, 1].
        accuracy: share of images that are right and certified beyond each size.
        certified: class and radius of each image, in pixels of [0, 1].
        draws: draws of the noise for each image; 0 for bounds, which need none.
        alpha: largest probability that the certificate of one image is wrong; 0 for bounds.
        is_noise_fresh: whether the draws were fresh; otherwise alpha holds for models made without knowledge of them.
    """

    certificate: RobustnessCertificate
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
    """Certify the predictions of a model.

    Args:
        model: with a certificate; where that is by bounds on its network, nothing is drawn.
        images: (n, channels, height, width), pixels in [0, 1].
        labels: (n,).
        generator: source of the noise, to repeat a run: ``alpha`` then holds for models made without knowledge of its
            draws. None for fresh noise.
        radii: sizes at which accuracy is measured; None for steps up to the largest certified radius.
        draws: draws of the noise for each image, besides those that choose the class.
        alpha: largest probability that the certificate of one image is wrong.

    Raises:
        InputError: a model without a certificate, or a parameter outside its domain.
    """
    if model.certificate is None:
        raise InputError(
            f"The model {model.trainer} is deterministic, and has no certificate: give --noise, for example 0.25, "
            "to smooth it, or train one with --kind ibp or dp-ibp."
        )
    scores, report = model.scores(generator or make_noise_generator()), get_progress_reporter()
    certificate = model.certificate
    if isinstance(certificate, IntervalBounds):
        draws, alpha = 0, 0.0
    certified: list[CertifiedImage] = []
    report(0, len(images))
    for batch in torch.split(images, _REPORT_EVERY):
        if isinstance(certificate, IntervalBounds):
            certified += certificate.certify_images(model.network, batch)
        else:
            certified += _certify_draws(cast("DrawnCertificate", certificate), scores, batch, draws, alpha)
        report(len(certified), len(images))
    sizes = tuple(radii) if radii is not None else _choose_radii([prediction.radius for prediction in certified])
    accuracy = measure_certified_accuracy(
        labels.tolist(),
        [prediction.label for prediction in certified],
        [prediction.radius for prediction in certified],
        sizes,
    )
    return CertifiedAccuracyCurve(
        certificate, sizes, tuple(accuracy), tuple(certified), draws, alpha, generator is None
    )


def _certify_draws(
    certificate: DrawnCertificate, scores: ImageScorer, images: Tensor, draws: int, alpha: float
) -> list[CertifiedImage]:
    """Return class and radius of each image, in pixels of [0, 1]."""
    chosen, bounded = (tally_images(scores, images, count) for count in (IMAGE_SELECTION_DRAWS, draws))
    found = [certificate.certify(*pair, alpha) for pair in zip(chosen, bounded, strict=True)]
    return [dataclasses.replace(image, radius=certificate.pixels_per_unit * image.radius) for image in found]


def _choose_radii(radii: list[float]) -> tuple[float, ...]:
    """Return a few round sizes from 0 to about the largest radius."""
    largest = max((radius for radius in radii if math.isfinite(radius)), default=0.0)
    if largest <= 0:
        return (0.0,)
    step = largest / _CURVE_POINTS
    magnitude = 10.0 ** math.floor(math.log10(step))
    step = next(size * magnitude for size in (1, 2, 2.5, 5, 10) if size * magnitude >= step)
    return tuple(float(f"{index * step:.12g}") for index in range(_CURVE_POINTS + 1) if index * step <= largest)


@dataclasses.dataclass(frozen=True, eq=False)
class AttackedImage:
    """A certified image after the attack, and the votes of fresh draws on it.

    Attributes:
        image: its index.
        certified: the certified class.
        rival: the other class that was tested against it.
        radius: that was certified.
        distance: between the image and the attacked one, in the norm of the radius and the unit of the pixels.
        votes_certified: of the fresh draws.
        votes_rival: of the same draws.
        p_value: of the certified class being at least as probable as the rival; 1 outside the ball.
        adversarial: (channels, height, width).
    """

    image: int
    certified: int
    rival: int
    radius: float
    distance: float
    votes_certified: int
    votes_rival: int
    p_value: float
    adversarial: Tensor

    def __str__(self) -> str:
        """Return the image in one line."""
        return (
            f"image {self.image}, certified as {self.certified} up to {format_exact(self.radius)}, has "
            f"{self.votes_rival:,} votes"
            f" for {self.rival} against {self.votes_certified:,} at distance {format_exact(self.distance)}"
        )


@dataclasses.dataclass(frozen=True)
class CertificateAttack:
    """An attack on certificates: on every certified image inside its ball, with a test whether its class is another.

    It is projected gradient ascent averaged over the noise. At each attacked image one half of the samples chooses the
    rival, and the other half tests that the certified class is at least as probable. A sound certificate flips an image
    with probability at most ``certified_at``, and the test says so falsely with at most alpha / (2 n). The certificate
    is refuted if so many flips or more among n images have a probability of at most alpha under that, so one flip is
    enough only for a small ``certified_at``. Finding no flip does not prove the certificate.

    Attributes:
        norm: of the radii.
        certified_at: alpha of the certificate, the probability that one image's is wrong; 0 for an exact one.
        alpha: level of the refutation.
        decision_rule: what is certified: the class with most ``votes``, or with the largest mean ``softmax``.
        bounds: of the attacked pixels.
        draws: of the noise for each gradient.
        steps: gradients.
        samples: draws at each attacked image, at least 2.

    Raises:
        InputError: levels, norm or counts outside their domains.
    """

    norm: Norm
    certified_at: float
    alpha: float = 0.01
    decision_rule: DecisionRule = "votes"
    bounds: tuple[float, float] = (0.0, 1.0)
    draws: int = 8
    steps: int = 40
    samples: int = 10_000

    @classmethod
    def from_curve(cls, curve: CertifiedAccuracyCurve) -> Self:
        """Return the attack on certified images; a model without noise is one draw, which few samples test."""
        certificate = curve.certificate
        attack = cls(certificate.norm, curve.alpha, decision_rule=certificate.decision_rule)
        return attack if curve.draws else dataclasses.replace(attack, draws=1, samples=_SAMPLES_WITHOUT_NOISE)

    def __post_init__(self) -> None:
        if self.norm not in _NORM_ORDERS:
            raise make_parameter_error("refute", "norm", f"one of {', '.join(_NORM_ORDERS)}", self.norm)
        check_fraction("refute", "certified_at", self.certified_at)
        check_positive("refute", "alpha", self.alpha, 1.0)
        check_count("refute", "samples", self.samples, minimum=2)  # one to choose the rival, one to test it

    def refute(
        self, scores: ImageScorer, images: Tensor, certified: Sequence[CertifiedImage], generator: torch.Generator
    ) -> Refutation[AttackedImage]:
        """Return what attacks on certified images find.

        Args:
            scores: the model.
            images: (n, channels, height, width), inside the bounds.
            certified: class and radius of each image, the radius in the unit of the pixels.
            generator: source of the random starts of the attack.

        Raises:
            InputError: certificates of other images, or what the attack or the tally raises.
        """
        if len(certified) != len(images):
            raise InputError(f"Give one certificate for each of the {len(images)} images. Got {len(certified)}.")
        options = {"random_start": True} if self.norm == "linf" else {}
        attack = _ATTACKS_OF_NORM[self.norm](steps=self.steps, draws=self.draws, bounds=self.bounds, **options)
        rows = [row for row, image in enumerate(certified) if image.label is not None and image.radius > 0]
        max_size = math.prod(images.shape[1:]) * (self.bounds[1] - self.bounds[0])  # no attack is larger, in any norm
        attempts: list[AttackedImage] = []
        for first in range(0, len(rows), _ATTACK_BATCH):
            batch = rows[first : first + _ATTACK_BATCH]
            labels = torch.tensor([certified[row].label for row in batch], device=images.device)
            radii = torch.tensor([certified[row].radius for row in batch], dtype=images.dtype, device=images.device)
            sizes = _RADIUS_SHARE * radii.clamp(max=max_size)
            adversarial = attack(scores, images[batch], labels, sizes, generator)
            distances = compute_norms((adversarial - images[batch]).double(), _NORM_ORDERS[self.norm]).flatten()
            tallies = (tally_images(scores, adversarial, self.samples // 2) for _ in range(2))
            attempts += [
                self._test_image(row, certified[row], picture, distance, *pair)
                for row, picture, distance, *pair in zip(batch, adversarial, distances.tolist(), *tallies, strict=True)
            ]
        return conclude_refutation(attempts, self.alpha, self.certified_at)

    def _test_image(
        self,
        row: int,
        certified: CertifiedImage,
        adversarial: Tensor,
        distance: float,
        selection: PredictionTally,
        estimation: PredictionTally,
    ) -> AttackedImage:
        """Return an attacked image with its test on fresh draws: the selection chooses the rival, the others decide.

        Votes: given that one of the two was voted for, the rival has at most even odds, an exact binomial test. Means
        of softmax scores: their difference lies in [-1, 1] in each draw, Hoeffding's inequality.
        """
        label = certified.label or 0
        totals = (selection.votes if self.decision_rule == "votes" else selection.sums).astype(float)
        totals[label] = -math.inf
        rival = int(totals.argmax())
        votes_certified, votes_rival = estimation.votes[[label, rival]].tolist()
        if distance > certified.radius:
            p_value = 1.0
        elif self.decision_rule == "votes":
            p_value = compute_rival_p_value(votes_rival, votes_certified)
        else:
            lead = max(0.0, float(estimation.sums[rival] - estimation.sums[label])) / estimation.draws
            p_value = math.exp(-estimation.draws * lead**2 / 2)
        return AttackedImage(
            row, label, rival, certified.radius, distance, votes_certified, votes_rival, p_value, adversarial
        )
