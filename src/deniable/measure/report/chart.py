"""Small line charts as SVG text, for pages that must be readable without a network or a script.

Colours are left to the page: series number i has the class ``s{i}``, and the page gives each class its colour. They
differ by marker and dash as well, so that no reader depends on colour.
"""

import dataclasses
import math
from collections.abc import Sequence
from html import escape

from deniable.measure.estimate import Estimate
from deniable.measure.report.axes import LETTER, Axis, measured, rounded

_WIDTH, _PLOT, _LEFT, _RIGHT, _BOTTOM, _ROW, _TOP = 400.0, 200.0, 62.0, 22.0, 44.0, 17.0, 12.0
"""User units: width of the picture, height of the plot, its margins, one line of the legend, space above the plot."""
_MARK = 3.6
_DASHES = ("", "6 3", "2 3", "8 3 2 3")


@dataclasses.dataclass(frozen=True)
class Point:
    """One measured place: both coordinates, and what is written beside it."""

    x: Estimate
    y: Estimate
    label: str = ""


@dataclasses.dataclass(frozen=True)
class Series:
    """Points joined in their order, with a name for the legend."""

    name: str
    points: tuple[Point, ...]


@dataclasses.dataclass(frozen=True)
class Chart:
    """What is drawn.

    Attributes:
        title: what the picture shows, in one sentence.
        across: name of the horizontal axis.
        up: name of the vertical axis.
        series: at most four.
        levels: name -> height of a dashed line, such as a blind guess.
        shares: whether the horizontal axis, too, is a share; else it has its ticks where the points are.
        percent: whether heights are written in percent.
    """

    title: str
    across: str
    up: str
    series: tuple[Series, ...]
    levels: tuple[tuple[str, float], ...] = ()
    shares: bool = False
    percent: bool = True

    def written(self, height: float) -> str:
        """Return a height as it is written."""
        return _percent(height) if self.percent else f"{height:g}"


def draw(chart: Chart) -> str:
    """Return the chart as one ``svg`` element with a title and a description that says every number."""
    points = [point for series in chart.series for point in series.points]
    top = _TOP + _ROW * (len(chart.series) + len(chart.levels))
    floor = top + _PLOT
    y = rounded(
        [end for point in points for end in _ends(point.y)] + [height for _, height in chart.levels], floor, top
    )
    if chart.shares:
        x = rounded([end for point in points for end in _ends(point.x)], _LEFT, _WIDTH - _RIGHT)
    else:
        x = measured([point.x.value for point in points], _LEFT + 8, _WIDTH - _RIGHT - 8)
    parts = [*_frame(chart, x, y), *_legend(chart)]
    for number, (_, height) in enumerate(chart.levels):
        parts.append(_path(f"level l{number}", [(x.start, y.at(height)), (x.end, y.at(height))]))
    for number, series in enumerate(chart.series):
        parts += _drawn(number, series, x, y)
    parts += _labels(chart, x, y)
    height = floor + _BOTTOM
    return (
        f'<svg viewBox="0 0 {_WIDTH:g} {height:g}" role="img"><title>{escape(chart.title)}</title>'
        f"<desc>{escape(_said(chart))}</desc>{''.join(parts)}</svg>"
    )


def _ends(estimate: Estimate) -> list[float]:
    return [end for end in (estimate.low, estimate.value, estimate.high) if math.isfinite(end)]


def _frame(chart: Chart, x: Axis, y: Axis) -> list[str]:
    left, right = _LEFT, _WIDTH - _RIGHT
    parts = []
    for value in y.ticks:
        height = y.at(value)
        parts += [
            _path("grid", [(left, height), (right, height)]),
            _text(left - 6, height + 4, chart.written(value), "end"),
        ]
    for value in x.ticks:
        place = x.at(value)
        shown = _percent(value) if chart.shares else f"{value:g}"
        parts += [_path("axis", [(place, y.start), (place, y.start + 4)]), _text(place, y.start + 17, shown, "middle")]
    middle, up = (y.start + y.end) / 2, escape(chart.up)
    return [
        *parts,
        _path("axis", [(left, y.start), (right, y.start)]),
        _text((left + right) / 2, y.start + 36, chart.across, "middle", "name"),
        f'<text class="name" text-anchor="middle" transform="translate(11 {middle:g}) rotate(-90)">{up}</text>',
    ]


def _legend(chart: Chart) -> list[str]:
    parts = []
    names = [*(series.name for series in chart.series), *(name for name, _ in chart.levels)]
    for row, name in enumerate(names):
        height, level = 9 + _ROW * row, row - len(chart.series)
        kind = f"line s{row}" if level < 0 else f"level l{level}"
        parts.append(_path(kind, [(_LEFT, height), (_LEFT + 26, height)], _DASHES[row % 4] if level < 0 else ""))
        if level < 0:
            parts.append(_mark(row, _LEFT + 13, height))
        parts.append(_text(_LEFT + 33, height + 4, name, "start"))
    return parts


def _drawn(number: int, series: Series, x: Axis, y: Axis) -> list[str]:
    """Return a series: its band where only heights are uncertain, else a cross for every point; line and marks."""
    points = series.points
    places = [(x.at(point.x.value), y.at(point.y.value)) for point in points]
    parts = []
    if any(point.x.count for point in points):
        for point, (across, up) in zip(points, places, strict=True):
            parts.append(_path(f"bar s{number}", [(x.at(point.x.low), up), (x.at(point.x.high), up)]))
            parts.append(_path(f"bar s{number}", [(across, y.at(point.y.low)), (across, y.at(point.y.high))]))
    elif any(point.y.count for point in points):
        upper = [(across, y.at(point.y.high)) for point, (across, _) in zip(points, places, strict=True)]
        lower = [(across, y.at(point.y.low)) for point, (across, _) in zip(points, places, strict=True)]
        parts.append(_path(f"band s{number}", [*upper, *reversed(lower)]))
    parts.append(_path(f"line s{number}", places, _DASHES[number % 4]))
    return [*parts, *(_mark(number, *place) for place in places)]


def _labels(chart: Chart, x: Axis, y: Axis) -> list[str]:
    """Return what stands beside points, each where it touches no point and no other label; else it is left out."""
    points = [point for series in chart.series for point in series.points]
    spots = [(x.at(point.x.value), y.at(point.y.value)) for point in points]
    taken = [(across - 5, up - 5, across + 5, up + 5) for across, up in spots]
    parts = []
    for point, (across, up) in zip(points, spots, strict=True):
        width = LETTER * len(point.label)
        for left, base in (
            (across + 8, up - 6),
            (across + 8, up + 14),
            (across - 8 - width, up - 6),
            (across - 8 - width, up + 14),
        ):
            box = (left, base - 11, left + width, base + 2)
            clear = all(box[2] < t[0] or t[2] < box[0] or box[3] < t[1] or t[3] < box[1] for t in taken)
            if point.label and clear and left > _LEFT and left + width < _WIDTH and y.end - 8 < base - 11:
                taken.append(box)
                parts.append(_text(left, base, point.label, "start", "label"))
                break
    return parts


def _mark(number: int, x: float, y: float) -> str:
    """Return the marker of a series: disc, square, diamond or triangle."""
    kind, r = f"mark s{number}", _MARK
    if number % 4 == 0:
        return f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{r}"/>'
    corners = (
        [(x - r, y - r), (x + r, y - r), (x + r, y + r), (x - r, y + r)],
        [(x, y - 1.4 * r), (x + 1.4 * r, y), (x, y + 1.4 * r), (x - 1.4 * r, y)],
        [(x, y - 1.3 * r), (x + 1.2 * r, y + r), (x - 1.2 * r, y + r)],
    )[number % 4 - 1]
    return _path(kind, [*corners, corners[0]])


def _path(kind: str, places: Sequence[tuple[float, float]], dashes: str = "") -> str:
    steps = " ".join(f"{x:.1f} {y:.1f}" for x, y in places)
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<path class="{kind}" d="M{steps}"{dashed}/>'


def _text(x: float, y: float, text: str, anchor: str, kind: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _percent(value: float) -> str:
    return f"{100 * value:g} %"


def _said(chart: Chart) -> str:
    """Return all numbers of the chart as text, for who does not see it."""
    lines = [
        f"{series.name}: "
        + "; ".join(
            f"{chart.across} {_percent(round(p.x.value, 4)) if chart.shares else f'{p.x.value:g}'}"
            f"{f' ({p.label})' if p.label else ''}: {p.y.percent() if chart.percent else p.y}"
            for p in series.points
        )
        for series in chart.series
    ]
    return ". ".join([*lines, *(f"{name}: {chart.written(round(height, 4))}" for name, height in chart.levels)]) + "."
