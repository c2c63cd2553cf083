import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.models.text import substitutions as module
from deniable.models.text.documents import concatenate_texts
from deniable.models.text.substitutions import draw_copies

KEY = bytes(range(32))


@pytest.fixture(scope="session", params=["sets", "mechanism"])
def source(request, words_space, word_sets):
    return word_sets if request.param == "sets" else dn.TEM(words_space, epsilon=1.0)


def law(source, space, word):
    """Return the probability of every word as the substitute of one."""
    if hasattr(source, "choices"):
        expected = np.zeros(len(space))
        expected[source.choices_of(word)] = 1 / source.choice_counts[word]
        return expected
    return source.probabilities(space.words[word])


def test_copies_follow_the_law(source, words_space):
    """Substitutes fit the law of their source over 100,000 draws, and not one that is 30 % off."""
    word = words_space.index_of("good")
    held = concatenate_texts([np.full(100, word)] * 1_000)
    drawn = draw_copies(held, np.arange(1_000), source, KEY)
    expected = law(source, words_space, word)
    counts = np.bincount(drawn.words, minlength=len(expected))
    assert counts[expected == 0].sum() == 0
    counts, expected = counts[expected > 0], expected[expected > 0]
    assert stats.chisquare(counts, 100_000 * expected).pvalue > 1e-6
    wrong = expected.copy()
    wrong[0] *= 0.7
    wrong[1:] *= (1 - wrong[0]) / wrong[1:].sum()
    assert stats.chisquare(counts, 100_000 * wrong).pvalue < 1e-6


def test_a_copy_depends_on_its_row_alone(source, reviews, monkeypatch):
    """The same row gives the same copy whatever stands beside it and however much is drawn together."""
    rows = np.arange(len(reviews))
    everyone = draw_copies(reviews.texts, rows, source, KEY)
    some = np.array([7, 3, 150])
    alone = draw_copies(reviews.texts.take(some), some, source, KEY)
    assert [words.tolist() for words in alone] == [everyone[row].tolist() for row in some]
    monkeypatch.setattr(module, "MAX_DRAWN_WORDS", 10)
    assert draw_copies(reviews.texts, rows, source, KEY).words.tolist() == everyone.words.tolist()


def test_copies_differ(source, reviews):
    """Another copy, another row and another key give other draws."""
    rows = np.arange(len(reviews))
    drawn = [
        draw_copies(reviews.texts, rows, source, KEY),
        draw_copies(reviews.texts, rows, source, KEY, copy_number=1),
        draw_copies(reviews.texts, rows + 1, source, KEY),
        draw_copies(reviews.texts, rows, source, bytes(32)),
    ]
    assert len({held.words.tobytes() for held in drawn}) == 4
    assert all(held.offsets.tolist() == reviews.texts.offsets.tolist() for held in drawn)
