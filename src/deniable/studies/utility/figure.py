"""The figure: Figure 1 of the paper above, and the same models against what is proved and what is guessed below."""

from typing import Any

from deniable.studies.study import Data
from deniable.studies.style import COLOURS, GREY, MARKERS, blank

LABELS = {"multivariate-laplace": "multivariate Laplace (Madlib)", "tem": "TEM", "auto": "auto (calibrated)"}
_LOOKS = {"multivariate-laplace": 2, "tem": 1, "auto": 0}


def draw(data: Data) -> Any:  # noqa: ANN401 - matplotlib's figure
    """Return four panels: accuracy and AUC against epsilon, accuracy against proven epsilon and attacker."""
    figure, grid = blank(2, 2, 11, 8.4)
    (left, right), (below, corner) = grid
    baseline = next(p for p in data["points"] if p["epsilon"] is None)
    for axes in (left, below, corner):
        _line(axes, baseline["accuracy"], "original text")
        axes.axhline(0.5, color=GREY, linewidth=0.8, linestyle=":")
        axes.set_ylabel("accuracy on original reviews")
        axes.set_ylim(0.45, 0.92)
    _line(right, baseline["AUC"], "original text")
    right.axhline(0.5, color=GREY, linewidth=0.8, linestyle=":")
    right.set_ylabel("AUC of the shadow-model attack")
    for name, look in _LOOKS.items():
        points = [p for p in data["points"] if p["mechanism"] == name]
        claimed = [p["epsilon"] for p in points]
        _curve(left, claimed, points, "accuracy", name, look)
        _curve(right, claimed, points, "AUC", name, look)
        _curve(right, claimed, points, "AUC, private records", name, look, dashed=True)
        _curve(below, [p["proven epsilon"] for p in points], points, "accuracy", name, look)
        _curve(corner, [100 * p["attacker"]["value"] for p in points], points, "accuracy", name, look)
    right.plot([], [], color=GREY, linestyle="--", label="attacked with private records")
    left.set_title("As in the paper: accuracy", loc="left", fontsize=11)
    right.set_title("As in the paper: membership inference", loc="left", fontsize=11)
    below.set_title("Against the epsilon that is proved", loc="left", fontsize=11)
    corner.set_title("Against what the best guesser names", loc="left", fontsize=11)
    left.set_xlabel("claimed epsilon")
    right.set_xlabel("claimed epsilon")
    below.set_xlabel("proven epsilon (multivariate Laplace: by its theorem)")
    corner.set_xlabel("words named by a context-free attacker, %")
    left.legend(frameon=False, fontsize=8.5, loc="best")
    right.legend(frameon=False, fontsize=8.5, loc="best")
    for axes in grid.flat:
        axes.grid(alpha=0.25)
    return figure


def _line(axes: Any, found: Data, label: str) -> None:  # noqa: ANN401 - matplotlib's
    axes.axhline(found["mean"], color="black", linewidth=1.2, label=label)
    axes.axhspan(found["low"], found["high"], color="black", alpha=0.12, linewidth=0)


def _curve(
    axes: Any,  # noqa: ANN401 - matplotlib's
    at: list[float],
    points: list[Data],
    what: str,
    name: str,
    look: int,
    *,
    dashed: bool = False,
) -> None:
    """Draw means with their intervals."""
    colour = COLOURS[look]
    means = [p[what]["mean"] for p in points]
    style = "--" if dashed else "-"
    label = None if dashed else LABELS[name]
    axes.plot(at, means, style, marker=MARKERS[look], markersize=4.5, color=colour, label=label)
    low, high = [p[what]["low"] for p in points], [p[what]["high"] for p in points]
    axes.vlines(at, low, high, color=colour, linewidth=1.0, alpha=0.7)
