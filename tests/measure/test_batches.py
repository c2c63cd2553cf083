"""Texts privatized in order to measure: aligned with the originals, repeatable by seed."""

import numpy as np

import deniable as dn
from deniable.measure.batches import select_texts
from tests.conftest import SMALL_WORDS


def test_words_are_aligned(small_space):
    """Every word of every text has its draw, in order, and an unknown one is read as the public word."""
    texts = ["Baran, qqq dotel.", "", "zzz"]
    drawn = dn.measure.privatize_texts(dn.TEM(small_space, epsilon=2.0), texts, seed=3)
    assert drawn.lengths == [3, 0, 1]
    assert drawn.unknown_mask.tolist() == [False, True, False, True]
    public = small_space.index_of(small_space.unknown_word)
    assert drawn.words.tolist() == [small_space.index_of("baran"), public, small_space.index_of("dotel"), public]
    written = " ".join(drawn.texts).replace(",", "").replace(".", "").split()
    assert written == [small_space.words[number] for number in drawn.outputs]


def test_same_seed_same_draws(small_space):
    """A seed repeats every word with any number of threads, each row has noise of its own, and None is fresh."""
    mechanism = dn.TEM(small_space, epsilon=0.5)
    texts = ["baran dotel fevim kuzor"] * 40
    first = dn.measure.privatize_texts(mechanism, texts, seed=1, workers=1)
    assert len(set(first.texts)) > 30
    assert np.array_equal(first.outputs, dn.measure.privatize_texts(mechanism, texts, seed=1, workers=2).outputs)
    others = [dn.measure.privatize_texts(mechanism, texts, seed=seed) for seed in (2, None, None)]
    assert len({drawn.outputs.tobytes() for drawn in (first, *others)}) == 4


def test_a_part_of_a_batch(small_space):
    """Some rows of a batch keep their words, outputs and texts."""
    texts = ["zork", SMALL_WORDS[1], "", " ".join(SMALL_WORDS[:3])]
    drawn = dn.measure.privatize_texts(dn.TEM(small_space, epsilon=1.0), texts, seed=1)
    held = select_texts(drawn, np.array([3, 2, 0]))
    assert held.texts == [drawn.texts[3], "", drawn.texts[0]]
    assert held.lengths == [3, 0, 1]
    assert held.words.tolist() == [0, 1, 2, drawn.words[0]]
    assert (held.unknown_mask.tolist(), held.unknown_count) == ([False, False, False, True], 1)
