"""What accuracy a private classifier can be expected to reach, from public numbers alone.

What counts is the signal: the nominal number of units, each at the clipping norm, over the deviation of the noise on a
sum. The figures are of film reviews of two classes without public labels (`studies/persons_imdb.py`); other texts and
classes differ, so they are a warning and no promise.
"""

import numpy as np

from deniable.persons.budget import NOISE_STEPS, Budget
from deniable.persons.linear_training import CLASSIFIER_MEASUREMENT

_SIGNALS = (0.0, 20.0, 55.0, 110.0, 210.0, 400.0, 750.0, 1_300.0, 2_600.0)
_RETAINED = (0.0, 0.06, 0.2, 0.36, 0.54, 0.69, 0.82, 0.9, 1.0)
"""Share of what a classifier without privacy gains over a blind guess, at each signal."""
TOO_LITTLE_SIGNAL = 20.0
"""Below it a blind guess is as good."""
ENOUGH_SIGNAL = 1_000.0
"""From it on the loss is a few points."""


def compute_signal(budget: Budget, nominal_count: int) -> float:
    """Return n B / s: the nominal number of units in deviations of the noise, each unit at its bound."""
    return nominal_count * budget.compute_norm_bound(CLASSIFIER_MEASUREMENT) / NOISE_STEPS


def estimate_retained_share(signal: float) -> float:
    """Return the share, 0 to 1, of the gain over a blind guess that can be expected at a signal."""
    return float(np.interp(signal, _SIGNALS, _RETAINED))
