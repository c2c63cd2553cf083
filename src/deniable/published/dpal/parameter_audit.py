"""Evidence against Theorem 1: the first layer's parameters after one step of gradient descent show the batch.

With one noise vector for all images of a batch, the gradient of Eq. 7 is -2 C theta0 and a matrix of rank two,
where C is the scatter of the batch about its mean: the noise is in the mean alone. Whoever subtracts the C of
the right batch is left with rank two.
"""

import dataclasses

import numpy as np
import torch
from torch import Tensor

from deniable.published.dpal.events import EventCounts
from deniable.published.dpal.image_audit import check_image_count, flatten_to_signed_pixels
from deniable.published.dpal.mechanism import DPALBudget, compute_dense_reconstruction_objective
from deniable.published.noise import draw_laplace_noise

_LEARNING_RATE = 1e-4
"""The published learning rate."""


@dataclasses.dataclass(frozen=True)
class ParameterAudit:
    """What the parameters show.

    Attributes:
        claim: epsilon claimed for them (Theorem 1).
        ratio_event: how often the smaller ratio is that of the batch D, trained on D and trained on its neighbour D'.
        projection_event: the same for an attacker who looks along the one direction in which the two batches differ,
            which survives the rounding of float32.
        trained_ratios: (2 trials,) third over first singular value with the batch that was trained on.
        neighbour_ratios: (2 trials,) the same with its neighbour.
    """

    claim: float
    ratio_event: EventCounts
    projection_event: EventCounts
    trained_ratios: tuple[float, ...]
    neighbour_ratios: tuple[float, ...]


def audit_parameters(
    images: Tensor,
    budget: DPALBudget,
    random: np.random.Generator,
    *,
    trials: int = 50,
    neurons: int = 64,
    dtype: torch.dtype = torch.float64,
    independent: bool = False,
) -> ParameterAudit:
    """Tell two neighbouring batches apart by theta1 alone, after one step of Eq. 7 on a batch of m images.

    Args:
        images: (n, c, h, w), pixels in [0, 1], n > m; image m replaces the first one in D'.
        budget: the scales of the noise, and m.
        random: generator of noise and of initial parameters, which are public.
        trials: runs on D, and as many on D'.
        neurons: beta, of the fully connected first layer.
        dtype: that the network is trained in.
        independent: give each image noise of its own, as a control.

    Raises:
        InputError: fewer than m + 1 images.
    """
    check_image_count(images, budget, 1)
    pixels = flatten_to_signed_pixels(images[: budget.m + 1])
    batches = (pixels[:-1], torch.cat([pixels[-1:], pixels[1:-1]]))
    scatters = [batch.T.cov(correction=0) * len(batch) for batch in batches]
    ratios: list[tuple[float, float]] = []
    counts: list[int] = []
    for trained in (0, 1):
        by_ratio, by_projection = 0, 0
        for _ in range(trials):
            start_weights = _draw_initial_weights(random, pixels.shape[1], neurons, budget.theta_norm).to(dtype)
            end_weights = _take_descent_step(
                batches[trained].to(dtype), start_weights, budget, random, independent=independent
            )
            gradient, start_weights = (
                (start_weights.double() - end_weights.double()) / _LEARNING_RATE * budget.m,
                start_weights.double(),
            )
            rank_ratios = [_compute_rank_ratio(gradient + 2 * scatter @ start_weights) for scatter in scatters]
            by_ratio += rank_ratios[0] < rank_ratios[1]
            by_projection += _project_on_difference(gradient, start_weights, scatters) > 0
            ratios.append((rank_ratios[trained], rank_ratios[1 - trained]))
        counts += [by_ratio, by_projection]
    ratio_hits, projection_hits, false_ratio_hits, false_projection_hits = counts
    trained_ratios, neighbour_ratios = zip(*ratios, strict=True)
    return ParameterAudit(
        budget.parameter_claim,
        EventCounts(ratio_hits, trials, false_ratio_hits, trials),
        EventCounts(projection_hits, trials, false_projection_hits, trials),
        trained_ratios,
        neighbour_ratios,
    )


def _draw_initial_weights(random: np.random.Generator, size: int, neurons: int, norm: float) -> Tensor:
    """Return theta0 (d, beta), columns of the 1-norm that the budget is computed with."""
    weights = torch.from_numpy(random.normal(size=(size, neurons)))
    return weights * norm / weights.abs().sum(0)


def _take_descent_step(
    batch: Tensor, start: Tensor, budget: DPALBudget, random: np.random.Generator, *, independent: bool
) -> Tensor:
    """Return theta1 (d, beta) after one step down the mean of Eq. 7."""
    leading_shape = (len(batch),) if independent else ()
    perturbed = batch + draw_laplace_noise(random, budget.input_scale, (*leading_shape, *start.shape[:1]), batch.dtype)
    noise = draw_laplace_noise(random, budget.hidden_scale, (*leading_shape, *start.shape[1:]), batch.dtype)
    theta = start.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(compute_dense_reconstruction_objective(perturbed, theta, noise).mean(), theta)
    return start - _LEARNING_RATE * gradient


def _compute_rank_ratio(residual: Tensor) -> float:
    """Return the third over the first singular value."""
    values = torch.linalg.svdvals(residual)
    return float(values[2] / values[0])


def _project_on_difference(gradient: Tensor, start_weights: Tensor, scatters: list[Tensor]) -> float:
    """Return what is left beside rank two, half-way between the batches, along their difference: positive for D."""
    residual, difference = (
        gradient + (scatters[0] + scatters[1]) @ start_weights,
        (scatters[1] - scatters[0]) @ start_weights,
    )
    columns, _, rows = torch.linalg.svd(residual, full_matrices=False)
    column_projector, row_projector = columns[:, :2] @ columns[:, :2].T, rows[:2].T @ rows[:2]
    residual, difference = residual - column_projector @ residual, difference - column_projector @ difference
    return float(((residual - residual @ row_projector) * (difference - difference @ row_projector)).sum())
