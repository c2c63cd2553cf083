"""Evidence against Lemma 3: noise that all images share cancels in differences, and a batch of images shows it.

DPAL adds one vector chi1/m to all images of the training data (Algorithm 1, line 2), and claims that the
result is (eps1/gamma_x)-private (Lemma 3).
"""

import dataclasses

import numpy as np
from torch import Tensor

from deniable.core.errors import InputError
from deniable.published.dpal.events import EventCounts
from deniable.published.dpal.mechanism import DPALBudget
from deniable.published.noise import draw_laplace_noise

_IMAGE_TRIALS_PER_BLOCK = 500
"""Number of trials whose noise is drawn at once."""
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
            f"The audit needs {budget.m + extra:,} images: a batch of {budget.m:,} and {extra} more. "
            f"Got {len(images):,}."
        )


@dataclasses.dataclass(frozen=True)
class DifferenceAudit:
    """What the differences of perturbed images show.

    Attributes:
        claim: epsilon claimed for the perturbed images.
        event: how often the difference of two of them is that of the two images, with one of them in the
            data, and with another image in its place.
    """

    claim: float
    event: EventCounts


@dataclasses.dataclass(frozen=True)
class ImageRecovery:
    """What a batch of perturbed images shows to someone who knows no image.

    Attributes:
        claim: epsilon claimed for the perturbed images.
        event: how often the first image recovered is one image, every pixel right to half a grey level, with that
            image in the data, and with another in its place.
        images: (m, c, h, w) the last batch, pixels in [0, 1].
        perturbed: (m, c, h, w) the same with noise, on the scale of [0, 1].
        recovered: (m, c, h, w) what the attack makes of ``perturbed`` alone.
        largest_error: of all recovered pixels.
        recovered_images: images of which every pixel is right to half a grey level.
    """

    claim: float
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
) -> DifferenceAudit:
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
        hits = 0
        for start in range(0, trials, _IMAGE_TRIALS_PER_BLOCK):
            count = min(_IMAGE_TRIALS_PER_BLOCK, trials - start)
            first_noise = draw_laplace_noise(random, budget.input_scale, (count, len(original)), original.dtype)
            second_noise = (
                draw_laplace_noise(random, budget.input_scale, (count, len(original)), original.dtype)
                if independent
                else first_noise
            )
            observed = (image + first_noise) - (common + second_noise)
            hits += int(((observed - (original - common)).abs() < HALF_GREY_LEVEL).all(1).sum())
        counts += [hits, trials]
    return DifferenceAudit(budget.input_claim, EventCounts(*counts))


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
        claim=budget.input_claim,
        event=EventCounts(hits, trials, false_hits, trials),
        images=restore_unsigned_images(batch, images),
        perturbed=restore_unsigned_images(perturbed, images),
        recovered=restore_unsigned_images(recovered, images),
        largest_error=float(errors.max()) / 2,
        recovered_images=int((errors < HALF_GREY_LEVEL).sum()),
    )
