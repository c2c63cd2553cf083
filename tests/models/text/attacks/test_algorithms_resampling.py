"""The blind attack: as many whole draws as were asked for."""

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.models.text.attacks import run_resampling_attack
from deniable.models.text.attacks.algorithms import compute_query_budget
from tests.models.text.attacks.toy import KEY, Asked, documents, everything, linear, sets

SETS = sets({word: [word + 20, word + 40] for word in range(20)})


def test_queries_are_the_draws_and_the_document():
    """A document that resists costs one query for each draw, as many as the genetic attack's unless said otherwise."""
    assert (
        run_resampling_attack(linear(np.ones(60)), documents([[0, 1]]), SETS, KEY).queries[0]
        == 1 + compute_query_budget()
    )
    assert run_resampling_attack(linear(np.ones(60)), documents([[0, 1]]), SETS, KEY, draws=61).queries[0] == 62


def test_it_finds_what_blind_draws_can():
    """Of 27 texts all are drawn, nothing else is, and the one that flips is found."""
    text, worst = [0, 1, 2], [20, 41, 2]
    scorer = linear(np.ones(60))
    run_resampling_attack(scorer, documents([text]), SETS, KEY, draws=500)
    assert scorer.texts(0) == {tuple(words) for words in everything(text, SETS).tolist()}
    found = run_resampling_attack(Asked(lambda words: 1 - 2 * (words.tolist() == worst)), documents([text]), SETS, KEY)
    assert found.flipped.all()
    np.testing.assert_array_equal(found.texts[0], worst)


def test_texts_are_the_mechanism_s(small_space):
    """The share of texts left as they were is what the mechanism's law says of them."""
    mechanism = dn.TEM(small_space, epsilon=4.0)
    text = [5, 40]
    law = mechanism.law.rows(text)
    scorer = linear(np.ones(60))
    run_resampling_attack(scorer, documents([text]), mechanism, KEY, draws=20_000)
    same = int((scorer.of(0)[1:] == text).all(axis=1).sum())
    expected = law[0, 5] * law[1, 40]
    assert 0.1 < expected < 0.9
    assert stats.binomtest(same, 20_000, expected).pvalue > 1e-6
    assert stats.binomtest(same, 20_000, expected / 1.3).pvalue < 1e-6


def test_bad_option_is_refused():
    """No draws are refused by name."""
    with pytest.raises(
        dn.InputError, match=r"^The 'draws' parameter of the resampling attack must be an int of at least 1."
    ):
        run_resampling_attack(linear(np.ones(60)), documents([[0]]), SETS, KEY, draws=0)
