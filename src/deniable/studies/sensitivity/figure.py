"""The figure: shares of pairs, and the sensitivities."""

from typing import Any

from deniable.studies.sensitivity.words import NAMES
from deniable.studies.study import Data
from deniable.studies.style import COLOURS, MARKERS, blank, over_dimensions

_MARKED = 32
"""The dimension that the paper speaks of."""


def draw(data: Data) -> Any:  # noqa: ANN401 - matplotlib's figure
    """Return two panels: shares of pairs, and the sensitivities."""
    figure, ((left, right),) = blank(1, 2, 11, 5.0, width_ratios=(1.7, 1))
    for colour, name in zip(COLOURS, NAMES, strict=False):
        for (marker, style), radius in zip(zip(MARKERS, (":", "-", "--"), strict=False), data["radii"], strict=False):
            cells = [c for c in data["shares"] if (c["distribution"], c["C"]) == (name, radius)]
            left.plot(
                [c["n"] for c in cells],
                [100 * c["share"] for c in cells],
                color=colour, marker=marker, linestyle=style, markersize=5, label=f"{name}, C = {radius:g}",
            )  # fmt: skip
    over_dimensions(left, data["dimensions"])
    left.axvline(_MARKED, color="#bbbbbb", linewidth=1, zorder=0)
    left.set_ylim(-3, 103)
    left.set_xlabel("dimension n")
    left.set_ylabel("pairs farther apart than 2C in l1, %")
    left.set_title("Pairs that noise for 2C does not cover", loc="left")
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower left", ncols=3, frameon=False, fontsize=9)
    proved = data["proved sensitivity"]
    right.plot([int(n) for n in proved], [s / 2 for s in proved.values()], color=COLOURS[2], label="proved: sqrt(n)")
    searched = data["searched sensitivity"]
    right.plot(
        [int(n) for n in searched], [s / 2 for s in searched.values()], "o", color=COLOURS[1], markersize=5,
        label="found by search",
    )  # fmt: skip
    right.axhline(1, color=COLOURS[0], linestyle="--", label="claimed")
    over_dimensions(right, data["dimensions"][::2])
    right.set_yscale("log", base=2)
    right.set_yticks([1, 2, 4, 8, 16, 32], ["1", "2", "4", "8", "16", "32"])
    right.set_xlabel("dimension n")
    right.set_ylabel("l1 sensitivity of the clip over 2C")
    right.set_title("The sensitivity itself", loc="left")
    right.legend(frameon=False, fontsize=9)
    return figure
