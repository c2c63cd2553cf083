"""Classifiers whose smoothed law is known, and tallies drawn from it without a network."""

import dataclasses
import math

import numpy as np
import torch


@dataclasses.dataclass(frozen=True, eq=False)
class Tally:
    """What a certificate reads of the votes of a model."""

    votes: np.ndarray
    sums: np.ndarray
    draws: int


def make_tally(votes, sums=None):
    """Return a tally of given votes, whose softmax scores are the votes themselves unless given."""
    votes = np.asarray(votes, dtype=np.int64)
    return Tally(votes, votes.astype(float) if sums is None else np.asarray(sums, dtype=float), int(votes.sum()))


def draw_tally(shares, draws, generator):
    """Return a tally of independent votes with given probabilities."""
    return make_tally(generator.multinomial(draws, shares))


def laplace(shape, scale, source):
    """Return Laplace noise."""
    uniform = torch.rand(shape, generator=source) - 0.5
    return -scale * uniform.sign() * torch.log1p(-2 * uniform.abs().clamp(max=0.4999999))


def half_space(weights, level, noise):
    """Return scores (b, 2) of the class on either side of a hyperplane, at images with noise added."""

    def scores(images):
        margin = (noise(images) * weights).flatten(1).sum(1) - level
        return 10 * torch.stack([margin, -margin], dim=1)

    return scores


def normal(value):
    """Return the standard normal distribution function."""
    return 0.5 * math.erfc(-value / math.sqrt(2))
