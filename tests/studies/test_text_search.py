"""A search for the text nearest to a release."""

import numpy as np
import pytest
import torch

import deniable as dn
from deniable.rewriting.ranking import get_norm_order
from studies.text_search import search_nearest_texts
from tests.rewriting.small import corpus, fitted
from tests.rewriting.untrained import TEXTS, untrained

SPECIAL = 4
"""Tokens of every vocabulary that are no words."""
HIGH = {"adept": 2000.0, "adept-l1": 2000.0, "adept-gaussian": 1e6, "dptext-fixed": 1e4}
"""An epsilon each at which there is hardly noise."""
NAMES = [
    "adept",
    "adept-gaussian",
    *(pytest.param(name, marks=pytest.mark.deep) for name in ("adept-l1", "dptext-fixed")),
]


@pytest.fixture(scope="module")
def model():
    return fitted()


def made(model, name="adept", epsilon=None):
    delta = {"delta": 1e-5} if name == "adept-gaussian" else {}
    return dn.rewriting_method(name, model, epsilon=HIGH[name] if epsilon is None else epsilon, seed=2, **delta)


def distances(method, texts, released):
    """Return the distance (k,) of each text to its release (k, n)."""
    apart = dn.rewriting.encode_clipped_vectors(method, texts) - released
    return np.linalg.norm(apart, ord=get_norm_order(method.mechanism), axis=1)


def swapped(model, texts, coins):
    """Return texts with another word of the model in one place of each."""
    found = []
    for text in texts:
        row = model.vocabulary.to_ids(text)
        place = int(coins.integers(len(row)))
        others = [word for word in range(SPECIAL, len(model.vocabulary)) if word != row[place]]
        found.append(model.vocabulary.to_text([*row[:place], int(coins.choice(others)), *row[place + 1 :]]))
    return found


def same(model, found, texts):
    """Return how many texts have the same words."""
    cut = model.vocabulary.to_ids
    return sum(cut(one) == cut(other) for one, other in zip(found, texts, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_word_is_found(model, name):
    """From the truth with one word replaced, most truths are found, under every clip and noise."""
    method, texts = made(model, name), corpus()[::2]
    starts, released = swapped(model, texts, np.random.default_rng(0)), method.release(texts)
    found = search_nearest_texts(method, released, starts)
    assert (distances(method, found, released) <= distances(method, starts, released)).all()
    assert same(model, found, texts) >= 0.7 * len(texts)


def test_gradients_choose_better_than_chance(model):
    """In one round of five encoded swaps, more truths are found than among five random swaps of each text."""
    method, texts, coins = made(model), corpus(), np.random.default_rng(1)
    starts, released = swapped(model, texts, coins), method.release(texts)
    draws = [starts, *(swapped(model, starts, coins) for _ in range(5))]
    apart = np.array([distances(method, drawn, released) for drawn in draws])
    random = [draws[best][at] for at, best in enumerate(apart.argmin(axis=0))]
    found = search_nearest_texts(method, released, starts, rounds=1, swaps_per_round=5)
    assert same(model, found, texts) > same(model, random, texts) + 15


@pytest.mark.parametrize(
    ("edit", "share"),
    [("exchanged", 0.6), *(pytest.param(*one, marks=pytest.mark.deep) for one in (("left out", 0.25), ("added", 0.6)))],
)
def test_other_edits_are_undone(model, edit, share):
    """A token that is missing, one too many, and two in the wrong order are put right in many texts.

    A missing one is the hardest: other edits bring a text nearer, and one of 21 words in one of 5 places is right.
    """
    method, texts = made(model), corpus()
    rows = [model.vocabulary.to_ids(text) for text in texts]
    extra = model.vocabulary.to_ids("boston")
    edited = {
        "left out": [row[:1] + row[2:] for row in rows],
        "added": [[*row[:2], *extra, *row[2:]] for row in rows],
        "exchanged": [[row[1], row[0], *row[2:]] for row in rows],
    }[edit]
    starts = [model.vocabulary.to_text(row) for row in edited]
    assert same(model, starts, texts) <= 1
    assert same(model, search_nearest_texts(method, method.release(texts), starts), texts) >= share * len(texts)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("epsilon", [50.0, pytest.param(0.01, marks=pytest.mark.deep)])
def test_never_farther(name, epsilon):
    """No text is farther than its start, whatever the model, start and noise; texts stay within the limit."""
    model = untrained(sharp=3.0)
    method, coins = made(model, name, epsilon), np.random.default_rng(3)
    words = model.vocabulary.words[SPECIAL:]
    drawn = [" ".join(coins.choice(words, size=int(coins.integers(1, model.limit + 1)))) for _ in range(20)]
    starts = [*TEXTS, *drawn]
    released = method.release([*reversed(drawn), *TEXTS])
    found = search_nearest_texts(method, released, starts, rounds=4, swaps_per_round=6)
    before, after = distances(method, starts, released), distances(method, found, released)
    assert (after <= before).all()
    for start, text, nearer in zip(starts, found, after < before, strict=True):
        ids = model.vocabulary.to_ids(text)
        assert text == start or (nearer and 1 <= len(ids) <= model.limit and min(ids) >= SPECIAL)
    assert (after < before).sum() >= 5


@pytest.mark.parametrize("start", ["", "zork flights zork"])
def test_a_poor_start(model, start):
    """An empty start is no end of the search, and words that the model does not know are replaced."""
    method, texts = made(model), corpus()[:10]
    released = method.release(texts)
    found = search_nearest_texts(method, released, [start] * 10)
    assert (distances(method, found, released) < distances(method, [start] * 10, released)).all()
    assert "zork" not in " ".join(found)


def test_text_and_tokens_agree():
    """What is returned has the tokens that were searched for: a clitic behind no word is none of a text's."""
    model = untrained(["what's it", "don't ?"], limit=5)
    assert {*model.vocabulary.words[SPECIAL:]} == {"what", "do", "'s", "n't", "it", "?"}
    released = np.random.default_rng(4).normal(size=(40, model.latent)) / 4
    found = search_nearest_texts(made(model), released, ["it"] * 40)
    assert any("'" in text for text in found)
    assert all(model.vocabulary.to_text(model.vocabulary.to_ids(text)) == text for text in found)


def test_the_model_is_left_alone(model):
    """Weights, their gradients and flags, and torch's own modes are as before; the same call gives the same texts."""
    method, texts = made(model, epsilon=50.0), corpus()[:6]
    network, released = model.network, method.release(texts)
    for weights in network.parameters():
        weights.grad = None
    before = {name: weights.clone() for name, weights in network.named_parameters()}
    found = search_nearest_texts(method, released, ["show boston"] * 6, rounds=2)
    for name, weights in network.named_parameters():
        assert torch.equal(weights, before[name])
        assert weights.requires_grad
        assert weights.grad is None
    assert not network.training
    assert torch.is_grad_enabled()
    with torch.inference_mode():
        assert search_nearest_texts(method, released, ["show boston"] * 6, rounds=2) == found


def test_one_text_has_nothing_to_do_with_the_others(model):
    """A release is read alike alone and among others, and no releases give no texts."""
    method, texts = made(model, epsilon=200.0), corpus()[::12]
    released, starts = method.release(texts), method.decode(method.release(texts))
    found = search_nearest_texts(method, released, starts, rounds=2)
    for at in range(len(texts)):
        assert search_nearest_texts(method, released[[at]], starts[at : at + 1], rounds=2) == [found[at]]
    assert search_nearest_texts(method, released[:0], []) == []
