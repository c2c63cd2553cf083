"""Methods that rewrite one text at a time: the release of each text is what has a guarantee, for any two texts."""

import functools
from collections.abc import Sequence
from typing import Any
from unittest import mock

import numpy as np
import torch
from torch import Tensor

import deniable as dn
from deniable.rewriting.ranking import get_norm_order
from tests.rewriting.untrained import TEXTS, untrained
from tests.slow_audits.cases import WEAK_SHARE, Run, Tape, TrainerAudit

UNKNOWN = 3
"""The number of the token for words that a model lacks; its words come after it."""
EPSILON, DELTA = 1.0, 1e-5
GAUSSIAN_EPSILON = 8.0
"""Runs show more of Gaussian noise at a larger epsilon."""
TEXTS_OF_PAIR = ("show me all the flights", "to denver please")
SIGNS = np.array([[-1.0], [1.0]])
WITH_DELTA, TOKEN_METHODS = {"adept-gaussian"}, {"tokens", "tokens-mixed"}
VECTOR = ("adept-l1", "adept-true", "adept-norm", "adept-gaussian", "dptext-fixed", "dptext-norm")
METHODS = (*VECTOR, "tokens", "tokens-mixed")


@functools.cache
def get_model() -> dn.rewriting.Rewriter:
    """Return a model of random weights, large ones, so that texts lie far apart, for the exact part."""
    model: dn.rewriting.Rewriter = untrained(sharp=20.0)
    return model


@functools.cache
def get_smallest_model() -> dn.rewriting.Rewriter:
    """Return a model of one coordinate and two words: all of a budget is spent on the one number that is drawn."""
    model: dn.rewriting.Rewriter = untrained(["show", "flights"], latent=1)
    return model


def get_epsilon(name: str) -> float:
    """Return the epsilon that is claimed of a method."""
    return GAUSSIAN_EPSILON if name in WITH_DELTA else EPSILON


def make_method(name: str, epsilon: float, model: dn.rewriting.Rewriter, seed: int | None = None) -> Any:
    """Return a method; one that draws tokens draws a single one."""
    options: dict[str, Any] = {"delta": DELTA} if name in WITH_DELTA else {}
    options |= {"max_draws": 1} if name in TOKEN_METHODS else {}
    return dn.rewriting_method(name, model, epsilon=epsilon, seed=seed, **options)


def make_run(name: str) -> Run:
    """Return a method that rewrites the one text of its collection.

    Encoder and decoder are an adversary's: they take both texts to two points of the method's domain that lie farthest
    apart, or to logits that leave no doubt. The number shown of a vector is the log of the ratio of both likelihoods.
    """

    def run(units: list[str], seed: int, *, noise_share: float = 1.0, played: Tape | None = None) -> Tape:
        del played  # the exact part is about clipped vectors
        # Less noise of a discrete law is a larger epsilon.
        has_tokens = name in TOKEN_METHODS
        epsilon = EPSILON / noise_share if has_tokens else get_epsilon(name)
        method = make_method(name, epsilon, get_smallest_model(), seed)
        if has_tokens:
            with (
                mock.patch.object(dn.rewriting.Rewriter, "encode", lambda _, texts: encode_pair(texts, SIGNS)),
                mock.patch.object(type(method.model.network), "step", take_certain_step),
            ):
                return Tape(shown=_encode_word(method.rewrite(units)[0]))
        points = np.stack(method.mechanism.worst_pair(method.model.latent))
        with (
            mock.patch.object(dn.rewriting.Rewriter, "encode", lambda _, texts: encode_pair(texts, points)),
            _scale_noise(type(method.mechanism), noise_share),
        ):
            released = method.release(units)[0]
            clipped = method.mechanism.domain.clip(method.encode(TEXTS_OF_PAIR))
        gaps = (released - clipped) / method.mechanism.scale(method.model.latent)
        losses = np.linalg.norm(gaps, ord=get_norm_order(method.mechanism), axis=1)
        losses = np.square(losses) / 2 if method.mechanism.noise == "gaussian" else losses
        return Tape(shown=losses[1:] - losses[:1])

    return run


def encode_pair(texts: Sequence[str], points: np.ndarray) -> np.ndarray:
    """Return the point of each of the two texts."""
    return points[[TEXTS_OF_PAIR.index(text) for text in texts]]


def take_certain_step(network: Any, previous: Tensor, latents: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    """Return logits that leave no doubt of the next word, which is another one for a negative coordinate."""
    del previous
    logits = torch.full((len(latents), network.words), -1e3)
    logits[torch.arange(len(latents)), torch.where(latents[:, 0] < 0, UNKNOWN + 1, UNKNOWN + 2)] = 1e3
    return logits, state


def _scale_noise(mechanism: type[dn.VectorMechanism], share: float) -> Any:
    """Return a patch that multiplies the noise of a mechanism."""
    draw = mechanism._sample_rows

    def scale(self: Any, rows: np.ndarray, generator: Any) -> np.ndarray:
        return rows + share * (draw(self, rows, generator) - rows)

    return mock.patch.object(mechanism, "_sample_rows", scale)


def _encode_word(text: str) -> np.ndarray:
    """Return a text of at most one word as a row of zeros with a one."""
    vocabulary = get_smallest_model().vocabulary
    row = np.zeros(len(vocabulary) + 1)
    row[next(iter(vocabulary.to_ids(text)), -1)] = 1.0
    return row


def compute_pair_ratio(name: str) -> float:
    """Return how far apart any two odd texts lie after the clip, in the sensitivity claimed."""
    method = make_method(name, get_epsilon(name), get_model())
    return dn.rewriting.measure_text_distances(
        method.mechanism, method.mechanism.domain.clip(method.encode(TEXTS))
    ).ratio


def build_audit(name: str) -> TrainerAudit:
    """Return the audit of a method on two texts."""
    has_delta, source = name in WITH_DELTA, "the claim under audit"
    return TrainerAudit(
        name,
        "",
        dn.Guarantee(get_epsilon(name), source, "claimed", delta=DELTA, adjacency="any two texts")
        if has_delta
        else dn.Guarantee(EPSILON, source, "claimed", adjacency="any two texts"),
        make_run(name),
        units=[],
        canary=TEXTS_OF_PAIR[0],
        other=TEXTS_OF_PAIR[1],
        collections={},
        runs=2_000,
        noise="gaussian" if has_delta else "any",
        # The box is three times as wide as the ball that vectors come from.
        weak_share=0.15 if name in {"dptext-fixed", "dptext-norm"} else WEAK_SHARE,
        weak_runs=1_000,
    )


REWRITING_AUDITS = tuple(build_audit(name) for name in METHODS)
