"""Classifiers whose smoothed law is known, and tallies drawn from it without a network."""

import math

import numpy as np
import torch

from deniable.models.shared.tally import PredictionTally
from deniable.published.dpal.counterexample import compute_threshold


def counted(votes, sums=None):
    """Return a tally of given votes, whose softmax scores are the votes themselves unless given."""
    votes = np.asarray(votes, dtype=np.int64)
    return PredictionTally(
        votes, votes.astype(float) if sums is None else np.asarray(sums, dtype=float), int(votes.sum())
    )


def drawn(shares, draws, generator):
    """Return a tally of independent votes with given probabilities."""
    return counted(generator.multinomial(draws, shares))


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


def dpal_line(source, rivals=0.1):
    """Return scores (b, 3) of `counterexample.compare_one_pass` on images of one pixel in [0, 1], u = 2 pixel - 1."""
    high, low = compute_threshold(1 - 2 * rivals), compute_threshold(1 - rivals)

    def scores(images):
        u = 2 * images.flatten() - 1
        z = u + laplace(u.shape, 1.0, source) + laplace(u.shape, 2.0, source)
        return 5 * torch.stack([z - high, torch.zeros_like(z), low - z], dim=1)

    return scores


def normal(value):
    """Return the standard normal distribution function."""
    return 0.5 * math.erfc(-value / math.sqrt(2))
