"""ADePT from text to text: the published mechanism behind an encoder, and its evidence in the zoo.

As published it is refuted; two remedies are controls. It needs torch: deniable[train].
"""

import dataclasses
import functools
from collections.abc import Callable

import numpy as np

from deniable.core.guarantees import Verdict
from deniable.core.numbers import format_exact
from deniable.learning.loop import build_with_seed
from deniable.published.adept.mechanism import ADePT
from deniable.published.entry import ZOO_CONFIDENCE, ZooEntry
from deniable.rewriting.audits import audit_pair, encode_clipped_vectors, measure_text_distances
from deniable.rewriting.autoencoder import Autoencoder
from deniable.rewriting.methods import (
    VectorMethod,
    build_vector_method,
    make_gaussian_ball_method,
    make_l2_ball_method,
)
from deniable.rewriting.model import Rewriter, normalize_rewriter
from deniable.rewriting.tokens import Vocabulary


def make_adept_method(model: Rewriter, *, epsilon: float, seed: int | None = None) -> VectorMethod:
    """Return ADePT's mechanism on a model's vectors; the radius C of the ball is that of the model's training.

    Its remedies are in `deniable.rewriting.methods`.

    Args:
        model: encoder and decoder.
        epsilon: claimed for one text, > 0.
        seed: for tests only.

    Raises:
        InputError: a parameter is outside its domain.
    """
    mechanism = ADePT(epsilon=epsilon, radius=model.radius, seed=seed)
    return build_vector_method("adept", model, mechanism)


_EPSILON, _DELTA = 3.0, 1e-5
_WORDS = "show me a cheap flight from boston to denver on monday morning please which airline flies oakland fare"
_TEXT_COUNT, _MAX_WORDS = 100, 8


@functools.cache
def _make_model() -> Rewriter:
    """Return an encoder with weights drawn from a public seed: the flaw is there without training."""
    vocabulary = Vocabulary.build([_WORDS])
    network = build_with_seed(0, lambda: Autoencoder(len(vocabulary), latent=64, hidden=64, embedding=32, radius=1.0))
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
    pair = measure_text_distances(method.mechanism, encode_clipped_vectors(method, texts))
    return texts[pair.first_row], texts[pair.second_row]


def _make_published(seed: int | None) -> VectorMethod:
    return make_adept_method(_make_model(), epsilon=_EPSILON, seed=seed)


def _make_entry(
    name: str, source: str, make_method: Callable[[int | None], VectorMethod], *, flaw: str = "", delta: str = ""
) -> ZooEntry:
    """Return the entry of a method: its law, and an audit on the two texts, by an attacker who has the public model."""

    def audit_samples(seed: int) -> Verdict:
        # A repeatable run must not draw the audit's coins and the mechanism's noise from one seed.
        method = make_method(seed + 1)
        return audit_pair(
            method, *_find_pair(), view="likelihood", samples=20_000, confidence=ZOO_CONFIDENCE, seed=seed
        )

    def verify_law() -> Verdict:
        verdict = make_method(None).verify()
        return dataclasses.replace(verdict, guarantee=dataclasses.replace(verdict.guarantee, epsilon=_EPSILON))

    epsilon = format_exact(_EPSILON)
    return ZooEntry(
        name=name,
        source=source,
        claim=f"{f'({epsilon}, {delta})' if delta else epsilon}-DP for any two texts",
        flaw=flaw,
        audit_samples=audit_samples,
        verify_law=verify_law,
    )


ENTRIES = (
    _make_entry(
        "adept-texts",
        "Krishna et al. 2021, Theorem 1 (Habernal 2021, Theorem 5.1), behind an encoder of texts",
        _make_published,
        flaw="the noise is for the l2 sensitivity of the clip, and vectors of texts use up the l1 one",
    ),
    _make_entry(
        "adept-true-texts",
        "control: the same encoder, noise for the l1 sensitivity 2 C sqrt(n)",
        lambda seed: make_l2_ball_method(_make_model(), epsilon=_EPSILON, seed=seed),
    ),
    _make_entry(
        "adept-gaussian-texts",
        "control: the same encoder, Gaussian noise for the l2 sensitivity 2 C",
        lambda seed: make_gaussian_ball_method(_make_model(), epsilon=_EPSILON, delta=_DELTA, seed=seed),
        delta=format_exact(_DELTA),
    ),
)
