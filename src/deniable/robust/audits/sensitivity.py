"""Audit of Lemma 3, which takes a Lipschitz constant for the sensitivity: even independent noise is too small."""

import dataclasses

import numpy as np
import torch
from torch import Tensor

from deniable.errors import make_parameter_error
from deniable.robust.audits.events import EventCounts
from deniable.robust.audits.pixels import flatten_to_signed_pixels
from deniable.robust.dpal.noise import DPALBudget, draw_laplace_noise

_PIXEL_WIDTH = 2.0
"""By which one pixel of [-1, 1] can differ."""
_LOSS_GRID = 1e-3
"""Of losses in the accounting; its result is an upper bound at any."""
_SENSITIVITY_TRIALS_PER_BLOCK = 500
"""Trials whose noise is drawn at once."""


@dataclasses.dataclass(frozen=True)
class SensitivityAudit:
    """What independent Laplace noise of DPAL's scale gives.

    Attributes:
        claim: epsilon claimed for the perturbed images.
        used: the sensitivity of Lemma 3, a Lipschitz constant.
        l1: the l1 sensitivity when one image is replaced by another, 2 d.
        scale: of the noise.
        epsilon: the exact epsilon, l1 / scale.
        delta: at which ``at_delta`` holds.
        at_delta: epsilon of (epsilon, delta)-differential privacy for opposite images, the worst pair.
    """

    claim: float
    used: float
    l1: float
    scale: float
    epsilon: float
    delta: float
    at_delta: float


def audit_sensitivity(budget: DPALBudget, *, pixels: int = 784, delta: float = 1e-5) -> SensitivityAudit:
    """Return what independent noise of DPAL's scale gives for images of so many pixels in [-1, 1].

    By the privacy loss distribution of one pixel, composed over all (dp-accounting).

    Raises:
        InputError: a delta outside (0, 1), or no pixels.
    """
    from dp_accounting.pld import privacy_loss_distribution as pld  # noqa: PLC0415 - 0.5 s that no other audit needs

    if not 0 < delta < 1:
        raise make_parameter_error("sensitivity", "delta", "a float in (0, 1)", delta)
    if pixels < 1:
        raise make_parameter_error("sensitivity", "pixels", "an int of at least 1", pixels)
    pixel_losses = pld.from_laplace_mechanism(
        budget.input_scale, sensitivity=_PIXEL_WIDTH, value_discretization_interval=_LOSS_GRID
    )
    l1 = _PIXEL_WIDTH * pixels
    return SensitivityAudit(
        claim=budget.input_claim,
        used=1.0,
        l1=l1,
        scale=budget.input_scale,
        epsilon=l1 / budget.input_scale,
        delta=delta,
        at_delta=float(pixel_losses.self_compose(pixels).get_epsilon_for_delta(delta)),
    )


def count_likelier_guesses(
    original: Tensor, replacement: Tensor, budget: DPALBudget, random: np.random.Generator, *, trials: int = 10_000
) -> EventCounts:
    """Count how often the likelier of two images is the first, with independent noise, on either of them.

    Args:
        original: (c, h, w), pixels in [0, 1]: in D.
        replacement: in its place in D'.
        budget: the scale of the noise.
        random: source of the noise.
        trials: releases of D, and as many of D'.
    """
    original_pixels, replacement_pixels = flatten_to_signed_pixels(torch.stack([original, replacement]))
    counts = []
    for image in (original_pixels, replacement_pixels):
        hits = 0
        for start in range(0, trials, _SENSITIVITY_TRIALS_PER_BLOCK):
            observed = image + draw_laplace_noise(
                random,
                budget.input_scale,
                (min(_SENSITIVITY_TRIALS_PER_BLOCK, trials - start), len(original_pixels)),
                original_pixels.dtype,
            )
            hits += int(
                ((observed - original_pixels).abs().sum(1) < (observed - replacement_pixels).abs().sum(1)).sum()
            )
        counts += [hits, trials]
    return EventCounts(*counts)
