"""Votes and scores of a randomized model, counted over many draws of its noise."""

import dataclasses
import secrets
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from deniable.core.errors import InputError, check_count

ImageScorer = Callable[[Tensor], Tensor]
"""From images (b, channels, height, width), pixels in [0, 1], to logits (b, K).

A randomized model draws fresh, independent noise for every image of every call.
"""


DRAWS_PER_CALL = 500
"""Draws in one call of the model; more are no faster for small networks on a CPU."""
_MIN_CLASSES = 2
_SEED_BITS = 63


@dataclasses.dataclass(frozen=True, eq=False)
class PredictionTally:
    """Votes and scores of a model for one image over independent draws.

    Attributes:
        votes: int64 (K,), how often each class has the highest score.
        sums: float64 (K,), each class's softmax probability, summed over the draws.
        draws: >= 1.
    """

    votes: npt.NDArray[np.int64]
    sums: npt.NDArray[np.float64]
    draws: int


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
            logits = check_logits(scores(images[draw_images]), len(draw_images))
            if not start:
                votes = torch.zeros(len(images), logits.shape[1], dtype=torch.int64, device=logits.device)
                sums = torch.zeros(votes.shape, dtype=torch.float64, device=logits.device)
            image_indices = draw_images.to(logits.device)
            votes.index_put_((image_indices, logits.argmax(1)), torch.ones_like(image_indices), accumulate=True)
            sums.index_add_(0, image_indices, logits.double().softmax(1))
    vote_counts, softmax_sums = votes.cpu().numpy(), sums.cpu().numpy()
    return [PredictionTally(vote_counts[image], softmax_sums[image], draws) for image in range(len(images))]


def check_logits(logits: Tensor, images: int) -> Tensor:
    """Return the scores (b, K) of a model if they can be used, else raise `InputError`."""
    if logits.ndim != 2 or len(logits) != images or logits.shape[1] < _MIN_CLASSES:  # noqa: PLR2004 - (b, K)
        expected = f"scores ({images}, K) of K >= 2 classes, a row for each image"
        raise InputError(f"The model must give {expected}. Got the shape {tuple(logits.shape)}.")
    if not logits.isfinite().all():
        raise InputError("The model gives scores that are not finite: no class is the highest among them.")
    return logits


def make_noise_generator(seed: int | None = None) -> torch.Generator:
    """Return torch's generator on the CPU.

    What is estimated from its draws, with a chance of being wrong, holds for models that do not know them: a model that
    was made for the draws of a known seed may be right on those alone.

    Args:
        seed: to repeat a run; None for fresh entropy from the operating system.
    """
    return torch.Generator().manual_seed(secrets.randbits(_SEED_BITS) if seed is None else seed % 2**_SEED_BITS)
