"""The greedy attack: best where changes add up, and never worse than it began."""

import numpy as np
import pytest

import deniable as dn
from deniable.models.text.attacks import run_greedy_attack
from tests.models.text.attacks.toy import KEY, Asked, documents, everything, linear, rough, sets

SETS = sets({word: [word + 20, word + 40] for word in range(0, 20, 2)})


@pytest.mark.parametrize("seed", range(5))
def test_it_finds_the_worst_text_of_a_linear_classifier(seed):
    """Where the margin is a sum over words, the least margin of all texts is found."""
    source = np.random.default_rng(seed)
    values = source.integers(0, 50, 60).astype(float)
    texts = [source.integers(0, 20, 6).tolist() for _ in range(8)]
    scorer = linear(values, bias=1)
    found = run_greedy_attack(scorer, documents(texts), SETS, KEY)
    assert not found.flipped.any()
    for row, text in enumerate(texts):
        assert found.margins[row] == min(map(scorer.margin, everything(text, SETS)))
        assert scorer.margin(found.texts[row]) == found.margins[row]


def test_it_flips_exactly_what_can_be_flipped():
    """Of linear documents, those flip of which brute force says so."""
    values = np.random.default_rng(9).normal(size=60).round(2)
    texts = np.random.default_rng(8).integers(0, 20, (60, 4)).tolist()
    scorer = linear(values)
    found = run_greedy_attack(scorer, documents(texts), SETS, KEY)
    can = np.array([min(map(scorer.margin, everything(text, SETS))) <= 0 for text in texts])
    np.testing.assert_array_equal(found.flipped, can & found.correct_before)
    assert 5 < found.flipped.sum() < found.correct_before.sum()


def test_changes_are_made_in_order_of_their_gain():
    """With the greatest gain first, a flip takes as few words as can be."""
    values = np.zeros(60)
    values[[0, 2, 4, 6]] = 10
    values[[20, 22, 24, 26, 40, 42, 44, 46]] = [9, 1, 3, 8, 9, 5, 2, 8]
    scorer = linear(values, bias=-23)
    found = run_greedy_attack(scorer, documents([[0, 2, 4, 6]]), SETS, KEY)
    # Gains are 1, 9, 8 and 2 of a margin of 17: the two greatest do.
    np.testing.assert_array_equal(found.texts[0], [0, 22, 44, 6])
    assert found.changed_words[0] == 2
    assert found.queries[0] == 1 + 8 + 1


def test_a_change_that_hurts_after_another_is_left_out():
    """A change stays only where it lowers the margin beside those made before."""
    margins = {(0, 2): 5, (20, 2): 3, (40, 2): 9, (0, 22): 4, (0, 42): 9, (20, 22): 8}
    scorer = Asked(lambda text: margins[tuple(text.tolist())])
    found = run_greedy_attack(scorer, documents([[0, 2]]), SETS, KEY)
    np.testing.assert_array_equal(found.texts[0], [20, 2])
    assert found.margins[0] == 3
    assert found.queries[0] == 1 + 4 + 1


def test_nothing_flips_where_nothing_can():
    """Where no text that the sets allow flips, none is found, and no text outside them is asked about."""
    texts = np.random.default_rng(4).integers(0, 20, (20, 5)).tolist()
    scorer = rough()
    found = run_greedy_attack(scorer, documents(texts), SETS, KEY)
    assert not found.flipped.any()
    for row, text in enumerate(texts):
        assert scorer.texts(row) <= {tuple(words) for words in everything(text, SETS).tolist()}


def test_mechanism_changes_come_from_its_draws(small_space):
    """Under a mechanism no more than the given draws are tried for a position, and the best are put together."""
    mechanism = dn.TEM(small_space, epsilon=1.0)
    values = np.arange(60.0)
    text = [50, 55, 59]
    few, many = (
        run_greedy_attack(linear(values, bias=1), documents([text]), mechanism, KEY, tries=tries).margins[0]
        for tries in (1, 40)
    )
    scorer = linear(values, bias=1)
    found = run_greedy_attack(scorer, documents([text]), mechanism, KEY, tries=40)
    singles = scorer.of(0)[1:]
    least = [min(singles[:, column].tolist()) for column in range(3)]
    np.testing.assert_array_equal(found.texts[0], least)
    assert len({tuple(words) for words in singles.tolist()}) <= 3 * 40 + 2
    assert many < few


def test_bad_option_is_refused():
    """No tries are refused by name."""
    with pytest.raises(
        dn.InputError, match=r"^The 'tries' parameter of run_greedy_attack must be an int of at least 1. Got 0.$"
    ):
        run_greedy_attack(linear(np.ones(60)), documents([[0]]), SETS, KEY, tries=0)
