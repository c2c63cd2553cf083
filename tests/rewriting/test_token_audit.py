"""The method tokens under the audit of next-token samplers: its own weights, as it draws from them, refute nothing."""

import numpy as np
import pytest
import torch

import deniable as dn
from deniable.rewriting.token_law import count_draw_values
from deniable.rewriting.tokens import END, START, UNKNOWN
from tests.rewriting.untrained import TEXTS, untrained

PAIRS = 200


@torch.inference_mode()
def count_next(method, text, prefix):
    """Return how many of the 2^62 draws give END, and each word of the vocabulary, after some tokens."""
    network = method.model.network
    latents = torch.from_numpy(np.asarray(method.model.encode([text]), dtype=np.float32))
    state = network.make_initial_state(latents)
    for token in (START, *(END if token == 0 else token + UNKNOWN for token in prefix)):
        logits, state = network.step(torch.tensor([token]), latents, state)
    row = logits.numpy().astype(np.float64)
    allowed = np.concatenate([row[:, END : END + 1], row[:, UNKNOWN + 1 :]], axis=1)
    return count_draw_values(method.law.compute_weights(100 * allowed))[0]  # an untrained network is sure of nothing


@pytest.mark.parametrize("name", ["tokens", "tokens-mixed"])
def test_no_pair_refutes_the_method(name):
    """The exact law of the next token keeps a share of epsilon on every pair of texts, and spends much of it."""
    method = dn.rewriting_method(name, untrained(), epsilon=20.0, max_draws=10)
    random = np.random.default_rng(3)
    words = [word for word in " ".join(TEXTS).split() if word.isalpha()]

    def write():
        return " ".join(random.choice(words, int(random.integers(1, 8))))

    texts = ((write(), write()) for _ in range(2 * PAIRS))
    pairs = [(text, other) for text, other in texts if text != other][:PAIRS]
    found = dn.audit_language_model(
        lambda text, prefix: count_next(method, text, prefix),
        pairs,
        claim="pure", epsilon=20.0, tokens=10, steps=2, seed=1,
    )  # fmt: skip
    assert found.verdict.status == "not refuted"
    assert found.facts.arithmetic == "int64"
    assert 0.2 * found.verdict.claim < found.facts.loss
