"""Audit of the label noise: chi3 cancels, and labels are the solution of linear equations.

Eq. 10 reaches the last layer's weights W_k through the sums v_k = sum_i h_i y_ik + chi3. Whoever sees W before and
after a step of gradient descent, and the features h_i of the perturbed images, knows v_k exactly. chi3 is drawn once
while the features move, so that it cancels in differences over steps; and it is one vector for all classes, so that
it cancels in differences over classes even where it is drawn afresh in every step.
"""

import dataclasses
from typing import Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from deniable.auditing import bounds, games
from deniable.errors import InputError
from deniable.robust.audits.pixels import check_batch, signed
from deniable.robust.dpal.noise import Budget, laplace
from deniable.robust.dpal.objectives import adversarial_objective, class_objective

NoiseForm = Literal["published", "each step", "each step and class"]
Over = Literal["steps", "classes"]
_RATE = 0.02
_SPREAD = 1.5
"""Standard deviation of what noise gives a feature at the start, before tanh."""
_ROUNDING = 1e-14
"""Singular values below this share of the largest one are rounding."""


@dataclasses.dataclass(frozen=True)
class Labels:
    """What a training run shows of its labels.

    Attributes:
        claim: epsilon claimed for the labels, eps2.
        right: labels recovered.
        count: labels.
        classes: K.
        drawn: the labels were drawn uniformly at random, as the bound needs.
    """

    claim: float
    right: int
    count: int
    classes: int
    drawn: bool

    def lower_bound(self, confidence: float = 0.95) -> float:
        """Return a lower confidence bound on epsilon from this one run; 0 unless its labels were drawn.

        If the run is epsilon-private in each label, then a label drawn uniformly is guessed right with a chance of at
        most e^epsilon / (e^epsilon + K - 1), whatever is known of all others, so the right guesses lie
        stochastically below a binomial (Steinke, Nasr and Jagielski 2023, Theorem 5.2, for two classes).
        """
        return bounds.lower_bound(self._game, self._score, 1 - confidence) if self.drawn else 0.0

    def detectable(self, claim: float, confidence: float = 0.95) -> float:
        """Return the least true epsilon that so many labels would have refuted with probability 90 %."""
        return bounds.detectable(self._game, self._score.guesses, claim, 1 - confidence)

    @property
    def _game(self) -> games.Game:
        apart = np.ones((self.classes, self.classes)) - np.eye(self.classes)
        return games.candidates(tuple(range(self.classes)), apart)

    @property
    def _score(self) -> games.Score:
        """Every guess has the same cap, so it does not matter which class it named."""
        right, guesses = np.zeros((2, 1, self.classes), dtype=np.int64)
        right[0, 0], guesses[0, 0] = self.right, self.count
        return games.Score(right, guesses, self.count)


def labels(
    images: Tensor,
    budget: Budget,
    random: np.random.Generator,
    *,
    truth: Tensor | None = None,
    classes: int = 10,
    neurons: int = 256,
    steps: int = 12,
    noise: NoiseForm = "published",
    differences: Over = "steps",
) -> Labels:
    """Train on a batch of m images with DPAL's noise and objective, and solve for its labels.

    The network is one layer of tanh on x-bar and the last layer, both trained by gradient descent on Eq. 10 in float64.

    Args:
        images: (n, c, h, w), pixels in [0, 1], n >= m.
        budget: the scales of the noise, and m.
        random: source of noise, initial parameters and labels.
        truth: (n,) labels 0 ... classes - 1; None to draw them uniformly.
        classes: K.
        neurons: |h_pi|; neurons (steps - 1) equations for m labels.
        steps: of gradient descent, all seen.
        noise: chi3 as published, drawn once; drawn in each step, one for all classes; or, as a control, drawn in each
            step for each class.
        differences: which the attacker solves.

    Raises:
        InputError: fewer than m images, or fewer equations than labels.
    """
    check_batch(images, budget, 0)
    if neurons * (steps - 1) < budget.m:
        raise InputError(
            f"{neurons} neurons over {steps} steps give {neurons * (steps - 1):,} equations for {budget.m:,} labels: "
            "take more steps or a smaller batch."
        )
    drawn = truth is None
    given = torch.from_numpy(random.integers(classes, size=budget.m)) if truth is None else truth[: budget.m].long()
    rows = signed(images[: budget.m])
    perturbed = rows + laplace(random, budget.input_scale, rows.shape[1:], rows.dtype)
    seen = _train(perturbed, given, classes, neurons, steps, budget, random, noise)
    right = int((solve(*seen, differences) == given).sum())
    return Labels(budget.eps2, right, budget.m, classes, drawn)


def solve(features: list[Tensor], sums: list[Tensor], differences: Over) -> Tensor:
    """Return the labels (m,) that explain v_k best, by least squares.

    Args:
        features: of each step, (m, |h_pi|).
        sums: of each step, v (|h_pi|, K).
        differences: over steps, each with the first one, or over classes, each with their mean.
    """
    if differences == "steps":
        left = torch.cat([(h - features[0]).T for h in features[1:]])
        right = torch.cat([v - sums[0] for v in sums[1:]])
    else:
        left = torch.cat([h.T for h in features])
        right = torch.cat([v - v.mean(1, keepdim=True) for v in sums])
    # The features of nearby steps are nearly dependent: gelsd takes the least solution.
    found: Tensor = torch.linalg.lstsq(left, right, rcond=_ROUNDING, driver="gelsd").solution
    return found.argmax(1)


def _train(
    perturbed: Tensor,
    truth: Tensor,
    classes: int,
    neurons: int,
    steps: int,
    budget: Budget,
    random: np.random.Generator,
    noise: NoiseForm,
) -> tuple[list[Tensor], list[Tensor]]:
    """Return features (m, |h_pi|) and sums v (|h_pi|, K) of every step, the sums as the weights show them."""
    size = perturbed.shape[1]
    # On the scale of its noise, so that one learning rate suits both layers.
    scaled = perturbed / (2**0.5 * budget.input_scale)
    theta = torch.from_numpy(random.normal(0, _SPREAD / size**0.5, (size, neurons)))
    weights = torch.from_numpy(random.normal(0, 0.05, (neurons, classes)))
    targets = functional.one_hot(truth, classes).double()
    shape = (neurons, classes) if noise == "each step and class" else (neurons,)
    chi = laplace(random, budget.label_scale, shape, torch.float64)
    features, sums = [], []
    for _ in range(steps):
        if noise != "published":
            chi = laplace(random, budget.label_scale, shape, torch.float64)
        theta, weights = theta.requires_grad_(), weights.requires_grad_()
        hidden = torch.tanh(scaled @ theta)
        loss = adversarial_objective(class_objective(hidden, weights, targets, chi), hidden.new_zeros(1), xi=1.0)
        down, up = torch.autograd.grad(loss, (theta, weights))
        before, hidden = weights.detach(), hidden.detach()
        theta, weights = theta.detach() - _RATE * down, before - _RATE * up
        features.append(hidden)
        sums.append(_sums(hidden, before, weights))
    return features, sums


def _sums(hidden: Tensor, before: Tensor, after: Tensor) -> Tensor:
    """Return v (|h_pi|, K) = sum_i h_i y_ik + chi3 from the last layer before and after a step, by Eq. 10."""
    scores = hidden @ before
    plain = hidden.T @ (1 - scores.sign() / 2 + scores / 4)
    return plain - (before - after) / _RATE * 2 * len(hidden)
