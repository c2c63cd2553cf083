"""Methods that rewrite one text at a time: the release of each text is what has a guarantee, for any two texts."""

import functools
from collections.abc import Sequence
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np
import torch
from torch import Tensor

from deniable.core.arrays import FloatArray
from deniable.core.guarantees import ANY_TWO_TEXTS, ApproxDP, PureDP
from deniable.registry.methods import METHODS_WITH_DELTA, METHODS_WITH_DRAW_LIMIT, rewriting_method
from deniable.rewriting.audits import find_farthest_texts, get_clip_domain
from deniable.rewriting.autoencoder import Autoencoder
from deniable.rewriting.methods.base import VectorMethod
from deniable.rewriting.methods.token_method import TokenMethod
from deniable.rewriting.model import Rewriter
from deniable.rewriting.tokens import UNKNOWN
from deniable.vectors import gaussian, laplace
from tests.rewriting.untrained import TEXTS, untrained
from tests.slow_audits.cases import WEAK_SHARE, Run, Tape, TrainerAudit

EPSILON, DELTA = 1.0, 1e-5
GAUSSIAN_EPSILON = 8.0
"""Runs show more of Gaussian noise at a larger epsilon."""
TEXTS_OF_PAIR = ("show me all the flights", "to denver please")
SIGNS = np.array([[-1.0], [1.0]])
METHODS = ("adept-l1", "adept-true", "adept-gaussian", "dptext-fixed", "tokens", "tokens-mixed")


@functools.cache
def get_model() -> Rewriter:
    """Return a model of random weights, large ones, so that texts lie far apart, for the exact part."""
    model: Rewriter = untrained(sharp=20.0)
    return model


@functools.cache
def get_smallest_model() -> Rewriter:
    """Return a model of one coordinate and two words: all of a budget is spent on the one number that is drawn."""
    model: Rewriter = untrained(["show", "flights"], latent=1)
    return model


def get_epsilon(name: str) -> float:
    """Return the epsilon that is claimed of a method."""
    return GAUSSIAN_EPSILON if name in METHODS_WITH_DELTA else EPSILON


def make_method(name: str, epsilon: float, model: Rewriter, seed: int | None = None) -> VectorMethod | TokenMethod:
    """Return a method; one that draws tokens draws a single one."""
    options: dict[str, Any] = {"delta": DELTA} if name in METHODS_WITH_DELTA else {}
    options |= {"max_draws": 1} if name in METHODS_WITH_DRAW_LIMIT else {}
    method = rewriting_method(name, model, epsilon=epsilon, seed=seed, **options)
    assert isinstance(method, VectorMethod | TokenMethod)
    return method


def make_run(name: str) -> Run:
    """Return a method that rewrites the one text of its collection.

    Encoder and decoder are an adversary's: they take both texts to two points of the method's domain that lie farthest
    apart, or to logits that leave no doubt. The number shown of a vector is the log of the ratio of both likelihoods.
    """

    def run(units: list[str], seed: int, *, noise_share: float = 1.0, played: Tape | None = None) -> Tape:
        del played  # the exact part is about clipped vectors
        # Less noise of a discrete law is a larger epsilon.
        has_tokens = name in METHODS_WITH_DRAW_LIMIT
        epsilon = EPSILON / noise_share if has_tokens else get_epsilon(name)
        method = make_method(name, epsilon, get_smallest_model(), seed)
        if isinstance(method, TokenMethod):
            with (
                mock.patch.object(Rewriter, "encode", lambda _, texts: encode_pair(texts, SIGNS)),
                mock.patch.object(Autoencoder, "step", take_certain_step),
            ):
                return Tape(shown=_encode_word(method.rewrite(units)[0]))
        points = np.stack(method.mechanism.worst_pair(method.model.latent))
        with (
            mock.patch.object(Rewriter, "encode", lambda _, texts: encode_pair(texts, points)),
            _scale_noise(gaussian, "sample_discrete_gaussian", noise_share),
            _scale_noise(laplace, "sample_discrete_laplace", noise_share),
        ):
            released = method.release(units)[0]
            clipped = get_clip_domain(method).clip(method.encode(TEXTS_OF_PAIR))
        gaps = np.abs(released - clipped) / method.mechanism.scale(method.model.latent)
        losses = gaps.sum(axis=1) if method.mechanism.noise == "laplace" else np.square(gaps).sum(axis=1) / 2
        return Tape(shown=losses[1:] - losses[:1])

    return run


def encode_pair(texts: Sequence[str], points: FloatArray) -> FloatArray:
    """Return the point of each of the two texts."""
    return points[[TEXTS_OF_PAIR.index(text) for text in texts]]


def take_certain_step(network: Autoencoder, previous: Tensor, latents: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    """Return logits that leave no doubt of the next word, which is another one for a negative coordinate."""
    del previous
    logits = torch.full((len(latents), network.words), -1e3)
    logits[torch.arange(len(latents)), torch.where(latents[:, 0] < 0, UNKNOWN + 1, UNKNOWN + 2)] = 1e3
    return logits, state


def _scale_noise(module: ModuleType, name: str, share: float) -> Any:
    """Return a patch that multiplies the noise of a module."""
    draw = getattr(module, name)
    return mock.patch.object(module, name, lambda *given: np.rint(share * draw(*given)).astype(np.int64))


def _encode_word(text: str) -> FloatArray:
    """Return a text of at most one word as a row of zeros with a one."""
    vocabulary = get_smallest_model().vocabulary
    row = np.zeros(len(vocabulary) + 1)
    row[next(iter(vocabulary.to_ids(text)), -1)] = 1.0
    return row


def compute_pair_ratio(name: str) -> float:
    """Return how far apart any two odd texts lie after the clip, in the sensitivity claimed."""
    method = make_method(name, get_epsilon(name), get_model())
    assert isinstance(method, VectorMethod)
    return find_farthest_texts(method.mechanism, get_clip_domain(method).clip(method.encode(TEXTS))).ratio


def build_audit(name: str) -> TrainerAudit:
    """Return the audit of a method on two texts."""
    has_delta, source = name in METHODS_WITH_DELTA, "the claim under audit"
    return TrainerAudit(
        name,
        "",
        ApproxDP(get_epsilon(name), DELTA, source, "claimed", adjacency=ANY_TWO_TEXTS)
        if has_delta
        else PureDP(EPSILON, source, "claimed", adjacency=ANY_TWO_TEXTS),
        make_run(name),
        units=[],
        canary=TEXTS_OF_PAIR[0],
        other=TEXTS_OF_PAIR[1],
        collections={},
        runs=2_000,
        noise="gaussian" if has_delta else "any",
        # The box is three times as wide as the ball that vectors come from.
        weak_share=0.15 if name == "dptext-fixed" else WEAK_SHARE,
        weak_runs=1_000,
    )


REWRITING_AUDITS = tuple(build_audit(name) for name in METHODS)
