"""Small line charts as SVG text, for pages without scripts that need no network.

Colours are left to the page: series number i has the class ``s{i}``. Series differ by marker and dash as well, so that
no reader depends on colour.
"""

import dataclasses
import math
from collections.abc import Sequence
from html import escape

from deniable.core.numbers import format_exact
from deniable.measure.intervals import Estimate

LETTER_WIDTH = 6.4
"""Maximum width of a letter in user units, for the space that a label takes."""
_LOGARITHMIC_RATIO = 25.0
"""An axis of measured values whose ends have this ratio or more is logarithmic."""


@dataclasses.dataclass(frozen=True)
class ChartAxis:
    """One axis.

    Attributes:
        ticks: numbers written beside the axis.
        low: the number at its start.
        high: the number at its end.
        start: position of its start, in user units.
        end: position of its end, in user units.
        is_logarithmic: whether equal ratios are equally far apart.
    """

    ticks: tuple[float, ...]
    low: float
    high: float
    start: float
    end: float
    is_logarithmic: bool = False

    def locate(self, value: float) -> float:
        """Return the position of a number in user units; numbers beyond an end of the axis are drawn there."""
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
    """Return an axis with round ticks that enclose all values."""
    tick_values = compute_ticks(min(values), max(values))
    return ChartAxis(tick_values, tick_values[0], tick_values[-1], start, end)


def build_value_axis(values: Sequence[float], start: float, end: float) -> ChartAxis:
    """Return an axis with ticks at the values, without those whose numbers would overlap."""
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


_WIDTH, _PLOT_HEIGHT, _LEGEND_ROW_HEIGHT = 400.0, 200.0, 17.0
_LEFT_MARGIN, _RIGHT_MARGIN, _BOTTOM_MARGIN, _TOP_MARGIN = 62.0, 22.0, 44.0, 12.0
"""User units: width of the picture, height of the plot and of a row of the legend, margins of the plot."""
_MARKER_RADIUS = 3.6
_DASHES = ("", "6 3", "2 3", "8 3 2 3")


@dataclasses.dataclass(frozen=True)
class ChartPoint:
    """One measured point: both coordinates, and the label written beside it."""

    x: Estimate
    y: Estimate
    label: str = ""


@dataclasses.dataclass(frozen=True)
class ChartSeries:
    """Points joined in their order, with a name for the legend."""

    name: str
    points: tuple[ChartPoint, ...]


@dataclasses.dataclass(frozen=True)
class LineChart:
    """The contents of a chart.

    Attributes:
        title: title of the chart.
        x_label: name of the horizontal axis.
        y_label: name of the vertical axis.
        series: at most four.
        reference_lines: name and height of dashed lines, such as that of a blind guess.
        x_is_share: whether the horizontal axis shows shares too; else its ticks are at the points.
        y_in_percent: whether heights are written in percent.
    """

    title: str
    x_label: str
    y_label: str
    series: tuple[ChartSeries, ...]
    reference_lines: tuple[tuple[str, float], ...] = ()
    x_is_share: bool = False
    y_in_percent: bool = True

    def format_height(self, height: float) -> str:
        """Return a height as text."""
        return _format_share(height) if self.y_in_percent else f"{height:g}"


def draw_chart(chart: LineChart) -> str:
    """Return the chart as one ``svg`` element, with a title and a description that has every number."""
    points = [point for series in chart.series for point in series.points]
    top = _TOP_MARGIN + _LEGEND_ROW_HEIGHT * (len(chart.series) + len(chart.reference_lines))
    floor = top + _PLOT_HEIGHT
    y = build_share_axis(
        [end for point in points for end in _list_finite_ends(point.y)]
        + [height for _, height in chart.reference_lines],
        floor,
        top,
    )
    if chart.x_is_share:
        x = build_share_axis(
            [end for point in points for end in _list_finite_ends(point.x)], _LEFT_MARGIN, _WIDTH - _RIGHT_MARGIN
        )
    else:
        x = build_value_axis([point.x.value for point in points], _LEFT_MARGIN + 8, _WIDTH - _RIGHT_MARGIN - 8)
    parts = [*_draw_frame(chart, x, y), *_draw_legend(chart)]
    for number, (_, height) in enumerate(chart.reference_lines):
        parts.append(_format_path(f"level l{number}", [(x.start, y.locate(height)), (x.end, y.locate(height))]))
    for number, series in enumerate(chart.series):
        parts += _draw_series(number, series, x, y)
    parts += _draw_labels(chart, x, y)
    height = floor + _BOTTOM_MARGIN
    return (
        f'<svg viewBox="0 0 {_WIDTH:g} {height:g}" role="img"><title>{escape(chart.title)}</title>'
        f"<desc>{escape(_describe_chart(chart))}</desc>{''.join(parts)}</svg>"
    )


def _list_finite_ends(estimate: Estimate) -> list[float]:
    return [end for end in (estimate.low, estimate.value, estimate.high) if math.isfinite(end)]


def _draw_frame(chart: LineChart, x: ChartAxis, y: ChartAxis) -> list[str]:
    left, right = _LEFT_MARGIN, _WIDTH - _RIGHT_MARGIN
    parts = []
    for value in y.ticks:
        height = y.locate(value)
        parts += [
            _format_path("grid", [(left, height), (right, height)]),
            _format_text(left - 6, height + 4, chart.format_height(value), "end"),
        ]
    for value in x.ticks:
        x_place = x.locate(value)
        tick_text = _format_share(value) if chart.x_is_share else f"{value:g}"
        parts += [
            _format_path("axis", [(x_place, y.start), (x_place, y.start + 4)]),
            _format_text(x_place, y.start + 17, tick_text, "middle"),
        ]
    turned = f"translate(11 {(y.start + y.end) / 2:g}) rotate(-90)"
    return [
        *parts,
        _format_path("axis", [(left, y.start), (right, y.start)]),
        _format_text((left + right) / 2, y.start + 36, chart.x_label, "middle", "name"),
        f'<text class="name" text-anchor="middle" transform="{turned}">{escape(chart.y_label)}</text>',
    ]


def _draw_legend(chart: LineChart) -> list[str]:
    parts = []
    names = [*(series.name for series in chart.series), *(name for name, _ in chart.reference_lines)]
    for row, name in enumerate(names):
        height, level = 9 + _LEGEND_ROW_HEIGHT * row, row - len(chart.series)
        css_class = f"line s{row}" if level < 0 else f"level l{level}"
        parts.append(
            _format_path(
                css_class, [(_LEFT_MARGIN, height), (_LEFT_MARGIN + 26, height)], _DASHES[row % 4] if level < 0 else ""
            )
        )
        if level < 0:
            parts.append(_draw_marker(row, _LEFT_MARGIN + 13, height))
        parts.append(_format_text(_LEFT_MARGIN + 33, height + 4, name, "start"))
    return parts


def _draw_series(number: int, series: ChartSeries, x: ChartAxis, y: ChartAxis) -> list[str]:
    """Return a series: its band, or a cross for every point where both coordinates have intervals; line and markers."""
    points = series.points
    places = [(x.locate(point.x.value), y.locate(point.y.value)) for point in points]
    parts = []
    if any(point.x.count for point in points):
        for point, (x_place, y_place) in zip(points, places, strict=True):
            parts.append(
                _format_path(f"bar s{number}", [(x.locate(point.x.low), y_place), (x.locate(point.x.high), y_place)])
            )
            parts.append(
                _format_path(f"bar s{number}", [(x_place, y.locate(point.y.low)), (x_place, y.locate(point.y.high))])
            )
    elif any(point.y.count for point in points):
        upper = [(x_place, y.locate(point.y.high)) for point, (x_place, _) in zip(points, places, strict=True)]
        lower = [(x_place, y.locate(point.y.low)) for point, (x_place, _) in zip(points, places, strict=True)]
        parts.append(_format_path(f"band s{number}", [*upper, *reversed(lower)]))
    parts.append(_format_path(f"line s{number}", places, _DASHES[number % 4]))
    return [*parts, *(_draw_marker(number, *place) for place in places)]


def _draw_labels(chart: LineChart, x: ChartAxis, y: ChartAxis) -> list[str]:
    """Return the labels of points; one that would touch a point or another label at each place is left out."""
    points = [point for series in chart.series for point in series.points]
    places = [(x.locate(point.x.value), y.locate(point.y.value)) for point in points]
    taken_boxes = [(x_place - 5, y_place - 5, x_place + 5, y_place + 5) for x_place, y_place in places]
    parts = []
    for point, (x_place, y_place) in zip(points, places, strict=True):
        width = LETTER_WIDTH * len(point.label)
        for left, baseline in (
            (x_place + 8, y_place - 6),
            (x_place + 8, y_place + 14),
            (x_place - 8 - width, y_place - 6),
            (x_place - 8 - width, y_place + 14),
        ):
            box = (left, baseline - 11, left + width, baseline + 2)
            is_clear = all(
                box[2] < taken_box[0] or taken_box[2] < box[0] or box[3] < taken_box[1] or taken_box[3] < box[1]
                for taken_box in taken_boxes
            )
            if point.label and is_clear and left > _LEFT_MARGIN and left + width < _WIDTH and y.end - 8 < baseline - 11:
                taken_boxes.append(box)
                parts.append(_format_text(left, baseline, point.label, "start", "label"))
                break
    return parts


def _draw_marker(number: int, x: float, y: float) -> str:
    """Return the marker of a series: disc, square, diamond or triangle."""
    css_class, radius = f"mark s{number}", _MARKER_RADIUS
    if number % 4 == 0:
        return f'<circle class="{css_class}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>'
    corners = (
        [(x - radius, y - radius), (x + radius, y - radius), (x + radius, y + radius), (x - radius, y + radius)],
        [(x, y - 1.4 * radius), (x + 1.4 * radius, y), (x, y + 1.4 * radius), (x - 1.4 * radius, y)],
        [(x, y - 1.3 * radius), (x + 1.2 * radius, y + radius), (x - 1.2 * radius, y + radius)],
    )[number % 4 - 1]
    return _format_path(css_class, [*corners, corners[0]])


def _format_path(css_class: str, places: Sequence[tuple[float, float]], dashes: str = "") -> str:
    steps = " ".join(f"{x:.1f} {y:.1f}" for x, y in places)
    dash_attribute = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<path class="{css_class}" d="M{steps}"{dash_attribute}/>'


def _format_text(x: float, y: float, text: str, anchor: str, css_class: str = "") -> str:
    class_attribute = f' class="{css_class}"' if css_class else ""
    return f'<text{class_attribute} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _format_share(value: float) -> str:
    return f"{100 * value:g} %"


def _describe_chart(chart: LineChart) -> str:
    """Return all numbers of the chart as text, for readers who cannot see it."""

    def describe_point(point: ChartPoint) -> str:
        x_text = _format_share(round(point.x.value, 4)) if chart.x_is_share else format_exact(point.x.value)
        label = f" ({point.label})" if point.label else ""
        return f"{chart.x_label} {x_text}{label}: {point.y.format_percent() if chart.y_in_percent else point.y}"

    lines = [f"{series.name}: {'; '.join(map(describe_point, series.points))}" for series in chart.series]
    lines += [f"{name}: {chart.format_height(round(height, 4))}" for name, height in chart.reference_lines]
    return f"{'. '.join(lines)}."
