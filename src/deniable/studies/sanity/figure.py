"""The figure: one panel for each mechanism, loss against dimension."""

import math
from typing import Any

from deniable.studies.sanity.subjects import SUBJECTS
from deniable.studies.study import Data
from deniable.studies.style import COLOURS, GREY, MARKERS, blank, over_dimensions

_FLOOR, _ZERO, _TOP, _ROOF = 2e-3, 3e-3, 4e3, 8e3
"""Range of the axis, and where losses of 0 and infinite ones stand."""
_COLUMNS = 3


def draw(data: Data) -> Any:  # noqa: ANN401 - matplotlib's figure
    """Return the panels: marks for the published estimate, lines for truth and limit, triangles for our bound."""
    titles = list(dict.fromkeys(subject.title for subject in SUBJECTS))
    figure, grid = blank(2, _COLUMNS, 13, 8.2, sharey=True)
    for axes, title in zip(grid.flat, titles, strict=True):
        for subject in SUBJECTS:
            if subject.title == title:
                _panel(axes, data, subject.name, control=subject.control)
        axes.set_title(title, loc="left", fontsize=10.5)
        over_dimensions(axes, data["dimensions"])
        axes.set_yscale("log")
        axes.set_ylim(_FLOOR, _ROOF)
        ticks = [0.01, 0.1, 1, 10, 100, 1000]
        axes.set_yticks([_ZERO, *ticks, _TOP], ["0", *(f"{tick:,}" for tick in ticks), "\u2191 infinite"])
    for axes in grid[-1]:
        axes.set_xlabel("dimension n")
    for axes in grid[:, 0]:
        axes.set_ylabel("privacy loss")
    _legend(figure, data)
    return figure


def _panel(axes: Any, data: Data, name: str, *, control: bool) -> None:  # noqa: ANN401 - matplotlib's
    """Draw one mechanism."""
    epsilons = [None] if control else data["epsilons"]
    shift = 1.0 + 0.07 * (len(epsilons) - 1)
    for number, epsilon in enumerate(epsilons):
        points = [p for p in data["points"] if p["mechanism"] == name and (control or p["epsilon"] == epsilon)]
        colour = GREY if name == "random" else "black" if control else COLOURS[number]
        # Points of several epsilons stand beside each other, so that infinite ones do not cover each other.
        at = [p["n"] * shift * 0.86 ** (len(epsilons) - 1 - number) for p in points]
        truth = [_height(p["truth"]) for p in points]
        if not control:
            axes.axhline(epsilon, color=colour, linewidth=0.6, linestyle=(0, (6, 4)), alpha=0.6, zorder=0)
        endless = math.isinf(points[0]["truth"])
        axes.plot([p["n"] for p in points], truth, color="black" if endless else colour, linewidth=1.8, zorder=1)
        drawn = [p for p in points if not math.isinf(p["its limit"]) and p["its limit"] > 0]
        axes.plot([p["n"] for p in drawn], [p["its limit"] for p in drawn], color=colour, linewidth=0.8, linestyle=":")
        marker = MARKERS[number]
        axes.plot(at, [_height(p["published estimate"]) for p in points], marker, markerfacecolor="white",
                  markeredgecolor=colour, markersize=5.5, clip_on=False)  # fmt: skip
        for status, faint in (("refuted", 1.0), ("not refuted", 0.35)):
            bounds = [(x, _height(p["lower bound"])) for x, p in zip(at, points, strict=True) if p["audit"] == status]
            axes.plot(*zip(*bounds, strict=True) if bounds else ([], []), "^", color=colour, alpha=faint, markersize=5)
    if control:
        word = "copy" if name == "copy" else "random"
        height = _TOP if name == "copy" else _ZERO
        axes.annotate(word, (1, height), xytext=(0, -16 if name == "copy" else 22), textcoords="offset points",
                      fontsize=9, color=colour)  # fmt: skip


def _height(loss: float) -> float:
    """Return where a loss stands: infinite ones at the top, none at the bottom."""
    return _TOP if math.isinf(loss) else max(loss, _ZERO)


def _legend(figure: Any, data: Data) -> None:  # noqa: ANN401 - matplotlib's
    """Say once for all panels what stands for what."""
    from matplotlib.lines import Line2D  # noqa: PLC0415 - an extra

    entries = [
        Line2D([], [], color=colour, marker=marker, markerfacecolor="none", linewidth=1.8, label=f"epsilon {epsilon:g}")
        for colour, marker, epsilon in zip(COLOURS, MARKERS, data["epsilons"], strict=False)
    ]
    entries += [
        Line2D([], [], color=GREY, linewidth=1.8, label="the truth"),
        Line2D([], [], color=GREY, linewidth=0.6, linestyle=(0, (6, 4)), label="claimed"),
        Line2D([], [], color=GREY, marker="o", markerfacecolor="none", linestyle="", label="published estimate"),
        Line2D([], [], color=GREY, linewidth=0.8, linestyle=":", label="its limit, infinitely many repeats"),
        Line2D([], [], color=GREY, marker="^", linestyle="", label="our lower bound, 95 %: refutes the claim"),
        Line2D([], [], color=GREY, marker="^", linestyle="", alpha=0.35, label="our lower bound: does not"),
    ]
    figure.legend(handles=entries, loc="outside lower center", ncols=5, frameon=False, fontsize=9.5)
