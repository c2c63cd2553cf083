"""What every rewriting method keeps: its guarantee, its records, and its noise."""

import dataclasses
import json
import math

import numpy as np
import pytest
import torch

import deniable as dn
from deniable.registry.methods import (
    METHODS_WITH_DELTA,
    METHODS_WITH_DRAW_LIMIT,
    REWRITING_METHODS,
    check_method_options,
)
from deniable.registry.vectors import VECTOR_MECHANISMS
from deniable.text.tokenization import split_tokens
from tests.rewriting.untrained import TEXTS, WORDS, untrained

MODEL = untrained()
VECTOR = [name for name in REWRITING_METHODS if name not in METHODS_WITH_DRAW_LIMIT]
STATUS = {
    "adept": "refuted",
    "adept-l1": "proved",
    "adept-true": "proved",
    "adept-gaussian": "proved",
    "dptext": "refuted",
    "dptext-fixed": "proved",
    "tokens": "proved",
    "tokens-mixed": "proved",
}


def build(name, model=MODEL, epsilon=5.0, **options):
    """Return a method, with a delta where it needs one."""
    delta = {"delta": 1e-5} if name in METHODS_WITH_DELTA else {}
    return REWRITING_METHODS[name](model, epsilon=epsilon, **delta, **options)


def broken(value):
    """Return a model whose weights are all one value."""
    model = untrained()
    with torch.no_grad():
        for weights in model.network.parameters():
            weights.fill_(value)
    return model


@pytest.mark.parametrize("name", REWRITING_METHODS)
class TestEveryMethod:
    """The contract of `Method`."""

    def test_what_it_says_of_itself(self, name):
        """Name, claim, status and the verdict belong together; parameters are JSON."""
        method = build(name)
        assert method.name == name
        assert method.model is MODEL
        assert method.guarantee.epsilon == 5.0
        assert method.guarantee.status == method.verify().status == STATUS[name]
        assert method.verify().claim == 5.0
        assert isinstance(method.guarantee, dn.ApproxDP if name in METHODS_WITH_DELTA else dn.PureDP)
        assert json.loads(json.dumps(method.parameters))["epsilon"] == 5.0
        assert method.arithmetic
        assert method.seed is None

    def test_no_record_is_lost(self, name):
        """Every text gets a text of the vocabulary's tokens, at most as long as the limit; odd and empty ones too."""
        found = build(name).rewrite(TEXTS)
        assert len(found) == len(TEXTS)
        for text in found:
            assert len(split_tokens(text.replace("[unknown]", "zork"))) <= MODEL.limit
            assert set(split_tokens(text.replace("[unknown]", "zork"))) <= {*WORDS, "zork"}
        assert build(name).rewrite([]) == []

    def test_an_empty_text_does_not_stay_empty(self, name):
        """What becomes of an empty text is drawn like any other text."""
        assert any(build(name, epsilon=1.0).rewrite([""] * 20))

    def test_noise_is_fresh(self, name):
        """Equal texts in one call, and two calls, differ."""
        method = build(name, epsilon=0.5)
        first, second = (method.rewrite(["show me all"] * 30) for _ in range(2))
        assert len({*first}) > 1
        assert first != second

    def test_a_seed_repeats_and_refutes(self, name):
        """Under a public seed draws are repeatable, go on from call to call, and nothing is claimed."""
        one, other = (build(name, seed=7) for _ in range(2))
        first = one.rewrite(TEXTS * 3)
        assert first == other.rewrite(TEXTS * 3)
        assert one.rewrite(TEXTS * 3) != first
        assert build(name, seed=8).rewrite(TEXTS * 3) != first
        assert one.seed == 7
        assert one.guarantee.status == one.verify().status == "refuted"
        assert "not private: public seed" in one.guarantee.source
        assert one.verify().lower_bound == math.inf

    def test_texts_that_are_too_long(self, name):
        """A text beyond the limit is refused before anything is released."""
        with pytest.raises(dn.InputError, match="13 tokens"):
            build(name).rewrite(["show", "to " * 13])

    @pytest.mark.parametrize("value", [math.nan, math.inf])
    def test_a_model_that_fails(self, name, value):
        """Where the model's numbers are not finite nothing is released."""
        with pytest.raises(dn.InputError, match=r"gives text 1 .* not finite: nothing is released"):
            build(name, broken(value)).rewrite(["show me"])

    @pytest.mark.parametrize("epsilon", [0, -1.0, math.nan, math.inf, "3", None])
    def test_bad_epsilon(self, name, epsilon):
        """Epsilon is a positive number."""
        with pytest.raises(dn.InputError, match="'epsilon'"):
            build(name, epsilon=epsilon)

    def test_bad_seed(self, name):
        """A seed is an int."""
        with pytest.raises(dn.InputError, match="'seed' parameter must be an int"):
            build(name, seed=1.5)


class TestVectorMethods:
    """Those that release a vector."""

    @pytest.mark.parametrize("name", VECTOR)
    def test_the_mechanism_is_that_of_the_registry(self, name):
        """A method's mechanism has the kind, claim and scale of the vector mechanism of its name."""
        method = build(name)
        delta = {"delta": 1e-5} if name in METHODS_WITH_DELTA else {}
        bound = 3 / math.sqrt(8)
        domain = {
            "adept": {"radius": 1.0},
            "adept-l1": {"domain": dn.L1Ball(1.0)},
            "dptext": {"lower": -bound, "upper": bound},
            "dptext-fixed": {"domain": dn.Box(-bound, bound)},
        }
        known = VECTOR_MECHANISMS[name](epsilon=5.0, **delta, **domain.get(name, {"domain": dn.L2Ball(1.0)}))
        assert type(method.mechanism) is type(known)
        assert method.guarantee == dataclasses.replace(known.guarantee, adjacency="any two texts")
        assert method.mechanism.domain == known.domain
        assert method.parameters["scale"] == method.mechanism.scale(8) == known.scale(8)

    @pytest.mark.parametrize("name", VECTOR)
    def test_the_radius_is_the_model_s(self, name):
        """Twice the radius of the model's training is twice the noise."""
        wide = build(name, untrained(radius=2.0))
        assert wide.parameters["scale"] == pytest.approx(2 * build(name).parameters["scale"], rel=1e-6)

    @pytest.mark.parametrize("name", VECTOR)
    def test_rewriting_is_decoding_what_is_released(self, name):
        """The new texts are a function of the released vectors alone."""
        vectors = build(name, seed=3).release(TEXTS)
        assert vectors.shape == (len(TEXTS), 8)
        method = build(name, seed=3)
        assert method.rewrite(TEXTS) == method.decode(vectors)
        assert method.release([]).shape == (0, 8)

    @pytest.mark.parametrize("name", VECTOR)
    def test_no_encoder_gets_around_the_clip(self, name):
        """Vectors of any size and direction are released as points of the bounded set, with noise of its scale."""
        hostile = untrained()
        huge = np.array([[1e300] * 8, [-1e300] * 8, [0.0] * 8])

        class Hostile:
            network, vocabulary, limit, radius, latent = hostile.network, hostile.vocabulary, 12, 1.0, 8
            decode = hostile.decode

            def encode(self, texts):
                return huge[: len(texts)]

        method = build(name, Hostile(), epsilon=1e4)
        released = method.release(["a", "b", "c"])
        inside = method.mechanism.domain.clip(method.encode(["a", "b", "c"]))
        assert np.abs(inside).max() <= method.mechanism.domain.max_coordinate
        assert np.abs(released - inside).max() <= 60 * method.parameters["scale"]
        assert len(method.decode(released)) == 3

    def test_the_l1_ball_is_stretched_back(self):
        """After an l1 clip a vector of no special direction is decoded at about the length of the training's ball."""
        wide = untrained(latent=500)
        method = build("adept-l1", wide)
        clipped = method.mechanism.domain.clip(np.random.default_rng(0).normal(size=(50, 500))) * method.stretch
        np.testing.assert_allclose(np.linalg.norm(clipped, axis=1), 1.0, rtol=0.1)
        assert build("adept-l1", untrained(latent=1)).stretch == 1.0
        assert build("adept-true").stretch == 1.0

    def test_without_much_noise_the_text_is_the_model_s_own(self):
        """At a very large epsilon a proved method rewrites as the auto-encoder itself reconstructs."""
        model = untrained(sharp=3.0)
        ball = dn.L2Ball(1.0)
        own = model.decode(ball.clip(model.encode(TEXTS)))
        for name in ("adept-true", "adept-gaussian"):
            found = build(name, model, epsilon=1e4 if name == "adept-true" else 1e7).rewrite(TEXTS)
            assert sum(one == other for one, other in zip(found, own, strict=True)) >= len(own) - 1


class TestOptions:
    """Which methods take which options, before a model is read."""

    def test_good_options(self):
        """What was given comes back."""
        assert check_method_options("adept") == {}
        assert check_method_options("adept-gaussian", delta=1e-5) == {"delta": 1e-5}
        assert check_method_options("tokens", max_draws=4) == {"max_draws": 4}

    @pytest.mark.parametrize(
        ("name", "options", "message"),
        [
            ("adept-gaussian", {}, "needs a delta"),
            ("adept", {"delta": 1e-5}, "has no delta: leave it out, or choose adept-gaussian"),
            ("tokens", {"delta": 1e-5}, "has no delta"),
            ("dptext", {"max_draws": 3}, "draws no tokens: .* or choose tokens or tokens-mixed"),
        ],
    )
    def test_bad_options(self, name, options, message):
        """An option that a method lacks, or does not take, is refused by name."""
        with pytest.raises(dn.InputError, match=message):
            check_method_options(name, **options)

    @pytest.mark.parametrize("delta", [0.0, 1.0, -1e-5, math.nan])
    def test_bad_delta(self, delta):
        """Delta is in (0, 1)."""
        with pytest.raises(dn.InputError, match="'delta'"):
            REWRITING_METHODS["adept-gaussian"](MODEL, epsilon=1.0, delta=delta)

    @pytest.mark.parametrize("radius", [0.0, -1.0, math.nan])
    def test_bad_radius(self, radius):
        """A model whose ball has no positive radius is refused."""

        @dataclasses.dataclass
        class Flat:
            latent: int = 8
            limit: int = 12
            radius: float = 1.0

        with pytest.raises(dn.InputError, match="'radius'"):
            REWRITING_METHODS["adept-true"](Flat(radius=radius), epsilon=1.0)
