"""Audits of rewriting methods: the worst pair of a corpus, pairs beyond a sensitivity, and end-to-end bounds."""

import dataclasses
import itertools
import types

import numpy as np
import pytest

import deniable as dn
from tests.refusals import refuses
from tests.rewriting.untrained import WORDS, untrained

TEXTS = [f"{a} {b}" for a, b in itertools.permutations(WORDS[:8], 2)] + ["", *WORDS]


@pytest.fixture(scope="module")
def model():
    """Return an encoder and decoder with drawn weights, in a ball of radius 0.01."""
    return untrained(latent=64, limit=8, radius=0.01)


def made(model, name, epsilon, **options):
    return dn.rewriting_method(name, model, epsilon=epsilon, seed=5, **options)


@pytest.mark.parametrize(
    ("name", "options", "order"),
    [
        ("adept", {}, 1),
        ("adept-l1", {}, 1),
        ("adept-norm", {}, 2),
        ("adept-gaussian", {"delta": 1e-5}, 2),
        ("dptext-fixed", {}, 1),
        ("dptext-norm", {}, np.inf),
    ],
)
def test_all_pairs_are_compared(model, name, options, order):
    """The farthest pair and the count beyond the sensitivity are those of a direct count; remedies leave none."""
    method = made(model, name, 2.0, **options)
    clipped = dn.rewriting.encode_clipped_vectors(method, TEXTS)
    apart = np.linalg.norm(clipped[:, None] - clipped[None], ord=order, axis=2)
    found = dn.rewriting.measure_text_distances(method.mechanism, clipped)
    assert found.distance == pytest.approx(apart.max())
    assert apart[found.first_row, found.second_row] == pytest.approx(apart.max())
    assert found.violation_count == (apart > found.claimed_sensitivity * (1 + 1e-12)).sum() // 2
    assert (found.violation_count > 0) == (found.ratio > 1) == (name == "adept")
    assert found.pair_count == len(TEXTS) * (len(TEXTS) - 1) // 2
    if not options:
        assert found.loss == pytest.approx(found.distance / method.mechanism.scale(64))
        assert found.loss == pytest.approx(2.0 * found.ratio, rel=1e-6)
    else:
        assert found.loss is None


def test_the_ball_s_own_worst_pair(model):
    """Opposite corners of the cube in the ball are found, sqrt(n) times the claim apart."""
    method = made(model, "adept", 1.0)
    corner = np.full(64, 0.01 / 8)
    found = dn.rewriting.measure_text_distances(method.mechanism, np.stack([corner, 0.3 * corner, -corner]))
    assert {found.first_row, found.second_row} == {0, 2}
    assert found.ratio == pytest.approx(8)
    dptext = made(model, "dptext", 1.0).mechanism
    assert dn.rewriting.measure_text_distances(dptext, np.stack([corner, -corner])).loss is None


def test_an_audit_of_vectors(model):
    """At a claim of 3 the published method is refuted by the likelihood of its vectors, the corrected one is not."""
    method = made(model, "adept", 3.0)
    pair = dn.rewriting.measure_text_distances(method.mechanism, dn.rewriting.encode_clipped_vectors(method, TEXTS))
    texts = TEXTS[pair.first_row], TEXTS[pair.second_row]
    options = {"view": "likelihood", "samples": 10_000, "confidence": 0.999, "seed": 0}
    published = dn.rewriting.audit_pair(method, *texts, **options)
    assert published.status == "refuted"
    assert 3.0 < published.lower_bound < pair.loss
    for name in ("adept-true", "adept-norm", "dptext-norm"):
        assert dn.rewriting.audit_pair(made(model, name, 3.0), *texts, **options).status == "not refuted"
    gaussian = dn.rewriting.audit_pair(made(model, "adept-gaussian", 3.0, delta=1e-5), *texts, **options)
    assert (gaussian.status, gaussian.guarantee.delta) == ("not refuted", 1e-5)
    raw = dn.rewriting.audit_pair(method, *texts, view="vector", samples=400, seed=0)
    assert raw.lower_bound < pair.loss


def test_an_audit_of_texts(model):
    """Text in, text out: methods with true claims are not refuted."""
    for name in ("adept-true", "tokens"):
        found = dn.rewriting.audit_pair(made(model, name, 0.01), "show", "denver", samples=300, seed=0)
        assert (found.status, found.claim) == ("not refuted", 0.01)


def test_refusals(model):
    """One text, a method without vectors and a mechanism without a clip are refused."""
    method = made(model, "adept", 1.0)
    with refuses("2 texts"):
        dn.rewriting.measure_text_distances(method.mechanism, np.zeros((1, 64)))
    with refuses("'view'"):
        dn.rewriting.audit_pair(made(model, "tokens", 1.0), "show", "me", view="vector")
    with refuses("adept"):
        unclipped = dataclasses.replace(method, mechanism=types.SimpleNamespace(domain=None))
        dn.rewriting.encode_clipped_vectors(unclipped, ["show"])
