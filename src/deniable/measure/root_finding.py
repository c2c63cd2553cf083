"""Where an increasing quantity crosses a target, found with few rounds of evaluations at several points each."""

import math
from collections.abc import Callable, Sequence

from deniable.core.errors import InputError
from deniable.core.numbers import format_exact
from deniable.core.parallel import expect_passes

Quantity = Callable[[Sequence[float]], Sequence[float]]
"""Function from parameters to the quantity at each of them."""

_MAX_ROUNDS = 40
_USUAL_ROUNDS, _PASSES_PER_ROUND = 4, 2
"""What a search usually takes, for the report of its progress alone."""
_USUAL_NARROWING = 5.0
"""Factor by which a round usually narrows the interval, on a logarithmic scale."""
_INITIAL_RATIO = 1.2
"""Ratio of neighbouring points in the first round."""
_STALLED_SHARE = 0.6
"""A round that leaves more than this share of the interval, on a logarithmic scale, is followed by a bisection."""


def find_crossing(
    quantity: Quantity, target: float, *, start: float, initial_points: int, max_ratio: float, name: str
) -> tuple[float, float]:
    """Return two parameters, at most ``max_ratio`` apart, such that only the quantity at the second exceeds the target.

    Points are evaluated together, since that is cheap for laws of one space. First they spread around the start
    until the target lies between two; then they close in on where a parabola, of the log of the parameter against
    log-odds, crosses it. Where that makes little progress, as at a jump, the interval is halved instead.

    Args:
        quantity: a share in [0, 1] that increases with a positive parameter.
        target: in (0, 1).
        start: the parameter to begin with.
        initial_points: number of points of the first round, odd; 1 where several at once save nothing.
        max_ratio: maximum ratio of the two parameters, > 1.
        name: name of the mechanism, for messages.

    Raises:
        InputError: the target is not crossed within 40 doublings.
    """
    evaluated: dict[float, float] = {}

    def evaluate(parameters: Sequence[float]) -> None:
        with expect_passes(_PASSES_PER_ROUND * _guess_rounds_left(evaluated, target, max_ratio)):
            evaluated.update(zip(parameters, quantity(parameters), strict=True))

    evaluate([start * _INITIAL_RATIO ** (number - initial_points // 2) for number in range(initial_points)])
    width = math.inf
    for _ in range(_MAX_ROUNDS):
        low, high = _find_bracket(evaluated, target)
        if low is None or high is None:
            evaluate([_extrapolate_crossing(evaluated, target, upward=high is None)])
        elif high / low <= max_ratio:
            return low, high
        else:
            previous_width, width = width, math.log(high / low)
            is_stalled = width > _STALLED_SHARE * previous_width
            candidates = _interpolate_crossing(evaluated, low, high, target, max_ratio)
            evaluate([math.sqrt(low * high)] if is_stalled else candidates if initial_points > 1 else candidates[1:3])
    summary = ", ".join(
        f"{value:.3g} at {parameter:.3g}"
        for parameter, value in sorted(evaluated.items())[:: max(len(evaluated) - 1, 1)]
    )
    raise InputError(
        f"No epsilon of {name} gives {format_exact(target)}. Found {summary}: choose another target or mechanism."
    )


def _guess_rounds_left(evaluated: dict[float, float], target: float, max_ratio: float) -> int:
    """Return about how many rounds will follow the next one, for the report of progress alone."""
    low, high = _find_bracket(evaluated, target)
    if not evaluated:
        return _USUAL_ROUNDS - 1
    if low is None or high is None:
        return _USUAL_ROUNDS - 2
    narrowing = math.log(high / low) / math.log(max_ratio)
    return max(0, math.ceil(math.log(max(narrowing, 1.0), _USUAL_NARROWING)) - 1)


def _find_bracket(evaluated: dict[float, float], target: float) -> tuple[float | None, float | None]:
    """Return the largest parameter below the crossing and the smallest above it, None where there is none."""
    above = min((parameter for parameter, value in evaluated.items() if value > target), default=None)
    below = max((p for p, value in evaluated.items() if value <= target and (above is None or p < above)), default=None)
    return below, above


def _extrapolate_crossing(evaluated: dict[float, float], target: float, *, upward: bool) -> float:
    """Return a parameter a little beyond the crossing of a straight line through the two outermost points."""
    edge = max(evaluated) if upward else min(evaluated)
    outermost = sorted(evaluated, reverse=upward)[:2]
    reach = (
        abs(_interpolate_inverse(evaluated, outermost, _compute_log_odds(target)) - math.log(edge))
        if len(outermost) > 1
        else math.nan
    )
    # By 5 % to a factor of 4; by a factor of 2 where the line crosses nowhere.
    step = min(max(1.15 * reach, math.log(1.05)), math.log(4)) if math.isfinite(reach) else math.log(2)
    return edge * math.exp(step if upward else -step)


def _interpolate_crossing(
    evaluated: dict[float, float], low: float, high: float, target: float, max_ratio: float
) -> list[float]:
    """Return four parameters inside the interval, two on each side of the expected crossing, near and far.

    The crossing is expected where the parabola through the three nearest points, of log-parameter against log-odds,
    has it; its difference from that of a straight line through the ends measures how far off that may be.
    """
    target_log_odds = _compute_log_odds(target)
    nearest = sorted(evaluated, key=lambda parameter: abs(_compute_log_odds(evaluated[parameter]) - target_log_odds))[
        :3
    ]
    ends = [low, high]
    linear_estimate, parabolic_estimate = (
        _interpolate_inverse(evaluated, points, target_log_odds) for points in (ends, nearest)
    )
    left, right = math.log(low), math.log(high)
    width = right - left
    if not left < parabolic_estimate < right:
        parabolic_estimate = linear_estimate if left < linear_estimate < right else (left + right) / 2
    margin = min(max(0.1 * abs(parabolic_estimate - linear_estimate), 0.45 * math.log(max_ratio)), 0.25 * width)
    center = min(max(parabolic_estimate, left + 1.01 * margin), right - 1.01 * margin)
    outer_points = [
        max(center - 5 * margin, (left + center - margin) / 2),
        min(center + 5 * margin, (right + center + margin) / 2),
    ]
    return [math.exp(log) for log in (outer_points[0], center - margin, center + margin, outer_points[1])]


def _interpolate_inverse(evaluated: dict[float, float], points: Sequence[float], log_odds: float) -> float:
    """Return the log-parameter at which the polynomial through some points has given log-odds; nan where two agree."""
    odds = [_compute_log_odds(evaluated[point]) for point in points]
    if len(set(odds)) < len(odds):
        return math.nan
    # Lagrange's formula
    return sum(
        math.log(point) * math.prod((log_odds - other) / (own - other) for other in odds if other != own)
        for point, own in zip(points, odds, strict=True)
    )


def _compute_log_odds(share: float) -> float:
    clipped_share = min(max(share, 1e-12), 1 - 1e-12)
    return math.log(clipped_share / (1 - clipped_share))
