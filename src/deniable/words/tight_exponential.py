"""The exponential mechanism with weights that make its constraints tight."""

import contextlib
import dataclasses
import functools
from collections.abc import Callable

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.core.cache import load_or_compute_array
from deniable.core.guarantees import Guarantee
from deniable.space.space import Space
from deniable.words.calibrated_exponential import CALIBRATION_SOURCE, CALIBRATION_TOLERANCE, load_or_calibrate
from deniable.words.laws import ExponentialKernel, ExponentialLaw
from deniable.words.laws.kernel import sum_decays
from deniable.words.mechanism import WordMechanism

MAX_DENSE_POINTS = 14_000
"""Points up to which the matrix is held in memory (1.6 GB); beyond, each product is a pass."""
_CG_RESIDUAL = 1e-8
_MAX_CG_STEPS = 60
_PATIENCE = 3
"""Conjugate gradient steps after which a negative entry counts as one of the solution."""
_DENSE_FIT_STEPS, _FIT_STEPS = 200, 5
_MIN_WEIGHT_SHARE = 1e-2
_FITTED_GUESS = 0.9
"""Share of epsilon that calibration tries first for fitted weights."""


def fit_weights(space: Space, scale: float, workers: int | None = None) -> tuple[FloatArray, bool]:
    """Return the weights (number of points,), positive, and whether they solve exp(-scale D) c = 1.

    With K = exp(-s D), the weights sought have K c = 1, and c > 0: then the law c(y) exp(-s d(w, y)) is a distribution
    for every w, and its exact epsilon is s itself. Otherwise c > 0 is fitted, so that all normalisers K c are nearly 1,
    by the steps::

        c <- c / (K c)        which lower  1/2 c' K c - 1' c  at every step and keep c positive

    (Sha, Saul, Lee 2003: their update for K >= 0). The solution is sought by conjugate gradients from c = 1. As soon as
    it shows a negative entry they are given up, and the multiplicative steps start from its positive part: 200 with the
    matrix in memory, else 5.
    """
    count = space.point_count
    product = _make_product(space, scale, workers)
    iterates = [np.ones(count)]

    def check_iterate(iterate: FloatArray) -> None:
        iterates.append(iterate.copy())
        if len(iterates) > _PATIENCE and iterate.min() <= 0:
            raise _NegativeSolution

    with contextlib.suppress(_NegativeSolution):
        from scipy.sparse.linalg import LinearOperator, cg

        operator = LinearOperator((count, count), matvec=product, dtype=np.float64)
        solution, failed = cg(
            operator, np.ones(count), rtol=_CG_RESIDUAL, maxiter=_MAX_CG_STEPS, callback=check_iterate
        )
        if not failed and solution.min() > 0:
            return solution, True
    latest = iterates[-1]
    weights = np.maximum(latest, _MIN_WEIGHT_SHARE * np.median(np.abs(latest)))
    for _ in range(_DENSE_FIT_STEPS if count <= MAX_DENSE_POINTS else _FIT_STEPS):
        weights = weights / product(weights)
    return weights, False


class _NegativeSolution(Exception):  # noqa: N818 - control flow, never seen outside
    """The solution has a negative entry."""


def _make_product(space: Space, scale: float, workers: int | None) -> Callable[[FloatArray], FloatArray]:
    """The function x -> exp(-scale D) x: with the matrix in memory, or by one pass over all pairs."""
    kernel = ExponentialKernel(scale)
    if space.point_count > MAX_DENSE_POINTS:
        return lambda x: sum_decays(space, kernel, np.ravel(x), workers)
    matrix = np.empty((space.point_count, space.point_count))

    def visit(first: int, distances: FloatArray) -> None:
        matrix[first : first + len(distances)] = kernel.decay(distances)

    space.map_row_blocks(visit, range(space.point_count), workers)
    return lambda x: matrix @ np.ravel(x)


@dataclasses.dataclass(frozen=True, repr=False)
class TightExponential(WordMechanism):
    """Draws near words by an exponential law whose weights even out the normalizer.

    For the input word w::

        P(y|w)  is proportional to  c(y) exp(-s d(w, y))

    Where exp(-epsilon D) c = 1 has a solution c > 0, it is used with s = epsilon: all normalizers are
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
    metrics = "named"

    @property
    def guarantee(self) -> Guarantee:
        """The exact epsilon over all pairs of words."""
        return Guarantee.of_words(self.epsilon, self.space.metric_name, CALIBRATION_SOURCE)

    def build_law(self) -> ExponentialLaw:
        """Return the law that was found.

        Raises:
            InputError: epsilon is so small that rounding by itself may exceed it.
        """
        return ExponentialLaw(self.space, self.kernel)

    @functools.cached_property
    def kernel(self) -> ExponentialKernel:
        """Weights and scale, see `build_law`."""
        weights, solved = self._weights
        # A proof at the solution's own scale may exceed epsilon by rounding.
        guess = 1 - CALIBRATION_TOLERANCE / 2 if solved else _FITTED_GUESS
        return load_or_calibrate(self.space, self.epsilon, weights, guess)

    @functools.cached_property
    def _weights(self) -> tuple[FloatArray, bool]:
        """Weights c (number of points,), and whether they solve exp(-epsilon D) c = 1."""
        count = self.space.point_count

        def compute() -> FloatArray:
            weights, solved = fit_weights(self.space, self.epsilon)
            return np.append(weights, solved)

        name = f"weights-{self.space.fingerprint}-{self.epsilon!r}"
        stored = load_or_compute_array(name, (count + 1,), compute)
        return stored[:-1], bool(stored[-1])

    @property
    def is_solved(self) -> bool:
        """True where the weights solve exp(-epsilon D) c = 1, False where they were fitted."""
        return self._weights[1]

    @property
    def scale(self) -> float:
        """s, per unit of distance."""
        return self.kernel.scale

    @property
    def derived_parameters(self) -> dict[str, float | str]:
        """The scale that was found, and how the weights were."""
        return {"scale": self.scale, "weights": "solved" if self.is_solved else "fitted"}
