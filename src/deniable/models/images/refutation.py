"""Attacks inside certified balls: an image there with another class refutes a certificate."""

import dataclasses
import math
from collections.abc import Sequence

import torch
from scipy import stats
from torch import Tensor

from deniable.core.errors import InputError, check_count, check_fraction, check_positive, make_parameter_error
from deniable.core.numbers import format_exact
from deniable.models.images.attacks import pgd, pgd_l1, pgd_l2
from deniable.models.images.balls import UNIT_BOUNDS, PixelBounds, compute_norms
from deniable.models.images.robustness import CertifiedImage, DecisionRule, Norm
from deniable.models.shared.refutation import Refutation, conclude_refutation
from deniable.models.shared.tally import ImageScorer, PredictionTally, tally_images

_NORM_ORDERS: dict[str, float] = {"l1": 1.0, "l2": 2.0, "linf": torch.inf}
_BALL_ATTACKS = {"l1": pgd_l1, "l2": pgd_l2, "linf": pgd}
_RADIUS_SHARE = 1 - 1e-4
"""Share of the radius that an attack may use, so that rounding of pixels in float32 does not leave the ball."""
_ATTACK_BATCH = 500
"""Number of images attacked at a time, which bounds memory."""


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


def refute_image_certificate(
    scores: ImageScorer,
    images: Tensor,
    certified: Sequence[CertifiedImage],
    norm: Norm,
    *,
    generator: torch.Generator,
    certified_at: float,
    alpha: float = 0.01,
    decision_rule: DecisionRule = "votes",
    bounds: PixelBounds = UNIT_BOUNDS,
    draws: int = 8,
    steps: int = 40,
    samples: int = 10_000,
) -> Refutation[AttackedImage]:
    """Attack every certified image inside its ball, and test on fresh draws whether its class is another one.

    The attack is projected gradient ascent averaged over the noise. At each attacked image one half of the samples
    chooses the rival, and the other half tests that the certified class is at least as probable. A sound certificate
    flips an image with probability at most ``certified_at``, and the test says so falsely with at most alpha / (2 n).
    The certificate is refuted if so many flips or more among n images have a probability of at most alpha under that,
    so one flip is enough only for a small ``certified_at``. Finding no flip does not prove the certificate.

    Args:
        scores: the model.
        images: (n, channels, height, width), inside the bounds.
        certified: class and radius of each image, the radius in the unit of the pixels.
        norm: of the radii.
        generator: source of the random starts of the attack.
        certified_at: alpha of the certificate, the probability that one image's is wrong; 0 for an exact one.
        alpha: level of the refutation.
        decision_rule: what is certified: the class with most ``votes``, or with the largest mean ``softmax``.
        bounds: of the attacked pixels.
        draws: of the noise for each gradient.
        steps: gradients.
        samples: draws at each attacked image, at least 2.

    Raises:
        InputError: levels, norm or counts outside their domains, or what the attack or the tally raises.
    """
    _check_refutation_inputs(len(images), certified, norm, certified_at, samples)
    check_positive("refute", "alpha", alpha, 1.0)
    predictions = {
        image: (prediction.label, prediction.radius)
        for image, prediction in enumerate(certified)
        if prediction.label is not None and prediction.radius > 0
    }
    attempts: list[AttackedImage] = []
    indices = list(predictions)
    max_size = math.prod(images.shape[1:]) * (bounds[1] - bounds[0])  # no attack is larger, in any norm
    for first in range(0, len(indices), _ATTACK_BATCH):
        batch = indices[first : first + _ATTACK_BATCH]
        labels = torch.tensor([predictions[image][0] for image in batch], device=images.device)
        radii = torch.tensor([predictions[image][1] for image in batch], dtype=images.dtype, device=images.device)
        sizes = _RADIUS_SHARE * radii.clamp(max=max_size)
        adversarial = _BALL_ATTACKS[norm](
            scores, images[batch], labels, sizes, generator=generator, bounds=bounds, draws=draws, steps=steps
        )
        attempts += _test_attacked_images(
            scores, images[batch], adversarial, batch, predictions, norm=norm, rule=decision_rule, samples=samples
        )
    return conclude_refutation(attempts, alpha, certified_at)


def _test_attacked_images(
    scores: ImageScorer,
    images: Tensor,
    adversarial: Tensor,
    indices: list[int],
    predictions: dict[int, tuple[int, float]],
    *,
    norm: Norm,
    rule: DecisionRule,
    samples: int,
) -> list[AttackedImage]:
    """Return each attacked image with its test on fresh draws: one half chooses the rival, the other half decides.

    Args:
        scores: the model.
        images: the certified images (b, channels, height, width).
        adversarial: the same after the attack.
        indices: of these images, (b,).
        predictions: certified class and radius by index.
        norm: of the radii.
        rule: what is certified.
        samples: draws at each attacked image.
    """
    distances = compute_norms((adversarial - images).double(), _NORM_ORDERS[norm]).flatten().tolist()
    selection, estimation = (tally_images(scores, adversarial, samples // 2) for _ in range(2))
    attempts = []
    for row, image in enumerate(indices):
        label, radius = predictions[image]
        rival = _choose_rival(selection[row], label, rule)
        is_inside = distances[row] <= radius
        p_value = _compute_p_value(estimation[row], label, rival, rule) if is_inside else 1.0
        votes_certified, votes_rival = estimation[row].votes[[label, rival]].tolist()
        attempts.append(
            AttackedImage(
                image, label, rival, radius, distances[row], votes_certified, votes_rival, p_value, adversarial[row]
            )
        )
    return attempts


def _choose_rival(tally: PredictionTally, label: int, decision_rule: DecisionRule) -> int:
    totals = (tally.votes if decision_rule == "votes" else tally.sums).astype(float)
    totals[label] = -math.inf
    return int(totals.argmax())


def _compute_p_value(tally: PredictionTally, label: int, rival: int, decision_rule: DecisionRule) -> float:
    """Return the p-value of the certified class being at least as probable as the rival.

    Votes: given that one of the two was voted for, the rival has at most even odds, an exact binomial test. Means of
    softmax scores: their difference lies in [-1, 1] in each draw, Hoeffding's inequality.
    """
    if decision_rule == "votes":
        rival_votes, certified_votes = int(tally.votes[rival]), int(tally.votes[label])
        return (
            float(stats.binomtest(rival_votes, rival_votes + certified_votes, alternative="greater").pvalue)
            if rival_votes
            else 1.0
        )
    lead = max(0.0, float(tally.sums[rival] - tally.sums[label])) / tally.draws
    return math.exp(-tally.draws * lead**2 / 2)


def _check_refutation_inputs(
    images: int, certified: Sequence[CertifiedImage], norm: str, certified_at: float, samples: int
) -> None:
    if len(certified) != images:
        raise InputError(f"Give one certificate for each of the {images} images. Got {len(certified)}.")
    if norm not in _NORM_ORDERS:
        raise make_parameter_error("refute", "norm", f"one of {', '.join(_NORM_ORDERS)}", norm)
    check_fraction("refute", "certified_at", certified_at)
    check_count("refute", "samples", samples, minimum=2)  # one to choose the rival, one to test it
