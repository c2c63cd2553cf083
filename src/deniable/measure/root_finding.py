"""Where an increasing share crosses a target, found with few evaluations."""

import math
from collections.abc import Callable, Mapping, Sequence

from deniable.core.errors import InputError
from deniable.core.numbers import format_exact
from deniable.core.parallel import expect_passes

_MAX_ROUNDS = 40
_USUAL_ROUNDS, _PASSES_PER_ROUND = 4, 2
"""What a search usually takes, for the report of its progress alone."""
_STALLED_SHARE = 0.6
"""A round that leaves more than this share of the interval, on a logarithmic scale, is followed by a bisection."""


def find_crossing(
    evaluate: Callable[[float], float], target: float, *, start: float, max_ratio: float, name: str
) -> tuple[float, float]:
    """Return two parameters, at most ``max_ratio`` apart, such that only the share at the second exceeds the target.

    From the start on parameters are tried until the target lies between two; then two at a time close in on where a
    parabola, of the log of the parameter against log-odds, crosses it. Where that makes little progress, as at a jump,
    the interval is halved instead.

    Args:
        evaluate: a share in [0, 1] that increases with a positive parameter.
        target: in (0, 1).
        start: the parameter to begin with.
        max_ratio: maximum ratio of the two parameters, > 1.
        name: name of the mechanism, for messages.

    Raises:
        InputError: the target is not crossed within 40 rounds.
    """
    shares: dict[float, float] = {}
    parameters, width = [start], math.inf
    for number in range(_MAX_ROUNDS + 1):
        with expect_passes(_PASSES_PER_ROUND * max(_USUAL_ROUNDS - number, 0)):
            shares.update((parameter, evaluate(parameter)) for parameter in parameters)
        high = min((parameter for parameter, share in shares.items() if share > target), default=math.inf)
        low = max((p for p, share in shares.items() if share <= target and p < high), default=0.0)
        if low == 0 or high == math.inf:
            parameters = [_extrapolate_crossing(shares, target, upward=high == math.inf)]
        elif high / low <= max_ratio:
            return low, high
        else:
            previous_width, width = width, math.log(high / low)
            is_stalled = width > _STALLED_SHARE * previous_width
            parameters = (
                [math.sqrt(low * high)] if is_stalled else _enclose_crossing(shares, low, high, target, max_ratio)
            )
    ends = sorted(shares.items())[:: max(len(shares) - 1, 1)]
    summary = ", ".join(f"{share:.3g} at {parameter:.3g}" for parameter, share in ends)
    raise InputError(
        f"No epsilon of {name} gives {format_exact(target)}. Found {summary}: choose another target or mechanism."
    )


def _extrapolate_crossing(shares: Mapping[float, float], target: float, *, upward: bool) -> float:
    """Return a parameter a little beyond the crossing of a straight line through the two outermost points."""
    outermost = sorted(shares, reverse=upward)[:2]
    edge = math.log(outermost[0])
    reach = abs(_interpolate_inverse(shares, outermost, target) - edge) if len(outermost) > 1 else math.nan
    # By 5% to a factor of 4; by a factor of 2 where the line crosses nowhere.
    step = min(max(1.15 * reach, math.log(1.05)), math.log(4)) if math.isfinite(reach) else math.log(2)
    return outermost[0] * math.exp(step if upward else -step)


def _enclose_crossing(
    shares: Mapping[float, float], low: float, high: float, target: float, max_ratio: float
) -> list[float]:
    """Return two parameters inside the interval, one on each side of the expected crossing.

    The crossing is expected where the parabola through the three nearest points, of log-parameter against log-odds,
    has it; its difference from that of a straight line through the ends measures how far off that may be.
    """
    odds = _compute_log_odds(target)
    nearest = sorted(shares, key=lambda parameter: abs(_compute_log_odds(shares[parameter]) - odds))[:3]
    linear, parabolic = (_interpolate_inverse(shares, points, target) for points in ([low, high], nearest))
    left, right = math.log(low), math.log(high)
    if not left < parabolic < right:
        parabolic = linear if left < linear < right else (left + right) / 2
    margin = min(max(0.1 * abs(parabolic - linear), 0.45 * math.log(max_ratio)), 0.25 * (right - left))
    center = min(max(parabolic, left + 1.01 * margin), right - 1.01 * margin)
    return [math.exp(center - margin), math.exp(center + margin)]


def _interpolate_inverse(shares: Mapping[float, float], points: Sequence[float], target: float) -> float:
    """Return the log-parameter at which the polynomial through some points has the target; nan where two agree."""
    target_odds, odds = _compute_log_odds(target), [_compute_log_odds(shares[point]) for point in points]
    if len(set(odds)) < len(odds):
        return math.nan
    # Lagrange's formula
    return sum(
        math.log(point) * math.prod((target_odds - other) / (own - other) for other in odds if other != own)
        for point, own in zip(points, odds, strict=True)
    )


def _compute_log_odds(share: float) -> float:
    clipped_share = min(max(share, 1e-12), 1 - 1e-12)
    return math.log(clipped_share / (1 - clipped_share))
