"""Guesses at private texts: candidates, and a trained decoder."""

import itertools

import numpy as np
import pytest
import torch

import deniable as dn
from studies.text_guesses import (
    TrigramModel,
    drop_indistinguishable_texts,
    find_nearest_candidates,
    fit_inverter,
    measure_guesses,
    propose_texts,
)
from tests.refusals import refuses
from tests.rewriting.small import corpus, fitted

CITIES = ("boston", "dallas", "denver", "oakland", "tampa", "miami")
CORPUS = [f"show me flights from {a} to {b}" for a, b in itertools.pairwise(CITIES)]
VOCABULARY = dn.rewriting.Vocabulary.build(CORPUS)


def test_texts_read_alike_are_one():
    """Capitals, spaces and words that are not listed make no other text; the first spelling is kept."""
    texts = ["Show me flights", "show  me flights", "show me zzz", "show me yyy", "flights"]
    assert drop_indistinguishable_texts(texts, VOCABULARY) == ["Show me flights", "show me zzz", "flights"]


def test_the_language_of_a_corpus():
    """Followers are counted in every context, and draws follow the weights of long contexts and of none."""
    numbers = VOCABULARY.to_ids
    model = TrigramModel.fit(map(numbers, CORPUS))
    (flights, from_, to) = numbers("flights from to")
    assert sorted(model.followers[0][flights, from_]) == sorted(numbers(" ".join(CITIES[:-1])))
    assert model.followers[1][from_,] == model.followers[0][flights, from_]
    assert len(model.followers[2][()]) == sum(len(numbers(text)) + 1 for text in CORPUS)
    assert set(model.followers[0][to, numbers("miami")[0]]) == {2}
    model, coins = TrigramModel.fit([[5, 6, 7]]), np.random.default_rng(0)
    drawn = [model.draw_tokens(coins, 1) for _ in range(20_000)]
    # After the start 5 always follows but where nothing is looked back at; there each of 5, 6, 7 and the end does.
    assert np.mean([one == (5,) for one in drawn]) == pytest.approx(0.95 + 0.05 / 4, abs=0.01)
    assert np.mean([one == () for one in drawn]) == pytest.approx(0.05 / 4, abs=0.005)


def test_proposals():
    """Proposals are new, distinct, no longer than allowed, and repeat with the seed; too many are refused."""
    found = propose_texts(CORPUS, VOCABULARY, 40, max_tokens=9, seed=3)
    assert len(set(found)) == 40
    assert not set(found) & set(CORPUS)
    assert max(len(VOCABULARY.to_ids(text)) for text in found) <= 9
    assert found == propose_texts(CORPUS, VOCABULARY, 40, max_tokens=9, seed=3)
    assert found != propose_texts(CORPUS, VOCABULARY, 40, max_tokens=9, seed=4)
    assert any(text.startswith("show me flights from") for text in found)
    for texts, count, value in (([], 1, "one text"), (CORPUS, 0, 0), (["boston"], 50, 50)):
        with refuses(value):
            propose_texts(texts, VOCABULARY, count, max_tokens=2, seed=0)


def test_what_is_recovered():
    """Words count as often as both texts hold them, wherever they stand; a text without words has none to find."""
    found = measure_guesses(["show me flights to to boston", "flights", ""], ["boston to me to to", "Flights", ""])
    assert (found["tokens"].value, found["tokens"].count) == (5 / 7, 2)
    assert (found["exact"].value, found["exact"].count) == (2 / 3, 3)


@pytest.mark.parametrize("order", [1, 2])
def test_the_nearest_candidate(order):
    """It is that of a direct search, in blocks too."""
    random = np.random.default_rng(0)
    candidates, released = random.normal(size=(30, 3)), random.normal(size=(600, 3))
    apart = np.linalg.norm(released[:, None] - candidates[None], ord=order, axis=2)
    assert find_nearest_candidates(released, candidates, order).tolist() == apart.argmin(axis=1).tolist()


@pytest.fixture(scope="module")
def model():
    return fitted()


def made(model, epsilon):
    return dn.rewriting_method("adept", model, epsilon=epsilon, seed=2)


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


def test_noise_enough_stops_an_inverter(model):
    """At a small epsilon nothing beyond frequent words is read; a seed repeats an attack; no texts teach nothing."""
    method = made(model, 0.01)
    attacker = fit_inverter(method, corpus(), epochs=2, seed=0)
    assert measure_guesses(corpus(), attacker.invert(method.release(corpus())))["exact"].value <= 0.1
    texts = [fit_inverter(made(model, 50.0), corpus()[:20], epochs=1, seed=4).invert(np.eye(8)) for _ in "ab"]
    assert texts[0] == texts[1]
    with refuses("no texts"):
        fit_inverter(method, [])
