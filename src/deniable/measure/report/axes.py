"""Axes of charts: which numbers have ticks, and where numbers are drawn."""

import dataclasses
import math
from collections.abc import Sequence

LETTER_WIDTH = 6.4
"""Width of a letter in user units, at most: what labels are kept apart by."""
_LOGARITHMIC_RATIO = 25.0
"""Ratio of the ends from which on an axis of measured places is logarithmic."""


@dataclasses.dataclass(frozen=True)
class ChartAxis:
    """One axis.

    Attributes:
        ticks: numbers that are written beside it.
        low: the number at its start.
        high: the number at its end.
        start: where it starts, in user units.
        end: where it ends.
        is_logarithmic: whether equal ratios are equally far apart.
    """

    ticks: tuple[float, ...]
    low: float
    high: float
    start: float
    end: float
    is_logarithmic: bool = False

    def locate(self, value: float) -> float:
        """Return where a number is drawn; what lies beyond the axis, at its end."""
        clipped = min(max(value, self.low), self.high)
        low, high = self.low, self.high
        if self.is_logarithmic:
            clipped, low, high = math.log(clipped), math.log(low), math.log(high)
        return self.start + (clipped - low) / (high - low) * (self.end - self.start)


def compute_ticks(low: float, high: float, max_ticks: int = 6) -> tuple[float, ...]:
    """Return round numbers at equal steps that enclose an interval, about ``max_ticks`` of them.

    Args:
        low: lower end.
        high: upper end; may be the lower one.
        max_ticks: at least 2.
    """
    if high - low < 1e-9:  # noqa: PLR2004 - nothing to see below
        low, high = low - 0.005, high + 0.005
    min_step = (high - low) / (max_ticks - 1)
    power = 10.0 ** math.floor(math.log10(min_step))
    step = next(round(size * power, 12) for size in (1, 2, 5, 10) if size * power >= min_step * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return tuple(round(place * step, 12) for place in range(first, last + 1))


def build_share_axis(values: Sequence[float], start: float, end: float) -> ChartAxis:
    """Return an axis of shares with round ticks around all values."""
    tick_values = compute_ticks(min(values), max(values))
    return ChartAxis(tick_values, tick_values[0], tick_values[-1], start, end)


def build_value_axis(values: Sequence[float], start: float, end: float) -> ChartAxis:
    """Return an axis with ticks at the values, those left out whose numbers would touch."""
    low, high = min(values), max(values)
    is_logarithmic = high / low >= _LOGARITHMIC_RATIO
    if low == high:
        low, high = low / 2, high * 1.5
    axis = ChartAxis((), low, high, start, end, is_logarithmic)
    shown_values: list[float] = []
    for value in sorted(set(values)):
        width = LETTER_WIDTH * len(f"{value:g}") + 8
        if not shown_values or axis.locate(value) - axis.locate(shown_values[-1]) >= width:
            shown_values.append(value)
    return dataclasses.replace(axis, ticks=tuple(shown_values))
