"""Evidence against Theorems 1 and 3: what training releases shows the images and the labels of a batch.

Theorem 3: the label noise chi3 cancels, and labels are the solution of linear equations.

Eq. 10 reaches the last layer's weights W_k through the sums v_k = sum_i h_i y_ik + chi3. Whoever sees W before and
after a step of gradient descent, and the features h_i of the perturbed images, knows v_k exactly. chi3 is drawn once
while the features move, so that it cancels in differences over steps; and it is one vector for all classes, so that
it cancels in differences over classes even where it is drawn afresh in every step.

Theorem 1: the first layer's parameters after one step of gradient descent show the batch. With one noise vector for all
images, the gradient of Eq. 7 is -2 C theta0 and a matrix of rank two, where C is the scatter of the batch about its
mean: the noise is in the mean alone. Whoever subtracts the C of the right batch is left with rank two.
"""

import dataclasses
from typing import Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from deniable.auditing import bounds, games
from deniable.core.errors import InputError
from deniable.published.dpal.image_audit import EventCounts, check_image_count, flatten_to_signed_pixels
from deniable.published.dpal.mechanism import (
    DPALBudget,
    compute_adversarial_objective,
    compute_class_objective,
    compute_dense_reconstruction_objective,
)
from deniable.published.noise import draw_laplace_noise

LabelNoiseForm = Literal["published", "each step", "each step and class"]
LABEL_STEPS = 12
"""Steps of gradient descent that an audit of labels takes, all observed."""
_CLASSES = 10
DifferenceAxis = Literal["steps", "classes"]
_LABEL_RATE = 0.02
_PARAMETER_RATE = 1e-4
"""The published learning rate."""
_FEATURE_SPREAD = 1.5
"""Standard deviation of what noise gives a feature at the start, before tanh."""
_SINGULAR_VALUE_CUTOFF = 1e-14
"""Singular values below this share of the largest one are rounding."""


@dataclasses.dataclass(frozen=True)
class LabelAudit:
    """What a training run shows of its labels.

    Attributes:
        correct_guesses: labels recovered.
        total_guesses: labels.
        classes: K.
        is_uniform: whether the labels were drawn uniformly at random, as the bound requires.
    """

    correct_guesses: int
    total_guesses: int
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
        """Return the least true epsilon that this many labels would have refuted with probability 90%."""
        return bounds.compute_detectable_epsilon(self._game, self._score.guesses, claim, 1 - confidence)

    @property
    def _game(self) -> games.Game:
        is_different = np.ones((self.classes, self.classes)) - np.eye(self.classes)
        return games.make_identification_game(tuple(range(self.classes)), is_different)

    @property
    def _score(self) -> games.Score:
        """The guesses; each has the same cap, so it does not matter which class it named."""
        right, guesses = np.zeros((2, 1, self.classes), dtype=np.int64)
        right[0, 0], guesses[0, 0] = self.correct_guesses, self.total_guesses
        return games.Score(right, guesses, self.total_guesses)


def audit_labels(
    images: Tensor,
    budget: DPALBudget,
    random: np.random.Generator,
    *,
    given_labels: Tensor | None = None,
    neurons: int = 256,
    noise: LabelNoiseForm = "published",
    difference_axis: DifferenceAxis = "steps",
) -> LabelAudit:
    """Train on a batch of m images with DPAL's noise and objective, and solve for its labels.

    The network is one layer of tanh on x-bar and the last layer, both trained by twelve steps of gradient
    descent on Eq. 10 in float64, all observed.

    Args:
        images: (n, c, h, w), pixels in [0, 1], n >= m.
        budget: the scales of the noise, and m.
        random: generator of noise, initial parameters and labels.
        given_labels: (n,) labels 0 ... 9; None to draw them uniformly.
        neurons: |h_pi|; 11 times as many equations for m labels.
        noise: chi3 as published, drawn once; drawn in each step, one for all classes; or, as a control, drawn in each
            step for each class.
        difference_axis: whether the attacker takes differences over steps or over classes.

    Raises:
        InputError: fewer than m images, or fewer equations than labels.
    """
    check_image_count(images, budget, 0)
    equations = neurons * (LABEL_STEPS - 1)
    if equations < budget.m:
        raise InputError(
            f"{neurons} neurons over {LABEL_STEPS} steps give {equations:,} equations for {budget.m:,} labels: take "
            "more neurons or a smaller batch."
        )
    is_uniform = given_labels is None
    true_labels = (
        torch.from_numpy(random.integers(_CLASSES, size=budget.m))
        if given_labels is None
        else given_labels[: budget.m].long()
    )
    pixels = flatten_to_signed_pixels(images[: budget.m])
    perturbed = pixels + draw_laplace_noise(random, budget.input_scale, pixels.shape[1:], pixels.dtype)
    targets = functional.one_hot(true_labels, _CLASSES).double()
    observations = _train_on_labels(perturbed, targets, neurons, LABEL_STEPS, budget, random, noise)
    recovered_count = int((solve_for_labels(*observations, difference_axis) == true_labels).sum())
    return LabelAudit(recovered_count, budget.m, _CLASSES, is_uniform)


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
    targets: Tensor,
    neurons: int,
    steps: int,
    budget: DPALBudget,
    random: np.random.Generator,
    noise: LabelNoiseForm,
) -> tuple[list[Tensor], list[Tensor]]:
    """Return features (m, |h_pi|) and sums v (|h_pi|, K) of every step, the sums as the weights show them."""
    pixel_count, classes = perturbed.shape[1], targets.shape[1]
    # On the scale of its noise, so that one learning rate suits both layers.
    scaled = perturbed / (2**0.5 * budget.input_scale)
    theta = torch.from_numpy(random.normal(0, _FEATURE_SPREAD / pixel_count**0.5, (pixel_count, neurons)))
    weights = torch.from_numpy(random.normal(0, 0.05, (neurons, classes)))
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
        theta, weights = theta.detach() - _LABEL_RATE * theta_gradient, before - _LABEL_RATE * weights_gradient
        features.append(hidden)
        # By Eq. 10, v = sum_i h_i y_ik + chi3 follows from the last layer before and after the step.
        scores = hidden @ before
        label_free_sums = hidden.T @ (1 - scores.sign() / 2 + scores / 4)
        sums.append(label_free_sums - (before - weights) / _LABEL_RATE * 2 * len(hidden))
    return features, sums


@dataclasses.dataclass(frozen=True)
class ParameterAudit:
    """What the parameters show.

    Attributes:
        ratio_event: how often the smaller ratio is that of the batch D, trained on D and trained on its neighbour D'.
        projection_event: the same for an attacker who looks along the one direction in which the two batches differ,
            which survives the rounding of float32.
    """

    ratio_event: EventCounts
    projection_event: EventCounts


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
    hits = np.zeros((2, 2), dtype=np.int64)  # of the ratio and of the projection, trained on D and on D'
    for trained in (0, 1):
        for _ in range(trials):
            # theta0 (d, beta), columns of the 1-norm that the budget is computed with.
            drawn = torch.from_numpy(random.normal(size=(pixels.shape[1], neurons)))
            start_weights = (drawn * budget.theta_norm / drawn.abs().sum(0)).to(dtype)
            batch, leading_shape = batches[trained].to(dtype), (len(pixels) - 1,) if independent else ()
            input_noise, hidden_noise = (
                draw_laplace_noise(random, scale, (*leading_shape, size), dtype)
                for scale, size in ((budget.input_scale, pixels.shape[1]), (budget.hidden_scale, neurons))
            )
            theta = start_weights.clone().requires_grad_()
            objective = compute_dense_reconstruction_objective(batch + input_noise, theta, hidden_noise).mean()
            end_weights = start_weights - _PARAMETER_RATE * torch.autograd.grad(objective, theta)[0]
            start_weights = start_weights.double()
            gradient = (start_weights - end_weights.double()) / _PARAMETER_RATE * budget.m
            rank_ratios = [_compute_rank_ratio(gradient + 2 * scatter @ start_weights) for scatter in scatters]
            hits[0, trained] += rank_ratios[0] < rank_ratios[1]
            hits[1, trained] += _project_on_difference(gradient, start_weights, scatters) > 0
    return ParameterAudit(*(EventCounts(right, trials, wrong, trials) for right, wrong in hits.tolist()))


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
