"""Methods that release a vector: encode, clip, add noise, decode, and nothing else."""

import dataclasses
import math

import numpy as np
import pytest

from deniable.core.errors import InputError
from deniable.core.guarantees import ANY_TWO_TEXTS
from deniable.rewriting.methods.base import VectorMethod
from deniable.vectors import L2Ball, Laplace, RandomMechanism


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
    mechanism = Laplace(epsilon=1e3, domain=L2Ball(10.0), seed=1)
    return VectorMethod(
        **{"name": "test", "model": model or Lengths(), "mechanism": mechanism, "parameters": {}} | changes
    )


def test_a_text_becomes_its_vector_and_back():
    """Without much noise what is decoded is what was encoded; no texts need no noise."""
    assert make_method().rewrite(["abc", ""]) != make_method().rewrite(["abcd", ""])
    released = make_method().release(["abc", ""])
    assert released == pytest.approx(np.array([[3, 3], [0, 0]]), abs=0.5)
    assert make_method().rewrite([]) == []
    assert make_method().release([]).shape == (0, 2)


def test_stretch_and_domain_of_the_decoder():
    """Vectors are clipped to where the decoder was trained before noise, and multiplied after it."""
    method = make_method(decoder_domain=L2Ball(1.0), stretch=10.0)
    assert np.linalg.norm(method.encode(["abc"]), axis=1) == pytest.approx([1.0])
    assert method.decode(np.array([[0.5, 0.25]])) == ["5.000000 2.500000"]
    assert make_method().encode(["abc"]).tolist() == [[3.0, 3.0]]


def test_the_guarantee_is_the_mechanism_s_for_any_two_texts():
    """Decoding costs nothing, and the verdict is about the same guarantee."""
    method = make_method(mechanism=Laplace(epsilon=2.0, domain=L2Ball(1.0)))
    assert method.guarantee == dataclasses.replace(method.mechanism.guarantee, adjacency=ANY_TWO_TEXTS)
    verdict = method.verify()
    assert verdict.status == "proved"
    assert verdict.guarantee == method.guarantee
    assert verdict.epsilon <= 2.0
    assert method.seed is None
    assert make_method().seed == 1
    assert make_method().verify().status == "refuted"


def test_training_noise_is_what_the_decoder_sees():
    """The scale after the stretch; noise of another law is refused by the method's name."""
    method = make_method(stretch=3.0)
    assert method.training_noise == ("laplace", method.mechanism.scale(2) * 3.0)
    with pytest.raises(InputError, match="The noise of test is neither Laplace nor Gaussian"):
        _ = make_method(mechanism=RandomMechanism()).training_noise


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_vector_that_is_not_finite_releases_nothing(bad):
    """The error names the first text whose vector failed."""
    method = make_method(Lengths(bad=bad))
    for step in (method.encode, method.release, method.rewrite):
        with pytest.raises(InputError, match="gives text 2 a vector that is not finite: nothing is released"):
            step(["a", "b", "c"])
