"""Enquiries of a few words: the first tells the task, the last the private attribute."""

import itertools

import numpy as np

import deniable as dn
from deniable.published.dptext.representation import fit_representation
from deniable.published.dptext.training import AttributeRecords, RepresentationOptions

ASKED, CITIES = ("flights", "fares", "meals"), ("boston", "denver")
FILLED = ("please", "now", "today", "soon", "again", "too", "then", "maybe")
TEXTS = [
    f"{asked} {' '.join(filled)} from {city}"
    for asked, filled, city in itertools.product(ASKED, itertools.permutations(FILLED, 2), CITIES)
]
TASK = np.array([at for at, _ in enumerate(ASKED) for _ in range(2 * 56)])
CITY = np.array([0, 1] * (3 * 56))
VOCABULARY = dn.rewriting.Vocabulary.build(TEXTS)
SMALL = {"dimensions": 6, "embedded": 8, "hidden": 16, "epochs": 6, "batch_size": 32, "learning_rate": 1e-2}


def records():
    """Return all texts with their classes."""
    return AttributeRecords(TEXTS, TASK, CITY[:, None])


def fitted(variant="none", epsilon=1.0, *, seed=1, checkpoint=None, **options):
    """Return a small model of all texts."""
    chosen = RepresentationOptions(variant=variant, epsilon=epsilon, **{**SMALL, **options})
    return fit_representation(records(), VOCABULARY, chosen, seed=seed, checkpoint=checkpoint)
