"""Rewriting methods: encode, clip, add noise, decode, and nothing else; or a decoder whose tokens are drawn."""

import dataclasses
import math
import types

import numpy as np
import pytest
import torch

import deniable as dn
from tests.refusals import refuses
from tests.rewriting.untrained import TEXTS, untrained

START, UNKNOWN = 1, 3
KINDS = ("tokens", "tokens-mixed")
MODEL = untrained()
VectorMethod = type(dn.rewriting_method("adept-true", MODEL, epsilon=1.0))
TokenMethod = type(dn.rewriting_method("tokens", MODEL, epsilon=1.0))


@dataclasses.dataclass
class Lengths:
    """A model whose vectors are the length of a text, twice, and whose texts are vectors in words."""

    latent: int = 2
    radius: float = 1.0
    limit: int = 100
    bad: float | None = None

    def encode(self, texts):
        vectors = np.array([[len(text)] * 2 for text in texts], dtype=np.float32).reshape(-1, 2)
        if self.bad is not None:
            vectors[1, 0] = self.bad
        return vectors

    def decode(self, released):
        return [f"{first:.6f} {second:.6f}" for first, second in released]


def make_method(model=None, **changes):
    """Return a method over `Lengths` with hardly any noise."""
    mechanism = dn.Laplace(epsilon=1e3, domain=dn.L2Ball(10.0), seed=1)
    given = {"name": "test", "model": model or Lengths(), "mechanism": mechanism, "parameters": {}}
    return VectorMethod(**given | changes)


def test_a_text_becomes_its_vector_and_back():
    """Without much noise what is decoded is what was encoded; no texts need no noise."""
    assert make_method().rewrite(["abc", ""]) != make_method().rewrite(["abcd", ""])
    assert make_method().release(["abc", ""]) == pytest.approx(np.array([[3, 3], [0, 0]]), abs=0.5)
    assert make_method().rewrite([]) == []
    assert make_method().release([]).shape == (0, 2)


def test_stretch_and_domain_of_the_decoder():
    """Vectors are clipped to where the decoder was trained before noise, and multiplied after it, in training too."""
    method = make_method(decoder_domain=dn.L2Ball(1.0), stretch=10.0)
    assert np.linalg.norm(method.encode(["abc"]), axis=1) == pytest.approx([1.0])
    assert method.decode(np.array([[0.5, 0.25]])) == ["5.000000 2.500000"]
    assert make_method().encode(["abc"]).tolist() == [[3.0, 3.0]]
    assert method.training_noise == ("laplace", method.mechanism.scale(2) * 10.0)
    with refuses("test"):
        _ = make_method(mechanism=types.SimpleNamespace(noise=None)).training_noise


def test_the_guarantee_is_the_mechanism_s_for_any_two_texts():
    """Decoding costs nothing, the verdict is about the same guarantee, and a public seed refutes it."""
    method = make_method(mechanism=dn.Laplace(epsilon=2.0, domain=dn.L2Ball(1.0)))
    assert dataclasses.replace(method.mechanism.guarantee, adjacency=method.guarantee.adjacency) == method.guarantee
    assert "texts" in method.guarantee.adjacency
    verdict = method.verify()
    assert (verdict.status, verdict.guarantee) == ("proved", method.guarantee)
    assert verdict.epsilon <= 2.0
    assert (method.seed, make_method().seed) == (None, 1)
    assert make_method().verify().status == "refuted"


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_vector_that_is_not_finite_releases_nothing(bad):
    """The error names the first text whose vector failed."""
    method = make_method(Lengths(bad=bad))
    for step in (method.encode, method.release, method.rewrite):
        with refuses("text 2"):
            step(["a", "b", "c"])


def test_methods_cannot_be_derived():
    """A class that rewrites something else than was verified is not derived from one that was."""
    for base in (VectorMethod, TokenMethod):
        with refuses(base.__name__, TypeError):
            type("Twice", (base,), {"rewrite": lambda _, texts: [text * 2 for text in texts]})


def made(name, latent=16, epsilon=0.5, **options):
    """Return a method for as much of a model as the noise depends on."""
    return dn.rewriting_method(name, types.SimpleNamespace(latent=latent, radius=2.0), epsilon=epsilon, **options)


FACTORS = {"adept-l1": 2, "adept-true": 2 * 4, "adept-norm": 2, "dptext-fixed": 6 * 4, "dptext-norm": 6 / 4}


@pytest.mark.parametrize(("name", "factor"), FACTORS.items())
def test_the_scale_is_the_documented_formula(name, factor):
    """2C / epsilon for the l1 ball, sqrt(n) times that for the l2 ball, and three times that for the box.

    In a norm of their own: 2C / epsilon for the l2 ball, and 6C / sqrt(n) / epsilon for the box.
    """
    method = made(name)
    assert method.parameters["scale"] == pytest.approx(factor * 2.0 / 0.5, rel=1e-6)
    assert method.parameters["sensitivity"] == pytest.approx(factor * 2.0, rel=1e-9)
    assert method.guarantee.epsilon == 0.5
    assert method.verify().status == "proved"
    assert method.name == name


def test_gaussian_noise_needs_no_factor_of_the_dimension():
    """Its sensitivity is 2C whatever n, and delta is in the guarantee and the parameters."""
    small, large = (made("adept-gaussian", latent, delta=1e-5) for latent in (4, 400))
    assert small.parameters["sensitivity"] == large.parameters["sensitivity"] == 4.0
    assert large.parameters["scale"] == pytest.approx(small.parameters["scale"], rel=1e-6)
    assert small.guarantee.delta == small.parameters["delta"] == 1e-5


def test_the_stretch_undoes_the_l1_clip_on_average():
    """A Gaussian vector clipped to the l1 ball has its old l2 norm again; one coordinate needs no stretch."""
    method = made("adept-l1", 400)
    clipped = method.mechanism.domain.clip(np.random.default_rng(1).normal(size=(40, 400)))
    np.testing.assert_allclose(np.linalg.norm(clipped * method.stretch, axis=1), 2.0, rtol=0.1)
    assert made("adept-l1", 1).stretch == made("adept-true", 400).stretch == 1.0


def test_the_box_holds_nearly_all_of_the_sphere():
    """Some 0.3 % of the coordinates of a vector on the sphere are clipped, not none and not many."""
    method = made("dptext-fixed", 400)
    box = method.mechanism.domain
    assert box.lower == -box.upper == -3 * 2.0 / 20
    points = np.random.default_rng(2).normal(size=(2000, 400))
    points *= 2.0 / np.linalg.norm(points, axis=1, keepdims=True)
    assert 0.001 < (np.abs(points) > box.upper).mean() < 0.005
    assert method.decoder_domain.radius == 2.0


@pytest.mark.parametrize("name", FACTORS)
@pytest.mark.parametrize("epsilon", [0, -1.0, math.nan, True, "1", 5e-324])
def test_a_bad_epsilon_is_refused(name, epsilon):
    """An epsilon that is no positive number, or whose noise floats cannot hold, is refused."""
    with refuses("epsilon"):
        made(name, epsilon=epsilon)


def test_fewer_draws_get_more_each():
    """A public bound on the length shares epsilon among fewer draws, and no text is longer."""
    method = dn.rewriting_method("tokens", MODEL, epsilon=5.0, max_draws=3)
    assert method.parameters["draws"] == 3
    assert method.law.epsilon == pytest.approx(5 / 3)
    assert dn.rewriting_method("tokens", MODEL, epsilon=5.0).law.epsilon == pytest.approx(5 / 12)
    assert max(len(MODEL.vocabulary.to_ids(text)) for text in method.rewrite(TEXTS * 5)) <= 3


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", [0.1, 77.7, *(pytest.param(e, marks=pytest.mark.deep) for e in (1e-3, 1.0, 1e5))])
@pytest.mark.parametrize("limit", [12, *(pytest.param(limit, marks=pytest.mark.deep) for limit in (1, 7))])
def test_the_whole_is_not_more_than_epsilon(kind, epsilon, limit):
    """The loss of all draws together is at most the claim, and close to it where 62 bits can tell."""
    verdict = dn.rewriting_method(kind, untrained(limit=limit), epsilon=epsilon).verify()
    assert verdict.status == "proved"
    assert verdict.epsilon <= epsilon
    if epsilon / limit < 20:
        assert verdict.epsilon >= epsilon * (1 - 1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_special_tokens_are_never_drawn(kind):
    """Only words of the vocabulary come out, for any logits."""
    texts = dn.rewriting_method(kind, untrained(sharp=30.0), epsilon=0.1).rewrite(["zork zork"] * 50)
    assert not any(mark in text for text in texts for mark in ("[unknown]", "<"))


def test_other_logits_of_a_model_that_fails():
    """Special tokens may have logits that are not finite; words may not."""
    method = dn.rewriting_method("tokens", untrained(), epsilon=5.0)
    with torch.no_grad():
        method.model.network.bias[START] = -math.inf
    assert len(method.rewrite(["show"])) == 1
    with torch.no_grad():
        method.model.network.bias[UNKNOWN + 1] = -math.inf
    with refuses("finite"):
        method.rewrite(["show"])


@pytest.mark.parametrize(
    ("options", "value"),
    [
        *(({"max_draws": draws}, draws) for draws in (0, -1, 13, 2.0, True)),
        ({"kind": "published"}, "'published'"),
        ({"epsilon": 5e-324}, "4.94066e-324"),
    ],
)
def test_options_that_no_token_method_has(options, value):
    """A bound beyond the model's limit, an unknown law, and an epsilon that draws cannot share are refused."""
    with refuses(value):
        dn.rewriting_method("tokens", MODEL, **{"epsilon": 5.0, **options})
