"""What Lemma 2, Theorem 2 and Appendix N of Phan et al. 2020 bound, computed. Needs torch."""

import dataclasses
import math

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from deniable.models.images.attacks import SignAttack
from deniable.models.images.networks import ImageArchitecture, ImageNetwork, get_first_layer_shape
from deniable.published.dpal.image_audit import HALF_GREY_LEVEL, EventCounts
from deniable.published.dpal.mechanism import (
    DPALBudget,
    compute_class_objective,
    compute_mended_class_objective,
    limit_kernel_norms,
)
from deniable.published.noise import draw_laplace_noise

RECONSTRUCTION_BOUND = 4 * math.e / (1 + math.e) ** 2
"""Eq. 29, for a pixel."""
CLASS_BOUND = (math.e**2 + 2 * math.e - 1) / (math.e * (1 + math.e) ** 2)
"""Eq. 30, for a class."""
_PLACES = 20_001
_TRIALS_AT_ONCE = 250


@dataclasses.dataclass(frozen=True)
class ExpansionErrors:
    """The largest errors of the expansions over z in [-1, 1], where the proofs of Appendix N bound them.

    Attributes:
        reconstruction: of Eq. 6, for one pixel.
        printed: of Eq. 10 as printed, for one class.
        mended: of Eq. 10 with max(h W, 0), for one class.
    """

    reconstruction: float
    printed: float
    mended: float


def compute_expansion_errors() -> ExpansionErrors:
    """Return the largest errors on a grid of z with both ends, where they are largest.

    A pixel has log(1 + e^z) - x z for z = theta1_j h, whose expansion is log 2 + (1/2 - x) z: the error does not
    depend on x. A class has log(1 + e^z) - y z for z = h W, and the expansion leaves out log 2, which moves no minimum.
    """
    z = torch.linspace(-1, 1, _PLACES, dtype=torch.float64)
    weights, labels, noise = z.new_ones(1, 1), z.new_zeros(len(z), 1), z.new_zeros(1)
    exact = functional.softplus(z)
    printed, mended = (
        float((compute(z[:, None], weights, labels, noise) + math.log(2) - exact).abs().max())
        for compute in (compute_class_objective, compute_mended_class_objective)
    )
    return ExpansionErrors(float((math.log(2) + z / 2 - exact).abs().max()), printed, mended)


def measure_coefficient_sensitivity(side: int = 28, kernel_size: int = 5, stride: int = 2) -> float:
    """Return by how much the coefficients of Eq. 6 change in l1 if one image is replaced: a lower bound on Delta_R.

    The coefficients of theta1_j are (1/2 - x_j) h (Eq. 6). Lemma 2's proof sums the changes of h / 2 and of x_j
    instead, which is at most d (beta + 2). Here a kernel has all of its 1-norm of 1 at its middle. One image is black,
    with h = -1 everywhere, the other is white where a kernel has its middle, with h = 1. The coefficient of a pixel
    that is black in both then changes by 3 for each unit that sees it.

    Args:
        side: pixels a side.
        kernel_size: of a patch of d pixels.
        stride: between patches; one feature map has beta of them.
    """
    padding = kernel_size // 2
    black = -torch.ones(1, 1, side, side, dtype=torch.float64)
    white = black.clone()
    white[:, :, ::stride, ::stride] = 1

    def unfold(image: Tensor) -> Tensor:
        return functional.unfold(image, kernel_size, padding=padding, stride=stride)[0]  # (d, beta)

    def compute_coefficients(image: Tensor) -> Tensor:
        patches = unfold(image)
        hidden = patches[kernel_size**2 // 2]  # the middle of each patch
        return (0.5 - patches) * hidden * is_pixel

    is_pixel = unfold(torch.ones_like(black))
    return float((compute_coefficients(black) - compute_coefficients(white)).abs().sum())


def audit_adversarial_differences(
    images: Tensor, budget: DPALBudget, random: np.random.Generator, *, trials: int, independent: bool = False
) -> EventCounts:
    """Tell two neighbouring data sets apart by a difference of two DP adversarial examples (Eq. 8).

    x_adv = x-bar + mu sign(...), with a mu in (0, 1] that nobody knows. With one draw of noise for all images the
    difference of two of them is that of the images plus entries of -2 mu, 0 and 2 mu: those that are not 0 have one
    absolute value.

    Args:
        images: (3, c, h, w), pixels in [0, 1]: two images, and another one in place of the first in D'.
        budget: gives the scales of the noise.
        random: generator of noise and attack sizes.
        trials: releases of D, and as many of D'.
        independent: give each image noise of its own, as a control.
    """
    channels, height, width = images.shape[1:]
    architecture = ImageArchitecture("paper-mnist", (channels, height, width), 10)
    network = architecture.build(0).eval().double()
    with torch.no_grad():
        network.first.weight.copy_(limit_kernel_norms(network.first.weight, budget.theta_norm))
    original, common, replacement = images.double()
    hidden_shape = get_first_layer_shape(network, original[None])[1:]
    counts = []
    for first in (original, replacement):
        hits = 0
        for start in range(0, trials, _TRIALS_AT_ONCE):
            count = min(_TRIALS_AT_ONCE, trials - start)
            noise = draw_laplace_noise(
                random, budget.input_scale / 2, (1 + independent, count, *images.shape[1:]), torch.float64
            )
            hidden = draw_laplace_noise(random, budget.hidden_scale, (count, *hidden_shape), torch.float64)
            sizes = torch.from_numpy(1 - random.random(count)) / 2
            pair = [
                _attack(network, image + own_noise, hidden, sizes)
                for image, own_noise in ((first, noise[0]), (common, noise[-1]))
            ]
            rest = (2 * (pair[0] - pair[1] - (original - common))).flatten(1).abs()
            largest = rest.amax(1, keepdim=True)
            is_one_value = (rest < HALF_GREY_LEVEL) | (largest - rest < HALF_GREY_LEVEL)
            hits += int(is_one_value.all(1).sum())
        counts += [hits, trials]
    return EventCounts(*counts)


def _attack(network: ImageNetwork, perturbed: Tensor, hidden: Tensor, sizes: Tensor) -> Tensor:
    """Return FGSM's images against the predicted classes, on the scale of [0, 1]."""
    with torch.no_grad():
        predicted = network(perturbed, hidden).argmax(1)
    attack = SignAttack(steps=1, stride=1.0, bounds=(-math.inf, math.inf))
    return attack(lambda inputs: network(inputs, hidden), perturbed, predicted, sizes)
