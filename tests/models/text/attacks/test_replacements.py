"""What attacks draw: its law, and what it may never be."""

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.models.text.attacks.replacements import (
    MechanismReplacements,
    SetReplacements,
    draw_mutations,
    make_replacements,
    redraw_texts,
)
from tests.models.text.attacks.toy import aims, documents, sets

DRAWS = 100_000
SETS = sets({3: [7, 8, 9], 4: [1], 5: [2, 3]})


@pytest.fixture(scope="module")
def mechanism(small_space):
    """Return a mechanism that keeps a word with a probability of about a third."""
    return dn.TEM(small_space, epsilon=2.0)


def law_of(mechanism, word):
    """Return the law (V,) of one word of a space without twins."""
    return mechanism.law.rows([word])[0]


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


class TestMutations:
    """One word at a time."""

    @pytest.mark.parametrize("place", [0, 1])
    def test_mechanism_draws_by_its_law(self, mechanism, place):
        """What is put at a position follows the mechanism's law for the document's word, and no law 30 % off."""
        text = [5, 40]
        (found,) = draw_mutations(MechanismReplacements(mechanism), aims(documents([text])), 2 * DRAWS, 1)
        drawn, law = found.words[found.positions == place], law_of(mechanism, text[place])
        assert len(drawn) > 0.9 * DRAWS
        assert fits(drawn, law) > 1e-6
        assert fits(drawn, tilted(law)) < 1e-6

    def test_mechanism_positions_are_uniform(self, mechanism):
        """Every position of a text is as likely as any other, wherever its word stands in the space."""
        (found,) = draw_mutations(MechanismReplacements(mechanism), aims(documents([[5, 40, 5, 3]])), DRAWS, 1)
        uniform = np.full(4, 0.25)
        assert fits(found.positions, uniform) > 1e-6
        assert fits(found.positions, tilted(uniform)) < 1e-6

    def test_sets_draw_other_choices_alike(self):
        """A position with a choice gets each other choice of its word alike, and never the word itself."""
        (found,) = draw_mutations(SetReplacements(SETS), aims(documents([[3, 0, 4, 5]])), DRAWS, 1)
        assert set(found.positions.tolist()) == {0, 2, 3}
        assert fits(np.searchsorted([0, 2, 3], found.positions), np.full(3, 1 / 3)) > 1e-6
        for position, others in ((0, [7, 8, 9]), (2, [1]), (3, [2, 3])):
            law = np.zeros(60)
            law[others] = 1 / len(others)
            drawn = found.words[found.positions == position]
            assert set(drawn.tolist()) == set(others)
            if len(others) > 1:
                assert fits(drawn, law) > 1e-6
                assert fits(drawn, tilted(law)) < 1e-6

    @pytest.mark.parametrize("kind", ["sets", "mechanism"])
    def test_fewer_are_the_first_of_more(self, kind, mechanism):
        """A shorter attack draws what a longer one draws first, so that their results can be compared."""
        moves = make_replacements(SETS if kind == "sets" else mechanism)
        short, long = (draw_mutations(moves, aims(documents([[3, 4], [5]])), count, 1) for count in (7, 19))
        for few, many in zip(short, long, strict=True):
            np.testing.assert_array_equal(few.positions, many.positions[:7])
            np.testing.assert_array_equal(few.words, many.words[:7])

    def test_places_and_words_are_drawn_apart(self):
        """Which choice a position gets has nothing to do with which position was drawn."""
        (found,) = draw_mutations(SetReplacements(SETS), aims(documents([[3] * 6])), DRAWS, 1)
        table = np.histogram2d(found.positions, found.words, bins=(6, 3))[0]
        assert stats.chi2_contingency(table).pvalue > 1e-6


class TestRedraws:
    """All words at once."""

    def test_mechanism_draws_every_word_by_its_law(self, mechanism):
        """Each column of the copies follows the law of its word, and is independent of the column beside it."""
        (found,) = redraw_texts(MechanismReplacements(mechanism), aims(documents([[5, 40]])), DRAWS, 1)
        for column, word in enumerate([5, 40]):
            assert fits(found[:, column], law_of(mechanism, word)) > 1e-6
            assert fits(found[:, column], tilted(law_of(mechanism, word))) < 1e-6
        together = np.histogram2d(found[:, 0] == 5, found[:, 1] == 40, bins=2)[0]
        assert stats.chi2_contingency(together).pvalue > 1e-6

    def test_sets_draw_all_choices_alike(self):
        """Each choice of a word is as likely as any other, the word itself among them."""
        (found,) = redraw_texts(SetReplacements(SETS), aims(documents([[3, 0, 5]])), DRAWS, 1)
        law = np.zeros(60)
        law[[3, 7, 8, 9]] = 0.25
        assert fits(found[:, 0], law) > 1e-6
        assert fits(found[:, 0], tilted(law)) < 1e-6
        assert (found[:, 1] == 0).all()
        assert set(found[:, 2].tolist()) == {2, 3, 5}


class TestSingles:
    """Every change of one word."""

    def test_sets_list_all(self):
        """Each other choice of each position comes once, and nothing else."""
        found, empty = SetReplacements(SETS).list_single_changes(aims(documents([[3, 0, 4], [0, 1]])), 8, 1)
        pairs = list(zip(found.positions.tolist(), found.words.tolist(), strict=True))
        assert pairs == [(0, 7), (0, 8), (0, 9), (2, 1)]
        assert len(empty.positions) == len(empty.words) == 0

    def test_mechanism_gives_distinct_draws(self, mechanism):
        """Some draws for each position, each once, none of them the word that stands there."""
        text = [5, 40, 5]
        few, other = MechanismReplacements(mechanism).list_single_changes(aims(documents([text, [3]])), 6, 1)
        pairs = list(zip(few.positions.tolist(), few.words.tolist(), strict=True))
        assert len(set(pairs)) == len(pairs)
        assert all(word != text[position] for position, word in pairs)
        assert 1 <= np.bincount(few.positions).max() <= 6
        assert set(other.positions.tolist()) == {0}

    def test_mechanism_singles_follow_its_law(self, mechanism):
        """With one try for each of many positions, words come as often as the law says, the word itself left out."""
        (found,) = MechanismReplacements(mechanism).list_single_changes(aims(documents([[5] * DRAWS])), 1, 1)
        law = law_of(mechanism, 5)
        assert stats.binomtest(len(found.words), DRAWS, 1 - law[5]).pvalue > 1e-6
        law[5] = 0
        law /= law.sum()
        assert fits(found.words, law) > 1e-6
        assert fits(found.words, tilted(law)) < 1e-6


def test_changes_are_applied_one_at_a_time():
    """Each version differs from the text in its own change alone."""
    (found,) = SetReplacements(SETS).list_single_changes(aims(documents([[3, 0, 4]])), 8, 1)
    np.testing.assert_array_equal(
        found.apply_each(np.array([3, 0, 4], np.int32), 1, 4), [[8, 0, 4], [9, 0, 4], [3, 0, 1]]
    )


def test_draws_depend_on_key_premise_and_text():
    """Another key, premise or text draws something else; another place among the documents does not."""
    text = [3, 4, 5, 3, 4, 5]
    held = [
        aims(documents([text])),
        aims(documents([text]), key=bytes(32)),
        aims(documents([text], premises=[[1]])),
        aims(documents([text], premises=[[1, 3]])),
        aims(documents([[3, 4, 5, 3, 4, 5, 3]])),
    ]
    found = [draw_mutations(SetReplacements(SETS), given, 30, 1)[0] for given in held]
    assert len({(*drawn.positions.tolist(), *drawn.words.tolist()) for drawn in found}) == len(held)
    beside = draw_mutations(SetReplacements(SETS), aims(documents([[4], text])), 30, 1)[1]
    np.testing.assert_array_equal(beside.positions, found[0].positions)
    np.testing.assert_array_equal(beside.words, found[0].words)
