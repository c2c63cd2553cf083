"""Small networks, and all texts that substitutions make of one."""

import itertools

import numpy as np
import torch

from deniable.models.text.documents import Documents, concatenate_texts
from deniable.models.text.networks import PRIVATE_TEXT_NETWORKS, TEXT_NETWORKS
from deniable.models.text.networks.base import make_text_batch
from deniable.models.text.substitutions import Substitutions

WORDS, CLASSES = 12, 3
KINDS = [kind for kinds in (TEXT_NETWORKS | PRIVATE_TEXT_NETWORKS).values() for kind in kinds]


def network(kind, seed=0, *, scale=3.0):
    """Return a network with random weights, larger than at the start of training, in evaluation mode."""
    coins = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        made = kind(torch.randn(WORDS, 5, generator=coins), CLASSES)
    with torch.no_grad():
        for parameter in made.parameters():
            spread = 1 / np.sqrt(parameter.shape[-1])
            parameter.copy_(scale * spread * (2 * torch.rand(parameter.shape, generator=coins) - 1))
    return made.eval()


def sets(seed=0, most=3):
    """Return for every word up to so many choices, itself first."""
    coins = np.random.default_rng(seed)
    own = np.arange(WORDS, dtype=np.int32)[:, None]
    others = coins.integers(WORDS, size=(WORDS, most - 1), dtype=np.int32)
    return Substitutions("random", np.hstack([own, np.where(coins.random(others.shape) < 0.7, others, own)]))


def documents(kind, lengths=(4, 1, 3), seed=0):
    """Return documents of such lengths, with a premise each where the network takes pairs."""
    coins = np.random.default_rng(seed)
    held = concatenate_texts([coins.integers(WORDS, size=length) for length in lengths])
    premises = (
        concatenate_texts([coins.integers(WORDS, size=2 + length % 3) for length in lengths])
        if kind.takes_pairs
        else None
    )
    names = tuple(map(str, range(CLASSES)))
    return Documents(held, coins.integers(CLASSES, size=len(lengths)), names, premises)


def versions(given, row, choices):
    """Return all texts that substitutions make of one document, as documents."""
    words = list(itertools.product(*(choices.choices_of(word) for word in given.texts[row])))
    many = given.take(np.full(len(words), row))
    return Documents(concatenate_texts(words), many.labels, many.classes, many.premises)


def margins_of(made, many):
    """Return the true margins (n, K) of documents."""
    with torch.no_grad():
        given = make_text_batch(many)
        logits = made(given)
    return logits.gather(1, given.labels[:, None]) - logits


def violation(made, given, choices):
    """Return by how much the worst of all substitutions falls below the bounds; negative where none does."""
    with torch.no_grad():
        bounds = made.compute_margin_bounds(make_text_batch(given), choices)
    worst = torch.stack([margins_of(made, versions(given, row, choices)).amin(0) for row in range(len(given))])
    others = torch.arange(CLASSES) != torch.from_numpy(given.labels)[:, None]
    return float((bounds - worst)[others].max())
