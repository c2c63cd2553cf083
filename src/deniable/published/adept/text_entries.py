"""ADePT in the zoo, from text to vector: the published form behind an encoder, and two remedies as controls."""

import dataclasses
import functools
from collections.abc import Callable

import numpy as np

from deniable.core.guarantees import Verdict
from deniable.core.numbers import format_exact
from deniable.learning.loop import build_with_seed
from deniable.published.adept.method import make_adept_method
from deniable.published.entry import ZOO_CONFIDENCE, ZooEntry
from deniable.rewriting.audits import audit_pair, encode_clipped_vectors, find_farthest_texts
from deniable.rewriting.autoencoder import Autoencoder
from deniable.rewriting.methods.base import VectorMethod
from deniable.rewriting.methods.clipped_noise import make_gaussian_ball_method, make_l2_ball_method
from deniable.rewriting.model import Rewriter, normalize_rewriter
from deniable.rewriting.tokens import Vocabulary

_EPSILON, _DELTA = 3.0, 1e-5
_SAMPLES = 20_000
_WORDS = "show me a cheap flight from boston to denver on monday morning please which airline flies oakland fare"
_TEXT_COUNT, _MAX_WORDS = 100, 8
_NETWORK_SHAPE = {"latent": 64, "hidden": 64, "embedding": 32, "radius": 1.0}


@functools.cache
def _make_model() -> Rewriter:
    """Return an encoder with weights drawn from a public seed: the flaw is there without training."""
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
    texts, method = _draw_texts(), _make_published(None)
    pair = find_farthest_texts(method.mechanism, encode_clipped_vectors(method, texts))
    return texts[pair.first_row], texts[pair.second_row]


_MethodMaker = Callable[[int | None], VectorMethod]
"""Makes a method under a seed."""


def _make_published(seed: int | None) -> VectorMethod:
    return make_adept_method(_make_model(), epsilon=_EPSILON, seed=seed)


def _make_true(seed: int | None) -> VectorMethod:
    return make_l2_ball_method(_make_model(), name="adept-true", epsilon=_EPSILON, seed=seed)


def _make_gaussian(seed: int | None) -> VectorMethod:
    return make_gaussian_ball_method(_make_model(), name="adept-gaussian", epsilon=_EPSILON, delta=_DELTA, seed=seed)


def _make_sampled_audit(make_method: _MethodMaker) -> Callable[[int], Verdict]:
    """Return the audit of one method on the two texts, by an attacker who has the public model."""

    def audit_method(seed: int) -> Verdict:
        # A repeatable run must not draw the audit's coins and the mechanism's noise from one seed.
        method = make_method(seed + 1)
        return audit_pair(
            method, *_find_pair(), view="likelihood", samples=_SAMPLES, confidence=ZOO_CONFIDENCE, seed=seed
        )

    return audit_method


def _make_exact_check(make_method: _MethodMaker) -> Callable[[], Verdict]:
    def verify_method() -> Verdict:
        verdict = make_method(None).verify()
        return dataclasses.replace(verdict, guarantee=dataclasses.replace(verdict.guarantee, epsilon=_EPSILON))

    return verify_method


ADEPT_TEXT_ENTRIES: tuple[ZooEntry, ...] = (
    ZooEntry(
        name="adept-texts",
        source="Krishna et al. 2021, Theorem 1 (Habernal 2021, Theorem 5.1), behind an encoder of texts",
        claim=f"{format_exact(_EPSILON)}-DP for any two texts",
        flaw="the noise is for the l2 sensitivity of the clip, and vectors of texts use up the l1 one",
        audit_samples=_make_sampled_audit(_make_published),
        sampled_status="refuted",
        verify_law=_make_exact_check(_make_published),
        exact_status="refuted",
    ),
    ZooEntry(
        name="adept-true-texts",
        source="control: the same encoder, noise for the l1 sensitivity 2 C sqrt(n)",
        claim=f"{format_exact(_EPSILON)}-DP for any two texts",
        flaw="",
        audit_samples=_make_sampled_audit(_make_true),
        sampled_status="not refuted",
        verify_law=_make_exact_check(_make_true),
        exact_status="proved",
    ),
    ZooEntry(
        name="adept-gaussian-texts",
        source="control: the same encoder, Gaussian noise for the l2 sensitivity 2 C",
        claim=f"({format_exact(_EPSILON)}, {format_exact(_DELTA)})-DP for any two texts",
        flaw="",
        audit_samples=_make_sampled_audit(_make_gaussian),
        sampled_status="not refuted",
        verify_law=_make_exact_check(_make_gaussian),
        exact_status="proved",
    ),
)
"""They need torch: deniable[train]."""
