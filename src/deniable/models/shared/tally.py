"""Votes and scores of a randomized model for an image, counted over many draws of its noise."""

import dataclasses
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from deniable.core.errors import InputError, check_count, make_parameter_error

ImageScorer = Callable[[Tensor], Tensor]
"""From images (b, channels, height, width), pixels in [0, 1], to logits (b, K).

A randomized model draws fresh, independent noise for every image of every call.
"""


DRAWS_PER_CALL = 500
"""Draws in one call of the model; more are no faster for small networks on a CPU."""
_MIN_CLASSES = 2
_SUM_TOLERANCE = 1e-4
"""Relative tolerance for sums of probabilities."""


@dataclasses.dataclass(frozen=True, eq=False)
class PredictionTally:
    """Votes and scores of a model for one image over independent draws.

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
            raise make_parameter_error("a tally", "draws", "an integer of at least 1", self.draws)
        if self.votes.shape != self.sums.shape or self.votes.ndim != 1 or len(self.votes) < _MIN_CLASSES:
            shapes = f"{self.votes.shape} and {self.sums.shape}"
            raise InputError(f"A tally needs votes and sums of the same K >= 2 classes. Got the shapes {shapes}.")
        if (self.votes < 0).any() or self.votes.sum() != self.draws:
            vote_list = self.votes.tolist()
            raise InputError(
                f"The votes of a tally must add up to its {self.draws} draws, none below 0. Got {vote_list}."
            )
        slack = _SUM_TOLERANCE * self.draws
        if not ((self.sums >= -slack).all() and abs(self.sums.sum() - self.draws) <= slack):
            sum_list = self.sums.tolist()
            raise InputError(
                f"The sums of a tally must add up to its {self.draws} draws, none below 0. Got {sum_list}."
            )


def tally_image(scores: ImageScorer, image: Tensor, draws: int, batch: int = DRAWS_PER_CALL) -> PredictionTally:
    """Return the tally of one image (channels, height, width); see `tally_images`."""
    return tally_images(scores, image[None], draws, batch)[0]


def tally_images(scores: ImageScorer, images: Tensor, draws: int, batch: int = DRAWS_PER_CALL) -> list[PredictionTally]:
    """Return the tally of each image.

    With few draws of each, several images share one call of the model, so the model must treat the images of a call
    independently, without normalisation by the statistics of the call.

    Args:
        scores: the model.
        images: (n, channels, height, width), pixels in [0, 1].
        draws: of each image.
        batch: draws in one call.

    Raises:
        InputError: no draws or an empty batch, or scores that are not finite (b, K).
    """
    for name, count in (("draws", draws), ("batch", batch)):
        check_count("a tally", name, count)
    votes = sums = torch.empty(0)
    with torch.inference_mode():
        for start in range(0, len(images) * draws, batch):
            end = min(start + batch, len(images) * draws)
            draw_images = torch.arange(start, end, device=images.device) // draws  # (b,), the image of each draw
            logits = _check_logits(scores(images[draw_images]), len(draw_images))
            if not start:
                votes = torch.zeros(len(images), logits.shape[1], dtype=torch.int64, device=logits.device)
                sums = torch.zeros(votes.shape, dtype=torch.float64, device=logits.device)
            image_indices = draw_images.to(logits.device)
            votes.index_put_((image_indices, logits.argmax(1)), torch.ones_like(image_indices), accumulate=True)
            sums.index_add_(0, image_indices, logits.double().softmax(1))
    vote_counts, softmax_sums = votes.cpu().numpy(), sums.cpu().numpy()
    return [PredictionTally(vote_counts[image], softmax_sums[image], draws) for image in range(len(images))]


def _check_logits(logits: Tensor, images: int) -> Tensor:
    """Return the scores if they can be counted, else raise `InputError`."""
    if logits.ndim != 2 or logits.shape[0] != images or logits.shape[1] < _MIN_CLASSES:  # noqa: PLR2004 - (b, K)
        shape = tuple(logits.shape)
        raise InputError(f"The model must give scores ({images}, K) of K >= 2 classes. Got the shape {shape}.")
    if not logits.isfinite().all():
        raise InputError("The model gives scores that are not finite: no class is the highest among them.")
    return logits
