"""The figure: S_w and N_w against epsilon, against each other, and N_w against the epsilon spent."""

import math
from typing import Any

from deniable.studies.gumbel.curves import TITLES, points
from deniable.studies.study import Data
from deniable.studies.style import COLOURS, GREY, MARKERS, blank

_COLOURS = dict(zip(TITLES, (COLOURS[0], COLOURS[2], COLOURS[3], "#1b9e77", COLOURS[1]), strict=True))
_MARKS = dict(zip(TITLES, (*MARKERS, "P"), strict=True))
_FAMILY = ("tem", "calibrated", "tight")


def draw(data: Data) -> Any:  # noqa: ANN401 - matplotlib's figure
    """Return five rows of panels, one column for each vocabulary."""
    names = [facts["vocabulary"] for facts in data["vocabularies"]]
    figure, grid = blank(5, len(names), 11.5, 17.0)
    for column, facts in enumerate(data["vocabularies"]):
        name = facts["vocabulary"]
        laplace, gumbel, family, range_, spent = grid[:, column]
        _counts(laplace, data, name, ("multivariate-laplace",))
        laplace.set_title(f"{name}, {facts['words']:,} words: multivariate Laplace", loc="left", fontsize=10.5)
        laplace.set_xlabel("epsilon claimed")
        _gumbel(gumbel, data, name)
        _counts(family, data, name, _FAMILY)
        family.set_title("TEM, calibrated and tight", loc="left", fontsize=10.5)
        family.set_xlabel("epsilon claimed")
        _range(range_, data, name)
        _spent(spent, data, name)
    _legend(figure)
    return figure


def _counts(axes: Any, data: Data, name: str, mechanisms: tuple[str, ...]) -> None:  # noqa: ANN401 - matplotlib's
    """Draw S_w dashed and N_w solid, mean and standard deviation."""
    for mechanism in mechanisms:
        found = points(data, name, mechanism)
        at = [p["epsilon"] for p in found]
        for field, style in (("N", "-"), ("S", "--")):
            _curve(axes, at, found, field, mechanism, style)
    axes.set_ylim(-0.03 * data["runs"], 1.03 * data["runs"])
    axes.set_ylabel(f"N_w, S_w of {data['runs']:,} runs")
    axes.grid(alpha=0.25)


def _curve(axes: Any, at: list[float], found: list[Data], field: str, mechanism: str, style: str) -> None:  # noqa: ANN401 - matplotlib's
    """Draw one mean with its standard deviation over words as a shadow."""
    means, deviations = [p[field]["mean"] for p in found], [p[field]["deviation"] for p in found]
    colour = _COLOURS[mechanism]
    axes.plot(at, means, style, color=colour, marker=_MARKS[mechanism], markersize=4.5, linewidth=1.6)
    low = [m - s for m, s in zip(means, deviations, strict=True)]
    high = [m + s for m, s in zip(means, deviations, strict=True)]
    axes.fill_between(at, low, high, color=colour, alpha=0.13, linewidth=0)


def _gumbel(axes: Any, data: Data, name: str) -> None:  # noqa: ANN401 - matplotlib's
    """Draw truncated Gumbel against ln epsilon, S_w on a scale of its own."""
    found = points(data, name, "truncated-gumbel")
    at = [math.log(p["epsilon"]) for p in found]
    _curve(axes, at, found, "N", "truncated-gumbel", "-")
    axes.set_ylim(-0.03 * data["runs"], 1.03 * data["runs"])
    axes.set_ylabel(f"N_w of {data['runs']:,} runs (solid)")
    axes.set_xlabel("ln epsilon claimed")
    axes.grid(alpha=0.25)
    axes.set_title("truncated Gumbel", loc="left", fontsize=10.5)
    other = axes.twinx()
    _curve(other, at, found, "S", "truncated-gumbel", "--")
    other.set_ylim(-0.75, 25.75)
    other.set_ylabel("S_w (dashed)")
    other.spines["right"].set_visible(True)


def _range(axes: Any, data: Data, name: str) -> None:  # noqa: ANN401 - matplotlib's
    """Draw S_w against N_w: Figure 2."""
    for mechanism in TITLES:
        found = sorted(points(data, name, mechanism), key=lambda p: p["N"]["mean"])
        axes.plot(
            [p["N"]["mean"] for p in found], [p["S"]["mean"] for p in found],
            color=_COLOURS[mechanism], marker=_MARKS[mechanism], markersize=4.5, linewidth=1.4,
        )  # fmt: skip
    axes.set_yscale("log")
    axes.set_yticks([1, 10, 100, 1000], ["1", "10", "100", "1,000"])
    axes.set_xlabel("mean N_w")
    axes.set_ylabel("mean S_w")
    axes.set_title("words that one word becomes, where as many stay", loc="left", fontsize=10.5)
    axes.grid(alpha=0.25)


def _spent(axes: Any, data: Data, name: str) -> None:  # noqa: ANN401 - matplotlib's
    """Draw N_w against the epsilon spent: exact, by theorem, or a lower bound."""
    for mechanism in TITLES:
        # A lower bound of zero says nothing.
        found = [p for p in points(data, name, mechanism) if p["spent"] > 0]
        colour = _COLOURS[mechanism]
        known = [p for p in found if p["spent is"] != "at least"]
        axes.plot(
            [p["spent"] for p in known], [p["N"]["mean"] for p in known], color=colour, marker=_MARKS[mechanism],
            markersize=4.5, linewidth=1.4, markerfacecolor="white" if mechanism == "multivariate-laplace" else colour,
        )  # fmt: skip
        for p in found:
            if p["spent is"] == "at least":
                full = p["claim"] == "refuted"
                axes.plot(p["spent"], p["N"]["mean"], ">", color=colour, markersize=8,
                          markerfacecolor=colour if full else "white")  # fmt: skip
    axes.set_xscale("log")
    ticks = [0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_ylim(-0.03 * data["runs"], 1.03 * data["runs"])
    axes.set_xlabel("epsilon spent, as far as it is known")
    axes.set_ylabel("mean N_w")
    axes.set_title("words that stay, at the epsilon spent", loc="left", fontsize=10.5)
    axes.grid(alpha=0.25)


def _legend(figure: Any) -> None:  # noqa: ANN401 - matplotlib's
    """Say once for all panels what stands for what."""
    from matplotlib.lines import Line2D  # noqa: PLC0415 - an extra

    entries = [
        Line2D([], [], color=_COLOURS[mechanism], marker=_MARKS[mechanism], label=title)
        for mechanism, title in TITLES.items()
    ]
    mark = _COLOURS["truncated-gumbel"]
    entries += [
        Line2D([], [], color=GREY, label="N_w: how often a word stays"),
        Line2D([], [], color=GREY, linestyle="--", label="S_w: how many words it becomes"),
        Line2D([], [], color=_COLOURS["multivariate-laplace"], marker="o", markerfacecolor="white", linestyle="",
               label="epsilon by theorem, at most"),
        Line2D([], [], color=mark, marker=">", markerfacecolor="white", linestyle="", label="epsilon at least this"),
        Line2D([], [], color=mark, marker=">", linestyle="", label="the same, above the claim: refuted"),
    ]  # fmt: skip
    figure.legend(handles=entries, loc="outside lower center", ncols=4, frameon=False, fontsize=9.5)
