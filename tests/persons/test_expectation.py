"""What to expect of a private classifier, from public numbers."""

import numpy as np
import pytest

from deniable.persons.budget import Budget
from deniable.persons.expectation import compute_signal, estimate_retained_share
from deniable.persons.features import build_feature_map
from deniable.persons.linear_training import plan_linear_measurement

MAP = build_feature_map(["a good film", "a bad film"])


def test_signal_is_units_over_noise():
    """The signal of n units is n mu: with twice the units it is twice as much, and it grows with epsilon."""
    signals = [
        compute_signal(Budget(epsilon, 1e-6, "record", (plan_linear_measurement(MAP, 2),)), count)
        for epsilon, count in ((1.0, 1_000), (1.0, 2_000), (4.0, 1_000))
    ]
    assert signals[1] == pytest.approx(2 * signals[0])
    assert signals[2] > 2 * signals[0]


def test_more_signal_retains_more():
    """The retained share rises with the signal from 0 to nearly 1 and stays there."""
    shares = [estimate_retained_share(signal) for signal in np.linspace(0, 50_000, 500)]
    assert np.all(np.diff(shares) >= 0)
    assert (shares[0], shares[-1]) == (0.0, 0.98)
