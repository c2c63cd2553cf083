"""Audit of the first layer's parameters after one step of gradient descent: they show the batch.

With one noise vector for all images of a batch, the gradient of Eq. 7 is -2 C theta0 and a matrix of rank two,
where C is the scatter of the batch about its mean: the noise is in the mean alone. Whoever subtracts the C of
the right batch is left with rank two.
"""

import dataclasses

import numpy as np
import torch
from torch import Tensor

from deniable.robust.audits.events import Event
from deniable.robust.audits.pixels import check_batch, signed
from deniable.robust.dpal.noise import Budget, laplace
from deniable.robust.dpal.objectives import dense_reconstruction_objective

_RATE = 1e-4
"""The published learning rate."""


@dataclasses.dataclass(frozen=True)
class Parameters:
    """What the parameters show.

    Attributes:
        claim: epsilon claimed for them (Theorem 1).
        event: how often the smaller ratio is that of the batch D, trained on D and trained on its neighbour D'.
        projected: the same for an attacker who looks along the one direction in which the two batches differ, which
            survives the rounding of float32.
        own: (2 trials,) third over first singular value with the batch that was trained on.
        other: (2 trials,) the same with its neighbour.
    """

    claim: float
    event: Event
    projected: Event
    own: tuple[float, ...]
    other: tuple[float, ...]


def parameters(
    images: Tensor,
    budget: Budget,
    random: np.random.Generator,
    *,
    trials: int = 50,
    neurons: int = 64,
    dtype: torch.dtype = torch.float64,
    independent: bool = False,
) -> Parameters:
    """Tell two neighbouring batches apart by theta1 alone, after one step of Eq. 7 on a batch of m images.

    Args:
        images: (n, c, h, w), pixels in [0, 1], n > m; image m replaces the first one in D'.
        budget: the scales of the noise, and m.
        random: source of noise and initial parameters, which are public.
        trials: runs on D, and as many on D'.
        neurons: beta, of the fully connected first layer.
        dtype: that the network is trained in.
        independent: give each image noise of its own, as a control.

    Raises:
        InputError: fewer than m + 1 images.
    """
    check_batch(images, budget, 1)
    rows = signed(images[: budget.m + 1])
    batches = (rows[:-1], torch.cat([rows[-1:], rows[1:-1]]))
    scatters = [batch.T.cov(correction=0) * len(batch) for batch in batches]
    ratios: list[tuple[float, float]] = []
    counts: list[int] = []
    for trained in (0, 1):
        by_ratio, by_projection = 0, 0
        for _ in range(trials):
            start = _initial(random, rows.shape[1], neurons, budget.theta_norm).to(dtype)
            end = _step(batches[trained].to(dtype), start, budget, random, independent=independent)
            moved, start = (start.double() - end.double()) / _RATE * budget.m, start.double()
            found = [_ratio(moved + 2 * scatter @ start) for scatter in scatters]
            by_ratio += found[0] < found[1]
            by_projection += _projection(moved, start, scatters) > 0
            ratios.append((found[trained], found[1 - trained]))
        counts += [by_ratio, by_projection]
    first, second, third, fourth = counts
    own, other = zip(*ratios, strict=True)
    return Parameters(
        budget.parameter_claim,
        Event(first, trials, third, trials),
        Event(second, trials, fourth, trials),
        own,
        other,
    )


def _initial(random: np.random.Generator, size: int, neurons: int, norm: float) -> Tensor:
    """Return theta0 (d, beta), columns of the 1-norm that the budget is computed with."""
    drawn = torch.from_numpy(random.normal(size=(size, neurons)))
    return drawn * norm / drawn.abs().sum(0)


def _step(batch: Tensor, start: Tensor, budget: Budget, random: np.random.Generator, *, independent: bool) -> Tensor:
    """Return theta1 (d, beta) after one step down the mean of Eq. 7."""
    count = (len(batch),) if independent else ()
    perturbed = batch + laplace(random, budget.input_scale, (*count, *start.shape[:1]), batch.dtype)
    noise = laplace(random, budget.hidden_scale, (*count, *start.shape[1:]), batch.dtype)
    theta = start.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(dense_reconstruction_objective(perturbed, theta, noise).mean(), theta)
    return start - _RATE * gradient


def _ratio(left: Tensor) -> float:
    """Return the third over the first singular value."""
    values = torch.linalg.svdvals(left)
    return float(values[2] / values[0])


def _projection(moved: Tensor, start: Tensor, scatters: list[Tensor]) -> float:
    """Return what is left beside rank two, half-way between the batches, along their difference: positive for D."""
    left, apart = moved + (scatters[0] + scatters[1]) @ start, (scatters[1] - scatters[0]) @ start
    columns, _, rows = torch.linalg.svd(left, full_matrices=False)
    down, across = columns[:, :2] @ columns[:, :2].T, rows[:2].T @ rows[:2]
    left, apart = left - down @ left, apart - down @ apart
    return float(((left - left @ across) * (apart - apart @ across)).sum())
