"""The figure: what the released vectors serve for and give away, and what the claims are worth."""

import math
from typing import Any

from deniable.studies.representation.plan import FIXED, NOISY, PUBLISHED, SILENT, ZEROED
from deniable.studies.study import Data
from deniable.studies.style import COLOURS, GREY, blank

_LOOKS = {
    PUBLISHED: (COLOURS[2], "D"),
    ZEROED: (COLOURS[3], "v"),
    FIXED: (COLOURS[0], "o"),
    SILENT: ("black", "*"),
}
_TOP = 3.0
"""Factor by which infinite bounds stand above the largest number of their panel."""
_ZERO = 1e-2
"""Where bounds of 0 stand."""


def draw(data: Data) -> Any:  # noqa: ANN401 - matplotlib's figure
    """Return six panels: city against task, task against epsilon, and the loss; with the adversary above."""
    figure, grid = blank(2, 3, 15.5, 10.4, sharex="col", sharey="col")
    for row, adversary in zip(grid, (True, False), strict=True):
        points = [point for point in data["points"] if point["adversary"] == adversary]
        _trade(row[0], data, points)
        _task(row[1], data, points)
        _loss(row[2], points)
        word = "encoder trained against the city" if adversary else "encoder not trained against the city"
        row[0].set_title(word, loc="left", fontsize=11)
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=10)
    return figure


def _of(points: list[Data], way: str) -> list[Data]:
    return [point for point in points if point["way"] == way]


def _trade(axes: Any, data: Data, points: list[Data]) -> None:  # noqa: ANN401 - matplotlib's
    """Draw the accuracy of whoever wants the city against that of whoever wants the intent."""
    for way, (colour, marker) in _LOOKS.items():
        held = _of(points, way)
        at, up = [p["task"]["value"] for p in held], [_worst(p)["value"] for p in held]
        axes.plot(at, up, marker=marker, color=colour, linewidth=0.8, markersize=11 if way == SILENT else 6, label=way)
        axes.vlines(at, [_worst(p)["low"] for p in held], [_worst(p)["high"] for p in held], color=colour, alpha=0.5)
        axes.hlines(up, [p["task"]["low"] for p in held], [p["task"]["high"] for p in held], color=colour, alpha=0.5)
        listed = [p["city, texts listed"]["value"] for p in held]
        axes.plot(at, listed, marker, color=colour, markerfacecolor="white", markersize=11 if way == SILENT else 6)
        for point, x, y in zip(held, at, up, strict=True):
            if point["epsilon"] is not None:
                axes.annotate(f"{point['epsilon']:g}", (x, y), xytext=(4, 4), textcoords="offset points", fontsize=7.5,
                              color=colour)  # fmt: skip
    majority = data["facts"]["majority"]
    axes.axhline(majority["city"], color=GREY, linestyle=":", label="most frequent class")
    axes.axvline(majority["task"], color=GREY, linestyle=":")
    axes.set_xlabel("intent named by a classifier of somebody else")
    axes.set_ylabel("departure city named (hollow: texts listed)")
    axes.grid(alpha=0.25)


def _worst(point: Data) -> Data:
    """Return what the better of the two attackers names."""
    found: Data = max(point["city"], point["city, law known"], key=lambda one: one["value"])
    return found


def _task(axes: Any, data: Data, points: list[Data]) -> None:  # noqa: ANN401 - matplotlib's
    """Draw the accuracy of the task against the claimed epsilon."""
    for way in NOISY:
        held, (colour, marker) = _of(points, way), _LOOKS[way]
        at = [p["spent"] for p in held]
        axes.plot(at, [p["task"]["value"] for p in held], marker=marker, color=colour, linewidth=1.2)
        low, high = [p["task"]["low"] for p in held], [p["task"]["high"] for p in held]
        axes.vlines(at, low, high, color=colour, alpha=0.5)
    for point in _of(points, SILENT):
        axes.axhline(point["task"]["value"], color="black", linewidth=1.0)
    axes.axhline(data["facts"]["majority"]["task"], color=GREY, linestyle=":")
    axes.axvline(data["sizes"]["dimensions"], color=GREY, linewidth=0.8, linestyle=(0, (6, 4)))
    axes.set_xscale("log")
    axes.set_xlabel("claimed epsilon, learned or fixed (dashed: the dimension)")
    axes.set_ylabel("intent named by a classifier of somebody else")
    axes.grid(alpha=0.25)


def _loss(axes: Any, points: list[Data]) -> None:  # noqa: ANN401 - matplotlib's
    """Draw lower bounds on the loss against the claim: filled from texts found, hollow from audits of two texts."""
    noisy = [p for p in points if p["way"] in NOISY]
    bounds = [bound for p in noisy for bound in (p["found, least"], p["audit"]["least"]) if math.isfinite(bound)]
    roof = _TOP * max([1.0, *bounds, *(p["spent"] for p in noisy)])
    for way in NOISY:
        held, (colour, marker) = _of(points, way), _LOOKS[way]
        at = [p["spent"] for p in held]
        for name, fill in (("found", colour), ("audit", "white")):
            found = [p["found, least"] if name == "found" else p["audit"]["least"] for p in held]
            axes.plot(at, [min(max(bound, _ZERO), roof) for bound in found], marker, color=colour, markerfacecolor=fill)
    ends = [min((p["spent"] for p in noisy), default=1.0), max((p["spent"] for p in noisy), default=1.0)]
    axes.plot(ends, ends, color=GREY, linewidth=1.0, linestyle=(0, (6, 4)))
    axes.text(0.02, 0.95, "above the line the claim is refuted", transform=axes.transAxes, fontsize=9, color=GREY)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_yticks([_ZERO, 0.1, 1, 10, 100], ["0", "0.1", "1", "10", "100"])
    axes.set_xlabel("claimed epsilon, learned or fixed")
    axes.set_ylabel("lower bound on it (filled: texts found, hollow: audit)")
    axes.grid(alpha=0.25)
