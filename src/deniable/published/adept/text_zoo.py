"""ADePT in the zoo, text in and vector out: as published behind an encoder of texts, and mended as controls."""

import dataclasses
import functools
from collections.abc import Callable

import numpy as np

from deniable.core.evidence import Verdict
from deniable.learning.loop import build_with_seed
from deniable.published.entry import ZOO_CONFIDENCE, ZooEntry
from deniable.registry.methods import REWRITING_METHODS
from deniable.rewriting.audits import audit_pair, encode_clipped_vectors, find_farthest_texts
from deniable.rewriting.autoencoder import Autoencoder
from deniable.rewriting.methods.base import VectorMethod
from deniable.rewriting.model import Rewriter, normalize_rewriter
from deniable.rewriting.tokens import Vocabulary

_EPSILON, _DELTA = 3.0, 1e-5
_SAMPLES = 20_000
_WORDS = "show me a cheap flight from boston to denver on monday morning please which airline flies oakland fare"
_TEXT_COUNT, _MAX_WORDS = 100, 8
_NETWORK_SHAPE = {"latent": 64, "hidden": 64, "embedding": 32, "radius": 1.0}


@functools.cache
def _make_model() -> Rewriter:
    """Return an encoder with weights drawn from a public seed: the flaw does not wait for training."""
    vocabulary = Vocabulary.build([_WORDS])
    network = build_with_seed(0, lambda: Autoencoder(words=len(vocabulary), **_NETWORK_SHAPE))  # type: ignore[arg-type]  # of both types
    model = Rewriter(network.eval(), vocabulary, _MAX_WORDS, {})
    normalize_rewriter(model, _draw_texts())
    return model


def _draw_texts() -> list[str]:
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(_WORDS.split(), int(rng.integers(1, _MAX_WORDS + 1)))) for _ in range(_TEXT_COUNT)]


@functools.cache
def _find_pair() -> tuple[str, str]:
    """Return the two of a few texts whose vectors lie farthest apart."""
    texts, method = _draw_texts(), _make_method("adept", None)
    pair = find_farthest_texts(method.mechanism, encode_clipped_vectors(method, texts))
    return texts[pair.first_row], texts[pair.second_row]


def _make_method(name: str, seed: int | None) -> VectorMethod:
    delta = {"delta": _DELTA} if name == "adept-gaussian" else {}
    method = REWRITING_METHODS[name](_make_model(), epsilon=_EPSILON, seed=seed, **delta)
    if not isinstance(method, VectorMethod):
        raise TypeError(name)
    return method


def _make_sampled_audit(name: str) -> Callable[[int], Verdict]:
    """Return the audit of one method on the two texts, by an attacker who has the model, as everybody does."""

    def audit_method(seed: int) -> Verdict:
        # The mechanism's coins are none of the audit's: a repeatable run must not share them.
        method = _make_method(name, seed + 1)
        return audit_pair(
            method, *_find_pair(), view="likelihood", samples=_SAMPLES, confidence=ZOO_CONFIDENCE, seed=seed
        )

    return audit_method


def _make_exact_check(name: str) -> Callable[[], Verdict]:
    def verify_method() -> Verdict:
        verdict = _make_method(name, None).verify()
        return dataclasses.replace(verdict, guarantee=dataclasses.replace(verdict.guarantee, epsilon=_EPSILON))

    return verify_method


ENTRIES: tuple[ZooEntry, ...] = (
    ZooEntry(
        name="adept-texts",
        source="Krishna et al. 2021, Theorem 1 (Habernal 2021, Theorem 5.1), behind an encoder of texts",
        claim=f"{_EPSILON:g}-DP for any two texts",
        flaw="the noise is for the l2 sensitivity of the clip, and vectors of texts use up the l1 one",
        audit_samples=_make_sampled_audit("adept"),
        sampled_status="refuted",
        verify_law=_make_exact_check("adept"),
        exact_status="refuted",
    ),
    ZooEntry(
        name="adept-true-texts",
        source="control: the same encoder, noise for the l1 sensitivity 2 C sqrt(n)",
        claim=f"{_EPSILON:g}-DP for any two texts",
        flaw="",
        audit_samples=_make_sampled_audit("adept-true"),
        sampled_status="not refuted",
        verify_law=_make_exact_check("adept-true"),
        exact_status="proved",
    ),
    ZooEntry(
        name="adept-gaussian-texts",
        source="control: the same encoder, Gaussian noise for the l2 sensitivity 2 C",
        claim=f"({_EPSILON:g}, {_DELTA:g})-DP for any two texts",
        flaw="",
        audit_samples=_make_sampled_audit("adept-gaussian"),
        sampled_status="not refuted",
        verify_law=_make_exact_check("adept-gaussian"),
        exact_status="proved",
    ),
)
"""They need torch: deniable[train]."""
