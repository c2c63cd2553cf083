"""Audits of rewriting methods: the worst pair of a corpus, pairs beyond a sensitivity, and end-to-end bounds."""

import itertools

import numpy as np
import pytest

from deniable.core.errors import InputError
from deniable.learning.loop import build_with_seed
from deniable.published.dptext.copied_input import CopyMechanism
from deniable.registry.methods import REWRITING_METHODS
from deniable.rewriting.audits import audit_pair, encode_clipped_vectors, find_farthest_texts, pairs_beyond_sensitivity
from deniable.rewriting.autoencoder import Autoencoder
from deniable.rewriting.model import Rewriter, normalize_rewriter
from deniable.rewriting.tokens import Vocabulary

WORDS = "show me flights from boston to denver on monday".split()  # noqa: SIM905 - easier to read
TEXTS = [f"{a} {b}" for a, b in itertools.permutations(WORDS, 2)] + ["", *WORDS]


@pytest.fixture(scope="module")
def model():
    """Return an encoder and decoder with drawn weights, in a ball of radius 0.01."""
    vocabulary = Vocabulary.build(WORDS)
    shape = {"words": len(vocabulary), "latent": 64, "hidden": 32, "embedding": 16, "radius": 0.01}
    model = Rewriter(build_with_seed(1, lambda: Autoencoder(**shape)).eval(), vocabulary, 8, {})
    normalize_rewriter(model, TEXTS)
    return model


def made(model, name, epsilon, **options):
    return REWRITING_METHODS[name](model, epsilon=epsilon, seed=5, **options)


@pytest.mark.parametrize(
    ("name", "options", "order"),
    [("adept", {}, 1), ("adept-l1", {}, 1), ("adept-gaussian", {"delta": 1e-5}, 2), ("dptext-fixed", {}, 1)],
)
def test_all_pairs_are_compared(model, name, options, order):
    """The farthest pair and the count beyond the sensitivity are those of a direct count; remedies leave none."""
    method = made(model, name, 2.0, **options)
    clipped = encode_clipped_vectors(method, TEXTS)
    apart = np.linalg.norm(clipped[:, None] - clipped[None], ord=order, axis=2)
    found = find_farthest_texts(method.mechanism, clipped)
    assert found.distance == pytest.approx(apart.max())
    assert apart[found.first_row, found.second_row] == pytest.approx(apart.max())
    counted = pairs_beyond_sensitivity(method.mechanism, clipped)
    assert counted.violation_count == (apart > counted.claimed_sensitivity).sum() // 2
    assert (counted.violation_count > 0) == (name == "adept")
    assert (found.ratio > 1) == (name == "adept")
    if order == 1:
        assert found.loss == pytest.approx(found.distance / method.mechanism.scale(64))
        assert found.loss == pytest.approx(2.0 * found.ratio, rel=1e-6)
    else:
        assert found.loss is None


def test_the_ball_s_own_worst_pair(model):
    """Opposite corners of the cube in the ball are found, sqrt(n) times the claim apart."""
    method = made(model, "adept", 1.0)
    corner = np.full(64, 0.01 / 8)
    found = find_farthest_texts(method.mechanism, np.stack([corner, 0.3 * corner, -corner]))
    assert {found.first_row, found.second_row} == {0, 2}
    assert found.ratio == pytest.approx(8)
    assert find_farthest_texts(made(model, "dptext", 1.0).mechanism, np.stack([corner, -corner])).loss is None


def test_an_audit_of_vectors(model):
    """At a claim of 3 the published method is refuted by the likelihood of its vectors, the corrected one is not."""
    vectors = encode_clipped_vectors(made(model, "adept", 3.0), TEXTS)
    pair = find_farthest_texts(made(model, "adept", 3.0).mechanism, vectors)
    texts = TEXTS[pair.first_row], TEXTS[pair.second_row]
    options = {"view": "likelihood", "samples": 20_000, "confidence": 0.999, "seed": 0}
    published = audit_pair(made(model, "adept", 3.0), *texts, **options)
    assert published.status == "refuted"
    assert 3.0 < published.lower_bound < pair.loss
    assert audit_pair(made(model, "adept-true", 3.0), *texts, **options).status == "not refuted"
    gaussian = audit_pair(made(model, "adept-gaussian", 3.0, delta=1e-5), *texts, **options)
    assert (gaussian.status, gaussian.delta) == ("not refuted", 1e-5)
    raw = audit_pair(made(model, "adept", 3.0), *texts, view="vector", samples=600, seed=0)
    assert raw.lower_bound < pair.loss


def test_an_audit_of_texts(model):
    """Text in, text out: with next to no noise the text itself tells which it was, with much it does not."""
    options = {"samples": 300, "seed": 0}
    loud = audit_pair(made(model, "adept-true", 0.01), "show", "monday", **options)
    assert loud.status == "not refuted"
    tokens = audit_pair(made(model, "tokens", 0.01), "show", "monday", **options)
    assert tokens.status == "not refuted"
    assert tokens.claim == 0.01


def test_refusals(model):
    """One text, a method without vectors and a mechanism without a clip are refused in words."""
    method = made(model, "adept", 1.0)
    with pytest.raises(InputError, match="at least 2 texts"):
        find_farthest_texts(method.mechanism, np.zeros((1, 64)))
    with pytest.raises(InputError, match="'view'"):
        audit_pair(made(model, "tokens", 1.0), "show", "me", view="vector")
    import dataclasses

    with pytest.raises(InputError, match="clips to no domain"):
        encode_clipped_vectors(dataclasses.replace(method, mechanism=CopyMechanism(epsilon=1.0)), ["show"])
