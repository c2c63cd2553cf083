"""Branches: what a model says of continuations that it reads together."""

import itertools

import numpy as np
import pytest

from deniable.language import branches as module
from deniable.language.branches import Branch, Trunks, cut_trunks
from deniable.language.spelling import Speller

TRUNKS = [[0, 5, 9, 4, 7, 12, 3, 8], [0, 6, 6, 11], [0]]
PLACES = [np.arange(1, len(trunk) + 1) for trunk in TRUNKS]


def score_plainly(model, tokens, start, endings=None):
    """Return ln P of the tokens from a place on, read in one row by transformers, and of an ending after them."""
    import torch

    with torch.inference_mode():
        logs = torch.log_softmax(model.network(torch.tensor([tokens])).logits[0].float(), dim=1)
    score = sum(float(logs[place - 1, tokens[place]]) for place in range(start, len(tokens)))
    return score if endings is None else score + float(torch.logsumexp(logs[-1][endings], dim=0))


@pytest.mark.parametrize("has_endings", [False, True])
@pytest.mark.parametrize("limit", [12, 200, 10**6])
@pytest.mark.parametrize("sizes", [(1, 2, 4), (1,), (3,)])
def test_branches_are_read_as_plain_rows(model, monkeypatch, has_endings, limit, sizes):
    """A branch has the probability of its tokens after its own part of the trunk, whatever is read beside it."""
    monkeypatch.setattr(module, "_CPU", module._Limits(10**6, 10**6, 10**6, limit))
    generator = np.random.default_rng(0)
    places = [(trunk, int(place)) for trunk, own in enumerate(PLACES) for place in own]
    branches = [
        Branch(number, tuple(generator.integers(3, 20, size).tolist()))
        for number, size in itertools.product(range(len(places)), sizes)
    ]
    branches = [branches[number] for number in generator.permutation(len(branches))]
    endings = Speller(model, ["film"], np.ones(1)).endings if has_endings else None
    scores = Trunks(model, TRUNKS, PLACES).score(branches, endings)
    wanted = []
    for branch in branches:
        trunk, place = places[branch.place]
        wanted.append(score_plainly(model, [*TRUNKS[trunk][:place], *branch.tokens], place, endings))
    assert scores == pytest.approx(wanted, abs=0.3)  # bfloat16
    assert np.abs(scores - wanted).mean() < 0.08


def test_a_branch_sees_its_own_trunk_alone(model):
    """Another place gives another probability: the test above can tell."""
    first, second = Trunks(model, TRUNKS, PLACES).score([Branch(2, (5, 6)), Branch(6, (5, 6))], None)
    assert abs(first - second) > 0.3


def test_no_branches_have_no_scores(model):
    """Nothing asked is nothing read."""
    assert len(Trunks(model, TRUNKS, PLACES).score([], None)) == 0


@pytest.mark.parametrize(
    ("trunks", "tokens", "places"), [(9, 12, 100), (9, 100, 5), (9, 1, 1), (2, 100, 100), (9, 100, 100)]
)
def test_trunks_are_cut_by_number_tokens_and_places(model, monkeypatch, trunks, tokens, places):
    """Every trunk is read once, in its order, with no more others than there is room for if all are as long."""
    monkeypatch.setattr(module, "_CPU", module._Limits(trunks, tokens, places * model.card.vocabulary, 1))
    asked = [own[::2] for own in [*PLACES, *PLACES]]

    def fits(part):
        own = asked[part]
        padded = len(own) * max(one[-1] for one in own)
        return len(own) <= trunks and padded <= tokens and sum(map(len, own)) <= places

    parts = list(cut_trunks(model, asked))
    assert [number for part in parts for number in range(part.start, part.stop)] == list(range(6))
    assert all(fits(part) or part.stop == part.start + 1 for part in parts)
    for first, second in itertools.pairwise(parts):
        assert not fits(slice(first.start, second.start + 1))


def test_no_trunks_are_no_parts(model):
    """No text is nothing to read."""
    assert list(cut_trunks(model, [])) == []
