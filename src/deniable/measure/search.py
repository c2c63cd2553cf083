"""Where a quantity that grows with a parameter crosses a target, with few evaluations of several points each."""

import math
from collections.abc import Callable, Sequence

from scipy.interpolate import BarycentricInterpolator

from deniable.errors import InputError

Values = Callable[[Sequence[float]], Sequence[float]]
"""From parameters to the quantity at each."""

_ROUNDS = 40
_SPREAD = 1.2
"""Ratio of the points that the search begins with."""
_STALLED = 0.6
"""Share of the interval, on the scale of the logarithm, that a round may leave."""


def crossing(
    values: Values, target: float, *, start: float, points: int, close: float, what: str
) -> tuple[float, float]:
    """Return two parameters, ``close`` to each other, of which the second alone exceeds the target.

    Points are evaluated together, since that is cheap for laws of one space. First they fan out around the start
    until the target lies between two; then they close in on where a parabola, of the log of the parameter against
    log-odds, crosses it. Where that hardly helps, as at a jump, the interval is halved instead.

    Args:
        values: a share in [0, 1] that grows with a positive parameter.
        target: in (0, 1).
        start: a parameter to begin with.
        points: evaluated in the first round, an odd number; 1 where several at once save nothing.
        close: largest ratio of the two parameters, > 1.
        what: is searched, for messages.

    Raises:
        InputError: the target is not crossed within 40 doublings.
    """
    tried: dict[float, float] = {}

    def evaluate(parameters: Sequence[float]) -> None:
        tried.update(zip(parameters, values(parameters), strict=True))

    evaluate([start * _SPREAD ** (number - points // 2) for number in range(points)])
    width = math.inf
    for _ in range(_ROUNDS):
        low, high = _bracket(tried, target)
        if low is None or high is None:
            evaluate([_beyond(tried, target, up=high is None)])
        elif high / low <= close:
            return low, high
        else:
            before, width = width, math.log(high / low)
            stalled = width > _STALLED * before
            between = _between(tried, low, high, target, close)
            evaluate([math.sqrt(low * high)] if stalled else between if points > 1 else between[1:3])
    reached = ", ".join(
        f"{value:.3g} at {parameter:.3g}" for parameter, value in sorted(tried.items())[:: max(len(tried) - 1, 1)]
    )
    raise InputError(f"No epsilon of {what} gives {target:g}. Found {reached}: choose another target or mechanism.")


def _bracket(tried: dict[float, float], target: float) -> tuple[float | None, float | None]:
    """Return the largest parameter below which nothing exceeds the target, and the least that exceeds it."""
    above = min((parameter for parameter, value in tried.items() if value > target), default=None)
    below = max((p for p, value in tried.items() if value <= target and (above is None or p < above)), default=None)
    return below, above


def _beyond(tried: dict[float, float], target: float, *, up: bool) -> float:
    """Return a parameter a little beyond where a straight line through the outermost two expects the crossing."""
    edge = max(tried) if up else min(tried)
    outermost = sorted(tried, reverse=up)[:2]
    reach = abs(_inverse(tried, outermost, _log_odds(target)) - math.log(edge)) if len(outermost) > 1 else math.nan
    # Where the line is no help: twice as far; else never less than 5 % nor more than four times.
    step = min(max(1.15 * reach, math.log(1.05)), math.log(4)) if math.isfinite(reach) else math.log(2)
    return edge * math.exp(step if up else -step)


def _between(tried: dict[float, float], low: float, high: float, target: float, close: float) -> list[float]:
    """Return four parameters strictly between, two on each side of where the crossing is expected, near and far.

    It is expected where the parabola through the three nearest points, of log-parameter against log-odds, says;
    how far off that may be is judged by what the straight line through two of them says.
    """
    aim = _log_odds(target)
    near = sorted(tried, key=lambda parameter: abs(_log_odds(tried[parameter]) - aim))[:3]
    ends = [low, high]
    straight, curved = (_inverse(tried, points, aim) for points in (ends, near))
    left, right = math.log(low), math.log(high)
    width = right - left
    if not left < curved < right:
        curved = straight if left < straight < right else (left + right) / 2
    margin = min(max(0.1 * abs(curved - straight), 0.45 * math.log(close)), 0.25 * width)
    at = min(max(curved, left + 1.01 * margin), right - 1.01 * margin)
    far = [max(at - 5 * margin, (left + at - margin) / 2), min(at + 5 * margin, (right + at + margin) / 2)]
    return [math.exp(log) for log in (far[0], at - margin, at + margin, far[1])]


def _inverse(tried: dict[float, float], points: Sequence[float], aim: float) -> float:
    """Return the log-parameter at which the polynomial through some points reaches log-odds; nan where two agree."""
    odds = [_log_odds(tried[point]) for point in points]
    if len(set(odds)) < len(odds):
        return math.nan
    return float(BarycentricInterpolator(odds, [math.log(point) for point in points])(aim))


def _log_odds(share: float) -> float:
    inside = min(max(share, 1e-12), 1 - 1e-12)
    return math.log(inside / (1 - inside))


def rounded(number: float, digits: int, *, up: bool) -> float:
    """Return a positive number rounded to so many significant digits, up or down."""
    step = 10.0 ** (math.floor(math.log10(number)) + 1 - digits)
    whole = math.ceil(number / step - 1e-9) if up else math.floor(number / step + 1e-9)
    return float(f"{whole * step:.{digits}g}")
