"""Colours and marks that the figures share."""

from typing import Any

COLOURS = ("#2166ac", "#4d4d4d", "#b35806", "#762a83")
MARKERS = ("o", "s", "D", "v")
GREY = "#8c8c8c"


def blank(rows: int, columns: int, width: float, height: float, **options: Any) -> tuple[Any, Any]:  # noqa: ANN401 - matplotlib's
    """Return a figure outside matplotlib's global state, and its axes (rows, columns)."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - an extra, and slow to import

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def over_dimensions(axes: Any, dimensions: list[int]) -> None:  # noqa: ANN401 - matplotlib's
    """Give an axis of dimensions its logarithm to base 2 and plain labels."""
    axes.set_xscale("log", base=2)
    axes.set_xticks(dimensions, [str(n) for n in dimensions])
    axes.minorticks_off()
    axes.grid(alpha=0.25)
