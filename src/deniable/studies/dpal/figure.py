"""The figure: images before and after DPAL's noise and after the attack, and four panels of numbers."""

from typing import Any

from deniable.studies.dpal.parts import unpacked
from deniable.studies.dpal.words import chance, evidence, true_labels
from deniable.studies.study import Data
from deniable.studies.style import COLOURS, GREY

_BLUE, _DARK, _BROWN, _ = COLOURS
_FLOOR, _CEILING = 0.008, 200.0
_SIZE = 9.5
_TEXT = 2
"""Columns left of the images for words."""
_NOISES = {
    "published": "one draw",
    "each step": "drawn in each step",
    "each step and class": "control: drawn in each\nstep for each class",
}
_ROWS = {
    "original": "training images",
    "perturbed": "what DPAL calls private",
    "recovered": "recovered from that alone",
    "control": "control: the same attack\non independent noise",
}


def draw(data: Data) -> Any:  # noqa: ANN401 - matplotlib's figure
    """Return four rows of images over two rows of panels."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - an extra, and slow to import

    figure = Figure(figsize=(13.0, 12.6), layout="constrained")
    parts: Any = figure.subfigures(2, 1, height_ratios=(1.0, 1.45), hspace=0.02)
    _images(parts[0], data)
    grid = parts[1].subplots(2, 2, width_ratios=(1.2, 1.0))
    _bounds(grid[0, 0], data)
    _ratios(grid[0, 1], data)
    _labels(grid[1, 0], data)
    _utility(grid[1, 1], data)
    return figure


def _images(figure: Any, data: Data) -> None:  # noqa: ANN401 - matplotlib's
    """Draw the images, what is released of them, and what is recovered from that."""
    pictures = data["recovery"]["pictures"]
    grid = figure.subplots(len(_ROWS), len(pictures["original"]) + _TEXT, squeeze=False)
    figure.suptitle(
        "DPAL's perturbed training images, and what a batch of them shows", x=0.005, ha="left", fontsize=14,
        fontweight="bold",
    )  # fmt: skip
    for line, (name, heading), facts in zip(grid, _ROWS.items(), _facts(data), strict=True):
        for axes in line:
            axes.set_axis_off()
        lines = heading.count("\n") + 1
        line[0].text(0, 0.98, heading, transform=line[0].transAxes, va="top", fontsize=10.5, fontweight="bold")
        line[0].text(0, 0.94 - 0.19 * lines, facts, transform=line[0].transAxes, va="top", fontsize=_SIZE)
        for axes, image in zip(line[_TEXT:], unpacked(pictures, name), strict=True):
            axes.imshow(image, cmap="gray", vmin=0, vmax=255, interpolation="nearest")


def _facts(data: Data) -> tuple[str, ...]:
    """Return what is said beside each row of images."""
    shared, control, budget = data["recovery"]["shared"], data["recovery"]["independent"], data["budget"]
    total = f"{shared['images']:,}"
    return (
        f"{len(data['recovery']['pictures']['original'])} of a batch of {total}",
        (
            f"epsilon claimed: {budget['input claim']:.2g}\nnoise of scale {budget['input scale']:.0f} on [-1, 1],\n"
            "one draw for all; rescaled"
        ),
        f"knowing no image: {shared['same']:,} of {total},\nlargest error of a pixel {shared['largest error']:.0e}",
        f"{control['same']:,} of {total}; rescaled",
    )


def _bounds(axes: Any, data: Data) -> None:  # noqa: ANN401 - matplotlib's
    """Draw what is claimed, and what experiments show to be spent at least."""
    found = evidence(data)
    for place, row in enumerate(found):
        y = len(found) - 1 - place
        axes.plot([row.claim, row.bound], [y, y], color=_BLUE, linewidth=1.2, alpha=0.5)
        axes.plot(row.claim, y, "o", color=_DARK, markerfacecolor="white", markersize=7)
        axes.plot(row.bound, y, ">", color=_BLUE, markersize=9)
        axes.text(row.bound * 1.3, y, f"{row.bound:.2g}", va="center", color=_BLUE, fontsize=_SIZE)
        if row.control is not None:
            axes.plot(max(row.control, _FLOOR), y - 0.28, "x", color=_BROWN, markersize=6, clip_on=False)
        if row.exact is not None:
            axes.plot(row.exact, y, "|", color=_BLUE, markersize=15, markeredgewidth=2)
            axes.text(row.exact * 1.15, y, f"{row.exact:.3g} exact", va="center", color=_BLUE, fontsize=_SIZE)
    axes.set_xscale("log")
    axes.set_xlim(_FLOOR, _CEILING)
    axes.set_ylim(-1.45, len(found) - 0.4)
    axes.set_yticks(range(len(found)), [row.name for row in reversed(found)])
    axes.tick_params(axis="y", length=0)
    ticks = [0.01, 0.1, 1, 10, 100]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.grid(alpha=0.25, axis="x")
    axes.set_xlabel("epsilon")
    axes.set_title("epsilon claimed, and what is spent at least", loc="left", fontsize=11)
    handles = [
        axes.plot([], [], "o", color=_DARK, markerfacecolor="white", markersize=7, label="claimed")[0],
        axes.plot([], [], ">", color=_BLUE, markersize=9, label="at least, 95 % each")[0],
        axes.plot([], [], "x", color=_BROWN, markersize=6, label="control, at least (left edge: 0)")[0],
    ]
    axes.legend(handles=handles, loc="lower left", ncols=3, fontsize=8.5, frameon=False, handletextpad=0.3,
                columnspacing=1.0, borderpad=0.0)  # fmt: skip


def _ratios(axes: Any, data: Data) -> None:  # noqa: ANN401 - matplotlib's
    """Draw the statistic of the parameters for the batch that was trained on and for its neighbour."""
    columns = [
        ("float64", "own", "the batch\ntrained on", _BLUE),
        ("float64", "other", "one image\nreplaced", _DARK),
        ("independent", "own", "the batch\ntrained on", _BLUE),
        ("independent", "other", "one image\nreplaced", _DARK),
    ]
    for place, (kind, which, _, colour) in enumerate(columns):
        values = data["parameters"][kind][which]
        # Spread evenly, so that dots do not hide each other.
        across = [place + 0.5 * (number / max(len(values) - 1, 1) - 0.5) for number in range(len(values))]
        axes.plot(across, values, "o", color=colour, markersize=3.5, alpha=0.6, markeredgewidth=0)
    axes.set_yscale("log")
    axes.set_ylim(1e-17, 1e3)
    axes.set_xticks(range(4), [title for *_, title, _ in columns])
    axes.axvline(1.5, color=GREY, linewidth=0.8)
    for side, kind, title in ((0.5, "float64", "shared noise"), (2.5, "independent", "independent noise")):
        event = data["parameters"][kind]["ratio"]
        right = event["hits"] + event["false_trials"] - event["false_hits"]
        told = f"{title}\n{right} of {event['trials'] + event['false_trials']} told apart"
        axes.text(side, 4e2, told, ha="center", va="top", fontsize=_SIZE)
    axes.grid(alpha=0.25, axis="y")
    axes.set_ylabel("third over first singular value")
    axes.set_title("whose batch? the first layer after one step", loc="left", fontsize=11)


def _labels(axes: Any, data: Data) -> None:  # noqa: ANN401 - matplotlib's
    """Draw the share of true labels recovered."""
    found = true_labels(data)[::-1]
    for place, row in enumerate(found):
        share = 100 * row["right"] / row["count"]
        axes.barh(place, share, height=0.6, color=_BROWN if row["noise"] == "each step and class" else _BLUE)
        axes.text(share + 1.5, place, f"{share:.1f} %", va="center", fontsize=_SIZE)
    names = [f"{_NOISES[row['noise']]}\n(differences over {row['over']})" for row in found]
    axes.set_yticks(range(len(found)), names, fontsize=9)
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(0, 114)
    axes.set_xticks(range(0, 101, 20))
    guess = 100 * chance(data)
    axes.axvline(guess, color=_DARK, linewidth=0.9, linestyle="--")
    axes.text(guess, len(found) - 0.55, "guessing", ha="center", va="bottom", fontsize=8.5)
    axes.set_ylim(-0.5, len(found) - 0.2)
    axes.grid(alpha=0.25, axis="x")
    axes.set_axisbelow(True)
    axes.set_xlabel(f"of {found[0]['count']:,} labels recovered, %")
    axes.set_title(
        f"labels recovered from 12 steps, epsilon claimed {found[0]['claim']:g}; label noise:", loc="left", fontsize=11
    )


def _utility(axes: Any, data: Data) -> None:  # noqa: ANN401 - matplotlib's
    """Draw accuracies with their intervals."""
    bars = (
        ("plain", "no noise", GREY),
        ("shared", "shared noise,\nsame at test", _BLUE),
        ("fresh", "shared noise,\nnew at test", _BLUE),
        ("independent", "independent\nnoise", _BROWN),
    )
    for place, (name, _, colour) in enumerate(bars):
        found = data["utility"][name]
        value, low, high = (100 * found[part] for part in ("value", "low", "high"))
        axes.bar(place, value, width=0.62, color=colour)
        axes.errorbar(place, value, [[value - low], [high - value]], color="black", capsize=3, linewidth=1)
        axes.text(place, high + 2, f"{value:.1f} %", ha="center", fontsize=_SIZE)
    axes.set_xticks(range(len(bars)), [title for _, title, _ in bars])
    axes.set_ylim(0, 114)
    axes.set_yticks(range(0, 101, 20))
    guess = 100 * chance(data)
    axes.axhline(guess, color=_DARK, linewidth=0.9, linestyle="--")
    axes.text(1.005, guess, "guessing", transform=axes.get_yaxis_transform(), va="center", fontsize=8.5)
    axes.grid(alpha=0.25, axis="y")
    axes.set_axisbelow(True)
    axes.set_ylabel("accuracy on test images, %")
    axes.set_title("what a network learns from perturbed images", loc="left", fontsize=11)
