"""Audits of noise that all images share: it cancels in differences, and a batch of images shows it.

DPAL adds one vector chi1/m to all images of the training data (Algorithm 1, line 2), and claims that the
result is (eps1/gamma_x)-private (Lemma 3).
"""

import dataclasses

import numpy as np
from torch import Tensor

from deniable.robust.audits.events import Event
from deniable.robust.audits.pixels import LEVEL, check_batch, signed, unsigned
from deniable.robust.dpal.noise import Budget, laplace

_BLOCK = 500
"""Trials whose noise is drawn at once."""


@dataclasses.dataclass(frozen=True)
class Differences:
    """What the differences of perturbed images show.

    Attributes:
        claim: epsilon claimed for the perturbed images.
        event: how often the difference of two of them is that of the two images, with one of them in the
            data, and with another image in its place.
    """

    claim: float
    event: Event


@dataclasses.dataclass(frozen=True)
class Recovery:
    """What a batch of perturbed images shows to someone who knows no image.

    Attributes:
        claim: epsilon claimed for the perturbed images.
        event: how often the first image recovered is one image, every pixel right to half a grey level, with that
            image in the data, and with another in its place.
        images: (m, c, h, w) the last batch, pixels in [0, 1].
        perturbed: (m, c, h, w) the same with noise, on the scale of [0, 1].
        recovered: (m, c, h, w) what the attack makes of ``perturbed`` alone.
        largest_error: of all recovered pixels.
        same: images of which every pixel is right to half a grey level.
    """

    claim: float
    event: Event
    images: Tensor
    perturbed: Tensor
    recovered: Tensor
    largest_error: float
    same: int


def differences(
    images: Tensor,
    budget: Budget,
    random: np.random.Generator,
    *,
    trials: int = 10_000,
    independent: bool = False,
) -> Differences:
    """Count how often the difference of two perturbed images is the difference of the images themselves.

    Args:
        images: (n, c, h, w), pixels in [0, 1]; the first is in D, the second replaces it in D', the third is in both.
        budget: the scale of the noise.
        random: source of the noise.
        trials: releases of D, and as many of D'.
        independent: give each image noise of its own, as a control.

    Raises:
        InputError: fewer than three images.
    """
    check_batch(images, dataclasses.replace(budget, m=1), 2)
    one, other, third = signed(images[:3])
    counts = []
    for present in (one, other):
        hits = 0
        for at in range(0, trials, _BLOCK):
            count = min(_BLOCK, trials - at)
            first = laplace(random, budget.input_scale, (count, len(one)), one.dtype)
            second = laplace(random, budget.input_scale, (count, len(one)), one.dtype) if independent else first
            seen = (present + first) - (third + second)
            hits += int(((seen - (one - third)).abs() < LEVEL).all(1).sum())
        counts += [hits, trials]
    return Differences(budget.input_claim, Event(*counts))


def recover(perturbed: Tensor) -> Tensor:
    """Return images (m, d) of [-1, 1] from perturbed ones alone: each pixel is black (-1) in some image of a batch."""
    return perturbed - perturbed.amin(0) - 1


def recovery(
    images: Tensor,
    budget: Budget,
    random: np.random.Generator,
    *,
    trials: int = 100,
    independent: bool = False,
) -> Recovery:
    """Recover a batch of images from their perturbed forms, without any other knowledge.

    Args:
        images: (n, c, h, w), pixels in [0, 1], n > m; image m replaces the first one in D'.
        budget: the scale of the noise, and m.
        random: source of the noise.
        trials: releases of D, and as many of D'.
        independent: give each image noise of its own, as a control.

    Raises:
        InputError: fewer than m + 1 images.
    """
    check_batch(images, budget, 1)
    rows = signed(images[: budget.m + 1])
    batch, one = rows[:-1].clone(), rows[0]
    shape = tuple(batch.shape if independent else one.shape)

    def release(count: int) -> tuple[int, Tensor, Tensor]:
        """Return how often the first image recovered is ``one``, and the last release with what is recovered."""
        hits = 0
        for _ in range(count):
            perturbed = batch + laplace(random, budget.input_scale, shape, batch.dtype)
            found = recover(perturbed)
            hits += bool(((found[0] - one).abs() < LEVEL).all())
        return hits, perturbed, found

    batch[0] = rows[-1]
    false_hits, *_ = release(trials)
    batch[0] = one
    hits, perturbed, found = release(trials)
    errors = (found - batch).abs().amax(1)
    return Recovery(
        claim=budget.input_claim,
        event=Event(hits, trials, false_hits, trials),
        images=unsigned(batch, images),
        perturbed=unsigned(perturbed, images),
        recovered=unsigned(found, images),
        largest_error=float(errors.max()) / 2,
        same=int((errors < LEVEL).sum()),
    )
