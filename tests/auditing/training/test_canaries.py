"""Canaries: texts of rare words with labels at random."""

import collections

from deniable.auditing.training.canaries import draw_canaries
from tests.refusals import refuses

WORDS = [f"word{number}" for number in range(1000)]


def test_canaries_share_no_word():
    """Every word stands in one canary at most, and every canary has as many."""
    canaries = draw_canaries(WORDS, 100, 2, words_per_canary=5, seed=1)
    words = [word for canary in canaries for word in canary.text.split()]
    assert len(canaries) == 100
    assert len(words) == len({*words}) == 500
    assert {*words} <= {*WORDS}


def test_labels_are_balanced_and_follow_the_seed():
    """All classes are about as frequent, and another seed gives other texts and labels."""
    canaries = draw_canaries(WORDS, 100, 3, seed=1)
    assert sorted(collections.Counter(canary.label for canary in canaries).values()) == [33, 33, 34]
    assert canaries == draw_canaries(WORDS, 100, 3, seed=1)
    other = draw_canaries(WORDS, 100, 3, seed=2)
    assert [canary.label for canary in canaries] != [canary.label for canary in other]
    assert canaries[0].text != other[0].text


def test_too_few_words():
    """The number of words that are needed is named; words that are listed twice count once."""
    with refuses(799):
        draw_canaries(WORDS[:799] + WORDS[:5], 100, 2)
    with refuses("'canaries'"):
        draw_canaries(WORDS, 0, 2)
