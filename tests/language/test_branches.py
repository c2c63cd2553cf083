"""Branches: what a model says of continuations that it reads together."""

import numpy as np
import pytest

from deniable.language import branches as module
from deniable.language.branches import Branch, predict_tokens, score_branches
from deniable.language.spelling import Speller

TRUNKS = [[0, 5, 9, 4, 7, 12, 3, 8], [0, 6, 6, 11], [0]]


def score_plainly(model, tokens, start, endings=None):
    """Return ln P of the tokens from a place on, read in one row, and of an ending after them."""
    ((_, logs),) = predict_tokens(model, [tokens], [np.arange(start, len(tokens) + 1)])
    score = sum(float(row[token]) for row, token in zip(logs, tokens[start:], strict=False))
    return score if endings is None else score + float(np.log(np.exp(logs[-1].numpy()[endings.numpy()]).sum()))


@pytest.mark.parametrize("has_endings", [False, True])
@pytest.mark.parametrize("tokens", [12, 10_000])
def test_branches_are_read_as_plain_rows(model, monkeypatch, has_endings, tokens):
    """A branch has the probability of its tokens after its own part of the trunk, whatever is read beside it."""
    monkeypatch.setattr(module, "_CPU_TOKENS", tokens)
    generator = np.random.default_rng(0)
    branches = [
        Branch(trunk, int(place), tuple(generator.integers(3, 20, size).tolist()))
        for trunk, own in enumerate(TRUNKS)
        for place in range(1, len(own) + 1)
        for size in (1, 2, 4)
    ]
    branches = [branches[number] for number in generator.permutation(len(branches))]
    endings = Speller(model, ["film"], np.ones(1)).endings if has_endings else None
    scores = score_branches(model, TRUNKS, branches, endings)
    wanted = [
        score_plainly(model, [*TRUNKS[one.trunk][: one.place], *one.tokens], one.place, endings) for one in branches
    ]
    assert scores == pytest.approx(wanted, abs=0.3)  # bfloat16
    assert np.abs(scores - wanted).mean() < 0.08


def test_a_branch_sees_its_own_trunk_alone(model):
    """Another place gives another probability: the test above can tell."""
    first, second = score_branches(model, TRUNKS, [Branch(0, 3, (5, 6)), Branch(0, 7, (5, 6))], None)
    assert abs(first - second) > 0.3
