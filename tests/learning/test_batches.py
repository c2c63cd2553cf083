"""Batches of texts of like length: every epoch deals every text once."""

import numpy as np

from deniable.learning import loop
from deniable.learning.loop import LengthBucketSampler

KEY, OTHER = bytes(range(32)), bytes(32)
LENGTHS = np.random.default_rng(0).integers(5, 60, 200)


def test_every_text_once(monkeypatch):
    """The batches of an epoch hold each row once, in another order each epoch; a table smaller than a batch is one."""
    monkeypatch.setattr(loop, "_BATCHES_PER_SORT", 5)
    dealt = LengthBucketSampler(LENGTHS, 7, KEY)
    assert dealt.batches_per_epoch == 29
    epochs = [[dealt(29 * epoch + place) for place in range(29)] for epoch in range(2)]
    for epoch in epochs:
        assert sorted(np.concatenate(epoch)) == list(range(200))
        assert {len(rows) for rows in epoch} == {7, 200 % 7}
    assert not np.array_equal(np.concatenate(epochs[0]), np.concatenate(epochs[1]))
    small = LengthBucketSampler(LENGTHS[:5], 32, KEY)
    assert (small.batches_per_epoch, sorted(small(0)), sorted(small(1))) == (1, [0, 1, 2, 3, 4], [0, 1, 2, 3, 4])


def test_like_lengths():
    """The spread of lengths in a batch is far below that of batches at random."""
    dealt = LengthBucketSampler(LENGTHS, 10, KEY)
    spread = np.mean([np.ptp(LENGTHS[dealt(place)]) for place in range(dealt.batches_per_epoch)])
    order = np.random.default_rng(0).permutation(200).reshape(20, 10)
    assert spread < np.mean([np.ptp(LENGTHS[rows]) for rows in order]) / 4


def test_the_key():
    """The same key deals the same, whatever was asked before, and another key does not."""
    first, again, other = (LengthBucketSampler(LENGTHS, 10, key) for key in (KEY, KEY, OTHER))
    again(3)
    assert np.array_equal(first(45), again(45))
    assert any(not np.array_equal(first(place), other(place)) for place in range(first.batches_per_epoch))
