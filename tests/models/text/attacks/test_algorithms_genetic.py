"""The genetic attack: selection, crossover, elitism, and what it finds."""

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.core.randomness import derive_key_from_seed, make_generator
from deniable.models.text.attacks import run_genetic_attack
from deniable.models.text.attacks.algorithms import (
    _cross_over_parents,
    _search_genetic,
    _select_parents,
    compute_query_budget,
)
from deniable.models.text.attacks.replacements import SetReplacements, draw_mutations
from tests.models.text.attacks.toy import KEY, Asked, aims, documents, everything, linear, rough, sets

SETS = sets({word: [word + 20, word + 40] for word in range(20)})


def coins(name="coins"):
    """Return a generator of one's own."""
    return make_generator(KEY, name)


class TestParents:
    """Who has children."""

    def test_parents_follow_sigmoid_of_minus_the_margin(self):
        """Parents come in proportion to sigmoid(-margin), and not to exp(-margin), nor to a law 30 % off."""
        margins = np.array([0.2, 1.0, 2.0, 4.0])
        counts = np.bincount(_select_parents(margins, coins(), 50_000).ravel(), minlength=4)

        def fits(weights):
            return stats.chisquare(counts, counts.sum() * weights / weights.sum()).pvalue

        right = 1 / (1 + np.exp(margins))
        assert fits(right) > 1e-6
        assert fits(np.exp(-margins)) < 1e-6
        assert fits(right * [1, 1.3, 1, 1.3]) < 1e-6

    def test_both_parents_are_drawn_alike_and_apart(self):
        """The second parent has nothing to do with the first."""
        first, second = _select_parents(np.array([0.5, 1.0, 1.5]), coins(), 50_000)
        assert stats.chi2_contingency(np.histogram2d(first, second, bins=3)[0]).pvalue > 1e-6

    def test_great_margins_leave_weights(self):
        """Where every sigmoid rounds to nothing, or to one, the proportions still hold."""
        counts = np.bincount(_select_parents(np.array([5e4, 5e4 + 1, 1e9]), coins(), 50_000).ravel(), minlength=3)
        expected = 1e5 / (1 + np.exp(-1.0))
        assert stats.binomtest(int(counts[0]), 100_000, expected / 1e5).pvalue > 1e-6
        assert counts[2] == 0
        even = np.bincount(_select_parents(np.array([-1e9, -50.0]), coins(), 50_000).ravel(), minlength=2)
        assert stats.binomtest(int(even[0]), 100_000, 0.5).pvalue > 1e-6


class TestBreeding:
    """How a generation follows from the one before."""

    def test_each_word_comes_from_either_parent(self):
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

    def test_best_text_lives_on(self):
        """Nothing but the best text is bred from, for as long as everything else is far worse."""
        text = np.arange(12, dtype=np.int32)
        (changes,) = draw_mutations(SetReplacements(SETS), aims(documents([text])), compute_query_budget(8, 5), 1)
        search = _search_genetic(text, changes, coins(), 8)
        people = next(search)
        elite = people[3]
        children = search.send(np.where(np.arange(8) == 3, 0.5, 900.0))
        for _ in range(4):
            assert children.shape == (7, 12)
            assert ((children != elite).sum(axis=1) <= 1).all()
            children = search.send(np.full(7, 900.0))
        assert ((children != elite).sum(axis=1) <= 1).all()
        with pytest.raises(StopIteration):
            search.send(np.full(7, 900.0))

    def test_a_better_child_takes_over(self):
        """The best of a generation is the only parent of the next where all else is far worse."""
        text = np.arange(12, dtype=np.int32)
        (changes,) = draw_mutations(SetReplacements(SETS), aims(documents([text])), compute_query_budget(8, 3), 1)
        search = _search_genetic(text, changes, coins(), 8)
        next(search)
        children = search.send(np.full(8, 900.0))
        after = search.send(np.where(np.arange(7) == 2, 0.5, 900.0))
        assert ((after != children[2]).sum(axis=1) <= 1).all()

    def test_first_texts_have_one_change_each(self):
        """The first population is the document with one word changed."""
        scorer = linear(np.ones(60))
        run_genetic_attack(scorer, documents([list(range(12))]), SETS, KEY, population=30, generations=1)
        assert ((scorer.of(0)[1:31] != np.arange(12)).sum(axis=1) == 1).all()

    def test_margin_never_rises(self):
        """More generations go on from fewer, and end at a margin that is no higher."""
        values = np.random.default_rng(3).integers(0, 9, 60).astype(float)
        held = documents([list(range(20)), list(range(19, 4, -1))])
        found = [
            run_genetic_attack(linear(values, bias=500), held, SETS, KEY, population=6, generations=count).margins
            for count in range(1, 12)
        ]
        assert (np.diff(found, axis=0) <= 0).all()
        assert (found[-1] < found[0]).all()


class TestFinding:
    """What the attack ends with."""

    def test_one_word_that_flips_is_found(self):
        """A document that one substitution flips is flipped."""
        values = np.ones(60)
        values[47] = -100
        found = run_genetic_attack(linear(values), documents([list(range(20))]), SETS, KEY)
        assert found.flipped.all()
        assert found.texts[0][7] == 47

    @pytest.mark.parametrize("seed", range(5))
    def test_nothing_flips_where_nothing_can(self, seed):
        """Where no text that the sets allow flips, none is found, though some of them come close."""
        text = [0, 1, 50, 2]
        scorer = rough(seed)
        least = min(map(scorer.margin, everything(text, SETS)))
        found = run_genetic_attack(scorer, documents([text]), SETS, KEY)
        assert not found.flipped.any()
        assert found.margins[0] == least > 0
        assert scorer.texts(0) <= {tuple(text) for text in everything(text, SETS).tolist()}

    @pytest.mark.parametrize("seed", range(5))
    def test_the_one_worst_text_is_found(self, seed):
        """Where one text of 81 flips, the attack, which scores 2,420, finds it."""
        text = [0, 1, 2, 3]
        inner = rough(seed)
        worst = min(everything(text, SETS).tolist(), key=lambda words: inner.margin(np.array(words)))
        scorer = Asked(lambda words: -1 if words.tolist() == worst else inner.margin(words))
        found = run_genetic_attack(scorer, documents([text]), SETS, derive_key_from_seed(seed))
        assert found.flipped.all() == (worst != text)
        np.testing.assert_array_equal(found.texts[0], worst)

    def test_it_goes_beyond_one_change(self):
        """Twelve words, each worth a little, are changed together."""
        values = np.ones(60)
        values[20:] = -1
        found = run_genetic_attack(linear(values), documents([list(range(12))]), SETS, KEY)
        assert found.flipped.all()
        assert found.changed_words[0] >= 6

    def test_all_texts_are_scored_where_none_flips(self):
        """A document that resists costs the texts of all generations, and itself."""
        found = run_genetic_attack(linear(np.ones(60)), documents([[0, 1, 2]]), SETS, KEY, population=5, generations=7)
        assert found.queries[0] == 1 + compute_query_budget(5, 7) == 1 + 5 + 7 * 4
        assert compute_query_budget() == 60 + 40 * 59


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"population": 1}, "The 'population' parameter of run_genetic_attack must be an int of at least 2. Got 1."),
        (
            {"population": 2.0},
            "The 'population' parameter of run_genetic_attack must be an int of at least 2. Got 2.0.",
        ),
        ({"generations": 0}, "The 'generations' parameter of run_genetic_attack must be an int of at least 1. Got 0."),
        (
            {"generations": True},
            "The 'generations' parameter of run_genetic_attack must be an int of at least 1. Got True.",
        ),
    ],
)
def test_bad_options_are_refused(options, message):
    """An option outside its domain is named with its domain."""
    with pytest.raises(dn.InputError) as caught:
        run_genetic_attack(linear(np.ones(60)), documents([[0]]), SETS, KEY, **options)
    assert str(caught.value) == message
