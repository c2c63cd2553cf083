"""What attacks on texts draw: its law, and what it may never be; and how the genetic attack breeds."""

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.models.text.attack_search import select_targets
from deniable.models.text.attacks import (
    _cross_over_parents,
    _search_genetic,
    _select_parents,
    draw_mutations,
    list_single_changes,
    redraw_texts,
)
from tests.models.text.samples import KEY, documents, sets

DRAWS = 30_000
SETS = sets({3: [7, 8, 9], 4: [1], 5: [2, 3]})
WIDE = sets({word: [word + 20, word + 40] for word in range(20)})


def aims(texts, key=KEY, premises=None):
    """Return some texts as targets."""
    held = documents(texts, premises=premises)
    return select_targets(held, np.arange(len(held)), np.ones(len(held)), key)


def coins():
    return np.random.default_rng(3)


@pytest.fixture(scope="module")
def mechanism(small_space):
    """Return a mechanism that keeps a word with a probability of about a third."""
    return dn.TEM(small_space, epsilon=2.0)


def law_of(mechanism, word):
    """Return the law (V,) of one word of a space without twins."""
    return mechanism.law.rows([word])[0]


def evenly(others):
    """Return the law (V,) of some words alike."""
    law = np.zeros(60)
    law[others] = 1 / len(others)
    return law


def fits(drawn, law):
    """Return how likely counts as far off as those of draws (n,) are under a law (V,); rare outcomes are pooled."""
    expected = len(drawn) * law
    counts, rare = np.bincount(drawn, minlength=len(law)), expected < 20
    pooled = np.append(expected[~rare], expected[rare].sum()), np.append(counts[~rare], counts[rare].sum())
    used = pooled[0] > 0
    return stats.chisquare(pooled[1][used], pooled[0][used]).pvalue


def tilted(law):
    """Return a law of which every other outcome is 30 % likelier."""
    off = law * np.where(np.arange(len(law)) % 2, 1.3, 1.0)
    return off / off.sum()


def assert_law(drawn, law):
    """Expect that draws fit a law, and none 30 % off."""
    assert fits(drawn, law) > 1e-6
    assert fits(drawn, tilted(law)) < 1e-6


def test_mechanism_mutations_follow_its_law(mechanism):
    """A position is as likely as any other; what is put there follows the mechanism's law for the document's word."""
    text = [5, 40]
    (found,) = draw_mutations(mechanism, aims([text]), 2 * DRAWS, 1)
    for place, word in enumerate(text):
        assert_law(found.words[found.positions == place], law_of(mechanism, word))
    (found,) = draw_mutations(mechanism, aims([[5, 40, 5, 3]]), DRAWS, 1)
    assert_law(found.positions, np.full(4, 0.25))


def test_set_mutations_draw_other_choices_alike():
    """A position with a choice gets each other choice of its word alike, and never the word itself."""
    (found,) = draw_mutations(SETS, aims([[3, 0, 4, 5]]), DRAWS, 1)
    assert fits(np.searchsorted([0, 2, 3], found.positions), np.full(3, 1 / 3)) > 1e-6
    for position, others in ((0, [7, 8, 9]), (2, [1]), (3, [2, 3])):
        drawn = found.words[found.positions == position]
        assert set(drawn.tolist()) == set(others)
        if len(others) > 1:
            assert_law(drawn, evenly(others))
    (found,) = draw_mutations(SETS, aims([[3] * 6]), DRAWS, 1)
    table = np.histogram2d(found.positions, found.words, bins=(6, 3))[0]  # places and words are drawn apart
    assert stats.chi2_contingency(table).pvalue > 1e-6


def test_redraws_follow_the_law(mechanism):
    """Each column of the copies follows the law of its word, and is independent of the column beside it."""
    (found,) = redraw_texts(mechanism, aims([[5, 40]]), DRAWS, 1)
    for column, word in enumerate([5, 40]):
        assert_law(found[:, column], law_of(mechanism, word))
    together = np.histogram2d(found[:, 0] == 5, found[:, 1] == 40, bins=2)[0]
    assert stats.chi2_contingency(together).pvalue > 1e-6
    (found,) = redraw_texts(SETS, aims([[3, 0, 5]]), DRAWS, 1)
    assert_law(found[:, 0], evenly([3, 7, 8, 9]))
    assert (found[:, 1] == 0).all()
    assert set(found[:, 2].tolist()) == {2, 3, 5}


def test_single_changes(mechanism):
    """Sets list each other choice of each position once; a mechanism some distinct draws, by its law."""
    listed, empty = list_single_changes(SETS, aims([[3, 0, 4], [0, 1]]), 8, 1)
    assert list(zip(listed.positions, listed.words, strict=True)) == [(0, 7), (0, 8), (0, 9), (2, 1)]
    assert len(empty.positions) == len(empty.words) == 0
    text = np.array([3, 0, 4], np.int32)
    np.testing.assert_array_equal(listed.apply_each(text, 1, 4), [[8, 0, 4], [9, 0, 4], [3, 0, 1]])
    few, other = list_single_changes(mechanism, aims([[5, 40, 5], [3]]), 6, 1)
    found = list(zip(few.positions.tolist(), few.words.tolist(), strict=True))
    assert len(set(found)) == len(found)
    assert all(word != [5, 40, 5][position] for position, word in found)
    assert 1 <= np.bincount(few.positions).max() <= 6
    assert set(other.positions.tolist()) == {0}
    (single,) = list_single_changes(mechanism, aims([[5] * DRAWS]), 1, 1)
    law = law_of(mechanism, 5)
    assert stats.binomtest(len(single.words), DRAWS, 1 - law[5]).pvalue > 1e-6
    law[5] = 0
    assert_law(single.words, law / law.sum())


def test_draws_depend_on_key_premise_and_text(mechanism):
    """Another key, premise or text draws something else; another place does not, nor how many more are drawn."""
    text, moves = [3, 4, 5, 3, 4, 5], SETS
    held = [
        aims([text]),
        aims([text], key=bytes(32)),
        aims([text], premises=[[1]]),
        aims([text], premises=[[1, 3]]),
        aims([[*text, 3]]),
    ]
    found = [draw_mutations(moves, given, 30, 1)[0] for given in held]
    assert len({(*drawn.positions.tolist(), *drawn.words.tolist()) for drawn in found}) == len(held)
    beside = draw_mutations(moves, aims([[4], text]), 30, 1)[1]
    np.testing.assert_array_equal(beside.positions, found[0].positions)
    np.testing.assert_array_equal(beside.words, found[0].words)
    for source in (SETS, mechanism):
        short, long = (draw_mutations(source, aims([[3, 4], [5]]), count, 1) for count in (7, 19))
        for few, many in zip(short, long, strict=True):
            np.testing.assert_array_equal(few.positions, many.positions[:7])
            np.testing.assert_array_equal(few.words, many.words[:7])


def test_parents_follow_sigmoid_of_minus_the_margin():
    """Parents come in proportion to sigmoid(-margin), and not to exp(-margin), nor to a law 30 % off; each apart."""
    margins = np.array([0.2, 1.0, 2.0, 4.0])
    first, second = _select_parents(margins, coins(), 50_000)
    counts = np.bincount(np.append(first, second), minlength=4)

    def likelihood(weights):
        return stats.chisquare(counts, counts.sum() * weights / weights.sum()).pvalue

    right = 1 / (1 + np.exp(margins))
    assert likelihood(right) > 1e-6
    assert likelihood(np.exp(-margins)) < 1e-6
    assert likelihood(right * [1, 1.3, 1, 1.3]) < 1e-6
    assert stats.chi2_contingency(np.histogram2d(first, second, bins=4)[0]).pvalue > 1e-6


def test_great_margins_leave_weights():
    """Where every sigmoid rounds to nothing, or to one, the proportions still hold."""
    counts = np.bincount(_select_parents(np.array([5e4, 5e4 + 1, 1e9]), coins(), 50_000).ravel(), minlength=3)
    assert stats.binomtest(int(counts[0]), 100_000, 1 / (1 + np.exp(-1.0))).pvalue > 1e-6
    assert counts[2] == 0
    even = np.bincount(_select_parents(np.array([-1e9, -50.0]), coins(), 50_000).ravel(), minlength=2)
    assert stats.binomtest(int(even[0]), 100_000, 0.5).pvalue > 1e-6


def test_each_word_comes_from_either_parent():
    """Words are taken from both parents alike, each on its own; a word both share stays."""
    people = np.zeros((20_001, 4), dtype=np.int32)
    people[1::2, :3] = 1
    found = _cross_over_parents(people, np.zeros(len(people)), coins())
    assert found.shape == (20_000, 4)
    assert (found[:, 3] == 0).all()
    for column in range(3):
        assert stats.binomtest(int(found[:, column].sum()), 20_000, 0.5).pvalue > 1e-6
    # Given parents of both kinds, which half of the pairs are, two words are from one parent half of the time.
    assert stats.binomtest(int((found[:, 0] != found[:, 1]).sum()), 20_000, 0.25).pvalue > 1e-6


def test_best_text_lives_on():
    """Only the best text is bred from, while all else is far worse, until a better child takes its place."""
    text = np.arange(12, dtype=np.int32)
    (changes,) = draw_mutations(WIDE, aims([text]), 8 + 5 * 7, 1)
    search = _search_genetic(text, changes, coins(), 8)
    elite = next(search)[3]
    children = search.send(np.where(np.arange(8) == 3, 0.5, 900.0))
    for generation in range(4):
        assert children.shape == (7, 12)
        assert ((children != elite).sum(axis=1) <= 1).all()
        if generation == 2:
            elite = children[2]
        children = search.send(np.where(np.arange(7) == 2, -500.0, 900.0) if generation == 2 else np.full(7, 900.0))
    with pytest.raises(StopIteration):
        search.send(np.full(7, 900.0))
