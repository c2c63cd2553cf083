"""What accuracy a private classifier can be expected to reach, from public numbers alone.

What counts is the signal: the nominal number of units times mu, the root of the squared bounds of a unit's
contributions to all sums in deviations of their noise. The
figures are of film reviews of two classes without public labels, means
of three runs each, neighbours joined where they differ by less than the runs do (`studies/results/persons_imdb.csv`,
rows of 1,000, 5,000 and 25,000 records); other texts and classes differ, so they are a warning and no promise.
"""

import math

import numpy as np

from deniable.persons.budget import NOISE_STEPS, Budget
from deniable.persons.linear_training import CLASSIFIER_MEASUREMENT

_SIGNALS = (0.0, 140.0, 270.0, 500.0, 820.0, 1_500.0, 2_500.0, 4_100.0, 7_500.0, 12_500.0, 23_000.0, 42_000.0)
_RETAINED = (0.0, 0.1, 0.2, 0.32, 0.5, 0.66, 0.79, 0.85, 0.9, 0.94, 0.97, 0.98)
"""Share of what a classifier of 25,000 records without noise gains over a blind guess, at each signal."""
TOO_LITTLE_SIGNAL = 100.0
"""Below it hardly anything is learned."""
ENOUGH_SIGNAL = 5_000.0
"""From it on the loss is six points at most."""


def compute_signal(budget: Budget, nominal_count: int) -> float:
    """Return n B sqrt(k) / s: the nominal number of units, each at its bound B, over the noise of k sums."""
    sums = budget.get_measurement(CLASSIFIER_MEASUREMENT).sums
    return nominal_count * math.sqrt(sums) * budget.compute_norm_bound(CLASSIFIER_MEASUREMENT) / NOISE_STEPS


def estimate_retained_share(signal: float) -> float:
    """Return the share, 0 to 1, of the gain over a blind guess that can be expected at a signal."""
    return float(np.interp(signal, _SIGNALS, _RETAINED))
