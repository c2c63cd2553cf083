"""Linkage: released texts and the records that they come from."""

import numpy as np
import pytest

from deniable import TEM, InputError
from deniable.measure.batches import privatize_texts
from deniable.measure.linkage import measure_linkage


def make_texts(space, count, length=8):
    """Return texts of random words of a space, all of one length."""
    rng = np.random.default_rng(3)
    return [" ".join(rng.choice(space.words, length)) for _ in range(count)]


@pytest.mark.parametrize("is_aligned", [True, False])
def test_unchanged_texts_are_linked(small_space, is_aligned):
    """A text that comes out as it was is linked to its record, whichever rows are attacked."""
    texts, rows = make_texts(small_space, 30), np.arange(3, 20)
    found = measure_linkage(small_space, texts, [texts[row] for row in rows], rows, is_aligned=is_aligned)
    assert (found.value, found.count) == (1.0, 17)
    assert found.low < 1


def test_noise_hides(small_space):
    """With noise that forgets every word, one text among many is linked about as often as by guessing."""
    texts = make_texts(small_space, 200)
    released = privatize_texts(TEM(small_space, epsilon=1e-3), texts, seed=1).texts
    found = measure_linkage(small_space, texts, released, np.arange(200), is_aligned=True)
    assert found.low < 0.1


def test_length_tells(small_space):
    """Where every text has another number of words, any noise leaves all of them linked."""
    texts = [" ".join(small_space.words[:1] * length) for length in range(1, 20)]
    released = privatize_texts(TEM(small_space, epsilon=1e-3), texts, seed=1).texts
    assert measure_linkage(small_space, texts, released, np.arange(19), is_aligned=True).value == 1.0


def test_equal_originals_are_one(small_space):
    """Naming another record with the same words is no mistake; a release of another length names none."""
    texts = ["baran dotel", "baran dotel", "fevim kuzor"]
    found = measure_linkage(small_space, texts, ["baran dotel", "fevim kuzor"], np.array([1, 2]), is_aligned=True)
    assert found.value == 1.0
    assert measure_linkage(small_space, texts, ["baran"], np.array([0]), is_aligned=True).value == 0.0


def test_counts_must_match(small_space):
    """One released text for each attacked row."""
    with pytest.raises(InputError, match="2 attacked rows need as many released texts"):
        measure_linkage(small_space, ["baran"], ["baran"], np.array([0, 0]), is_aligned=True)
