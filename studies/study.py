"""What a study is: a published figure as a declaration, which runner, plotter and page carry out."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from studies.rows import Row, Selection

Outcome = Literal["agrees", "agrees in part", "undecided", "does not agree", "not measured"]
_MAXIMUM_DECIMALS = 7
_SIGNS = {"near": "=", "above": ">", "below": "<"}


@dataclass(frozen=True)
class Metric:
    """How a measured number is shown.

    Attributes:
        title: in tables and on axes.
        spec: of Python's format, such as ``.1%`` or ``.3f``.
    """

    title: str
    spec: str = ".4g"

    @property
    def is_percent(self) -> bool:
        """Whether shares are shown in percent."""
        return self.spec.endswith("%")

    @property
    def scale(self) -> float:
        """What a value is multiplied by on an axis."""
        return 100.0 if self.is_percent else 1.0

    @property
    def heading(self) -> str:
        """The title with its unit."""
        return f"{self.title}, %" if self.is_percent else self.title

    def show_number(self, value: float) -> str:
        """Return a value without its unit; a share never looks like all or nothing unless it is."""
        if math.isinf(value):
            return "infinite"
        if not self.is_percent:
            return f"{value:{self.spec}}"
        decimals = int(self.spec[1:-1])
        shown = f"{100 * value:.{decimals}f}"
        while value not in {0.0, 1.0} and float(shown) in {0.0, 100.0} and decimals < _MAXIMUM_DECIMALS:
            decimals += 1
            shown = f"{100 * value:.{decimals}f}"
        return shown

    def show(self, value: float) -> str:
        """Return a value with its unit."""
        return f"{self.show_number(value)}%" if self.is_percent else self.show_number(value)


@dataclass(frozen=True)
class Expectation:
    """What a statement expects of a row; made by `near`, `above`, `below`, `between` and `infinite`.

    Attributes:
        kind: which.
        target: a number, or the row that this one is compared with; what it does not name is as in this one.
        margin: tolerance of `near`, the upper end of `between`, else by how much a row must be beyond the target.
    """

    kind: Literal["near", "above", "below", "between"]
    target: float | Selection
    margin: float = 0.0

    def judge(self, row: Row, rows: Sequence[Row]) -> Outcome:
        """Return whether a row's whole interval is as expected, or is not, or lies across the border.

        With a tolerance, `near`, the number decides, and is undecided where it misses but the intervals touch.
        """
        target = self._find_target(row, rows)
        if target is None:
            return "not measured"
        (low, high), (least, greatest) = row.interval, target.interval
        match self.kind:
            case "near":
                is_as_expected = row.value == target.value or abs(row.value - target.value) <= self.margin
                is_possible = low - self.margin <= greatest and least <= high + self.margin
            case "above":
                is_as_expected, is_possible = low > greatest + self.margin, high > least + self.margin
            case "below":
                is_as_expected, is_possible = high < least - self.margin, low < greatest - self.margin
            case "between":
                is_as_expected, is_possible = least <= low and high <= self.margin, low <= self.margin and least <= high
        return "agrees" if is_as_expected else "undecided" if is_possible else "does not agree"

    def _find_target(self, row: Row, rows: Sequence[Row]) -> Row | None:
        if not isinstance(self.target, Selection):
            return Row("", None, row.metric, self.target)
        wanted = self.target.beside(row)
        # A curve without places, such as the original text, stands for all of them.
        everywhere = (row for row in Selection(wanted.curve, None, wanted.metric).select(rows) if row.x is None)
        return next(iter(wanted.select(rows)), None) or next(everywhere, None)

    def describe(self, metrics: Mapping[str, Metric], row: Row, rows: Sequence[Row]) -> str:
        """Return the expectation of a row as a number, with its tolerance."""
        target = self._find_target(row, rows)
        if target is None:
            return ""
        metric = metrics[row.metric]
        if math.isinf(target.value):
            return "infinite"
        if self.kind == "between":
            return f"{metric.show_number(target.value)} to {metric.show(self.margin)}"
        if self.kind == "near":
            return metric.show(target.value) + (f" ± {metric.show_number(self.margin)}" if self.margin else "")
        return f"{_SIGNS[self.kind]} {metric.show(target.value)}"

    def describe_all(self, metrics: Mapping[str, Metric], curves: Mapping[str, str], row: Row) -> str:
        """Return the expectation of many rows, of which this is one."""
        if not isinstance(self.target, Selection):
            return self.describe(metrics, row, ())
        metric, curve = self.target.metric, self.target.curve
        other = metrics[metric].title if metric else curves.get(curve, curve) if isinstance(curve, str) else "others"
        return f"{_SIGNS[self.kind]} {other}"


def near(target: float | Selection, tolerance: float = 0.0) -> Expectation:
    """Expect a number within a tolerance of another."""
    return Expectation("near", target, tolerance)


def above(target: float | Selection, by: float = 0.0) -> Expectation:
    """Expect a number above another, with its whole interval."""
    return Expectation("above", target, by)


def below(target: float | Selection, by: float = 0.0) -> Expectation:
    """Expect a number below another, with its whole interval."""
    return Expectation("below", target, by)


def between(low: float, high: float) -> Expectation:
    """Expect a number between two others, with its whole interval."""
    return Expectation("between", low, high)


def infinite() -> Expectation:
    """Expect an infinite number."""
    return Expectation("near", math.inf)


@dataclass(frozen=True)
class Statement:
    """One statement of a paper, and the rows that it must be true of.

    Attributes:
        text: the statement, with its place.
        selection: rows that it speaks of.
        expectation: what they must be like.
        also: further rows and expectations; the statement agrees where all of them do.
        is_universal: whether it claims something of every case, as a theorem, a guarantee or "only" does, so that one
            row against it is enough.
    """

    text: str
    selection: Selection
    expectation: Expectation
    also: tuple[tuple[Selection, Expectation], ...] = ()
    is_universal: bool = False

    @property
    def checks(self) -> tuple[tuple[Selection, Expectation], ...]:
        """All rows with their expectations."""
        return ((self.selection, self.expectation), *self.also)

    def judge_rows(self, rows: Sequence[Row]) -> list[Outcome]:
        """Return the outcome of each row that the statement speaks of and that was measured."""
        outcomes = (
            expectation.judge(row, rows) for selection, expectation in self.checks for row in selection.select(rows)
        )
        return [outcome for outcome in outcomes if outcome != "not measured"]

    def judge(self, rows: Sequence[Row]) -> Outcome:
        """Return the outcome over all rows that the statement speaks of."""
        return combine_outcomes(self.judge_rows(rows), is_universal=self.is_universal)


def combine_outcomes(outcomes: Collection[Outcome], *, is_universal: bool = False) -> Outcome:
    """Return one outcome for many.

    They agree where all do. A universal statement falls with one that does not agree. Any other agrees in part where
    at least one agrees, so that "in part" never stands beside a count of none. Where none agrees it does not, unless
    all that were measured are undecided.
    """
    seen = set(outcomes)
    if not seen:
        return "not measured"
    if seen == {"agrees"}:
        return "agrees"
    if "agrees" in seen and not is_universal:
        return "agrees in part"
    return "does not agree" if "does not agree" in seen else "undecided"


@dataclass(frozen=True)
class Axis:
    """One axis of a panel.

    Attributes:
        label: with the unit.
        log: base of its logarithm; None for a linear axis.
        limits: ends; what lies beyond them, also what is infinite, is drawn at the end.
        ticks: places, with other words than their number where these are given.
    """

    label: str = ""
    log: int | None = None
    limits: tuple[float, float] | None = None
    ticks: tuple[float | tuple[float, str], ...] = ()


@dataclass(frozen=True)
class Line:
    """The rows of one curve in a panel.

    Attributes:
        curve: whose rows.
        metric: on the y-axis.
        style: of matplotlib: line and marker, such as ``-o``, ``--s`` or ``^``; ``bar`` for bars.
        colour: number of a colour; that of the curve in the study's order where it is None.
        label: in the legend; the curve's title where it is None, nothing where it is empty.
        x: metric on the x-axis, in place of the row's own place; or a number, where rows have no place.
        only: metric and value that the rows beside must have, such as ``("refuted", 1)``.
        is_hollow: whether markers are white inside.
        alpha: opacity.
        width: of the line.
        shift: factor on x, so that markers of several curves stand beside each other.
    """

    curve: str
    metric: str
    style: str = "-o"
    colour: int | None = None
    label: str | None = None
    x: str | float | None = None
    only: tuple[str, float] | None = None
    is_hollow: bool = False
    alpha: float = 1.0
    width: float = 1.5
    shift: float = 1.0


@dataclass(frozen=True)
class Reference:
    """A straight line across a panel.

    Attributes:
        place: a number, or the row whose value it is; its interval is shaded.
        axis: ``y`` for a level, ``x`` for a place.
        label: in the legend.
        style: of the line.
        colour: number of a colour; grey where it is None.
    """

    place: float | Selection
    axis: Literal["x", "y"] = "y"
    label: str = ""
    style: str = ":"
    colour: int | None = None


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    Attributes:
        title: above it.
        lines: what is drawn.
        x: the lower axis.
        y: the left axis.
        references: straight lines.
        images: titles of the rows of images in the study's picture, which is shown in place of lines.
    """

    title: str
    lines: tuple[Line, ...] = ()
    x: Axis = Axis()
    y: Axis = Axis()
    references: tuple[Reference, ...] = ()
    images: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """Numbers on the page: one row for each place of each curve, one column for each metric.

    Attributes:
        title: above it.
        columns: metrics; ``accuracy|low`` and ``accuracy|high`` are the ends of an interval.
        curves: in this order; all of the study where it is None.
        x: heading of the places; where it is empty, one row for each curve.
        across: whether the places are the columns, of the only metric.
    """

    title: str
    columns: tuple[str, ...]
    curves: tuple[str, ...] | None = None
    x: str = ""
    across: bool = False


@dataclass(frozen=True)
class Grid:
    """What a run measures.

    Attributes:
        cells: what is measured at a time, each a tuple of texts and numbers; order is that of the rows.
        sizes: how much of everything, a frozen dataclass; `Context.sizes` has it.
    """

    cells: tuple[tuple[Any, ...], ...]
    sizes: Any = None


@dataclass(frozen=True)
class Study:
    """A published figure that can be run again.

    Attributes:
        name: on the command line; file names have an underscore for each hyphen.
        title: of the page.
        citation: authors, year and title of the paper, and the figure.
        question: one or two sentences.
        picture: what the figure shows, for those who do not see it.
        full: the whole grid.
        quick: a small one, for a few minutes.
        measure: from the `Context` of the run and the parts of a cell to rows.
        derive: from all measured rows to rows that follow from them.
        paint: from the context of the run to a picture (h, w) of grey levels, kept beside the rows as NAME.png.
        curves: title of each curve, in the order of legends and tables.
        metrics: how each metric is shown.
        panels: of the figure.
        statements: of the paper, judged by what the paper says.
        questions: statements whose bar is this study's own, since no paper gives one.
        tables: of the page, besides that of statements.
        keys: entries of the legend for styles that several curves share, such as ``Line("", "", "--", label="...")``.
        published: numbers of the paper, for panels and statements.
        files: data sets, by file name.
        packages: modules that must be installed besides the package's own dependencies.
        is_parallel: whether cells run beside each other; otherwise each of them uses all cores.
        is_small: whether its networks are so small that more than one thread is slower; a quick grid has one anyway.
        columns: panels side by side.
    """

    name: str
    title: str
    citation: str
    question: str
    picture: str
    full: Grid
    quick: Grid
    measure: Callable[..., Iterable[Row]]
    curves: Mapping[str, str]
    metrics: Mapping[str, Metric]
    panels: tuple[Panel, ...]
    statements: tuple[Statement, ...] = ()
    questions: tuple[Statement, ...] = ()
    tables: tuple[Table, ...] = ()
    derive: Callable[[Sequence[Row]], Iterable[Row]] | None = None
    paint: Callable[..., npt.NDArray[np.uint8]] | None = None
    keys: tuple[Line, ...] = ()
    published: tuple[Row, ...] = ()
    files: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    is_parallel: bool = False
    is_small: bool = False
    columns: int = 2

    @property
    def everything_judged(self) -> tuple[Statement, ...]:
        """Statements and questions."""
        return (*self.statements, *self.questions)

    @property
    def stem(self) -> str:
        """Name of the study's files."""
        return self.name.replace("-", "_")


def find_reference(rows: Sequence[Row], place: float | Selection) -> Row | None:
    """Return where a reference line stands, None where it was not measured."""
    if not isinstance(place, Selection):
        return Row("", None, "", place)
    return next(iter(place.select(rows)), None)
