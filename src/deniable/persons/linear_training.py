"""Private gradient descent for a linear classifier: full batches, clipped units, noise on integer sums."""

import dataclasses
import functools
import math
from typing import TYPE_CHECKING

import numpy as np
from randomgen import AESCounter

from deniable.core.arrays import FloatArray, IntArray
from deniable.core.guarantees import Unit
from deniable.core.parallel import ProgressReporter
from deniable.persons.budget import NOISE_STEPS, Budget, Measurement
from deniable.persons.collection import UnitRows, group_rows
from deniable.persons.features import FeatureMap
from deniable.persons.noisy_sums import ResidualSums, add_noise

if TYPE_CHECKING:
    from scipy.sparse import csr_array

CLASSIFIER_MEASUREMENT = "classifier"
STEPS = 64
"""T, steps of the private descent: more do not pay, and at small budgets fewer do as well."""
_CLIPS: dict[Unit, float] = {"record": 0.7, "person": 1.75}
"""Norm to which a unit's gradient is clipped; that of one row is at most sqrt(2)."""
_MAX_RATE = 512.0
_NOISE_PER_STEP = 0.05
"""Deviation of what the noise of a step adds to each weight, at most."""
_SIGNAL_SCALE = 14_000.0
"""Units, each at the clipping norm, per deviation of the noise at which that much noise is taken; where there are
fewer, less in proportion, so that little data do not drown what public labels taught."""
_AVERAGED_SHARE = 0.5
"""Share of the steps, the last ones, whose weights are averaged."""
_PUBLIC_STEPS, _PUBLIC_RATE = 100, 32.0
_EXACT_BOUND = 1 << 40
"""B where no noise is added, fine enough."""
_SIGNALS = (0.0, 140.0, 270.0, 500.0, 820.0, 1_500.0, 2_500.0, 4_100.0, 7_500.0, 12_500.0, 23_000.0, 42_000.0)
_RETAINED = (0.0, 0.1, 0.2, 0.32, 0.5, 0.66, 0.79, 0.85, 0.9, 0.94, 0.97, 0.98)
"""Share of what a classifier of 25,000 records without noise gains over a blind guess, at each signal.

The figures are of film reviews of two classes without public labels, means of three runs each, neighbours joined where
they differ by less than the runs do (`studies/results/persons_imdb.csv`, rows of 1,000, 5,000 and 25,000 records);
other texts and classes differ, so they are a warning and no promise.
"""
TOO_LITTLE_SIGNAL = 100.0
"""Below it hardly anything is learned."""
ENOUGH_SIGNAL = 5_000.0
"""From it on the loss is six points at most."""


@dataclasses.dataclass(frozen=True)
class LinearTraining:
    """The public plan of a descent, a function of the nominal number of units, the budget and the feature map alone.

    Attributes:
        steps: T.
        clip: norm to which a unit's gradient is clipped.
        rate: step along the mean of the noisy gradients.
        noise: deviation of the noise on each coordinate of a sum, in units of the gradient.
        nominal_count: units by which a sum is divided.
    """

    steps: int
    clip: float
    rate: float
    noise: float
    nominal_count: float


def plan_linear_measurement(features: int, classes: int) -> Measurement:
    """Return the noisy sums of the descent: one of D x (K - 1) coordinates for each step."""
    return Measurement(CLASSIFIER_MEASUREMENT, 1.0, features * (classes - 1), STEPS)


def plan_linear_training(budget: Budget, nominal_count: float) -> LinearTraining:
    """Return the plan of the descent that a budget holds.

    Args:
        budget: it holds the measurement of `plan_linear_measurement`.
        nominal_count: public number of units.
    """
    clip = _CLIPS[budget.unit]
    noise = NOISE_STEPS / budget.compute_norm_bound(CLASSIFIER_MEASUREMENT) * clip
    noise_per_step = min(_NOISE_PER_STEP, nominal_count * clip / noise / _SIGNAL_SCALE)
    rate = min(_MAX_RATE, noise_per_step * nominal_count / noise)
    return LinearTraining(STEPS, clip, rate, noise, nominal_count)


@functools.lru_cache(maxsize=64)
def compute_contrasts(class_count: int) -> FloatArray:
    """Return A (K, K - 1): orthonormal columns that sum to 0, in which a softmax's scores lose nothing (Helmert)."""
    from scipy.linalg import helmert

    return np.ascontiguousarray(0.0 - helmert(class_count).T)


def sum_residuals(rows: "csr_array", labels: IntArray, units: UnitRows, classes: int) -> ResidualSums:
    """Return what sums the clipped gradients of units.

    Args:
        rows: features (n, D) of texts.
        labels: (n,) classes below K; a row of any other class adds nothing.
        units: of the rows.
        classes: K, public.
    """
    offsets, columns = (part.astype(np.int64, copy=False) for part in (rows.indptr, rows.indices))
    return ResidualSums(offsets, columns, rows.data, labels, units, compute_contrasts(classes))


def fit_private_weights(
    sums: ResidualSums,
    start: FloatArray,
    feature_map: FeatureMap,
    budget: Budget,
    nominal_count: float,
    generator: AESCounter,
    progress: ProgressReporter = lambda done, total: None,  # noqa: ARG005 - reports nothing
) -> FloatArray:
    r"""Return private weights (D, K - 1) of a linear classifier in the contrasts of its classes.

    Step t of T, with the contributions g_u of units u, integer and of norm at most B (`ResidualSums`), noise Z of
    parameter s on each coordinate, clipping norm C, rate eta, nominal number n, and a public linear map M::

        w_(t+1) = w_t + eta / n * M((sum of g_u + Z) * C / B)

    The mean of the last half of the weights is returned. All of it is computed from the T noisy sums, so that it has
    the guarantee of the budget's measurement.

    Args:
        sums: of the private units.
        start: (D, K - 1) public weights to begin with.
        feature_map: public.
        budget: it holds the measurement of `plan_linear_measurement`.
        nominal_count: public number of units.
        generator: of the noise, fresh for each release.
        progress: called with the number of steps done and T.
    """
    plan = plan_linear_training(budget, nominal_count)
    bound = budget.compute_norm_bound(CLASSIFIER_MEASUREMENT)
    weights, averaged = start, np.zeros_like(start)
    first_averaged = round(plan.steps * (1 - _AVERAGED_SHARE))
    for step in range(plan.steps):
        noisy_sum = add_noise(sums.sum_gradients(weights, plan.clip, bound), generator).astype(np.float64)
        direction = noisy_sum * (plan.clip / bound / plan.nominal_count)
        weights = weights + plan.rate * feature_map.condition(direction)
        if step >= first_averaged:
            averaged += weights / (plan.steps - first_averaged)
        progress(step + 1, plan.steps)
    return averaged


def fit_public_weights(rows: "csr_array", labels: IntArray, feature_map: FeatureMap, classes: int) -> FloatArray:
    """Return weights (D, K - 1) learned from public texts and labels, without noise: where a private descent may start.

    It ends after 100 steps, before it fits public texts that differ in kind from the private ones too closely.
    """
    sums = sum_residuals(rows, labels, group_rows(len(labels)), classes)
    weights: FloatArray = np.zeros((len(feature_map), classes - 1))
    clip = _CLIPS["record"]
    for _ in range(_PUBLIC_STEPS):
        gradient_sum = sums.sum_gradients(weights, clip, _EXACT_BOUND).astype(np.float64)
        direction = gradient_sum * (clip / _EXACT_BOUND / len(labels))
        weights = weights + _PUBLIC_RATE * feature_map.condition(direction)
    return weights


def compute_signal(budget: Budget, nominal_count: int) -> float:
    """Return n B sqrt(k) / s: the nominal number of units, each at its bound B, over the noise of k sums.

    What accuracy a classifier can be expected to reach follows from it, and so from public numbers alone.
    """
    sums = budget.get_measurement(CLASSIFIER_MEASUREMENT).sums
    return nominal_count * math.sqrt(sums) * budget.compute_norm_bound(CLASSIFIER_MEASUREMENT) / NOISE_STEPS


def estimate_retained_share(signal: float) -> float:
    """Return the share, 0 to 1, of the gain over a blind guess that can be expected at a signal."""
    return float(np.interp(signal, _SIGNALS, _RETAINED))
