"""Metrics on the points of a space, by name or of the user's own.

A guarantee is only as good as its metric: d must be symmetric, zero only between equal vectors, and
obey the triangle inequality. Cosine "distance" breaks the last and is refused; its angle is fine.
"""

import dataclasses
import functools
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError, check_count
from deniable.space.blocks import Distances, VectorDistances
from deniable.space.geodesic import DEFAULT_NEIGHBOURS, MAX_NEIGHBOURS, GeodesicDistances
from deniable.space.vector_distances import (
    EuclideanPanels,
    bound_angular_error,
    bound_euclidean_error,
    bound_sum_error,
    normalize_directions,
    prepare_angular,
    prepare_scipy,
    prepare_user_function,
)


def _return_unchanged(vectors: FloatArray) -> FloatArray:
    return vectors


@dataclasses.dataclass(frozen=True)
class Metric:
    """A metric by name, with the function that computes it.

    Attributes:
        name: what guarantees and certificates call it.
        measure: called once with all points (n, d); returns their `deniable.space.blocks.Distances`.
        canonicalize: maps vectors (n, d) to points (n, d), equal where the distance is zero.
        bound_rounding_error: from the points (n, d) and a function that returns the diameter, a bound on what
            rounding can change in a distance; None for a function that the user vouches for.
        min_points: least number of points that a space under it may have.
    """

    name: str
    measure: Callable[[FloatArray], Distances]
    canonicalize: Callable[[FloatArray], FloatArray] = _return_unchanged
    bound_rounding_error: Callable[[FloatArray, Callable[[], float]], float] | None = None
    min_points: int = 2

    @classmethod
    def geodesic(cls, neighbours: int = DEFAULT_NEIGHBOURS) -> "Metric":
        """Return the lengths of shortest paths in the graph of nearest neighbours; see `GeodesicDistances`.

        Args:
            neighbours: how many nearest points each point is joined to. With the default it is the metric that
                ``metric="geodesic"`` names.

        Raises:
            InputError: no integer from 1 to 1,000.
        """
        return _find_geodesic(check_count("Metric.geodesic", "neighbours", neighbours, maximum=MAX_NEIGHBOURS))

    @property
    def is_builtin(self) -> bool:
        """Whether its name names it alone: that of any other metric is known to its user, and names nothing."""
        return _find_by_name(self.name) is self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a metric that its name names as the name, any other with its functions."""
        if self.is_builtin:
            return resolve_metric, (self.name,)
        return Metric, tuple(getattr(self, field.name) for field in dataclasses.fields(self))

    def __str__(self) -> str:
        """Return the name."""
        return self.name


def resolve_metric(choice: "str | Metric | Callable[[FloatArray, FloatArray], FloatArray]") -> Metric:
    """Return the metric of that name, or one made of a function f(X (k, d), Y (n, d)) -> (k, n).

    A function of your own must be a true metric: nothing here can prove that it is.

    Raises:
        InputError: unknown name, or cosine distance, which is no metric.
    """
    if isinstance(choice, Metric):
        return choice
    if callable(choice):
        name = "user function " + getattr(choice, "__name__", type(choice).__name__)
        return Metric(name, functools.partial(VectorDistances, functools.partial(prepare_user_function, choice, name)))
    if choice == "cosine":
        raise InputError(
            "Cosine distance is no metric: it breaks the triangle inequality, so no guarantee "
            "holds under it. Use metric='angular' (the angle itself)."
        )
    metric = _find_by_name(choice) if isinstance(choice, str) else None
    if metric is None:
        names = ", ".join(METRICS)
        raise InputError(f"The 'metric' parameter must be one of {names}, or a function. Got {choice!r}.")
    return metric


def _find_by_name(name: str) -> Metric | None:
    """Return the metric that a name names; None where it names none."""
    match = re.fullmatch(r"([1-9][0-9]{0,3})-neighbour geodesic", name)
    if match and int(match[1]) <= MAX_NEIGHBOURS:
        metric = _find_geodesic(int(match[1]))
        return metric if metric.name == name else None
    return METRICS.get(name)


def _find_geodesic(neighbours: int) -> Metric:
    """Return the one geodesic metric of that many neighbours."""
    # Of two threads both get what the first has put there.
    return _GEODESIC_METRICS.setdefault(neighbours, _make_geodesic(neighbours))


def _make_geodesic(neighbours: int) -> Metric:
    name = "geodesic" if neighbours == DEFAULT_NEIGHBOURS else f"{neighbours}-neighbour geodesic"
    return Metric(
        name,
        functools.partial(GeodesicDistances, neighbours),
        bound_rounding_error=_bound_no_error,
        min_points=neighbours + 1,
    )


def _bound_no_error(points: FloatArray, diameter: Callable[[], float]) -> float:
    """Return 0: the distances are exact."""
    del points, diameter
    return 0.0


_GEODESIC_METRICS: dict[int, Metric] = {}

# It takes no entries: what is not listed here has no fingerprint, and shares neither noise nor cached facts.
METRICS: Mapping[str, Metric] = MappingProxyType(
    {
        "euclidean": Metric(
            "euclidean",
            functools.partial(VectorDistances, EuclideanPanels.of),
            bound_rounding_error=bound_euclidean_error,
        ),
        "manhattan": Metric(
            "manhattan",
            functools.partial(VectorDistances, functools.partial(prepare_scipy, "cityblock")),
            bound_rounding_error=bound_sum_error,
        ),
        "chebyshev": Metric(
            "chebyshev",
            functools.partial(VectorDistances, functools.partial(prepare_scipy, "chebyshev")),
            bound_rounding_error=bound_sum_error,
        ),
        "angular": Metric(
            "angular",
            functools.partial(VectorDistances, prepare_angular),
            normalize_directions,
            bound_angular_error,
        ),
        "geodesic": _find_geodesic(DEFAULT_NEIGHBOURS),
    }
)
"""The metrics by name; ``20-neighbour geodesic`` names one too, and so does any other number."""
