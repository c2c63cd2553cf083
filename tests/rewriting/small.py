"""A small corpus and a model of it, for the tests of rewriting."""

import copy
import functools
import itertools

import deniable as dn

CITIES = ("boston", "denver", "dallas", "atlanta", "st. louis")
SMALL = {"latent": 8, "hidden": 24, "embedding": 12, "batch_size": 8, "spliced": 1}


def corpus():
    """Return sixty short texts about flights between five cities."""
    pairs = [*itertools.permutations(CITIES, 2)]
    return [
        *(f"flights from {one} to {other}" for one, other in pairs),
        *(f"what's the fare from {one} to {other}, please?" for one, other in pairs),
        *(f"i want to go to {other}" if at % 2 else f"show {one}" for at, (one, other) in enumerate(pairs)),
    ]


@functools.cache
def _fit(options):
    texts = corpus()
    return dn.rewriting.fit_rewriter(texts[5:], texts[:5], options, seed=1)


def fitted(**given):
    """Return a model of the corpus, trained for a moment, with options in place of the small ones."""
    return copy.deepcopy(_fit(dn.rewriting.RewriterOptions(**{**SMALL, "epochs": 2, **given})))
