"""DPText as a rewriting method: refuted, with the box and scale of its remedy."""

import math

import numpy as np
import pytest

from deniable.core.errors import InputError
from deniable.published.dptext.mechanism import DPText
from deniable.published.dptext.method import make_dptext_method
from deniable.rewriting.methods.clipped_noise import choose_box, make_box_method
from tests.rewriting.untrained import TEXTS, untrained

MODEL = untrained()


def test_the_method_is_refuted_by_its_own_verdict():
    """The mechanism is DPText on the public box, and no epsilon holds for it."""
    method = make_dptext_method(MODEL, epsilon=2.0)
    assert isinstance(method.mechanism, DPText)
    assert method.mechanism.domain == choose_box(MODEL)
    assert method.guarantee.status == method.verify().status == "refuted"
    assert method.verify().lower_bound == math.inf


def test_released_vectors_never_lie_below_the_input():
    """Noise of the remedy's scale that is never negative: the flaw as it reaches the decoder."""
    method, remedy = make_dptext_method(MODEL, epsilon=2.0), make_box_method(MODEL, name="remedy", epsilon=2.0)
    own = method.mechanism.domain.clip(method.encode(TEXTS))
    assert (method.release(TEXTS) >= own).all()
    assert (remedy.release(TEXTS) < own).any()
    assert method.parameters["scale"] == pytest.approx(remedy.parameters["scale"], rel=1e-8)


def test_its_noise_cannot_be_trained_with():
    """Noise that is no Laplace noise is refused by name where a decoder would be trained with it."""
    with pytest.raises(InputError, match="noise of dptext is neither Laplace nor Gaussian"):
        _ = make_dptext_method(MODEL, epsilon=2.0).training_noise


def test_an_epsilon_too_small_for_floating_point_is_refused():
    """Noise beyond the range of float64 is refused before any is drawn."""
    with pytest.raises(InputError, match="too small for the noise of dptext"):
        make_dptext_method(MODEL, epsilon=np.nextafter(0, 1))
