"""Attacks on rewritten texts: candidates, rankings, a trained decoder, and a search for the nearest text."""

import dataclasses
import itertools
import types

import numpy as np
import pytest
import torch

import deniable as dn
from deniable.rewriting.attacks.candidates import (
    TrigramModel,
    drop_indistinguishable_texts,
    measure_guesses,
    propose_texts,
)
from deniable.rewriting.attacks.gradient import search_nearest_texts
from deniable.rewriting.attacks.inversion import fit_inverter
from deniable.rewriting.attacks.ranking import find_nearest_candidates, get_norm_order, measure_ranking_success
from tests.refusals import refuses
from tests.rewriting.small import corpus, fitted
from tests.rewriting.untrained import TEXTS, untrained

CITIES = ("boston", "dallas", "denver", "oakland", "tampa", "miami")
CORPUS = [f"show me flights from {a} to {b}" for a, b in itertools.pairwise(CITIES)]
VOCABULARY = dn.rewriting.Vocabulary.build(CORPUS)
SPECIAL = 4
"""Tokens of every vocabulary that are no words."""
HIGH = {"adept": 2000.0, "adept-l1": 2000.0, "adept-gaussian": 1e6, "dptext-fixed": 1e4}
"""An epsilon each at which there is hardly noise."""
NAMES = [
    "adept",
    "adept-gaussian",
    *(pytest.param(name, marks=pytest.mark.deep) for name in ("adept-l1", "dptext-fixed")),
]


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


def test_places():
    """The nearest comes first, ties stand before the truth, and places are those of a direct count, in any block."""
    line = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 2.0], [1.0, 0.0]])
    released = np.array([[0.1, 0.1], [0.9, 0.0], [5.0, 5.0]])
    assert dn.rewriting.rank_true_candidates(released, np.array([0, 1, 0]), line, 1).tolist() == [1, 2, 4]
    assert find_nearest_candidates(released, line, 1).tolist() == [0, 1, 2]
    random = np.random.default_rng(0)
    candidates, released = random.normal(size=(30, 3)), random.normal(size=(600, 3))
    truths = random.integers(30, size=600)
    for order in (1, 2):
        apart = np.linalg.norm(released[:, None] - candidates[None], ord=order, axis=2)
        places = dn.rewriting.rank_true_candidates(released, truths, candidates, order)
        assert places.tolist() == (apart <= apart[np.arange(600), truths][:, None]).sum(axis=1).tolist()
        assert find_nearest_candidates(released, candidates, order).tolist() == apart.argmin(axis=1).tolist()
    for shape, count in (((2, 3), 2), ((2, 2), 1)):
        with refuses("together"):
            dn.rewriting.rank_true_candidates(np.zeros(shape), np.zeros(count, np.int64), line, 1)


@pytest.mark.parametrize("is_published", [True, False])
def test_success_against_the_bound(is_published):
    """Corners of the cube in the ball: published noise is found out beyond its claim, noise enough is not."""
    ball = dn.L2Ball(1.0)
    mechanism = dn.ADePT(epsilon=3.0, seed=0) if is_published else dn.Laplace(epsilon=3.0, domain=ball, seed=0)
    assert get_norm_order(mechanism) == 1
    assert get_norm_order(dn.Gaussian(epsilon=1.0, delta=1e-5, domain=ball)) == 2
    random = np.random.default_rng(1)
    corners = np.where(random.random((400, 64)) < 0.5, -1.0, 1.0) / 8
    truths = random.integers(400, size=6_000)
    places = dn.rewriting.rank_true_candidates(mechanism.sample(corners[truths]), truths, corners, 1)
    found = [measure_ranking_success(places, 400, epsilon=3.0, first=first) for first in (1, 10)]
    assert [one.max_success_rate for one in found] == [
        dn.rewriting.compute_max_success(400, 3.0),
        dn.rewriting.compute_max_success(400, 3.0, first=10),
    ]
    assert found[0].is_refuted == is_published
    assert found[0].success_rate.value < found[1].success_rate.value < found[1].max_success_rate


@pytest.fixture(scope="module")
def model():
    return fitted()


def made(model, name="adept", epsilon=None):
    delta = {"delta": 1e-5} if name == "adept-gaussian" else {}
    return dn.rewriting_method(name, model, epsilon=HIGH[name] if epsilon is None else epsilon, seed=2, **delta)


def test_an_inverter_learns(model):
    """With little noise, training on releases reads more words than the public decoder, which is left untouched."""
    method = made(model, epsilon=200.0)
    before = {name: weights.clone() for name, weights in model.network.state_dict().items()}
    attacker = fit_inverter(method, corpus(), epochs=25, learning_rate=5e-3, seed=0)
    assert all(torch.equal(before[name], weights) for name, weights in model.network.state_dict().items())
    released = method.release(corpus())
    read, plain = (measure_guesses(corpus(), texts) for texts in (attacker.invert(released), method.decode(released)))
    assert read["tokens"].low > plain["tokens"].value
    assert read["exact"].value >= plain["exact"].value


def test_noise_enough_stops_an_inverter(model):
    """At a small epsilon nothing beyond frequent words is read; a seed repeats an attack; no texts teach nothing."""
    method = made(model, epsilon=0.01)
    attacker = fit_inverter(method, corpus(), epochs=2, seed=0)
    assert measure_guesses(corpus(), attacker.invert(method.release(corpus())))["exact"].value <= 0.1
    texts = [fit_inverter(made(model, epsilon=50.0), corpus()[:20], epochs=1, seed=4).invert(np.eye(8)) for _ in "ab"]
    assert texts[0] == texts[1]
    with refuses("no texts"):
        fit_inverter(method, [])


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


def test_bad_arguments(model):
    """Arguments that do not go together, or are out of range, are refused."""
    method = made(model)
    released = method.release(["show boston", "show denver"])
    for bad, value in (
        (released[:1], "(1, 8)"),
        (released[:, 1:], "(2, 7)"),
        (released[0], "(8,)"),
        (np.full_like(released, np.nan), "row 1"),
    ):
        with refuses(value):
            search_nearest_texts(method, bad, ["show", "show"])
    for name, value in itertools.product(("rounds", "swaps_per_round"), (0, 2.0, True)):
        with refuses(f"'{name}'"):
            search_nearest_texts(method, released, ["show", "show"], **{name: value})
    with refuses(65):
        search_nearest_texts(method, released, ["show", "to " * 65])
    unclipped = dataclasses.replace(method, mechanism=types.SimpleNamespace(domain=None))
    with refuses("adept"):
        search_nearest_texts(unclipped, released, ["show", "show"])
