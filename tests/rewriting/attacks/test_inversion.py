"""A decoder trained on releases: it reads what noise leaves, and leaves the public model as it was."""

import numpy as np
import pytest
import torch

from deniable.core.errors import InputError
from deniable.registry.methods import REWRITING_METHODS
from deniable.rewriting.attacks.candidates import measure_guesses
from deniable.rewriting.attacks.inversion import fit_inverter
from tests.rewriting.small import corpus, fitted


@pytest.fixture(scope="module")
def model():
    return fitted()


def made(model, epsilon):
    return REWRITING_METHODS["adept"](model, epsilon=epsilon, seed=2)


def test_an_inverter_learns(model):
    """With little noise, training on releases reads more words than the public decoder, which is left untouched."""
    method = made(model, 200.0)
    before = {name: weights.clone() for name, weights in model.network.state_dict().items()}
    attacker = fit_inverter(method, corpus(), epochs=25, learning_rate=5e-3, seed=0)
    assert all(torch.equal(before[name], weights) for name, weights in model.network.state_dict().items())
    released = method.release(corpus())
    read, plain = (measure_guesses(corpus(), texts) for texts in (attacker.invert(released), method.decode(released)))
    assert read["tokens"].low > plain["tokens"].value
    assert read["exact"].value >= plain["exact"].value


def test_noise_enough_stops_it(model):
    """At a small epsilon nothing beyond frequent words is read, however long it learns."""
    method = made(model, 0.01)
    attacker = fit_inverter(method, corpus(), epochs=3, seed=0)
    assert measure_guesses(corpus(), attacker.invert(method.release(corpus())))["exact"].value <= 0.1


def test_a_seed_repeats_it(model):
    """The same seeds of method and attacker give the same texts."""
    texts = [fit_inverter(made(model, 50.0), corpus()[:20], epochs=1, seed=4).invert(np.eye(8)) for _ in range(2)]
    assert texts[0] == texts[1]


def test_no_texts(model):
    """Without texts there is nothing to learn or to read."""
    with pytest.raises(InputError, match="no texts to learn from"):
        fit_inverter(made(model, 1.0), [])
