"""Rewriting token by token: the law of whole texts, its epsilon, and what is refused."""

import itertools
import math

import numpy as np
import pytest
import torch

import deniable as dn
from deniable.rewriting.methods.token_law import DRAW_TOTAL, count_draw_values
from deniable.rewriting.methods.token_method import TokenMethod
from deniable.rewriting.tokens import END, START, UNKNOWN
from deniable.text.tokenization import split_tokens
from tests.rewriting.untrained import TEXTS, untrained

MODEL = untrained()
KINDS = ("exponential", "mixed")


def build(kind="exponential", model=MODEL, epsilon=5.0, **options):
    """Return a method."""
    return TokenMethod(model, epsilon=epsilon, kind=kind, **options)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", [0.5, 4.0, 30.0])
def test_whole_texts_keep_epsilon(kind, epsilon):
    """Over all texts that can come out, of every length, no two private texts lose more than epsilon in all.

    The network's weights are blown up, so that its logits lie far apart and the loss is not lost in noise.
    """
    model = untrained(["show", "me"], limit=3, sharp=40.0)
    method = build(kind, model, epsilon=epsilon)
    laws = [compute_whole_law(method, text) for text in ("", "show", "me me", "show me show", "zork")]
    for law in laws:
        assert sum(law.values()) == pytest.approx(1.0, abs=1e-9)
        assert len(law) == 1 + 2 + 4 + 8
    lost = max(math.log(one[text] / other[text]) for one, other in itertools.permutations(laws, 2) for text in one)
    assert lost <= epsilon * (1 + 1e-12)
    assert lost > 0.2 * epsilon


@pytest.mark.parametrize("kind", KINDS)
def test_draws_follow_the_law(kind):
    """Texts come out as often as the law of whole texts says, within what 6,000 draws show."""
    model = untrained(["show", "me"], limit=2, sharp=20.0)
    method = build(kind, model, epsilon=4.0, seed=1)
    count, law = 6000, compute_whole_law(method, "show me")
    texts = method.rewrite(["show me"] * count)
    for row, chance in law.items():
        text = model.vocabulary.to_text(row)
        deviation = math.sqrt(count * chance * (1 - chance))
        assert abs(texts.count(text) - count * chance) <= 5.5 * deviation + 1


def test_fewer_draws_get_more_each():
    """A public bound on the length shares epsilon among fewer draws, and no text is longer."""
    method = build(max_draws=3)
    assert method.parameters["draws"] == 3
    assert method.law.epsilon == pytest.approx(5 / 3)
    assert build().law.epsilon == pytest.approx(5 / 12)
    assert max(len(split_tokens(text)) for text in method.rewrite(TEXTS * 5)) <= 3


@pytest.mark.parametrize("max_draws", [0, -1, 13, 2.0, True])
def test_bad_max_draws(max_draws):
    """The bound is an int up to the model's limit."""
    with pytest.raises(dn.InputError, match="'max_draws' parameter of tokens must be an int from 1 to 12"):
        build(max_draws=max_draws)


def test_bad_kind():
    """Laws have names."""
    with pytest.raises(dn.InputError, match="'kind' parameter of tokens must be 'exponential' or 'mixed'"):
        build("published")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 77.7, 1e3, 1e5])
@pytest.mark.parametrize("limit", [1, 7, 12])
def test_the_whole_is_not_more_than_epsilon(kind, epsilon, limit):
    """The loss of all draws together is at most the claim, and close to it where 62 bits can tell."""
    verdict = build(kind, untrained(limit=limit), epsilon=epsilon).verify()
    assert verdict.status == "proved"
    assert verdict.epsilon <= epsilon
    if epsilon / limit < 20:
        assert verdict.epsilon >= epsilon * (1 - 1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_an_epsilon_that_cannot_be_shared(kind):
    """The least number there is cannot be shared: that epsilon is named, not its share."""
    with pytest.raises(dn.InputError, match=r"An epsilon of 4\.94066e-324 cannot be shared by 12 draws"):
        build(kind, epsilon=5e-324)


@pytest.mark.parametrize("kind", KINDS)
def test_special_tokens_are_never_drawn(kind):
    """Only words of the vocabulary come out, for any logits."""
    texts = build(kind, untrained(sharp=30.0), epsilon=0.1).rewrite(["zork zork"] * 50)
    assert not any(mark in text for text in texts for mark in ("[unknown]", "<"))


def test_other_logits_of_a_model_that_fails():
    """Special tokens may have logits that are not finite; words may not."""
    model = untrained()
    with torch.no_grad():
        model.network.bias[START] = -math.inf
    assert len(build(model=model).rewrite(["show"])) == 1
    with torch.no_grad():
        model.network.bias[UNKNOWN + 1] = -math.inf
    with pytest.raises(dn.InputError, match="logits that are not finite"):
        build(model=model).rewrite(["show"])


@torch.inference_mode()
def compute_whole_law(method, text):
    """Return the probability of every row of tokens that can come out for a text, from the chances of each draw."""
    network = method.model.network
    given = torch.from_numpy(method.model.encode([text]).astype(np.float32))
    law = {}

    def extend(row, chance, previous, state):
        if len(row) == method.draw_limit:
            law[row] = chance
            return
        logits, state = network.step(torch.tensor([previous]), given, state)
        drawable = [END, *range(UNKNOWN + 1, logits.shape[1])]
        counts = count_draw_values(method.law.compute_weights(logits[:, drawable].numpy().astype(np.float64)))[0]
        for token, count in zip(drawable, counts, strict=True):
            if token == END:
                law[row] = chance * (count / DRAW_TOTAL)
            else:
                extend((*row, token), chance * (count / DRAW_TOTAL), token, state)

    extend((), 1.0, START, network.make_initial_state(given))
    return law
