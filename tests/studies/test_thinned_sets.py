"""Substitution sets that keep a share of their substitutes."""

import numpy as np
from scipy import stats

import deniable as dn
from studies.text_models import thin_sets


def test_thinned_sets_keep_a_share():
    """A thinned set is a subset, the word itself in front; all are kept at 1, and none at 0."""
    coins = np.random.default_rng(0)
    own = np.arange(20_000, dtype=np.int32)[:, None]
    large = dn.texts.Substitutions("large", np.hstack([*((own + step) % 20_000 for step in range(4)), own]))
    for share in (0.0, 0.3, 1.0):
        found = thin_sets(large, share, coins)
        kept = found.choice_counts - 1
        assert stats.binomtest(int(kept.sum()), 60_000, share).pvalue > 1e-6
        assert (found.choices[:, 0] == own[:, 0]).all()
        assert all(set(found.choices_of(word)) <= set(large.choices_of(word)) for word in range(100))
        assert all(len(found.choices_of(word)) == 1 + kept[word] for word in range(100))
    np.testing.assert_array_equal(thin_sets(large, 1.0, coins).choice_counts, large.choice_counts)
