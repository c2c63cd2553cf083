"""Metrics on the points of a space, by name or of the user's own.

A guarantee is only as good as its metric: d must be symmetric, zero only at one point, and obey the triangle
inequality. Cosine "distance" breaks the last and is refused; its angle is fine, and so are steps from near word to near
word, for which only the order of nearness counts.
"""

import dataclasses
import functools
import hashlib
import re
from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError
from deniable.space.mahalanobis import (
    Entries,
    MahalanobisCheck,
    MahalanobisDistances,
    MahalanobisError,
    factor_matrix,
)
from deniable.space.poincare import bound_poincare_error, place_in_ball, prepare_poincare
from deniable.space.steps import StepOptions
from deniable.space.vector_distances import (
    VectorDistanceFiller,
    bound_angular_error,
    bound_euclidean_error,
    bound_sum_error,
    normalize_directions,
    prepare_angular,
    prepare_chebyshev,
    prepare_euclidean,
    prepare_manhattan,
    prepare_user_function,
)


def _return_unchanged(vectors: FloatArray) -> FloatArray:
    return vectors


@dataclasses.dataclass(frozen=True)
class Metric:
    """A metric by name, with the functions that compute it.

    Attributes:
        name: what guarantees and certificates call it.
        prepare: from all points (n, d) a function that writes the distances of a block (k, d) to them into an array
            (k, n). None for steps.
        canonicalize: maps vectors (n, d) to points (n, d), equal where the distance is zero.
        bound_rounding_error: from the points (n, d) and a function that returns the diameter, a bound on what
            rounding can change in a distance; None for a function that the user vouches for, and for steps.
        step_options: how steps are counted; None for a distance of vectors.
    """

    name: str
    prepare: Callable[[FloatArray], VectorDistanceFiller] | None = None
    canonicalize: Callable[[FloatArray], FloatArray] = _return_unchanged
    bound_rounding_error: Callable[[FloatArray, Callable[[], float]], float] | None = None
    step_options: StepOptions | None = None

    @classmethod
    def steps(cls, neighbours: int = 12, reach: int = 5, by: str = "lists") -> "Metric":
        """Return the number of steps from near word to near word; see `deniable.space.steps`.

        Args:
            neighbours: near words that each word is joined to: even, 2 to 64 (all, where there are fewer).
            reach: steps beyond which no two words are, 2 to 8.
            by: what near words are near by: ``cosine`` or ``euclidean`` distance of vectors, or ``lists``: those that
                come with the words, by cosine distance where none do. With the defaults it is the metric that
                ``metric="steps"`` names.

        Raises:
            InputError: a number out of range, or another name.
        """
        options = StepOptions(neighbours, reach, by)
        return cls(options.name, step_options=options)

    @classmethod
    def mahalanobis(cls, covariance: npt.ArrayLike | None = None) -> "Metric":
        """Return d(x, y) = sqrt((x - y)' S^-1 (x - y)).

        Args:
            covariance: S (d, d), public and positive definite, such as the covariance of the vectors mixed with the
                identity (Xu et al. 2020); None for the covariance of the points of the space itself, which is the
                metric that ``metric="mahalanobis"`` names.

        Raises:
            InputError: S is not such a matrix.
        """
        entries: Entries | None = None
        name = "mahalanobis"
        if covariance is not None:
            try:
                matrix = np.array(covariance, dtype=np.float64)
            except (TypeError, ValueError) as error:
                raise InputError(
                    f"The covariance of a Mahalanobis metric must be an array (d, d) of numbers: {error}."
                ) from None
            if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not np.isfinite(matrix).all():  # noqa: PLR2004
                raise InputError(
                    f"The covariance of a Mahalanobis metric must be finite numbers (d, d). Got shape {matrix.shape}."
                )
            factor_matrix(matrix)
            entries = tuple(map(tuple, matrix.tolist()))
            name = f"mahalanobis(covariance={hashlib.blake2b(matrix.tobytes(), digest_size=8).hexdigest()})"
        return cls(name, MahalanobisDistances(entries), MahalanobisCheck(entries), MahalanobisError(entries))

    @property
    def is_builtin(self) -> bool:
        """Whether its name names only it: that of any other metric is known to its user, and names nothing."""
        known = _find_by_name(self.name)
        if type(self.prepare) is MahalanobisDistances and self.prepare.entries is not None:
            known = Metric.mahalanobis(self.prepare.entries)
        return known == self

    def __str__(self) -> str:
        """Return the name."""
        return self.name


MetricChoice = str | Metric | Callable[[FloatArray, FloatArray], FloatArray]
"""A name, a metric, or a function of the user's own."""


def resolve_metric(choice: MetricChoice) -> Metric:
    """Return the metric of that name, or one made of a function f(X (k, d), Y (n, d)) -> (k, n).

    A function of your own must be a true metric: nothing here can prove that it is.

    Raises:
        InputError: unknown name, or cosine distance, which is no metric.
    """
    if isinstance(choice, Metric):
        return choice
    if callable(choice):
        name = "user function " + getattr(choice, "__name__", type(choice).__name__)
        return Metric(name, functools.partial(prepare_user_function, choice, name))
    if choice == "cosine":
        raise InputError(
            "Cosine distance is not a metric: it breaks the triangle inequality, so no guarantee "
            "holds under it. Use metric='angular' (the angle itself)."
        )
    metric = _find_by_name(choice) if isinstance(choice, str) else None
    if metric is None:
        names = ", ".join(METRICS)
        raise InputError(f"The 'metric' parameter must be one of {names}, or a function. Got {choice!r}.")
    return metric


def _find_by_name(name: str) -> Metric | None:
    """Return the metric that a name names; None where it names none."""
    match = re.fullmatch(r"steps\((?:neighbours=(\d+))?(?:, )?(?:reach=(\d+))?(?:, )?(?:by=(\w+))?\)", name)
    if match is None:
        return METRICS.get(name)
    neighbours, reach, by = match.groups()
    try:
        metric = Metric.steps(int(neighbours or 12), int(reach or 5), by or "lists")
    except InputError:
        return None
    return metric if metric.name == name else None


METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric.steps(),
        Metric("euclidean", prepare_euclidean, bound_rounding_error=bound_euclidean_error),
        Metric("manhattan", prepare_manhattan, bound_rounding_error=bound_sum_error),
        Metric("chebyshev", prepare_chebyshev, bound_rounding_error=bound_sum_error),
        Metric("angular", prepare_angular, normalize_directions, bound_angular_error),
        Metric("poincare", prepare_poincare, place_in_ball, bound_poincare_error),
        Metric.mahalanobis(),
    )
}
"""The metrics by name; ``steps(neighbours=8, reach=6)`` names one too, see `Metric.steps`."""
