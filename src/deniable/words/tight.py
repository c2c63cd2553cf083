"""The exponential mechanism with weights that make its constraints tight."""

import functools

import numpy as np

from deniable.cache import load_or_compute_array
from deniable.guarantees import MetricDP
from deniable.space.metrics import FloatArray
from deniable.words.calibration import CALIBRATION_SOURCE, CALIBRATION_TOLERANCE, load_or_calibrate
from deniable.words.exponential import ExponentialLaw
from deniable.words.mechanism import WordMechanism
from deniable.words.weights import fit_weights

_FITTED_GUESS = 0.9
"""Share of epsilon that calibration tries first for fitted weights."""


def _has_valid_weights(stored: FloatArray) -> bool:
    """Say whether a cached array can be weights and, at its end, 1 for solved or 0 for fitted."""
    return bool(np.isfinite(stored).all() and (stored[:-1] > 0).all() and stored[-1] in (0, 1))


class TightExponential(WordMechanism):
    """Draws near words by an exponential law whose weights even out the normaliser.

    For the input word w::

        P(y|w)  is proportional to  c(y) exp(-s d(w, y))

    Where exp(-epsilon D) c = 1 has a solution c > 0, it is used with s = epsilon: all normalisers are
    1 and every constraint P(w|w) <= exp(epsilon d(w, w')) P(w|w') is an equality ("tight-constraints
    mechanism": ElSalamouny, Chatzikokolakis, Palamidessi, POST 2013). Where the solution has
    negative entries, which happens at small epsilon, c > 0 is fitted and s calibrated below epsilon.
    Either way the law is proved over all pairs of words and all outputs; `is_solved` says which it was.

    Args:
        space: any metric that has a name. Distances must be exact.
        epsilon: privacy parameter per unit of distance, > 0. Weights and scale are found at first
            use, by passes over all pairs of words, and kept in the cache.
    """

    name = "tight"
    is_tabulated = True
    requires_builtin_metric = True

    @functools.cached_property
    def exponential_law(self) -> ExponentialLaw:
        """The law that was found.

        Raises:
            InputError: epsilon is so small that rounding alone may exceed it.
        """
        weights, solved = self._weights
        # A proof at the solution's own scale may exceed epsilon by rounding.
        guess = (1 - CALIBRATION_TOLERANCE / 2 if solved else _FITTED_GUESS) * self.epsilon
        return load_or_calibrate(self.space, self.epsilon, weights, guess=guess)

    @functools.cached_property
    def _weights(self) -> tuple[FloatArray, bool]:
        """Weights c (number of points,), and whether they solve exp(-epsilon D) c = 1."""
        count = len(self.space.points)

        def compute() -> FloatArray:
            weights, solved = fit_weights(self.space, self.epsilon)
            return np.append(weights, solved)

        stored = load_or_compute_array(
            f"weights-{self.space.fingerprint}-{self.epsilon!r}", (count + 1,), compute, _has_valid_weights
        )
        return stored[:-1], bool(stored[-1])

    @property
    def is_solved(self) -> bool:
        """True where the weights solve exp(-epsilon D) c = 1, False where they were fitted."""
        return self._weights[1]

    @property
    def scale(self) -> float:
        """s, per unit of distance."""
        return self.exponential_law.scale

    @property
    def guarantee(self) -> MetricDP:
        """The exact epsilon over all pairs of words."""
        return MetricDP(self.epsilon, self.space.metric.name, CALIBRATION_SOURCE)

    @property
    def derived_parameters(self) -> dict[str, float | str]:
        """The scale that was found, and how the weights were."""
        return {"scale": self.scale, "weights": "solved" if self.is_solved else "fitted"}
