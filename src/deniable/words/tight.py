"""The exponential mechanism with weights that make its constraints tight."""

import functools

import numpy as np

from deniable.cache import remember_array
from deniable.guarantees import MetricDP
from deniable.space.metrics import Array
from deniable.words.calibration import PROOF, TOLERANCE, calibrated
from deniable.words.exponential import Exponential
from deniable.words.mechanism import WordMechanism
from deniable.words.weights import fit_weights

_FITTED = 0.9
"""Share of epsilon that calibration tries first for fitted weights."""


def _are_weights(found: Array) -> bool:
    """Say whether a cached array can be weights and, at its end, 1 for solved or 0 for fitted."""
    return bool(np.isfinite(found).all() and (found[:-1] > 0).all() and found[-1] in (0, 1))


class TightExponential(WordMechanism):
    """Draws near words by an exponential law whose weights even out the normaliser.

    For the input word w::

        P(y|w)  is proportional to  c(y) exp(-s d(w, y))

    Where exp(-epsilon D) c = 1 has a solution c > 0, it is used with s = epsilon: all normalisers are
    1 and every constraint P(w|w) <= exp(epsilon d(w, w')) P(w|w') is an equality ("tight-constraints
    mechanism": ElSalamouny, Chatzikokolakis, Palamidessi, POST 2013). Where the solution has
    negative entries, which happens at small epsilon, c > 0 is fitted and s calibrated below epsilon.
    Either way the law is proved over all pairs of words and all outputs; `solved` says which it was.

    Args:
        space: any metric that has a name. Distances must be exact.
        epsilon: privacy parameter per unit of distance, > 0. Weights and scale are found at first
            use, by passes over all pairs of words, and kept in the cache.
    """

    name = "tight"
    tabulated = True
    named_metric = True

    @functools.cached_property
    def family(self) -> Exponential:
        """The law that was found.

        Raises:
            InputError: epsilon is so small that rounding alone may exceed it.
        """
        weights, solved = self._weights
        # A proof at the solution's own scale may exceed epsilon by rounding.
        guess = (1 - TOLERANCE / 2 if solved else _FITTED) * self.epsilon
        return calibrated(self.space, self.epsilon, weights, guess=guess)

    @functools.cached_property
    def _weights(self) -> tuple[Array, bool]:
        """Weights c (number of points,), and whether they solve exp(-epsilon D) c = 1."""
        count = len(self.space.points)

        def compute() -> Array:
            weights, solved = fit_weights(self.space, self.epsilon)
            return np.append(weights, solved)

        found = remember_array(
            f"weights-{self.space.fingerprint}-{self.epsilon!r}", (count + 1,), compute, _are_weights
        )
        return found[:-1], bool(found[-1])

    @property
    def solved(self) -> bool:
        """True where the weights solve exp(-epsilon D) c = 1, False where they were fitted."""
        return self._weights[1]

    @property
    def scale(self) -> float:
        """s, per unit of distance."""
        return self.family.scale

    @property
    def guarantee(self) -> MetricDP:
        """The exact epsilon over all pairs of words."""
        return MetricDP(self.epsilon, self.space.metric.name, PROOF)

    @property
    def derived(self) -> dict[str, float | str]:
        """The scale that was found, and how the weights were."""
        return {"scale": self.scale, "weights": "solved" if self.solved else "fitted"}
