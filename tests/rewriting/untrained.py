"""Models that were never trained, for the tests of what must hold whatever a model does."""

import torch

from deniable.learning.loop import build_with_seed
from deniable.rewriting.autoencoder import Autoencoder
from deniable.rewriting.model import Rewriter, normalize_rewriter
from deniable.rewriting.tokens import Vocabulary

WORDS = ["show", "me", "all", "the", "flights", "from", "boston", "to", "denver", "please", ",", "?"]
FACTS = {"records": 4478, "held out": 500, "seed": None, "options": {"noise": None}, "first stage": None}
TEXTS = [
    "show me all the flights",
    "",
    "zork",
    "  ",
    "BOSTON, please?",
    "\ud800 \x00 🙂 \u200b é",
    "to " * 12,
    '"from",boston\r\nto\tdenver',
]
"""Odd ones among them: empty, blank, unknown, as long as the limit, half a character, quotes and line ends."""


def untrained(words=WORDS, *, latent=8, limit=12, radius=1.0, sharp=1.0, facts=FACTS):
    """Return a model with weights of a public seed; ``sharp`` multiplies them, for logits that lie far apart."""
    vocabulary = Vocabulary.build([" ".join(words)])
    shape = {"latent": latent, "hidden": 12, "embedding": 6, "radius": radius}
    network = build_with_seed(3, lambda: Autoencoder(words=len(vocabulary), **shape))
    with torch.no_grad():
        for weights in network.parameters():
            weights.mul_(sharp)
    model = Rewriter(network.eval(), vocabulary, limit, dict(facts))
    normalize_rewriter(model, words)
    return model
