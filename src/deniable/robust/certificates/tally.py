"""Counts of what a randomized model says of an image over many draws of its noise."""

import dataclasses

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from deniable.errors import InputError, bad_parameter
from deniable.robust.types import Scores

BATCH = 500
"""Draws in one call of the model; more are no faster for small networks on a processor."""
_LEAST_CLASSES = 2
_ROUNDING = 1e-4
"""Relative error granted to sums of probabilities."""


@dataclasses.dataclass(frozen=True, eq=False)
class Tally:
    """What a model says of one image over independent draws.

    Attributes:
        votes: int64 (K,), how often each class has the highest score.
        sums: float64 (K,), each class's softmax probability, summed over the draws.
        draws: >= 1.

    Raises:
        InputError: votes or sums that cannot come from so many draws.
    """

    votes: npt.NDArray[np.int64]
    sums: npt.NDArray[np.float64]
    draws: int

    def __post_init__(self) -> None:
        if self.draws < 1:
            raise bad_parameter("a tally", "draws", "an integer of at least 1", self.draws)
        if self.votes.shape != self.sums.shape or self.votes.ndim != 1 or len(self.votes) < _LEAST_CLASSES:
            shapes = f"{self.votes.shape} and {self.sums.shape}"
            raise InputError(f"A tally needs votes and sums of the same K >= 2 classes. Got the shapes {shapes}.")
        if (self.votes < 0).any() or self.votes.sum() != self.draws:
            counted = self.votes.tolist()
            raise InputError(
                f"The votes of a tally must add up to its {self.draws} draws, none below 0. Got {counted}."
            )
        slack = _ROUNDING * self.draws
        if not ((self.sums >= -slack).all() and abs(self.sums.sum() - self.draws) <= slack):
            summed = self.sums.tolist()
            raise InputError(f"The sums of a tally must add up to its {self.draws} draws, none below 0. Got {summed}.")


def tally(scores: Scores, image: Tensor, draws: int, batch: int = BATCH) -> Tally:
    """Return what a model says of one image (channels, height, width); see `tallies`."""
    return tallies(scores, image[None], draws, batch)[0]


def tallies(scores: Scores, images: Tensor, draws: int, batch: int = BATCH) -> list[Tally]:
    """Return what a model says of each image.

    Several images share one call of the model where few draws of each are asked for, so the model must treat the
    images of a call independently: no normalisation by the statistics of the call.

    Args:
        scores: the model.
        images: (n, channels, height, width), pixels in [0, 1].
        draws: of each image.
        batch: draws in one call.

    Raises:
        InputError: no draws or an empty batch, or scores that are not finite (b, K).
    """
    for name, count in (("draws", draws), ("batch", batch)):
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise bad_parameter("a tally", name, "an integer of at least 1", count)
    votes = sums = torch.empty(0)
    with torch.inference_mode():
        for start in range(0, len(images) * draws, batch):
            ends = min(start + batch, len(images) * draws)
            of = torch.arange(start, ends, device=images.device) // draws  # (b,), the image of each draw
            logits = _checked(scores(images[of]), len(of))
            if not start:
                votes = torch.zeros(len(images), logits.shape[1], dtype=torch.int64, device=logits.device)
                sums = torch.zeros(votes.shape, dtype=torch.float64, device=logits.device)
            at = of.to(logits.device)
            votes.index_put_((at, logits.argmax(1)), torch.ones_like(at), accumulate=True)
            sums.index_add_(0, at, logits.double().softmax(1))
    counted, summed = votes.cpu().numpy(), sums.cpu().numpy()
    return [Tally(counted[image], summed[image], draws) for image in range(len(images))]


def _checked(logits: Tensor, images: int) -> Tensor:
    """Return the scores if they can be counted, else raise `InputError`."""
    if logits.ndim != 2 or logits.shape[0] != images or logits.shape[1] < _LEAST_CLASSES:  # noqa: PLR2004 - (b, K)
        got = tuple(logits.shape)
        raise InputError(f"The model must give scores ({images}, K) of K >= 2 classes. Got the shape {got}.")
    if not logits.isfinite().all():
        raise InputError("The model gives scores that are not finite: no class is the highest among them.")
    return logits
