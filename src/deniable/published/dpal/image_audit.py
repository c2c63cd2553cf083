"""Evidence against Lemma 3: noise that all images share cancels in differences, and a batch of images shows it.

An audit counts how often an event occurs that tells two neighbouring data sets apart, on the one and on the other.

DPAL adds one vector chi1/m to all images of the training data (Algorithm 1, line 2), and claims that the
result is (eps1/gamma_x)-private (Lemma 3).
"""

import dataclasses
import math

import numpy as np
import torch
from scipy import stats
from torch import Tensor

from deniable.core.errors import InputError
from deniable.core.numbers import bisect
from deniable.published.dpal.mechanism import DPALBudget
from deniable.published.noise import draw_laplace_noise

HALF_GREY_LEVEL = 1 / 255
"""Half a grey level of [-1, 1]: images closer than this in every pixel are the same image."""
_MAX_EPSILON = 1e3


@dataclasses.dataclass(frozen=True)
class EventCounts:
    """How often an event occurred, over independent runs of a mechanism on D and on its neighbour D'.

    Attributes:
        hits: runs on D in which it occurred.
        trials: runs on D.
        false_hits: runs on D' in which it occurred.
        false_trials: runs on D'.
    """

    hits: int
    trials: int
    false_hits: int
    false_trials: int

    @property
    def correct_guesses(self) -> int:
        """Runs in which guessing D if and only if the event occurs is right."""
        return self.hits + self.false_trials - self.false_hits

    @property
    def total_guesses(self) -> int:
        """All runs."""
        return self.trials + self.false_trials

    def compute_lower_bound(self, confidence: float = 0.95) -> float:
        """Return a lower confidence bound on epsilon: ln P[event | D] / P[event | D'].

        Both probabilities by Clopper and Pearson, each at half of 1 - confidence, so that it holds with at least this
        confidence; 0 if the event shows nothing.
        """
        alpha = 1 - confidence
        if not self.hits:
            return 0.0
        low = stats.beta.ppf(alpha / 2, self.hits, self.trials - self.hits + 1)
        is_shown = self.false_hits < self.false_trials
        high = stats.beta.isf(alpha / 2, self.false_hits + 1, self.false_trials - self.false_hits) if is_shown else 1.0
        return max(math.log(low / high), 0.0)

    def compute_detectable_epsilon(self, claim: float, confidence: float = 0.95) -> float:
        """Return the least true epsilon that this many runs would have refuted with probability 90%.

        The attacker is the best possible one, who is right with odds e^epsilon; infinite if no epsilon would be
        refuted.
        """

        def is_refuted(epsilon: float) -> bool:
            success_probability = 1 / (1 + math.exp(-epsilon))
            tail = math.sqrt(0.9)
            hits = int(stats.binom.isf(tail, self.trials, success_probability))
            false_hits = int(stats.binom.ppf(tail, self.false_trials, 1 - success_probability))
            counts = EventCounts(hits, self.trials, false_hits, self.false_trials)
            return counts.compute_lower_bound(confidence) > claim

        return bisect(is_refuted, claim, _MAX_EPSILON, limit=_MAX_EPSILON, steps=40)[1]


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
            f"The audit needs {budget.m + extra:,} images: a batch of {budget.m:,} and {extra} more. "
            f"Got {len(images):,}."
        )


@dataclasses.dataclass(frozen=True)
class ImageRecovery:
    """What a batch of perturbed images shows to someone who knows no image.

    Attributes:
        event: how often the first image recovered is one image, every pixel right to half a grey level, with that
            image in the data, and with another in its place.
        images: (m, c, h, w) the last batch, pixels in [0, 1].
        perturbed: (m, c, h, w) the same with noise, on the scale of [0, 1].
        recovered: (m, c, h, w) what the attack makes of ``perturbed`` alone.
        largest_error: of all recovered pixels.
        recovered_images: images of which every pixel is right to half a grey level.
    """

    event: EventCounts
    images: Tensor
    perturbed: Tensor
    recovered: Tensor
    largest_error: float
    recovered_images: int


def audit_differences(
    images: Tensor,
    budget: DPALBudget,
    random: np.random.Generator,
    *,
    trials: int = 10_000,
    independent: bool = False,
) -> EventCounts:
    """Count how often the difference of two perturbed images is the difference of the images themselves.

    Args:
        images: (n, c, h, w), pixels in [0, 1]; the first is in D, the second replaces it in D', the third is in both.
        budget: gives the scale of the noise.
        random: generator of the noise.
        trials: releases of D, and as many of D'.
        independent: give each image noise of its own, as a control.

    Raises:
        InputError: fewer than three images.
    """
    check_image_count(images, dataclasses.replace(budget, m=1), 2)
    original, replacement, common = flatten_to_signed_pixels(images[:3])
    counts = []
    for image in (original, replacement):
        shape = (1 + independent, trials, len(original))
        noise = draw_laplace_noise(random, budget.input_scale, shape, original.dtype)
        observed = (image + noise[0]) - (common + noise[-1])
        counts += [int(((observed - (original - common)).abs() < HALF_GREY_LEVEL).all(1).sum()), trials]
    return EventCounts(*counts)


def recover_images(perturbed: Tensor) -> Tensor:
    """Return images (m, d) of [-1, 1] from perturbed ones alone: each pixel is black (-1) in some image of a batch."""
    return perturbed - perturbed.amin(0) - 1


def audit_image_recovery(
    images: Tensor,
    budget: DPALBudget,
    random: np.random.Generator,
    *,
    trials: int = 100,
    independent: bool = False,
) -> ImageRecovery:
    """Recover a batch of images from their perturbed forms, without any other knowledge.

    Args:
        images: (n, c, h, w), pixels in [0, 1], n > m; image m replaces the first one in D'.
        budget: gives the scale of the noise, and m.
        random: generator of the noise.
        trials: releases of D, and as many of D'.
        independent: give each image noise of its own, as a control.

    Raises:
        InputError: fewer than m + 1 images.
    """
    check_image_count(images, budget, 1)
    rows = flatten_to_signed_pixels(images[: budget.m + 1])
    batch, first_image = rows[:-1].clone(), rows[0]
    shape = tuple(batch.shape if independent else first_image.shape)

    def count_recoveries(count: int) -> tuple[int, Tensor, Tensor]:
        """Return how often ``first_image`` is recovered, and the last release with what is recovered from it."""
        hits = 0
        for _ in range(count):
            perturbed = batch + draw_laplace_noise(random, budget.input_scale, shape, batch.dtype)
            recovered = recover_images(perturbed)
            hits += bool(((recovered[0] - first_image).abs() < HALF_GREY_LEVEL).all())
        return hits, perturbed, recovered

    batch[0] = rows[-1]
    false_hits, *_ = count_recoveries(trials)
    batch[0] = first_image
    hits, perturbed, recovered = count_recoveries(trials)
    errors = (recovered - batch).abs().amax(1)
    return ImageRecovery(
        event=EventCounts(hits, trials, false_hits, trials),
        images=restore_unsigned_images(batch, images),
        perturbed=restore_unsigned_images(perturbed, images),
        recovered=restore_unsigned_images(recovered, images),
        largest_error=float(errors.max()) / 2,
        recovered_images=int((errors < HALF_GREY_LEVEL).sum()),
    )


def count_likelier_guesses(
    original: Tensor, replacement: Tensor, budget: DPALBudget, random: np.random.Generator, *, trials: int = 10_000
) -> EventCounts:
    """Count how often the likelier of two images is the first, with independent noise, on either of them.

    Args:
        original: (c, h, w), pixels in [0, 1]: in D.
        replacement: in its place in D'.
        budget: gives the scale of the noise.
        random: generator of the noise.
        trials: releases of D, and as many of D'.
    """
    original_pixels, replacement_pixels = flatten_to_signed_pixels(torch.stack([original, replacement]))
    counts = []
    for image in (original_pixels, replacement_pixels):
        observed = image + draw_laplace_noise(random, budget.input_scale, (trials, len(image)), image.dtype)
        is_nearer = (observed - original_pixels).abs().sum(1) < (observed - replacement_pixels).abs().sum(1)
        counts += [int(is_nearer.sum()), trials]
    return EventCounts(*counts)
