"""Where DPAL's accuracy comes from: noise that all images share is a constant, which a network learns to ignore."""

import dataclasses

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from deniable.measure.estimate import Estimate, share
from deniable.robust.audits.pixels import signed
from deniable.robust.dpal.noise import Budget, laplace

_NEURONS = 128
_RATE = 1e-3
_BATCH = 500


@dataclasses.dataclass(frozen=True)
class Utility:
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


def utility(
    train: tuple[Tensor, Tensor],
    test: tuple[Tensor, Tensor],
    budget: Budget,
    random: np.random.Generator,
    *,
    epochs: int = 4,
) -> Utility:
    """Train a network of one hidden layer on x-bar, with the noise shared and with it independent.

    Args:
        train: images (n, c, h, w), pixels in [0, 1], and labels (n,).
        test: images and labels that it has not seen.
        budget: the scale of the noise.
        random: source of noise, initial parameters and the order of examples.
        epochs: of Adam.
    """
    (images, truth), (others, wanted) = ((signed(part[0]).float(), part[1].long()) for part in (train, test))
    once, anew = (laplace(random, budget.input_scale, images.shape[1:]) for _ in range(2))
    own, theirs = (laplace(random, budget.input_scale, tuple(part.shape)) for part in (images, others))
    classes = int(truth.max()) + 1
    plain = _Network(images, truth, classes, random, epochs)
    sharing = _Network(images + once, truth, classes, random, epochs)
    apart = _Network(images + own, truth, classes, random, epochs)
    return Utility(
        plain.accuracy(others, wanted),
        sharing.accuracy(others + once, wanted),
        sharing.accuracy(others + anew, wanted),
        apart.accuracy(others + theirs, wanted),
    )


class _Network:
    """A network of one hidden layer, fitted by Adam to rows (n, d) on the scale of their own mean and deviation."""

    def __init__(self, rows: Tensor, truth: Tensor, classes: int, random: np.random.Generator, epochs: int) -> None:
        self._mean = rows.mean(0)
        self._deviation = (rows - self._mean).std()
        self._parameters = [
            part.requires_grad_()
            for entering, leaving in ((rows.shape[1], _NEURONS), (_NEURONS, classes))
            for part in (_normal(random, entering, leaving), torch.zeros(leaving))
        ]
        optimizer = torch.optim.Adam(self._parameters, lr=_RATE)
        for _ in range(epochs):
            for chosen in torch.split(torch.from_numpy(random.permutation(len(rows))), _BATCH):
                optimizer.zero_grad()
                loss = functional.cross_entropy(self.scores(rows[chosen]), truth[chosen])
                torch.autograd.backward(loss)
                optimizer.step()

    def scores(self, rows: Tensor) -> Tensor:
        """Return logits (b, K) of rows (b, d)."""
        first, offset, last, bias = self._parameters
        hidden = functional.relu(functional.linear((rows - self._mean) / self._deviation, first, offset))
        return functional.linear(hidden, last, bias)

    def accuracy(self, rows: Tensor, truth: Tensor) -> Estimate:
        """Return the share of rows whose class is found."""
        with torch.no_grad():
            return share(int((self.scores(rows).argmax(1) == truth).sum()), len(rows))


def _normal(random: np.random.Generator, entering: int, leaving: int) -> Tensor:
    """Return initial weights (leaving, entering) of He's variance."""
    return torch.from_numpy(random.normal(0, (2 / entering) ** 0.5, (leaving, entering))).float()
