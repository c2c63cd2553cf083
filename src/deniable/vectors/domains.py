"""The sets that inputs are clipped to, and how far apart two points of one can lie."""

import abc
import dataclasses
import math
from typing import Literal

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.core.errors import check_count, check_number_within, make_parameter_error

MAX_DIMENSION = 1 << 24
"""Coordinates of one vector, at most: the rounding bounds of this room are stated for so many."""
_MIN_SIZE, _MAX_SIZE = 1e-150, 1e150
"""Sizes between which sums of squares, quotients and grid steps neither overflow nor lose digits."""


def check_dimension(dimension: object) -> int:
    """Return the number of coordinates if it can be served, else raise `InputError`."""
    return check_count("a vector", "coordinates", dimension, maximum=MAX_DIMENSION)


class Domain(abc.ABC):
    """A bounded set of vectors in R^n, for any n."""

    @property
    @abc.abstractmethod
    def max_coordinate(self) -> float:
        """Largest absolute value that a coordinate can have."""

    @abc.abstractmethod
    def clip(self, x: FloatArray) -> FloatArray:
        """Return (k, n): the rows of ``x`` (k, n), finite float64, each brought into the domain."""

    @abc.abstractmethod
    def sensitivity(self, order: Literal[1, 2], dimension: int) -> float:
        """Return the largest l1 (order 1) or l2 (order 2) distance of two points with so many coordinates.

        Raises:
            InputError: the dimension cannot be served.
        """

    @abc.abstractmethod
    def worst_pair(self, order: Literal[1, 2], dimension: int) -> tuple[FloatArray, FloatArray]:
        """Return two points (n,) that lie as far apart as `sensitivity` says, up to rounding."""


@dataclasses.dataclass(frozen=True)
class Box(Domain):
    """All vectors whose coordinates lie between two bounds.

    Attributes:
        lower: smallest value of a coordinate.
        upper: largest value of a coordinate, > lower.

    Raises:
        InputError: a bound is not finite, or they are not in order.
    """

    lower: float
    upper: float

    def __post_init__(self) -> None:
        for name in ("lower", "upper"):
            object.__setattr__(self, name, check_number_within("Box", name, getattr(self, name), -_MAX_SIZE, _MAX_SIZE))
        if not self.upper - self.lower >= _MIN_SIZE:
            raise make_parameter_error("Box", "upper", f"a float above lower = {self.lower!r}", self.upper)

    @property
    def max_coordinate(self) -> float:
        """The larger of the two bounds in absolute value."""
        return max(abs(self.lower), abs(self.upper))

    def clip(self, x: FloatArray) -> FloatArray:
        """Return (k, n): every coordinate clipped by itself. Exact."""
        return np.clip(x, self.lower, self.upper)

    def sensitivity(self, order: Literal[1, 2], dimension: int) -> float:
        """Return n (u - l) in l1, sqrt(n) (u - l) in l2.

        Each of the n coordinates differs by at most u - l, and all can at once: opposite corners.
        """
        n = check_dimension(dimension)
        return (n if order == 1 else math.sqrt(n)) * (self.upper - self.lower)

    def worst_pair(self, order: Literal[1, 2], dimension: int) -> tuple[FloatArray, FloatArray]:  # noqa: ARG002
        """Return the corners (l, ..., l) and (u, ..., u)."""
        n = check_dimension(dimension)
        return np.full(n, self.lower), np.full(n, self.upper)


@dataclasses.dataclass(frozen=True)
class _Ball(Domain):
    """All vectors of norm at most ``radius``; clipped by x min(1, radius / norm(x))."""

    radius: float

    def __post_init__(self) -> None:
        radius = check_number_within(type(self).__name__, "radius", self.radius, _MIN_SIZE, _MAX_SIZE)
        object.__setattr__(self, "radius", radius)

    @property
    def max_coordinate(self) -> float:
        """The radius."""
        return self.radius

    @abc.abstractmethod
    def _norms(self, x: FloatArray) -> FloatArray:
        """Return (k, 1) norms of rows whose largest absolute value is 1 or 0."""

    def clip(self, x: FloatArray) -> FloatArray:
        """Return (k, n): rows scaled to the ball, ``x min(1, radius / norm(x))``, directions kept.

        The true norm of what comes back never exceeds the radius, and clipping twice changes nothing:
        a computed norm of n terms errs by a factor of at most 1 +- r, r = (n + 8) 2^-53, so rows are
        left alone up to radius (1 - 2 r) and longer ones scaled to radius (1 - 4 r). A row that long is
        thus shortened by up to a factor 1 - 4 r: 5e-13 of it at n = 1,000.
        """
        slack = (x.shape[1] + 8) * 2.0**-53
        # Divided by their largest value first, no row's norm overflows or vanishes.
        largest = np.abs(x).max(axis=1, keepdims=True)
        units = x / np.where(largest > 0, largest, 1.0)
        norms = self._norms(units)
        with np.errstate(over="ignore"):  # a norm beyond float64 is beyond the radius too
            is_outside = norms * largest > self.radius * (1 - 2 * slack)
        units *= self.radius * (1 - 4 * slack) / np.where(norms > 0, norms, 1.0)
        return np.where(is_outside, units, x)


@dataclasses.dataclass(frozen=True)
class L1Ball(_Ball):
    """All vectors whose absolute values sum to at most ``radius`` (the first remedy of Habernal 2021).

    Attributes:
        radius: C, > 0.
    """

    def _norms(self, x: FloatArray) -> FloatArray:
        norms: FloatArray = np.abs(x).sum(axis=1, keepdims=True)
        return norms

    def sensitivity(self, order: Literal[1, 2], dimension: int) -> float:  # noqa: ARG002
        """Return 2 C in l1 and in l2.

        By the triangle inequality no two points are farther apart than two radii, in l1 and therefore
        in l2; C e_1 and -C e_1 are.
        """
        check_dimension(dimension)
        return 2 * self.radius

    def worst_pair(self, order: Literal[1, 2], dimension: int) -> tuple[FloatArray, FloatArray]:  # noqa: ARG002
        """Return C e_1 and -C e_1."""
        return _make_axis_ends(self.radius, dimension)


@dataclasses.dataclass(frozen=True)
class L2Ball(_Ball):
    """All vectors of Euclidean norm at most ``radius``, to which ADePT clips (Krishna et al. 2021).

    Attributes:
        radius: C, > 0.
    """

    def _norms(self, x: FloatArray) -> FloatArray:
        norms: FloatArray = np.sqrt(np.square(x).sum(axis=1, keepdims=True))
        return norms

    def sensitivity(self, order: Literal[1, 2], dimension: int) -> float:
        """Return 2 C sqrt(n) in l1 (Habernal 2021, Theorem 5.1), 2 C in l2.

        l2: two radii, by the triangle inequality. l1: ||x - x'||_1 <= sqrt(n) ||x - x'||_2 by Cauchy and
        Schwarz, with equality at opposite corners of the cube inscribed in the sphere.
        """
        n = check_dimension(dimension)
        return 2 * self.radius * (math.sqrt(n) if order == 1 else 1.0)

    def worst_pair(self, order: Literal[1, 2], dimension: int) -> tuple[FloatArray, FloatArray]:
        """Return opposite corners, +-C / sqrt(n) in every coordinate, for l1; C e_1 and -C e_1 for l2."""
        if order != 1:
            return _make_axis_ends(self.radius, dimension)
        n = check_dimension(dimension)
        corner = np.full(n, self.radius / math.sqrt(n))
        return corner, -corner


def _make_axis_ends(radius: float, dimension: int) -> tuple[FloatArray, FloatArray]:
    """Return the two ends of the first axis of a ball."""
    end = np.zeros(check_dimension(dimension))
    end[0] = radius
    return end, -end
