"""Handwritten digits that come with scikit-learn: small, and black in every pixel somewhere."""

import functools

import torch
from sklearn.datasets import load_digits

from deniable.published.dpal.mechanism import DPALBudget

SMALL = DPALBudget(0.2, m=200)


@functools.cache
def digits():
    """Return images (1797, 1, 8, 8), pixels in [0, 1], and labels (1797,)."""
    found = load_digits()
    return torch.from_numpy(found.images / 16)[:, None], torch.from_numpy(found.target)
