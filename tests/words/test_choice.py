"""What ``auto`` stands for: decided by the size of the space, its metric, and what calibrated keeps."""

import numpy as np
import pytest

from deniable.core.errors import InputError
from deniable.space import Space
from deniable.words import choice
from deniable.words.calibrated_exponential import CalibratedExponential
from deniable.words.choice import MIN_KEPT_SHARE, choose_word_mechanism
from deniable.words.tem import TEM
from deniable.words.tight_exponential import TightExponential


@pytest.mark.parametrize(("limit", "kind"), [(60, TightExponential), (59, CalibratedExponential)])
def test_tight_up_to_so_many_points(small_space, monkeypatch, limit, kind):
    """A space of exactly the largest size still gets tight, and one point more calibrated."""
    monkeypatch.setattr(choice, "MAX_DENSE_POINTS", limit)
    assert type(choose_word_mechanism(small_space, 3.0)) is kind


@pytest.mark.parametrize("epsilon", [0.3, 0.6, 1.2, 3.0, 8.0])
def test_tight_exactly_where_calibrated_keeps_enough(small_space, epsilon):
    """The choice follows from the mean share that calibrated keeps by its own law, and the epsilon is the asked one."""
    rows = CalibratedExponential(small_space, epsilon=epsilon).law.rows(np.arange(60))
    expected = TightExponential if rows.diagonal().mean() >= MIN_KEPT_SHARE else CalibratedExponential
    chosen = choose_word_mechanism(small_space, epsilon)
    assert type(chosen) is expected
    assert chosen.epsilon == epsilon


def test_a_metric_of_ones_own_leaves_tem(small_space, small_vectors):
    """Where no closed form is proved, TEM serves at any epsilon."""

    def own(left, right):
        return np.abs(left[:, None] - right[None]).sum(axis=2)

    assert type(choose_word_mechanism(Space(small_space.words, small_vectors, metric=own), 3.0)) is TEM


def test_a_bad_epsilon_is_refused(small_space):
    """The error is the mechanism's own."""
    with pytest.raises(InputError, match="'epsilon'"):
        choose_word_mechanism(small_space, -1.0)
