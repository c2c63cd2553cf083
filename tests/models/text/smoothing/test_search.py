"""The search for the hardest text: budgets are kept, the same noise serves all, and the worst text is found."""

import numpy as np
import pytest

from deniable.core.randomness import Streams, derive_key_from_seed, derive_stream_start
from deniable.models.text.documents import concatenate_texts
from deniable.models.text.smoothing.search import (
    BudgetedReplacements,
    SmoothedSearch,
    list_replacements_among,
    list_replacements_within,
    search_hardest_text,
)
from deniable.space import Space
from tests.models.text.smoothing.toy import Given, mean_scorer, sets

SPACE = Space([f"w{number}" for number in range(8)], np.arange(8.0)[:, None])
TEXT = np.array([0, 3, 3], dtype=np.int32)


def make_search(scale=20.0, draws=50):
    """Return a search over a mechanism that keeps nearly every word, for a class that larger words speak against."""
    key = derive_key_from_seed(1)
    table = np.stack([4.0 - np.arange(8), np.zeros(8)], axis=1)
    streams = Streams(key, [derive_stream_start(key, "search")], [0])
    return SmoothedSearch(Given(SPACE, scale), mean_scorer(table), 0, streams, draws, 1)


def test_replacements_fill_a_budget_and_no_position_twice():
    """Taken in order, what costs too much or stands where a word was replaced already is passed over."""
    replacements = BudgetedReplacements(
        TEXT,
        np.array([0, 0, 1, 2]),
        np.array([5, 6, 7, 7], dtype=np.int32),
        np.array([5.0, 6.0, 4.0, 4.0]),
        np.array([1.0, 1.0, 3.0, 2.0]),
        3.0,
    )
    assert replacements.fill_budget([0, 1, 2, 3]) == [0, 3]
    assert replacements.fill_budget([2, 0]) == [2]
    assert replacements.apply([0, 3]).tolist() == [5, 3, 7]
    assert TEXT.tolist() == [0, 3, 3]


@pytest.mark.parametrize("distance", [1.0, 2.5, 100.0])
def test_replacements_within_a_distance(distance):
    """All lie strictly within the distance, none is the word itself, and the nearest are among them."""
    found = list_replacements_within(SPACE, TEXT, distance, 4, np.random.default_rng(0))
    apart = np.abs(TEXT[found.positions] - found.words)
    assert (apart == found.distances).all()
    assert (apart < distance).all()
    assert (apart > 0).all()
    assert np.bincount(found.positions, minlength=3).max() <= 4
    assert found.budget < distance
    if distance > 1:
        assert {(0, 1), (1, 2), (1, 4)} <= set(zip(found.positions.tolist(), found.words.tolist(), strict=True))
    else:
        assert not len(found.positions)


def test_replacements_among_sets_are_counted():
    """Each costs one change, and only words of the sets serve; without sets any word does."""
    choices = sets(SPACE, 2)
    found = list_replacements_among(SPACE, TEXT, choices, 2, 9, np.random.default_rng(0))
    assert (found.costs == 1).all()
    assert found.budget == 2
    for position, word in zip(found.positions, found.words, strict=True):
        assert word in choices.choices_of(TEXT[position])
        assert word != TEXT[position]
    free = list_replacements_among(SPACE, TEXT, None, 2, 9, np.random.default_rng(0))
    assert len(free.positions) == 3 * 7


def test_the_hardest_text_is_found():
    """Among all texts with two words replaced the one that the class leads least in has the two largest changes."""
    search = make_search()
    replacements = list_replacements_among(SPACE, TEXT, None, 2, 9, np.random.default_rng(0))
    worst, distance = search_hardest_text(search, replacements, 3, np.random.default_rng(1))
    leads = search.compute_leads(concatenate_texts([TEXT, worst, [7, 3, 7]]))
    assert leads[1] < leads[0]
    assert leads[1] == pytest.approx(leads[2], abs=1e-6)
    assert distance == np.abs(worst.astype(int) - TEXT).sum()
    assert (worst != TEXT).sum() == 2


def test_equal_texts_meet_equal_noise():
    """Leads differ by the texts alone, and lie in [-1, 1]."""
    leads = make_search(scale=0.3).compute_leads(concatenate_texts([TEXT, [7, 7, 7], TEXT]))
    assert leads[0] == leads[2]
    assert leads[1] < leads[0]
    assert (np.abs(leads) <= 1).all()


def test_without_replacements_the_text_stays():
    """Where nothing may change there is nothing to search."""
    nothing = list_replacements_within(SPACE, TEXT, 0.5, 4, np.random.default_rng(0))
    worst, distance = search_hardest_text(make_search(), nothing, 3, np.random.default_rng(1))
    assert worst.tolist() == TEXT.tolist()
    assert distance == 0.0
