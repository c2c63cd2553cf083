"""The figure: the paper's three figures as rows of four panels, and below them what is proved."""

from typing import Any

from deniable.studies.adversarial.plan import (
    ATTACKS,
    CLIPPED,
    CURVES,
    DPAL,
    MENDED,
    OURS,
    OWN_NOISE,
    PAPER_UNIT,
    Place,
    Plan,
)
from deniable.studies.adversarial.series import At, proved, run_of, series, unattacked
from deniable.studies.study import Data
from deniable.studies.style import COLOURS, GREY

_BLUE, _DARK, _BROWN, _PURPLE = COLOURS
_STYLES: dict[str, tuple[str, str, Any, float]] = {
    OURS: (_BLUE, "o", "-", 2.4),
    DPAL: (_BROWN, "s", "-", 2.0),
    OWN_NOISE: (_BROWN, "s", "--", 1.3),
    "securesgd": (_PURPLE, "D", "-", 1.3),
    "securesgd-agm": (_PURPLE, "v", "--", 1.3),
    "pixeldp": ("#1b9e77", "P", "-", 1.3),
    MENDED: (_DARK, "^", "-", 1.3),
    CLIPPED: (_DARK, "x", ":", 1.3),
    "adlm": (GREY, "<", "-", 1.3),
}
"""Colour, marker, line and width of each curve."""
_FINEST = 8e-4
"""Where the axis of what is proved begins; a size of 0 is drawn there."""


def draw(plan: Plan, data: Data) -> Any:  # noqa: ANN401 - matplotlib's figure
    """Return the figure from the results of one data set."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - an extra, and slow to import

    figure = Figure(figsize=(15.0, 18.0), layout="constrained")
    parts: Any = figure.subfigures(5, 1, height_ratios=(1.06, 1.0, 1.0, 1.05, 0.42), hspace=0.02)
    certificates = "certified accuracy as the paper counts it (an l2 size beside an l_inf attack, as if the same)"
    rows: tuple[tuple[Place, str, str, str], ...] = (
        ("budget", f"accuracy under an attack of size mu_a = {plan.attacked_at:g}", "epsilon claimed", "accuracy, %"),
        ("size", f"accuracy under attack at epsilon {plan.tight:g}", "attack size mu_a", "accuracy, %"),
        ("certified", f"{certificates}, epsilon {plan.certified_at:g}", "attack size mu_a", "certified accuracy, %"),
    )
    for part, (place, title, across, upward) in zip(parts, rows, strict=False):
        _heading(part, f"{plan.figures[place]}, {plan.name}: {title}")
        panels = part.subplots(1, len(ATTACKS), sharey=True)
        for axes, (attack, name) in zip(panels, ATTACKS.items(), strict=True):
            _panel(axes, plan, data, place, attack)
            axes.set_title(name, loc="left", fontsize=10)
            axes.set_xlabel(across)
        panels[0].set_ylabel(upward)
    left, right = parts[3].subplots(1, 2)
    _proved(left, plan, data)
    _unattacked(right, plan, data)
    _legend(parts[4], plan, data)
    return figure


def _heading(figure: Any, text: str) -> None:  # noqa: ANN401 - matplotlib's
    figure.suptitle(text, x=0.005, ha="left", fontsize=11.5, fontweight="bold")


def _panel(axes: Any, plan: Plan, data: Data, place: Place, attack: str) -> None:  # noqa: ANN401 - matplotlib's
    """Draw the curves of one attack, and what the paper's text says of them."""
    for name, curve in CURVES.items():
        if place in curve.figures:
            _line(axes, series(plan, data, place, name, attack), name)
    for point in plan.points:
        if point.place == place and attack in point.attacks:
            colour, mark, _, _ = _STYLES[point.curve]
            axes.plot(
                point.at, point.value, mark, color=colour, markerfacecolor="none", markersize=9, markeredgewidth=1.5,
                clip_on=False,
            )  # fmt: skip
    if place == "certified":
        _refuted(axes, plan, data, attack)
    _axis(axes, data["schedule"]["budgets"] if place == "budget" else data["schedule"]["attack_sizes"])


def _line(axes: Any, found: list[At], name: str) -> None:  # noqa: ANN401 - matplotlib's
    """Draw one curve with its intervals."""
    colour, mark, style, width = _STYLES[name]
    below = [100 * (at.value - at.low) for at in found]
    above = [100 * (at.high - at.value) for at in found]
    front = 3 if name in {OURS, DPAL} else 2
    axes.errorbar(
        [at.x for at in found], [100 * at.value for at in found], [below, above], color=colour, marker=mark,
        linestyle=style, linewidth=width, markersize=4.5, elinewidth=0.7, capsize=0, zorder=front,
    )  # fmt: skip


def _refuted(axes: Any, plan: Plan, data: Data, attack: str) -> None:  # noqa: ANN401 - matplotlib's
    """Write at DPAL's certificates what has become of them."""
    found, run = series(plan, data, "certified", DPAL, attack), run_of(data, DPAL, plan.certified_at)
    if found and run is not None:
        place = (found[0].x, 100 * found[0].value)
        axes.annotate(
            f"DPAL's certificate: {run['certificate']}", place, xytext=(8, 5), textcoords="offset points",
            color=_BROWN, fontsize=8.5, zorder=4,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 1},
        )  # fmt: skip


def _proved(axes: Any, plan: Plan, data: Data) -> None:  # noqa: ANN401 - matplotlib's
    """Draw the share of images that no l_inf attack of a size can change."""
    for name, curve in CURVES.items():
        if "certified" in curve.figures:
            found = proved(data, name)
            _line(axes, [At(max(at.x, _FINEST), at.value, at.low, at.high) for at in found], name)
    axes.set_xscale("log")
    ticks = [_FINEST, 0.002, 0.005, 0.01, 0.02, *data["schedule"]["attack_sizes"]]
    axes.axvspan(min(data["schedule"]["attack_sizes"]), max(ticks), color=GREY, alpha=0.12, linewidth=0)
    axes.text(
        min(data["schedule"]["attack_sizes"]) * 1.06, 97, f"sizes of {plan.figures['certified']}", va="top", fontsize=9
    )
    axes.set_xticks(ticks, ["0", *(f"{tick:g}" for tick in ticks[1:])])
    axes.minorticks_off()
    axes.set_ylim(-3, 103)
    axes.grid(alpha=0.25)
    axes.set_xlabel("l_inf size of any attack (pixels in [-1, 1], logarithmic)")
    axes.set_ylabel("proved right, %")
    axes.set_title(
        f"{plan.name}, epsilon {plan.certified_at:g}: what is proved in place of {plan.figures['certified']}, each "
        "noise certified as smoothing", loc="left", fontsize=10.5,
    )  # fmt: skip


def _unattacked(axes: Any, plan: Plan, data: Data) -> None:  # noqa: ANN401 - matplotlib's
    """Draw accuracy without attack against budget."""
    for name, curve in CURVES.items():
        if "budget" in curve.figures:
            _line(axes, unattacked(data, name), name)
    _axis(axes, data["schedule"]["budgets"])
    axes.set_xlabel("epsilon claimed")
    axes.set_ylabel("accuracy, %")
    axes.set_title(f"{plan.name}: accuracy without attack", loc="left", fontsize=10.5)


def _axis(axes: Any, ticks: list[float]) -> None:  # noqa: ANN401 - matplotlib's
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_ylim(-3, 103)
    axes.grid(alpha=0.25)


def _legend(figure: Any, plan: Plan, data: Data) -> None:  # noqa: ANN401 - matplotlib's
    """Name the curves, each with the standing of its privacy and of its certificate."""
    from matplotlib.lines import Line2D  # noqa: PLC0415 - an extra, and slow to import

    entries = []
    for name, curve in CURVES.items():
        run = run_of(data, name, plan.certified_at)
        if run is not None:
            colour, mark, style, width = _STYLES[name]
            entries.append(
                Line2D([], [], color=colour, marker=mark, linestyle=style, linewidth=width,
                       label=f"{curve.title}\n{standing(run, certified='certified' in curve.figures)}")
            )  # fmt: skip
    entries.append(
        Line2D([], [], color=_DARK, marker="o", markerfacecolor="none", markersize=9, linestyle="",
               label="hollow: numbers of the paper's text,\nmeans over the attacks")
    )  # fmt: skip
    figure.legend(
        handles=entries, loc="center", ncols=4, frameon=False, fontsize=9.5,
        title=f"sizes are for pixels in [-1, 1], {PAPER_UNIT:g} times those for [0, 1]; bars are 95 % intervals",
    )  # fmt: skip


def standing(run: Data, *, certified: bool) -> str:
    """Return what has become of a model's claims."""
    privacy = run["privacy"] if run["privacy"].startswith("no ") else f"privacy {run['privacy']}"
    return f"{privacy}; certificate {run['certificate']}" if certified and run["certificate"] else privacy
