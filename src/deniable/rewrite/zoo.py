"""ADePT in the zoo, text in and vector out: as published behind an encoder of texts, and mended as controls."""

import dataclasses
import functools
from collections.abc import Callable

import numpy as np

from deniable.auditing.zoo.entry import CONFIDENCE, Entry
from deniable.learning.setup import seeded
from deniable.rewrite.audits import audit_pair, clipped_vectors, farthest
from deniable.rewrite.autoencoder import Autoencoder
from deniable.rewrite.methods import METHODS, VectorMethod
from deniable.rewrite.model import Rewriter, settle
from deniable.rewrite.tokens import Vocabulary
from deniable.verdict import Verdict

_EPSILON, _DELTA = 3.0, 1e-5
_SAMPLES = 20_000
_WORDS = "show me a cheap flight from boston to denver on monday morning please which airline flies oakland fare"
_TEXTS, _LONGEST = 100, 8
_SIZES = {"latent": 64, "hidden": 64, "embedding": 32, "radius": 1.0}


@functools.cache
def _model() -> Rewriter:
    """Return an encoder with weights drawn from a public seed: the flaw does not wait for training."""
    vocabulary = Vocabulary.built([_WORDS])
    network = seeded(0, lambda: Autoencoder(words=len(vocabulary), **_SIZES))  # type: ignore[arg-type]  # of both types
    model = Rewriter(network.eval(), vocabulary, _LONGEST, {})
    settle(model, _texts())
    return model


def _texts() -> list[str]:
    random = np.random.default_rng(0)
    return [" ".join(random.choice(_WORDS.split(), int(random.integers(1, _LONGEST + 1)))) for _ in range(_TEXTS)]


@functools.cache
def _pair() -> tuple[str, str]:
    """Return the two of a few texts whose vectors lie farthest apart."""
    texts, method = _texts(), _method("adept", None)
    found = farthest(method.mechanism, clipped_vectors(method, texts))
    return texts[found.one], texts[found.other]


def _method(name: str, seed: int | None) -> VectorMethod:
    delta = {"delta": _DELTA} if name == "adept-gaussian" else {}
    method = METHODS[name](_model(), epsilon=_EPSILON, seed=seed, **delta)
    if not isinstance(method, VectorMethod):
        raise TypeError(name)
    return method


def _sampled(name: str) -> Callable[[int], Verdict]:
    """Return the audit of one method on the two texts, by an attacker who has the model, as everybody does."""

    def sampled(seed: int) -> Verdict:
        # The mechanism's coins are none of the audit's: a repeatable run must not share them.
        method = _method(name, seed + 1)
        return audit_pair(method, *_pair(), seen="likelihood", samples=_SAMPLES, confidence=CONFIDENCE, seed=seed)

    return sampled


def _exact(name: str) -> Callable[[], Verdict]:
    return lambda: dataclasses.replace(_method(name, None).verify(), claim=_EPSILON)


ENTRIES: tuple[Entry, ...] = (
    Entry(
        name="adept-texts",
        source="Krishna et al. 2021, Theorem 1 (Habernal 2021, Theorem 5.1), behind an encoder of texts",
        claim=f"{_EPSILON:g}-DP for any two texts",
        flaw="the noise is for the l2 sensitivity of the clip, and vectors of texts use up the l1 one",
        sampled=_sampled("adept"),
        sampled_status="refuted",
        exact=_exact("adept"),
        exact_status="refuted",
    ),
    Entry(
        name="adept-true-texts",
        source="control: the same encoder, noise for the l1 sensitivity 2 C sqrt(n)",
        claim=f"{_EPSILON:g}-DP for any two texts",
        flaw="",
        sampled=_sampled("adept-true"),
        sampled_status="not refuted",
        exact=_exact("adept-true"),
        exact_status="proved",
    ),
    Entry(
        name="adept-gaussian-texts",
        source="control: the same encoder, Gaussian noise for the l2 sensitivity 2 C",
        claim=f"({_EPSILON:g}, {_DELTA:g})-DP for any two texts",
        flaw="",
        sampled=_sampled("adept-gaussian"),
        sampled_status="not refuted",
        exact=_exact("adept-gaussian"),
        exact_status="proved",
    ),
)
"""They need torch: deniable[train]."""
