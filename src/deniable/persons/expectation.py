"""What accuracy a private classifier can be expected to reach, from public numbers alone.

What counts is the signal: the nominal number of units times mu, the root of the squared bounds of a unit's
contributions to all sums in deviations of their noise. The figures are of film reviews of two classes without public
labels (`studies/persons_imdb.py`); other texts and classes differ, so they are a warning and no promise.
"""

import math

import numpy as np

from deniable.persons.budget import NOISE_STEPS, Budget
from deniable.persons.linear_training import CLASSIFIER_MEASUREMENT

_SIGNALS = (0.0, 100.0, 270.0, 540.0, 1_030.0, 1_960.0, 3_670.0, 6_370.0, 12_700.0)
_RETAINED = (0.0, 0.06, 0.2, 0.36, 0.54, 0.69, 0.82, 0.9, 1.0)
"""Share of what a classifier without privacy gains over a blind guess, at each signal."""
TOO_LITTLE_SIGNAL = 100.0
"""Below it a blind guess is as good."""
ENOUGH_SIGNAL = 5_000.0
"""From it on the loss is a few points."""


def compute_signal(budget: Budget, nominal_count: int) -> float:
    """Return n B sqrt(k) / s: the nominal number of units, each at its bound B, over the noise of k sums."""
    sums = budget.get_measurement(CLASSIFIER_MEASUREMENT).sums
    return nominal_count * math.sqrt(sums) * budget.compute_norm_bound(CLASSIFIER_MEASUREMENT) / NOISE_STEPS


def estimate_retained_share(signal: float) -> float:
    """Return the share, 0 to 1, of the gain over a blind guess that can be expected at a signal."""
    return float(np.interp(signal, _SIGNALS, _RETAINED))
