"""What every rewriting method keeps: its guarantee, its records, and its noise."""

import dataclasses
import json
import math
import re

import numpy as np
import pytest

import deniable as dn
from deniable.registry import REWRITING_METHODS
from tests.refusals import refuses
from tests.rewriting.untrained import TEXTS, WORDS, untrained

MODEL = untrained()
BOX = dn.Box(-3 / math.sqrt(8), 3 / math.sqrt(8))
VECTOR = {
    "adept": ("refuted", dn.ADePT, {"radius": 1.0}),
    "adept-l1": ("proved", dn.Laplace, {"domain": dn.L1Ball(1.0)}),
    "adept-true": ("proved", dn.Laplace, {"domain": dn.L2Ball(1.0)}),
    "adept-norm": ("proved", dn.KNorm, {"domain": dn.L2Ball(1.0)}),
    "adept-gaussian": ("proved", dn.Gaussian, {"domain": dn.L2Ball(1.0)}),
    "dptext": ("refuted", dn.DPText, {"lower": BOX.lower, "upper": BOX.upper}),
    "dptext-fixed": ("proved", dn.Laplace, {"domain": BOX}),
    "dptext-norm": ("proved", dn.KNorm, {"domain": BOX}),
}
"""Methods that release a vector: their status, their mechanism, and its options."""
STATUS = {name: held[0] for name, held in VECTOR.items()} | {"tokens": "proved", "tokens-mixed": "proved"}
FEW = [pytest.param(name, marks=() if name in {"adept-true", "tokens"} else pytest.mark.deep) for name in STATUS]
"""All methods; one of each kind stands for them where the code is the same."""


def build(name, model=MODEL, epsilon=5.0, **options):
    """Return a method, with a delta where it needs one."""
    delta = {"delta": 1e-5} if name == "adept-gaussian" else {}
    return dn.rewriting_method(name, model, epsilon=epsilon, **{**delta, **options})


@pytest.mark.parametrize("name", STATUS)
def test_what_a_method_says_of_itself(name):
    """Name, claim, status and the verdict belong together; parameters are JSON; a public seed refutes it."""
    method = build(name)
    assert method.name == name
    assert method.model is MODEL
    assert method.guarantee.epsilon == 5.0
    assert method.guarantee.status == method.verify().status == STATUS[name]
    assert method.verify().claim == 5.0
    assert method.guarantee.kind == ("ApproxDP" if name == "adept-gaussian" else "PureDP")
    assert json.loads(json.dumps(method.parameters))["epsilon"] == 5.0
    assert method.arithmetic
    assert method.seed is None
    seeded = build(name, seed=7)
    assert (seeded.seed, seeded.guarantee.status, seeded.verify().status) == (7, "refuted", "refuted")
    assert "not private: public seed" in seeded.guarantee.source
    assert seeded.verify().lower_bound == math.inf


@pytest.mark.parametrize("name", STATUS)
def test_no_record_is_lost(name):
    """Every text gets a text of the vocabulary's tokens, at most as long as the limit; odd and empty ones too."""
    found = build(name).rewrite(TEXTS)
    assert len(found) == len(TEXTS)
    for text in found:
        tokens = re.findall(r"\w+|[^\w\s]", text.replace("[unknown]", "zork"))
        assert len(tokens) <= MODEL.limit
        assert set(tokens) <= {*WORDS, "zork"}
    assert build(name).rewrite([]) == []
    assert any(build(name, epsilon=1.0).rewrite([""] * 20))  # drawn like any other text


@pytest.mark.parametrize("name", FEW)
def test_noise_is_fresh_unless_seeded(name):
    """Equal texts in one call, and two calls, differ; a public seed repeats the draws, from call to call."""
    method = build(name, epsilon=0.5)
    first, second = (method.rewrite(["show me all"] * 30) for _ in range(2))
    assert len({*first}) > 1
    assert first != second
    one, other = (build(name, seed=7) for _ in range(2))
    first = one.rewrite(TEXTS * 3)
    assert first == other.rewrite(TEXTS * 3)
    assert one.rewrite(TEXTS * 3) != first
    assert build(name, seed=8).rewrite(TEXTS * 3) != first


@pytest.mark.parametrize("name", FEW)
@pytest.mark.parametrize("value", [math.nan, pytest.param(math.inf, marks=pytest.mark.deep)])
def test_nothing_is_released_of_what_fails(name, value):
    """A text beyond the limit, and a model whose numbers are not finite, are refused before anything is released."""
    with refuses("13"):
        build(name).rewrite(["show", "to " * 13])
    broken = untrained()
    for weights in broken.network.parameters():
        weights.data.fill_(value)
    with refuses("text 1"):
        build(name, broken).rewrite(["show me"])


@pytest.mark.parametrize("name", STATUS)
def test_bad_options(name):
    """Epsilon is a positive number, a seed an int, and another name is answered with those that there are."""
    for epsilon in (0, -1.0, math.nan, math.inf, "3", None):
        with refuses("'epsilon'"):
            build(name, epsilon=epsilon)
    with refuses("'seed'"):
        build(name, seed=1.5)
    with refuses(f"one of {', '.join(REWRITING_METHODS)}."):
        build(f"{name}s")


@pytest.mark.parametrize("name", VECTOR)
def test_the_mechanism_is_the_one_of_its_name(name):
    """A method's mechanism has the kind, claim, domain and scale of the mechanism; twice the radius is twice of it."""
    method = build(name)
    _, kind, options = VECTOR[name]
    known = kind(epsilon=5.0, **({"delta": 1e-5} if name == "adept-gaussian" else {}), **options)
    assert type(method.mechanism) is type(known)
    assert method.guarantee == dataclasses.replace(known.guarantee, adjacency="any two texts")
    assert method.mechanism.domain == known.domain
    assert method.parameters["scale"] == method.mechanism.scale(8) == known.scale(8)
    wide = build(name, untrained(radius=2.0))
    assert wide.parameters["scale"] == pytest.approx(2 * method.parameters["scale"], rel=1e-6)


class Hostile:
    """A model whose encoder gives vectors of any size and direction."""

    network, vocabulary, limit, radius, latent, decode = MODEL.network, MODEL.vocabulary, 12, 1.0, 8, MODEL.decode

    def encode(self, texts):
        return np.array([[1e300] * 8, [-1e300] * 8, [0.0] * 8])[: len(texts)]


@pytest.mark.parametrize("name", VECTOR)
def test_new_texts_are_decoded_from_clipped_and_noised_vectors(name):
    """The new texts are a function of the released vectors alone, which no encoder gets beyond the bounded set."""
    vectors = build(name, seed=3).release(TEXTS)
    assert vectors.shape == (len(TEXTS), 8)
    method = build(name, seed=3)
    assert method.rewrite(TEXTS) == method.decode(vectors)
    assert method.release([]).shape == (0, 8)
    method = build(name, Hostile(), epsilon=1e4)
    released = method.release(["a", "b", "c"])
    inside = method.mechanism.domain.clip(method.encode(["a", "b", "c"]))
    assert np.abs(inside).max() <= method.mechanism.domain.max_coordinate
    assert np.abs(released - inside).max() <= 60 * method.parameters["scale"]
    assert len(method.decode(released)) == 3


def test_the_l1_ball_is_stretched_back():
    """After an l1 clip a vector of no special direction is decoded at about the length of the training's ball."""
    method = build("adept-l1", untrained(latent=500))
    clipped = method.mechanism.domain.clip(np.random.default_rng(0).normal(size=(50, 500))) * method.stretch
    np.testing.assert_allclose(np.linalg.norm(clipped, axis=1), 1.0, rtol=0.1)
    assert build("adept-l1", untrained(latent=1)).stretch == build("adept-true").stretch == 1.0


def test_without_much_noise_the_text_is_the_models_own():
    """At a very large epsilon a proved method rewrites as the auto-encoder itself reconstructs."""
    model = untrained(sharp=3.0)
    own = model.decode(dn.L2Ball(1.0).clip(model.encode(TEXTS)))
    for name, epsilon in (("adept-true", 1e4), ("adept-norm", 1e4), ("adept-gaussian", 1e7)):
        found = build(name, model, epsilon=epsilon).rewrite(TEXTS)
        assert sum(one == other for one, other in zip(found, own, strict=True)) >= len(own) - 1


@dataclasses.dataclass
class Flat:
    """A model whose ball may have no radius."""

    radius: float
    latent, limit = 8, 12


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan])
def test_bad_delta_and_radius(value):
    """Delta is in (0, 1), and the ball of a model has a positive radius."""
    with refuses("'delta'"):
        build("adept-gaussian", delta=value)
    with refuses("'radius'"):
        build("adept-true", Flat(value))
