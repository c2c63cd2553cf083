"""Linkage: released texts and the records that they come from."""

import numpy as np
import pytest

import deniable as dn
from deniable.measure.linkage import measure_linkage
from tests.refusals import refuses


def release(space, texts):
    """Return the texts after noise that forgets every word."""
    return dn.measure.privatize_texts(dn.TEM(space, epsilon=1e-3), texts, seed=1).texts


@pytest.mark.parametrize("is_aligned", [True, False])
def test_unchanged_texts_are_linked_and_noise_hides(small_space, is_aligned):
    """A text that comes out as it was is linked to its record; behind noise it is about as often as by guessing."""
    rng, rows = np.random.default_rng(3), np.arange(3, 120)
    texts = [" ".join(rng.choice(small_space.words, 8)) for _ in range(150)]
    found = measure_linkage(small_space, texts, [texts[row] for row in rows], rows, is_aligned=is_aligned)
    assert (found.value, found.count) == (1.0, 117)
    assert found.low < 1
    noisy = release(small_space, [texts[row] for row in rows])
    assert measure_linkage(small_space, texts, noisy, rows, is_aligned=is_aligned).low < 0.1


def test_length_tells(small_space):
    """Where every text has another number of words, any noise leaves all of them linked."""
    texts = [" ".join(small_space.words[:1] * length) for length in range(1, 20)]
    found = measure_linkage(small_space, texts, release(small_space, texts), np.arange(19), is_aligned=True)
    assert found.value == 1.0


def test_equal_originals_are_one(small_space):
    """Naming another record with the same words is no mistake; a release of another length names none."""
    texts = ["baran dotel", "baran dotel", "fevim kuzor"]
    found = measure_linkage(small_space, texts, ["baran dotel", "fevim kuzor"], np.array([1, 2]), is_aligned=True)
    assert found.value == 1.0
    assert measure_linkage(small_space, texts, ["baran"], np.array([0]), is_aligned=True).value == 0.0
    with refuses("2 attacked rows"):
        measure_linkage(small_space, ["baran"], ["baran"], np.array([0, 0]), is_aligned=True)
