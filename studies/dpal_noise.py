"""What independent noise of DPAL's scale gives, in privacy and in accuracy: the sensitivity of Lemma 3 is wrong.

DPAL's accuracy comes from noise that all images share: it is a constant, which a network learns to ignore. Needs torch.
"""

import dataclasses

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from deniable.measure.intervals import Estimate, estimate_share
from deniable.published.dpal.image_audit import flatten_to_signed_pixels
from deniable.published.dpal.mechanism import DPALBudget
from deniable.published.noise import draw_laplace_noise

_PIXEL_WIDTH = 2.0
"""By which one pixel of [-1, 1] can differ."""
_LOSS_GRID = 1e-3
"""Discretization of privacy losses; the result is an upper bound at any value."""
_HIDDEN_UNITS = 128
_LEARNING_RATE = 1e-3
_TRAINING_BATCH = 500


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
    """
    from dp_accounting.pld import privacy_loss_distribution as pld

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


@dataclasses.dataclass(frozen=True)
class NoiseUtility:
    """Accuracy on test images, with Clopper and Pearson's intervals.

    Attributes:
        plain: trained and tested without noise.
        shared: trained on images that share one noise vector, tested with that same vector.
        fresh: the same network, tested with noise drawn anew.
        independent: trained and tested with noise that is independent for each image.
    """

    plain: Estimate
    shared: Estimate
    fresh: Estimate
    independent: Estimate


def measure_noise_utility(
    train: tuple[Tensor, Tensor],
    test: tuple[Tensor, Tensor],
    budget: DPALBudget,
    random: np.random.Generator,
    *,
    epochs: int = 4,
) -> NoiseUtility:
    """Train a network of one hidden layer on x-bar, with the noise shared and with it independent.

    Args:
        train: images (n, c, h, w), pixels in [0, 1], and labels (n,).
        test: other images and labels.
        budget: gives the scale of the noise.
        random: generator of noise, initial parameters and the order of examples.
        epochs: of Adam.
    """
    (train_images, train_labels), (test_images, test_labels) = (
        (flatten_to_signed_pixels(split[0]).float(), split[1].long()) for split in (train, test)
    )
    shared_noise, fresh_noise = (
        draw_laplace_noise(random, budget.input_scale, train_images.shape[1:]) for _ in range(2)
    )
    train_noise, test_noise = (
        draw_laplace_noise(random, budget.input_scale, tuple(split.shape)) for split in (train_images, test_images)
    )
    classes = int(train_labels.max()) + 1
    plain_network = _DenseClassifier(train_images, train_labels, classes, random, epochs)
    shared_network = _DenseClassifier(train_images + shared_noise, train_labels, classes, random, epochs)
    independent_network = _DenseClassifier(train_images + train_noise, train_labels, classes, random, epochs)
    return NoiseUtility(
        plain_network.accuracy(test_images, test_labels),
        shared_network.accuracy(test_images + shared_noise, test_labels),
        shared_network.accuracy(test_images + fresh_noise, test_labels),
        independent_network.accuracy(test_images + test_noise, test_labels),
    )


class _DenseClassifier:
    """A network of one hidden layer, fitted by Adam to rows (n, d) on the scale of their own mean and deviation."""

    def __init__(self, pixels: Tensor, labels: Tensor, classes: int, random: np.random.Generator, epochs: int) -> None:
        self._mean = pixels.mean(0)
        self._deviation = (pixels - self._mean).std()
        self._parameters = [
            parameter.requires_grad_()
            for inputs, outputs in ((pixels.shape[1], _HIDDEN_UNITS), (_HIDDEN_UNITS, classes))
            for parameter in (_draw_initial_weights(random, inputs, outputs), torch.zeros(outputs))
        ]
        optimizer = torch.optim.Adam(self._parameters, lr=_LEARNING_RATE)
        for _ in range(epochs):
            for indices in torch.split(torch.from_numpy(random.permutation(len(pixels))), _TRAINING_BATCH):
                optimizer.zero_grad()
                loss = functional.cross_entropy(self.scores(pixels[indices]), labels[indices])
                torch.autograd.backward(loss)
                optimizer.step()

    def scores(self, pixels: Tensor) -> Tensor:
        """Return logits (b, K) of rows (b, d)."""
        first, offset, last, bias = self._parameters
        hidden = functional.relu(functional.linear((pixels - self._mean) / self._deviation, first, offset))
        return functional.linear(hidden, last, bias)

    def accuracy(self, pixels: Tensor, labels: Tensor) -> Estimate:
        """Return the share of rows that get their class."""
        with torch.no_grad():
            return estimate_share(int((self.scores(pixels).argmax(1) == labels).sum()), len(pixels))


def _draw_initial_weights(random: np.random.Generator, inputs: int, outputs: int) -> Tensor:
    """Return initial weights (leaving, entering) of He's variance."""
    return torch.from_numpy(random.normal(0, (2 / inputs) ** 0.5, (outputs, inputs))).float()
