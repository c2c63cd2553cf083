"""Evidence against Theorem 3: the label noise chi3 cancels, and labels are the solution of linear equations.

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
from deniable.core.errors import InputError
from deniable.published.dpal.image_audit import check_image_count, flatten_to_signed_pixels
from deniable.published.dpal.mechanism import (
    DPALBudget,
    compute_adversarial_objective,
    compute_class_objective,
)
from deniable.published.noise import draw_laplace_noise

LabelNoiseForm = Literal["published", "each step", "each step and class"]
DifferenceAxis = Literal["steps", "classes"]
_LEARNING_RATE = 0.02
_FEATURE_SPREAD = 1.5
"""Standard deviation of what noise gives a feature at the start, before tanh."""
_SINGULAR_VALUE_CUTOFF = 1e-14
"""Singular values below this share of the largest one are rounding."""


@dataclasses.dataclass(frozen=True)
class LabelAudit:
    """What a training run shows of its labels.

    Attributes:
        claim: epsilon claimed for the labels, eps2.
        recovered_labels: labels recovered.
        total_labels: labels.
        classes: K.
        is_uniform: whether the labels were drawn uniformly at random, as the bound requires.
    """

    claim: float
    recovered_labels: int
    total_labels: int
    classes: int
    is_uniform: bool

    def compute_lower_bound(self, confidence: float = 0.95) -> float:
        """Return a lower confidence bound on epsilon from this one run; 0 unless its labels were drawn.

        If the run is epsilon-private in each label, then a label drawn uniformly is guessed right with a chance of at
        most e^epsilon / (e^epsilon + K - 1), whatever is known of all others, so the right guesses lie
        stochastically below a binomial (Steinke, Nasr and Jagielski 2023, Theorem 5.2, for two classes).
        """
        return bounds.compute_lower_bound(self._game, self._score, 1 - confidence) if self.is_uniform else 0.0

    def compute_detectable_epsilon(self, claim: float, confidence: float = 0.95) -> float:
        """Return the least true epsilon that this many labels would have refuted with probability 90 %."""
        return bounds.compute_detectable_epsilon(self._game, self._score.guesses, claim, 1 - confidence)

    @property
    def _game(self) -> games.Game:
        is_different = np.ones((self.classes, self.classes)) - np.eye(self.classes)
        return games.make_identification_game(tuple(range(self.classes)), is_different)

    @property
    def _score(self) -> games.Score:
        """The guesses; each has the same cap, so it does not matter which class it named."""
        right, guesses = np.zeros((2, 1, self.classes), dtype=np.int64)
        right[0, 0], guesses[0, 0] = self.recovered_labels, self.total_labels
        return games.Score(right, guesses, self.total_labels)


def audit_labels(
    images: Tensor,
    budget: DPALBudget,
    random: np.random.Generator,
    *,
    given_labels: Tensor | None = None,
    classes: int = 10,
    neurons: int = 256,
    steps: int = 12,
    noise: LabelNoiseForm = "published",
    difference_axis: DifferenceAxis = "steps",
) -> LabelAudit:
    """Train on a batch of m images with DPAL's noise and objective, and solve for its labels.

    The network is one layer of tanh on x-bar and the last layer, both trained by gradient descent on Eq. 10 in float64.

    Args:
        images: (n, c, h, w), pixels in [0, 1], n >= m.
        budget: the scales of the noise, and m.
        random: generator of noise, initial parameters and labels.
        given_labels: (n,) labels 0 ... classes - 1; None to draw them uniformly.
        classes: K.
        neurons: |h_pi|; neurons (steps - 1) equations for m labels.
        steps: of gradient descent, all observed.
        noise: chi3 as published, drawn once; drawn in each step, one for all classes; or, as a control, drawn in each
            step for each class.
        difference_axis: whether the attacker takes differences over steps or over classes.

    Raises:
        InputError: fewer than m images, or fewer equations than labels.
    """
    check_image_count(images, budget, 0)
    if neurons * (steps - 1) < budget.m:
        raise InputError(
            f"{neurons} neurons over {steps} steps give {neurons * (steps - 1):,} equations for {budget.m:,} labels: "
            "take more steps or a smaller batch."
        )
    is_uniform = given_labels is None
    true_labels = (
        torch.from_numpy(random.integers(classes, size=budget.m))
        if given_labels is None
        else given_labels[: budget.m].long()
    )
    pixels = flatten_to_signed_pixels(images[: budget.m])
    perturbed = pixels + draw_laplace_noise(random, budget.input_scale, pixels.shape[1:], pixels.dtype)
    observations = _train_on_labels(perturbed, true_labels, classes, neurons, steps, budget, random, noise)
    recovered_count = int((solve_for_labels(*observations, difference_axis) == true_labels).sum())
    return LabelAudit(budget.eps2, recovered_count, budget.m, classes, is_uniform)


def solve_for_labels(features: list[Tensor], sums: list[Tensor], difference_axis: DifferenceAxis) -> Tensor:
    """Return the labels (m,) that explain v_k best, by least squares.

    Args:
        features: of each step, (m, |h_pi|).
        sums: of each step, v (|h_pi|, K).
        difference_axis: over steps, each with the first one, or over classes, each with their mean.
    """
    if difference_axis == "steps":
        design_matrix = torch.cat([(step_features - features[0]).T for step_features in features[1:]])
        targets = torch.cat([step_sums - sums[0] for step_sums in sums[1:]])
    else:
        design_matrix = torch.cat([step_features.T for step_features in features])
        targets = torch.cat([step_sums - step_sums.mean(1, keepdim=True) for step_sums in sums])
    # The features of nearby steps are nearly dependent: gelsd takes the least solution.
    solution: Tensor = torch.linalg.lstsq(design_matrix, targets, rcond=_SINGULAR_VALUE_CUTOFF, driver="gelsd").solution
    return solution.argmax(1)


def _train_on_labels(
    perturbed: Tensor,
    labels: Tensor,
    classes: int,
    neurons: int,
    steps: int,
    budget: DPALBudget,
    random: np.random.Generator,
    noise: LabelNoiseForm,
) -> tuple[list[Tensor], list[Tensor]]:
    """Return features (m, |h_pi|) and sums v (|h_pi|, K) of every step, the sums as the weights show them."""
    pixel_count = perturbed.shape[1]
    # On the scale of its noise, so that one learning rate suits both layers.
    scaled = perturbed / (2**0.5 * budget.input_scale)
    theta = torch.from_numpy(random.normal(0, _FEATURE_SPREAD / pixel_count**0.5, (pixel_count, neurons)))
    weights = torch.from_numpy(random.normal(0, 0.05, (neurons, classes)))
    targets = functional.one_hot(labels, classes).double()
    shape = (neurons, classes) if noise == "each step and class" else (neurons,)
    chi = draw_laplace_noise(random, budget.label_scale, shape, torch.float64)
    features, sums = [], []
    for _ in range(steps):
        if noise != "published":
            chi = draw_laplace_noise(random, budget.label_scale, shape, torch.float64)
        theta, weights = theta.requires_grad_(), weights.requires_grad_()
        hidden = torch.tanh(scaled @ theta)
        loss = compute_adversarial_objective(
            compute_class_objective(hidden, weights, targets, chi), hidden.new_zeros(1), xi=1.0
        )
        theta_gradient, weights_gradient = torch.autograd.grad(loss, (theta, weights))
        before, hidden = weights.detach(), hidden.detach()
        theta, weights = theta.detach() - _LEARNING_RATE * theta_gradient, before - _LEARNING_RATE * weights_gradient
        features.append(hidden)
        sums.append(_recover_feature_sums(hidden, before, weights))
    return features, sums


def _recover_feature_sums(hidden: Tensor, before: Tensor, after: Tensor) -> Tensor:
    """Return v (|h_pi|, K) = sum_i h_i y_ik + chi3 from the last layer before and after a step, by Eq. 10."""
    scores = hidden @ before
    label_free_sums = hidden.T @ (1 - scores.sign() / 2 + scores / 4)
    return label_free_sums - (before - after) / _LEARNING_RATE * 2 * len(hidden)
