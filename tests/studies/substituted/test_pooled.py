"""Pools: each draw has the law of the mechanism, and a pool is kept and found again."""

import numpy as np
import pytest
from scipy import stats

from deniable.core.errors import InputError
from deniable.core.randomness import Streams, derive_key_from_seed
from deniable.studies.ledger import Ledger
from deniable.studies.substituted.pooled import Pooled, pooled
from deniable.words import CalibratedExponential, MultivariateLaplace

KEY = derive_key_from_seed(1)


def streams(count):
    return Streams(KEY, [bytes(16)], [count])


def test_pools_follow_the_law(small_space):
    """Over many pools, one draw of a word has the mechanism's own law."""
    mechanism = CalibratedExponential(small_space, epsilon=1.5)
    uses = np.zeros(60, dtype=np.int64)
    uses[7] = 20_000
    found = pooled(mechanism, uses, 20_000, "test", 0, Ledger())
    counts = np.bincount(found._pool, minlength=60)
    law = mechanism.probabilities(small_space.words[7])
    assert stats.chisquare(counts, 20_000 * law / law.sum()).pvalue > 1e-6


def test_draws_are_uniform_over_the_pool(small_space):
    """Every draw of a word comes from its own pool, each of its entries as often as any other."""
    pool, sizes = np.arange(8, dtype=np.int32), np.zeros(60, dtype=np.int64)
    sizes[3], sizes[5] = 2, 6
    found = Pooled(MultivariateLaplace(small_space, epsilon=2.0), pool, sizes)
    words = np.tile(np.array([3, 5], dtype=np.int32), 30_000)
    drawn = found.draw_words(words, streams(60_000))
    assert set(drawn[words == 3]) == {0, 1}
    assert stats.chisquare(np.bincount(drawn[words == 5] - 2, minlength=6)).pvalue > 1e-6
    assert stats.chisquare(np.bincount(drawn[words == 3])).pvalue > 1e-6


def test_rare_words_have_small_pools(small_space):
    """A pool has no more draws than its word has uses, and never more than the most; a word unused cannot be drawn."""
    mechanism, uses = MultivariateLaplace(small_space, epsilon=2.0), np.arange(60)
    found = pooled(mechanism, uses, 4, "test", 0, Ledger())
    np.testing.assert_array_equal(found._sizes, np.minimum(np.arange(60), 4))
    assert len(found._pool) == found._sizes.sum()
    with pytest.raises(InputError, match=f"No draws of '{small_space.words[0]}'"):
        found.draw_words(np.array([1, 0], dtype=np.int32), streams(2))


def test_pools_are_kept(small_space, tmp_path, monkeypatch):
    """A pool is found again by a run with the same seed; other seeds and purposes have pools of their own."""
    mechanism, uses = MultivariateLaplace(small_space, epsilon=2.0), np.full(60, 8)
    ledger = Ledger(tmp_path / "kept.jsonl")
    first = pooled(mechanism, uses, 8, "copies", 0, ledger)
    others = [pooled(mechanism, uses, 8, *which, ledger) for which in (("copies", 1), ("attacks", 0))]
    assert all((other._pool != first._pool).any() for other in others)
    assert len({found.fingerprint for found in (first, *others)}) == 3
    monkeypatch.setattr(MultivariateLaplace, "draw_words", lambda *_: pytest.fail("drawn again"))
    np.testing.assert_array_equal(pooled(mechanism, uses, 8, "copies", 0, ledger)._pool, first._pool)


def test_nothing_is_proved_of_a_pool(small_space):
    """A pool's guarantee is that of one draw, and only claimed."""
    found = pooled(MultivariateLaplace(small_space, epsilon=2.0), np.ones(60, dtype=np.int64), 1, "", 0, Ledger())
    assert (found.guarantee.epsilon, found.guarantee.status) == (2.0, "claimed")
