"""The search for a nearer text: it finds the truth where there is hardly noise, and never loses what it had."""

import dataclasses

import numpy as np
import pytest
import torch

from deniable.core.errors import InputError
from deniable.published.dptext.copied_input import CopyMechanism
from deniable.registry.methods import REWRITING_METHODS
from deniable.rewriting.attacks.gradient import (
    _clip_differentiably,
    _compute_gradients,
    _SearchTarget,
    search_nearest_texts,
)
from deniable.rewriting.attacks.ranking import get_norm_order
from deniable.rewriting.audits import encode_clipped_vectors
from deniable.rewriting.tokens import SPECIAL_TOKENS
from deniable.rewriting.training import pad_token_rows
from deniable.text.tokenization import split_tokens
from deniable.vectors import Box, L1Ball, L2Ball
from tests.rewriting.small import corpus, fitted
from tests.rewriting.untrained import TEXTS, untrained

NAMES = ("adept", "adept-l1", "adept-gaussian", "dptext-fixed")
HIGH = {"adept": 2000.0, "adept-l1": 2000.0, "adept-gaussian": 1e6, "dptext-fixed": 1e4}
"""An epsilon each at which there is hardly noise."""


@pytest.fixture(scope="module")
def model():
    return fitted()


def made(model, name="adept", epsilon=None):
    delta = {"delta": 1e-5} if name == "adept-gaussian" else {}
    return REWRITING_METHODS[name](model, epsilon=HIGH[name] if epsilon is None else epsilon, seed=2, **delta)


def distances(method, texts, released):
    """Return the distance (k,) of each text to its release (k, n)."""
    return np.linalg.norm(
        encode_clipped_vectors(method, texts) - released, ord=get_norm_order(method.mechanism), axis=1
    )


def swapped(model, texts, coins):
    """Return texts with another word of the model in one place of each."""
    found = []
    for text in texts:
        row = model.vocabulary.to_ids(text)
        place = int(coins.integers(len(row)))
        others = [word for word in range(len(SPECIAL_TOKENS), len(model.vocabulary)) if word != row[place]]
        found.append(model.vocabulary.to_text([*row[:place], int(coins.choice(others)), *row[place + 1 :]]))
    return found


def same(found, texts):
    return sum(split_tokens(one) == split_tokens(other) for one, other in zip(found, texts, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_word_is_found(model, name):
    """From the truth with one word replaced, most truths are found, under every clip and noise."""
    method, texts = made(model, name), corpus()
    starts, released = swapped(model, texts, np.random.default_rng(0)), method.release(texts)
    found = search_nearest_texts(method, released, starts)
    assert (distances(method, found, released) <= distances(method, starts, released)).all()
    assert same(found, texts) >= 0.75 * len(texts)


def test_gradients_choose_better_than_chance(model):
    """In one round of five encoded swaps, more truths are found than among five random swaps of each text."""
    method, texts, coins = made(model), corpus(), np.random.default_rng(1)
    starts, released = swapped(model, texts, coins), method.release(texts)
    draws = [starts, *(swapped(model, starts, coins) for _ in range(5))]
    apart = np.array([distances(method, drawn, released) for drawn in draws])
    random = [draws[best][at] for at, best in enumerate(apart.argmin(axis=0))]
    found = search_nearest_texts(method, released, starts, rounds=1, swaps_per_round=5)
    assert same(found, texts) > same(random, texts) + 15


@pytest.mark.parametrize("edit", ["left out", "added", "exchanged"])
def test_other_edits_are_undone(model, edit):
    """A token that is missing, one too many, and two in the wrong order are put right in many texts.

    A missing one is the hardest: other edits bring a text nearer, and one of 21 words in one of 5 places is right.
    """
    method, texts = made(model), corpus()
    rows = [split_tokens(text) for text in texts]
    starts = {
        "left out": [" ".join(row[:1] + row[2:]) for row in rows],
        "added": [" ".join([*row[:2], "boston", *row[2:]]) for row in rows],
        "exchanged": [" ".join([row[1], row[0], *row[2:]]) for row in rows],
    }[edit]
    assert same(starts, texts) <= 1
    assert same(search_nearest_texts(method, method.release(texts), starts), texts) >= (
        0.25 if edit == "left out" else 0.6
    ) * len(texts)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("epsilon", [0.01, 50.0])
def test_never_farther(name, epsilon):
    """No text is farther than its start, whatever the model, start and noise; texts stay within the limit."""
    model = untrained(sharp=3.0)
    method, coins = made(model, name, epsilon), np.random.default_rng(3)
    words = model.vocabulary.words[len(SPECIAL_TOKENS) :]
    drawn = [" ".join(coins.choice(words, size=int(coins.integers(1, model.limit + 1)))) for _ in range(20)]
    starts = [*TEXTS, *drawn]
    released = method.release([*reversed(drawn), *TEXTS])
    found = search_nearest_texts(method, released, starts, rounds=4, swaps_per_round=6)
    before, after = distances(method, starts, released), distances(method, found, released)
    assert (after <= before).all()
    for start, text, nearer in zip(starts, found, after < before, strict=True):
        assert text == start or nearer
        assert text == start or 1 <= len(model.vocabulary.to_ids(text)) <= model.limit
        assert text == start or {*split_tokens(text)} <= {*words}
    assert (after < before).sum() >= 5


@pytest.mark.parametrize("start", ["", "zork", "zork flights zork"])
def test_a_poor_start(model, start):
    """An empty start is no end of the search, and words that the model does not know are replaced."""
    method, texts = made(model), corpus()[:10]
    released = method.release(texts)
    found = search_nearest_texts(method, released, [start] * 10)
    assert (distances(method, found, released) < distances(method, [start] * 10, released)).all()
    assert "zork" not in " ".join(found)


def test_text_and_tokens_agree():
    """What is returned has the tokens that were searched for: a clitic behind no word is none of a text's."""
    words = ["what", "do", "'s", "n't", "it", "?"]
    model = untrained(["what's it", "don't ?"], limit=5)
    assert {*words} == {*model.vocabulary.words[len(SPECIAL_TOKENS) :]}
    method = made(model)
    coins = np.random.default_rng(4)
    released = coins.normal(size=(40, model.latent)) / 4
    found = search_nearest_texts(method, released, ["it"] * 40)
    assert any("'" in text for text in found)
    assert all(model.vocabulary.to_text(model.vocabulary.to_ids(text)) == text for text in found)


@pytest.mark.parametrize("name", NAMES)
def test_slopes_are_derivatives(model, name):
    """The derivative of a distance by the vector of a token is what a small step of that vector shows."""
    method = made(model, name)
    aim = _SearchTarget(method, method.mechanism.domain, get_norm_order(method.mechanism))
    rows = [model.vocabulary.to_ids(text) for text in ("flights from boston to denver", "show dallas")]
    tokens, lengths = pad_token_rows(rows)
    released = np.full((2, model.latent), 0.05)
    slopes = _compute_gradients(aim, tokens, lengths, released)
    assert slopes.shape == (2, 5, model.network.embedding)
    assert not slopes[1, 2:].any()

    def apart(row, place, step):
        network = model.network
        own = (
            torch.cat([network.tokens.weight[: len(SPECIAL_TOKENS)], network.tokens.weight[rows[row]]])
            .detach()
            .double()
        )
        own[len(SPECIAL_TOKENS) + place] += step
        places = len(SPECIAL_TOKENS) + torch.arange(len(rows[row]))[None]
        vectors = double.encode(places, torch.tensor([len(rows[row])]), own).detach().numpy()
        inner = vectors if method.decoder_domain is None else method.decoder_domain.clip(vectors)
        return float((np.abs(aim.domain.clip(inner) - released[row]) ** aim.order).sum())

    double = fitted().network.double()
    for row, place in ((0, 0), (0, 3), (1, 1)):
        step = 1e-6 * torch.nn.functional.one_hot(torch.tensor(2), model.network.embedding).double()
        expected = (apart(row, place, step) - apart(row, place, -step)) / 2e-6
        assert float(slopes[row, place, 2]) == pytest.approx(expected, rel=1e-3, abs=1e-5)


def test_clips_are_those_of_the_domains():
    """Vectors that derivatives go through are clipped as the mechanism does; without a domain they stay."""
    given = np.random.default_rng(5).normal(size=(6, 4)) * np.array([0.0, 0.01, 0.3, 1, 3, 100])[:, None]
    for domain in (Box(-0.2, 0.5), L1Ball(0.7), L2Ball(0.7)):
        found = _clip_differentiably(torch.from_numpy(given), domain)
        np.testing.assert_allclose(found, domain.clip(given), rtol=1e-9)
    assert _clip_differentiably(torch.from_numpy(given), None).numpy().tolist() == given.tolist()


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
    method, texts = made(model, epsilon=200.0), corpus()[::6]
    released, starts = method.release(texts), method.decode(method.release(texts))
    found = search_nearest_texts(method, released, starts, rounds=3)
    assert found == [
        search_nearest_texts(method, released[[at]], starts[at : at + 1], rounds=3)[0] for at in range(len(texts))
    ]
    assert search_nearest_texts(method, released[:0], []) == []


def test_bad_arguments(model):
    """Arguments that do not go together, or are out of range, are refused in one line."""
    method = made(model)
    released = method.release(["show boston", "show denver"])
    for bad in (released[:1], released[:, 1:], released[0], np.full_like(released, np.nan)):
        with pytest.raises(
            InputError, match=r"Releases must be (of shape \(2, 8\) for 2 starts. Got shape|finite. Got .* in row 1)"
        ):
            search_nearest_texts(method, bad, ["show", "show"])
    for name in ("rounds", "swaps_per_round"):
        for value in (0, -1, 2.0, True):
            with pytest.raises(
                InputError, match=f"The '{name}' parameter of search_nearest_texts must be an int of at least 1"
            ):
                search_nearest_texts(method, released, ["show", "show"], **{name: value})
    with pytest.raises(InputError, match="has 65 tokens"):
        search_nearest_texts(method, released, ["show", "to " * 65])
    with pytest.raises(InputError, match="clips to no domain"):
        search_nearest_texts(
            dataclasses.replace(method, mechanism=CopyMechanism(epsilon=1.0)), released, ["show", "show"]
        )
