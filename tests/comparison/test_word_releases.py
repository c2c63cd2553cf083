"""Releases word by word: epsilons that meet an attacker's success, and figures of the drafts."""

import dataclasses

import numpy as np
import pytest

from deniable import InputError
from deniable.comparison.fluency import fit_fluency_judge
from deniable.comparison.word_releases import draft_word_releases, measure_word_release
from deniable.words.choice import AUTO
from deniable.words.prior import build_prior
from tests.comparison.toy import PLAN, make_inputs
from tests.text.helpers import SPACE

PRIOR = build_prior(SPACE, None)


def draft(*recoveries):
    """Return the table and its drafts for some shares of words that are named."""
    plan = dataclasses.replace(PLAN, recoveries=recoveries)
    inputs = make_inputs(plan=plan)
    return inputs, plan, draft_word_releases(SPACE, inputs, plan, PRIOR, AUTO)


def test_drafts():
    """Each share that is above a blind guess has its draft, with the more epsilon the more may be named."""
    inputs, _, drafts = draft(PRIOR.blind_success / 2, 0.45, 0.7, 0.7)
    assert [one.recovery for one in drafts] == [0.45, 0.7]
    assert drafts[0].mechanism.epsilon < drafts[1].mechanism.epsilon
    for one in drafts:
        assert one.name == f"words, epsilon {one.mechanism.epsilon:g}"
        assert len(one.batch.texts) == len(inputs.texts)
        assert [len(text.split()) for text in one.batch.texts] == [12] * len(inputs.texts)
    assert sum(map(str.__ne__, inputs.texts, drafts[0].batch.texts)) > len(inputs.texts) / 2


def test_a_share_that_no_epsilon_reaches(monkeypatch):
    """What the search for an epsilon refuses is refused by the drafts."""

    def refuse(*_, **__):
        raise InputError("No epsilon reaches it.")

    monkeypatch.setattr("deniable.comparison.word_releases.tune_recovery", refuse)
    with pytest.raises(InputError, match="No epsilon reaches it"):
        draft(0.45)


def test_figures_of_a_draft():
    """Use follows from the hits that are given, names only where spans are; the note says how epsilon was found."""
    inputs, plan, (one,) = draft(0.45)
    judge = fit_fluency_judge(SPACE, inputs.texts, 0)
    right = np.ones(len(inputs.texts), dtype=bool)
    half = np.arange(len(right)) % 2 == 0
    for hits, score in ((right, 1.0), (half, np.mean([half[inputs.tested_codes == code].mean() for code in (0, 1)]))):
        release = measure_word_release(one, inputs, (right, hits), judge, plan, PRIOR, None)
        assert (release.use.score.original.value, release.use.score.private.value) == (1.0, pytest.approx(score))
        assert release.use.score.blind == 0.5
        assert release.attacks.names is None
        assert release.use.likeness.value > release.use.unrelated.value
        assert release.use.perplexity.value > judge.measure_rows(inputs.texts).value
        assert "names 45 % of words that follow" in release.note
        assert release.seconds == one.seconds


def test_words(comparison):
    """More words are named at the larger epsilon, every text is linked, and a record has the epsilons of its words."""
    first, second = (release for release in comparison.releases if release.way == "words")
    assert first.epsilon < second.epsilon
    assert first.attacks.named.value < second.attacks.named.value
    assert first.promise.unit == "word"
    assert first.promise.whole > first.epsilon
    assert "12 words" in first.promise.whole_unit
    assert first.attacks.names.total.words > 0
    assert 0 <= first.attacks.linked.low <= 1
