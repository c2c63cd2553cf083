"""Axes of charts: which numbers have ticks, and where numbers are drawn."""

import dataclasses
import math
from collections.abc import Sequence

LETTER = 6.4
"""Width of a letter in user units, at most: what labels are kept apart by."""
_SPREAD = 25.0
"""Ratio of the ends from which on an axis of measured places is logarithmic."""


@dataclasses.dataclass(frozen=True)
class Axis:
    """One axis.

    Attributes:
        ticks: numbers that are written beside it.
        low: the number at its start.
        high: the number at its end.
        start: where it starts, in user units.
        end: where it ends.
        logarithmic: whether equal ratios are equally far apart.
    """

    ticks: tuple[float, ...]
    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def at(self, value: float) -> float:
        """Return where a number is drawn; what lies beyond the axis, at its end."""
        held = min(max(value, self.low), self.high)
        low, high = self.low, self.high
        if self.logarithmic:
            held, low, high = math.log(held), math.log(low), math.log(high)
        return self.start + (held - low) / (high - low) * (self.end - self.start)


def ticks(low: float, high: float, most: int = 6) -> tuple[float, ...]:
    """Return round numbers at equal steps that enclose an interval, about ``most`` of them.

    Args:
        low: lower end.
        high: upper end; may be the lower one.
        most: at least 2.
    """
    if high - low < 1e-9:  # noqa: PLR2004 - nothing to see below
        low, high = low - 0.005, high + 0.005
    least = (high - low) / (most - 1)
    power = 10.0 ** math.floor(math.log10(least))
    step = next(round(size * power, 12) for size in (1, 2, 5, 10) if size * power >= least * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return tuple(round(place * step, 12) for place in range(first, last + 1))


def rounded(values: Sequence[float], start: float, end: float) -> Axis:
    """Return an axis of shares with round ticks around all values."""
    marks = ticks(min(values), max(values))
    return Axis(marks, marks[0], marks[-1], start, end)


def measured(values: Sequence[float], start: float, end: float) -> Axis:
    """Return an axis with ticks at the values, those left out whose numbers would touch."""
    low, high = min(values), max(values)
    logarithmic = high / low >= _SPREAD
    if low == high:
        low, high = low / 2, high * 1.5
    whole = Axis((), low, high, start, end, logarithmic)
    kept: list[float] = []
    for value in sorted(set(values)):
        width = LETTER * len(f"{value:g}") + 8
        if not kept or whole.at(value) - whole.at(kept[-1]) >= width:
            kept.append(value)
    return dataclasses.replace(whole, ticks=tuple(kept))
