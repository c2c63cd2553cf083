"""Samplers that push uniform numbers through a function: whether it inverts a distribution function, and of which law.

The proof that F^-1(U) has the distribution function F needs that F^-1 is defined on the whole interval of U, and
monotone there. DPText's is neither: -sgn(u) ln(1 - 2 |u|) on (0, 1) in place of (-1/2, 1/2) (Habernal 2022, Theorem
3.1). Points of the interval are looked at, so that a fault is a fact, and its absence is one of these points.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np
from scipy import stats

from deniable.auditing.calls import guard_function, read_array
from deniable.auditing.outputs import abbreviate
from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError, check_count, check_number_within, check_positive, make_parameter_error
from deniable.core.numbers import format_exact

SampledLaw = Literal["laplace", "normal"]
_DISTRIBUTIONS = {"laplace": stats.laplace, "normal": stats.norm}
_OWNER = "audit_inverse_sampler"
_ROUNDING = 1e-12
"""Share of the largest value by which rounding may turn the order of two values around."""
_MAX_BOUND = 1e150


@dataclasses.dataclass(frozen=True, kw_only=True)
class InverseSamplerOptions:
    """What a sampler draws its uniform numbers from, and what law is claimed of its values.

    Attributes:
        lower: of the interval.
        upper: of the interval, > lower.
        law: ``laplace`` or ``normal``, around 0; None for no claim.
        scale: of the law, > 0.
        points: number of points of the interval that are looked at, the middles of as many equal parts.
    """

    lower: float = 0.0
    upper: float = 1.0
    law: SampledLaw | None = None
    scale: float = 1.0
    points: int = 10_000

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        for name in ("lower", "upper"):
            check_number_within(_OWNER, name, getattr(self, name), -_MAX_BOUND, _MAX_BOUND)
        if not self.upper > self.lower:
            raise make_parameter_error(_OWNER, "upper", f"a float above lower = {self.lower!r}", self.upper)
        if self.law is not None and self.law not in get_args(SampledLaw):
            raise make_parameter_error(_OWNER, "law", f"one of {', '.join(get_args(SampledLaw))}", self.law)
        check_positive(_OWNER, "scale", self.scale)
        check_count(_OWNER, "points", self.points, minimum=100, maximum=10_000_000)


@dataclasses.dataclass(frozen=True)
class InverseSamplerAudit:
    """What a function makes of the uniform numbers of an interval.

    Attributes:
        options: the interval and the claim.
        undefined_count: points without a finite real value.
        undefined_example: one of them, and what came in place of a value; None where there is none.
        order: of the values.
        turn: two neighbouring points whose values go the other way than most; None where there are none.
        smallest: value.
        median: of the values.
        largest: value.
        negative_share: of the values.
        law_distance: the largest difference between the distribution function of the values, points without one drawn
            again, and that of the law; None where none is claimed.
    """

    options: InverseSamplerOptions
    undefined_count: int
    undefined_example: tuple[float, str] | None
    order: Literal["increasing", "decreasing", "constant", "neither"]
    turn: tuple[float, float] | None
    smallest: float
    median: float
    largest: float
    negative_share: float
    law_distance: float | None

    @property
    def status(self) -> Literal["refuted", "not refuted"]:
        """Refuted where a point has no value, the order turns, or the law is a different one."""
        is_inverse = not self.undefined_count and self.order in {"increasing", "decreasing"}
        is_law = self.law_distance is None or self.law_distance <= 1 / self.options.points
        return "not refuted" if is_inverse and is_law else "refuted"

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        return {"status": self.status, **dataclasses.asdict(self)}

    def __str__(self) -> str:
        """Return it in a few lines."""
        how = self.options
        where = f"({format_exact(how.lower)}, {format_exact(how.upper)})"
        claim = "" if how.law is None else f" of the {how.law} law of scale {how.scale:g}"
        lines = [f"{self.status}: the inverse of a distribution function{claim} on {where}"]
        domain = f"all {how.points:,} points have a value"
        if self.undefined_example is not None:
            place, shown = self.undefined_example
            domain = f"{self.undefined_count:,} of {how.points:,} points have no value: at {place:.6g} it is {shown}"
        turn = "" if self.turn is None else f": it turns between {self.turn[0]:.6g} and {self.turn[1]:.6g}"
        lines += [f"domain   {domain}", f"order    {self.order}{turn}"]
        lines.append(
            f"values   {self.smallest:.6g} to {self.largest:.6g}, median {self.median:.6g}, "
            f"{self.negative_share:.1%} below 0"
        )
        if self.law_distance is not None:
            lines.append(f"law      distribution functions differ by up to {self.law_distance:.4g}")
        return "\n".join(lines)


def audit_inverse_sampler(
    function: Callable[[Any], Any],
    *,
    batched: bool = False,
    **options: Any,  # noqa: ANN401 - the fields of `InverseSamplerOptions`
) -> InverseSamplerAudit:
    """Feed a function the uniform numbers of a sampler, and say whether it is the inverse of a distribution function.

    Args:
        function: from a uniform number to a value.
        batched: whether it takes an array (k,), and returns (k,).
        **options: the fields of `InverseSamplerOptions`.

    Raises:
        InputError: a parameter out of its domain; or a function that raises, prints, returns no numbers, gives no value
            at all, or other ones when it is called again.
        TypeError: an unknown option.
    """
    how = InverseSamplerOptions(**options)
    if not callable(function):
        raise make_parameter_error(_OWNER, "function", "a function of a uniform number", function)
    shares = (np.arange(how.points) + 0.5) / how.points
    places = how.lower + shares * (how.upper - how.lower)
    values, again = (_evaluate(function, places, is_batched=batched) for _ in range(2))
    if not np.array_equal(values, again, equal_nan=True):
        raise InputError("The function must give the same value for a number again: feed it the uniform numbers only.")
    is_defined = np.isfinite(values) & (np.imag(values) == 0)
    if not is_defined.any():
        raise InputError(
            f"The function has no finite value on ({format_exact(how.lower)}, {format_exact(how.upper)}): check the "
            "interval of its numbers."
        )
    missing = np.flatnonzero(~is_defined)
    example = (float(places[missing[0]]), f"{values[missing[0]]:.6g}") if len(missing) else None
    real, defined_places = np.real(values[is_defined]).astype(np.float64), places[is_defined]
    order, turn = _find_order(defined_places, real)
    return InverseSamplerAudit(
        options=how,
        undefined_count=len(missing),
        undefined_example=example,
        order=order,
        turn=turn,
        smallest=float(real.min()),
        median=float(np.median(real)),
        largest=float(real.max()),
        negative_share=float((real < 0).mean()),
        law_distance=None if how.law is None else _measure_law_distance(real, how),
    )


def _evaluate(function: Callable[[Any], Any], places: FloatArray, *, is_batched: bool) -> Any:  # noqa: ANN401 - real or complex
    """Return the values (k,), NaN where a single call raises an arithmetic error, as `math.log` of 0 does."""

    @guard_function
    def call(place: Any) -> Any:  # noqa: ANN401 - a number or an array
        try:
            with np.errstate(all="ignore"):
                return function(place)
        except (ArithmeticError, ValueError) as error:
            if is_batched or isinstance(error, InputError):  # such as that of a time limit
                raise
            return math.nan

    outputs = call(places) if is_batched else [call(float(place)) for place in places]
    values = read_array(outputs)
    if values.dtype.kind not in "iufc" or values.shape != places.shape:
        wanted = "an array (k,) of numbers for (k,)" if is_batched else "a number for a number"
        raise InputError(f"The function must return {wanted}. Got {abbreviate(outputs)}: fix it.")
    return values


def _find_order(
    places: FloatArray, values: FloatArray
) -> tuple[Literal["increasing", "decreasing", "constant", "neither"], tuple[float, float] | None]:
    """Return the order of values at growing places, and two neighbours of the rarer direction where there are both."""
    gaps, rounding = np.diff(values), _ROUNDING * float(np.abs(values).max())
    rises, falls = np.flatnonzero(gaps > rounding), np.flatnonzero(gaps < -rounding)
    if not len(rises) or not len(falls):
        return ("increasing" if len(rises) else "decreasing" if len(falls) else "constant"), None
    first = (falls if len(falls) <= len(rises) else rises)[0]
    return "neither", (float(places[first]), float(places[first + 1]))


def _measure_law_distance(values: FloatArray, how: InverseSamplerOptions) -> float:
    """Return the largest distance between the law's distribution function and that of equally likely values.

    A correct sampler's value of the middle of a part is the law's quantile there: no difference but for rounding.
    """
    middles = (np.arange(len(values)) + 0.5) / len(values)
    expected = _DISTRIBUTIONS[how.law or "laplace"].cdf(np.sort(values) / how.scale)
    return float(np.abs(expected - middles).max())
