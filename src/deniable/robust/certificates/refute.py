"""The search for images inside certified balls whose class is another one: one that is found refutes a certificate."""

import dataclasses
import math
from collections.abc import Sequence

import torch
from scipy import stats
from torch import Tensor

from deniable.errors import InputError, bad_parameter, positive
from deniable.robust.attacks import pgd, pgd_l2
from deniable.robust.balls import PIXELS, Bounds, norms
from deniable.robust.certificates.certificate import Certified, Decides, Norm
from deniable.robust.certificates.l1_attack import pgd_l1
from deniable.robust.certificates.refutation import Refutation, concluded
from deniable.robust.certificates.tally import Tally, tallies
from deniable.robust.types import Scores

_ORDERS: dict[str, float] = {"l1": 1.0, "l2": 2.0, "linf": torch.inf}
_ATTACKS = {"l1": pgd_l1, "l2": pgd_l2, "linf": pgd}
_INSIDE = 1 - 1e-4
"""Share of the radius that an attack may use, so that rounding of pixels in float32 does not leave the ball."""
_BATCH = 500
"""Images attacked at a time, which bounds memory."""


@dataclasses.dataclass(frozen=True, eq=False)
class Attacked:
    """A certified image after the attack, and what fresh draws say of it.

    Attributes:
        image: its index.
        certified: the certified class.
        rival: the other class that was tested against it.
        radius: that was certified.
        distance: between the image and the attacked one, in the norm of the radius and the unit of the pixels.
        votes_certified: of the fresh draws.
        votes_rival: of the same draws.
        p_value: of the certified class being at least as probable as the rival; 1 outside the ball.
        attacked: (channels, height, width).
    """

    image: int
    certified: int
    rival: int
    radius: float
    distance: float
    votes_certified: int
    votes_rival: int
    p_value: float
    attacked: Tensor

    def __str__(self) -> str:
        """Return the image in one line."""
        return (
            f"image {self.image}, certified as {self.certified} up to {self.radius:.4g}, has {self.votes_rival:,} votes"
            f" for {self.rival} against {self.votes_certified:,} at distance {self.distance:.4g}"
        )


def refute(
    scores: Scores,
    images: Tensor,
    certified: Sequence[Certified],
    norm: Norm,
    *,
    generator: torch.Generator,
    certified_at: float,
    alpha: float = 0.01,
    decides: Decides = "votes",
    bounds: Bounds = PIXELS,
    draws: int = 8,
    steps: int = 40,
    samples: int = 10_000,
) -> Refutation[Attacked]:
    """Attack every certified image inside its ball, and test on fresh draws whether its class is another one.

    The attack is projected gradient ascent averaged over the noise. At each attacked image one half of the samples
    chooses the rival, and the other half tests that the certified class is at least as probable. A sound certificate
    flips an image with probability at most ``certified_at``, and the test says so falsely with at most alpha / (2 n).
    The certificate is refuted if so many flips or more among n images have a probability of at most alpha under that,
    so one flip is enough only for a small ``certified_at``. Nothing found is no proof that the certificate is sound.

    Args:
        scores: the model.
        images: (n, channels, height, width), inside the bounds.
        certified: class and radius of each image, the radius in the unit of the pixels.
        norm: of the radii.
        generator: draws the starts of the attack.
        certified_at: alpha of the certificate, the probability that one image's is wrong; 0 for an exact one.
        alpha: level of the refutation.
        decides: what the certificate is about: the class with most ``votes``, or with the largest mean ``softmax``.
        bounds: of the attacked pixels.
        draws: of the noise for each gradient.
        steps: gradients.
        samples: draws at each attacked image, at least 2.

    Raises:
        InputError: levels, norm or counts outside their domains, or what the attack or the tally refuse.
    """
    _check(len(images), certified, norm, certified_at, samples)
    positive("refute", "alpha", alpha, 1.0)
    held = {at: (one.label, one.radius) for at, one in enumerate(certified) if one.label is not None and one.radius > 0}
    tested: list[Attacked] = []
    numbers = list(held)
    most = math.prod(images.shape[1:]) * (bounds[1] - bounds[0])  # no attack is larger, in any norm
    for first in range(0, len(numbers), _BATCH):
        at = numbers[first : first + _BATCH]
        labels = torch.tensor([held[image][0] for image in at], device=images.device)
        radii = torch.tensor([held[image][1] for image in at], dtype=images.dtype, device=images.device)
        sizes = _INSIDE * radii.clamp(max=most)
        found = _ATTACKS[norm](
            scores, images[at], labels, sizes, generator=generator, bounds=bounds, draws=draws, steps=steps
        )
        distances = norms((found - images[at]).double(), _ORDERS[norm]).flatten().tolist()
        picked, fresh = (tallies(scores, found, samples // 2) for _ in range(2))
        for row, image in enumerate(at):
            label, radius = held[image]
            rival = _rival(picked[row], label, decides)
            value = _p_value(fresh[row], label, rival, decides) if distances[row] <= radius else 1.0
            ours, theirs = fresh[row].votes[[label, rival]].tolist()
            tested.append(Attacked(image, label, rival, radius, distances[row], ours, theirs, value, found[row]))
    return concluded(tested, alpha, certified_at)


def _rival(held: Tally, label: int, decides: Decides) -> int:
    counted = (held.votes if decides == "votes" else held.sums).astype(float)
    counted[label] = -math.inf
    return int(counted.argmax())


def _p_value(held: Tally, label: int, rival: int, decides: Decides) -> float:
    """Return the p-value of the certified class being at least as probable as the rival.

    Votes: given that one of the two was voted for, the rival has at most even odds, an exact binomial test. Means of
    softmax scores: their difference lies in [-1, 1] in each draw, Hoeffding's inequality.
    """
    if decides == "votes":
        ours, theirs = int(held.votes[rival]), int(held.votes[label])
        return float(stats.binomtest(ours, ours + theirs, alternative="greater").pvalue) if ours else 1.0
    ahead = max(0.0, float(held.sums[rival] - held.sums[label])) / held.draws
    return math.exp(-held.draws * ahead**2 / 2)


def _check(images: int, certified: Sequence[Certified], norm: str, certified_at: float, samples: int) -> None:
    if len(certified) != images:
        raise InputError(f"Give one certificate for each of the {images} images. Got {len(certified)}.")
    if norm not in _ORDERS:
        raise bad_parameter("refute", "norm", f"one of {', '.join(_ORDERS)}", norm)
    if not 0 <= certified_at < 1:
        raise bad_parameter("refute", "certified_at", "a float in [0, 1)", certified_at)
    if samples < 2:  # noqa: PLR2004 - one to choose the rival, one to test it
        raise bad_parameter("refute", "samples", "an integer of at least 2", samples)
