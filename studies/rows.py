"""Rows: the numbers of a study, one measured value each, and the small file that they are kept in."""

import csv
import io
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.core.errors import InputError
from deniable.measure.intervals import Estimate, estimate_mean

_DIGITS = 8
"""Significant digits of a number in the file."""


@dataclass(frozen=True)
class Row:
    """One measured value.

    Attributes:
        curve: what it belongs to, such as a mechanism or a model.
        x: its place on the curve, such as epsilon; None for a curve that has only one.
        metric: what was measured.
        value: the number; statuses are counted as 0 or 1.
        low: lower end of the 95% interval; None for a number that is exact.
        high: upper end.
        n: independent observations behind it; 0 for a number that is exact.
    """

    curve: str
    x: float | None
    metric: str
    value: float
    low: float | None = None
    high: float | None = None
    n: int = 0

    @property
    def interval(self) -> tuple[float, float]:
        """Both ends; the value itself where it is exact."""
        return (self.value if self.low is None else self.low, self.value if self.high is None else self.high)

    @property
    def where(self) -> str:
        """Curve and place in words."""
        return self.curve if self.x is None else f"{self.curve} at {self.x:g}"


COLUMNS = tuple(each.name for each in fields(Row))


def row_of(curve: str, x: float | None, metric: str, estimate: Estimate) -> Row:
    """Return an estimate as a row."""
    if not estimate.count:
        return Row(curve, x, metric, estimate.value)
    return Row(curve, x, metric, estimate.value, estimate.low, estimate.high, estimate.count)


def row_of_mean(curve: str, x: float | None, metric: str, shares: Sequence[float]) -> Row:
    """Return the mean of shares over independent trials, with Student's interval."""
    return row_of(curve, x, metric, estimate_mean(shares, bounds=(0.0, 1.0)))


def rows_of(curve: str, x: float | None, **values: float) -> list[Row]:
    """Return exact numbers as rows; a metric's underscores stand for spaces."""
    return [Row(curve, x, name.replace("_", " "), float(value)) for name, value in values.items()]


@dataclass(frozen=True)
class Selection:
    """Rows by curve, place and metric, None for all of them; and what they are called where there are many."""

    curve: str | tuple[str, ...] | None = None
    x: float | tuple[float, ...] | None = None
    metric: str | None = None
    label: str = ""

    def select(self, rows: Iterable[Row]) -> list[Row]:
        """Return the rows that are meant, in their order."""
        curves = (self.curve,) if isinstance(self.curve, str) else self.curve
        places = self.x if isinstance(self.x, tuple) or self.x is None else (self.x,)
        return [
            row
            for row in rows
            if (curves is None or row.curve in curves)
            and (self.metric is None or row.metric == self.metric)
            and (places is None or any(is_same_place(row.x, place) for place in places))
        ]

    def beside(self, row: Row) -> "Selection":
        """Return the selection of the one row that another is compared with: what is not named is as in that row."""
        return Selection(self.curve or row.curve, row.x if self.x is None else self.x, self.metric or row.metric)


def at(
    curve: str | tuple[str, ...] | None = None,
    x: float | tuple[float, ...] | None = None,
    metric: str | None = None,
    label: str = "",
) -> Selection:
    """Return the selection of rows by curve, place and metric; what is left out selects all."""
    return Selection(curve, x, metric, label)


def is_same_place(x: float | None, other: float | None) -> bool:
    """Say whether two places on an axis are one, up to rounding in a file."""
    if x is None or other is None:
        return x is other
    return math.isclose(x, other, rel_tol=1e-6)


def find_row(rows: Iterable[Row], curve: str, x: float | None, metric: str) -> Row | None:
    """Return the row at a place, None where nothing was measured there."""
    return next((r for r in rows if (r.curve, r.metric) == (curve, metric) and is_same_place(r.x, x)), None)


@dataclass(frozen=True)
class Results:
    """What a run measured.

    Attributes:
        rows: the numbers, in the order of the study's cells.
        facts: of the run: version, seed, machine, seconds, sizes, data sets.
        picture: (h, w) grey levels of a study that shows images; None of others.
    """

    rows: tuple[Row, ...]
    facts: dict[str, Any] = field(default_factory=dict)
    picture: npt.NDArray[np.uint8] | None = None


def format_rows(rows: Iterable[Row]) -> str:
    """Return rows as CSV.

    Raises:
        ValueError: two rows have one curve, place and metric.
    """
    seen = set()
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        key = (row.curve, row.x, row.metric)
        if key in seen:
            raise ValueError(f"Two rows say {row.metric!r} of {row.where!r}.")
        seen.add(key)
        writer.writerow([f"{cell:.{_DIGITS}g}" if isinstance(cell, float) else cell for cell in astuple(row)])
    return stream.getvalue()


def read_results(folder: Path, stem: str) -> Results:
    """Return the rows and facts of a finished run.

    Raises:
        InputError: the files are missing or damaged.
    """
    table, facts, picture = (folder / f"{stem}{ending}" for ending in (".csv", ".json", ".png"))
    try:
        with table.open(encoding="utf-8", newline="") as stream:
            head, *lines = csv.reader(stream)
        if tuple(head) != COLUMNS:
            raise InputError(f"{str(table)!r} must have the columns {', '.join(COLUMNS)}. Got {', '.join(head)}.")
        known = dict(json.loads(facts.read_text(encoding="utf-8")))
        return Results(tuple(map(_parse_row, lines)), known, read_picture(picture) if picture.is_file() else None)
    except OSError as error:
        raise InputError(f"Cannot read {error.filename!r}: {error.strerror}. Run the study first.") from None
    except (ValueError, TypeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"The results {str(table)!r} are damaged: {error}. Run the study again.") from None


def read_picture(path: Path) -> npt.NDArray[np.uint8]:
    """Return the grey levels (h, w) of a picture."""
    from PIL import Image

    with Image.open(path) as image:
        return np.asarray(image.convert("L"))


def format_picture(picture: npt.NDArray[np.uint8]) -> bytes:
    """Return grey levels (h, w) as PNG."""
    from PIL import Image

    stream = io.BytesIO()
    Image.fromarray(picture).save(stream, "PNG", optimize=True)
    return stream.getvalue()


def _parse_row(cells: list[str]) -> Row:
    curve, x, metric, value, low, high, n = cells
    place, least, greatest = (float(cell) if cell else None for cell in (x, low, high))
    return Row(curve, place, metric, float(value), least, greatest, int(n))
