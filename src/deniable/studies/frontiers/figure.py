"""The figure: accuracy against what is proved, and against what the best guesser names."""

from typing import Any

from deniable.studies.study import Data
from deniable.studies.style import COLOURS, GREY, MARKERS, blank
from deniable.studies.utility.bench import BASELINE, LAPLACE

LABELS = {
    "calibrated": "calibrated",
    "tight": "tight",
    "tem": "TEM",
    LAPLACE: "multivariate Laplace (Madlib)",
    "truncated-gumbel": "truncated Gumbel",
}


def draw(data: Data) -> Any:  # noqa: ANN401 - matplotlib's figure
    """Return two panels that share the axis of accuracy."""
    figure, ((left, right),) = blank(1, 2, 11.5, 4.8, sharey=True)
    baseline = next(p for p in data["points"] if p["mechanism"] == BASELINE)["accuracy"]
    for axes in (left, right):
        axes.axhline(baseline["mean"], color="black", linewidth=1.2, label="original text")
        axes.axhspan(baseline["low"], baseline["high"], color="black", alpha=0.12, linewidth=0)
        axes.axhline(0.5, color=GREY, linewidth=0.8, linestyle=":")
        axes.grid(alpha=0.25)
    for number, (name, label) in enumerate(LABELS.items()):
        points = [p for p in data["points"] if p["mechanism"] == name]
        if not points:
            continue
        colour = (*COLOURS, "#1b7837")[number]
        style: dict[str, Any] = {"color": colour, "marker": (*MARKERS, "^")[number], "markersize": 5}
        proven = [p for p in points if p["status"] == "proved"]
        if proven:
            _curve(left, [p["proven epsilon"] for p in proven], proven, style)
        _curve(right, [100 * p["attacker"]["value"] for p in points], points, {**style, "label": label})
    left.set_ylabel("accuracy on original reviews")
    left.set_xlabel("proven epsilon, per unit of distance")
    right.set_xlabel("words named by a context-free attacker, %")
    left.set_xscale("log")
    ticks = (1, 2, 3, 5, 10, 20, 30)
    left.set_xticks(ticks, [str(tick) for tick in ticks])
    left.minorticks_off()
    left.set_title("At the same proof (truncated Gumbel has none here)", loc="left", fontsize=11)
    right.set_title("At the same attacker's success", loc="left", fontsize=11)
    right.legend(frameon=False, fontsize=9, loc="lower right")
    return figure


def _curve(axes: Any, at: list[float], points: list[Data], style: dict[str, Any]) -> None:  # noqa: ANN401 - matplotlib's
    """Draw means with their intervals."""
    axes.plot(at, [p["accuracy"]["mean"] for p in points], **style)
    low, high = [p["accuracy"]["low"] for p in points], [p["accuracy"]["high"] for p in points]
    axes.vlines(at, low, high, color=style["color"], linewidth=1.0, alpha=0.7)
