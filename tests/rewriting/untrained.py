"""Models that were never trained, for the tests of what must hold whatever a model does."""

import functools

import torch

import deniable as dn

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


@functools.cache
def get_network_type():
    """Return the class of a model's network."""
    options = dn.rewriting.RewriterOptions(latent=1, hidden=2, embedding=1, epochs=1, spliced=0)
    return type(dn.rewriting.fit_rewriter(["a"], ["a"], options, seed=0).network)


def untrained(words=WORDS, *, latent=8, limit=12, radius=1.0, sharp=1.0, facts=FACTS):
    """Return a model with weights of a public seed; ``sharp`` multiplies them, for logits that lie far apart."""
    vocabulary = dn.rewriting.Vocabulary.build([" ".join(words)])
    make = get_network_type()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        network = make(words=len(vocabulary), latent=latent, hidden=12, embedding=6, radius=radius)
    with torch.no_grad():
        for weights in network.parameters():
            weights.mul_(sharp)
    model = dn.rewriting.Rewriter(network.eval(), vocabulary, limit, dict(facts))
    network.normalize_latents(torch.from_numpy(model.encode(list(dict.fromkeys(words)))).float())
    return model
