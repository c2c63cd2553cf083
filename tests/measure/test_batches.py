"""Texts privatized in order to measure: aligned with the originals, repeatable by seed."""

import numpy as np

import deniable as dn
from deniable.measure.batches import privatize_texts
from deniable.space.grammar import split_words
from tests.conftest import SMALL_WORDS


def test_words_are_aligned(small_space):
    """Every word of every text has its draw, in order, and an unknown one is read as the public word."""
    texts = ["Baran, qqq dotel.", "", "zzz"]
    drawn = privatize_texts(dn.TEM(small_space, epsilon=2.0), texts, seed=3)
    assert drawn.lengths == [3, 0, 1]
    assert drawn.unknown_mask.tolist() == [False, True, False, True]
    assert drawn.words.tolist() == [
        small_space.index_of(word) for word in ("baran", small_space.unknown_word, "dotel")
    ] + [small_space.index_of(small_space.unknown_word)]
    written = [word for text in drawn.texts for word in split_words(text)[1::2]]
    assert written == [small_space.words[number] for number in drawn.outputs]


def test_same_seed_same_draws(small_space):
    """A seed repeats every word with any number of threads, another does not, and None is fresh each time."""
    mechanism = dn.TEM(small_space, epsilon=0.5)
    texts = ["baran dotel fevim kuzor"] * 40
    first = privatize_texts(mechanism, texts, seed=1, workers=1)
    assert np.array_equal(first.outputs, privatize_texts(mechanism, texts, seed=1, workers=2).outputs)
    assert not np.array_equal(first.outputs, privatize_texts(mechanism, texts, seed=2).outputs)
    assert not np.array_equal(privatize_texts(mechanism, texts).outputs, privatize_texts(mechanism, texts).outputs)


def test_equal_texts_have_noise_of_their_own(small_space):
    """Rows with one and the same text are drawn independently."""
    drawn = privatize_texts(dn.TEM(small_space, epsilon=0.5), ["baran dotel fevim kuzor"] * 40, seed=1)
    assert len(set(drawn.texts)) > 30


def test_a_part_of_a_batch(small_space):
    """Some rows of a batch keep their words, outputs and texts."""
    drawn = privatize_texts(
        dn.TEM(small_space, epsilon=1.0), ["zork", SMALL_WORDS[1], "", " ".join(SMALL_WORDS[:3])], seed=1
    )
    held = drawn.select(np.array([3, 2, 0]))
    assert held.texts == [drawn.texts[3], "", drawn.texts[0]]
    assert held.lengths == [3, 0, 1]
    assert held.words.tolist() == [0, 1, 2, drawn.words[0]]
    assert (held.unknown_mask.tolist(), held.unknown_count) == ([False, False, False, True], 1)
