"""The figure: a row of two panels for each mechanism, and below them what is proved."""

from typing import Any

from deniable.studies.study import Data
from deniable.studies.style import COLOURS, GREY, blank
from deniable.studies.substituted.plan import (
    CALIBRATED,
    IBP,
    NORMAL,
    SETS,
    TIGHT,
    TITLES,
    Measure,
    Plan,
    Point,
    axis,
)
from deniable.studies.substituted.series import Found, against, found, known, own, points, smoothed

_BLUE, _DARK, _BROWN, _PURPLE = COLOURS
_LINES = {NORMAL: (GREY, "^", "normal training"), IBP: (_BLUE, "s", "certified training (IBP)")}
_AUGMENTED = (_BROWN, "o", "augmented by the mechanism's own copies")
_MEASURES: tuple[tuple[Measure, str], ...] = (
    ("clean", "without attack"),
    ("genetic", "attacked by its draws"),
)
_SETS: tuple[tuple[Measure, str, str, str], ...] = (
    ("clean", "o", _DARK, "without attack"),
    ("genetic", "D", _PURPLE, "genetic attack, words from the sets"),
    ("greedy", "v", _BROWN, "greedy attack, words from the sets"),
    ("certified", "s", _BLUE, "proved for all choices of the sets"),
)
_HEIGHT = 4.3


def draw(plan: Plan, data: Data) -> Any:  # noqa: ANN401 - matplotlib's figure
    """Return the figure from the results of one data set."""
    mechanisms = [mechanism for mechanism in TITLES if points(data, mechanism)]
    figure, grid = blank(len(mechanisms) + 1, 2, 13.0, _HEIGHT * (len(mechanisms) + 1) + 1.0)
    for row, mechanism in zip(grid, mechanisms, strict=False):
        for axes, (measure, title) in zip(row, _MEASURES, strict=True):
            _panel(axes, plan, data, mechanism, measure)
            axes.set_title(f"{plan.name}, {TITLES[mechanism]}: {title}", loc="left", fontsize=10.5, pad=8)
    _by_sets(grid[-1, 0], plan, data)
    _by_smoothing(grid[-1, 1], plan, data)
    _legend(figure)
    return figure


def _panel(axes: Any, plan: Plan, data: Data, mechanism: str, measure: Measure) -> None:  # noqa: ANN401 - matplotlib's
    """Draw the accuracies of one mechanism by epsilon, and the paper's beside them."""
    published = next((one for one in plan.tables if one.mechanism == mechanism), None)
    measured = points(data, mechanism)
    places = sorted({point.at for point in measured} | set(published.at if published else ()))
    where = {at: float(place) for place, at in enumerate(places)}
    usable = [point for point in measured if not known(data, point)["below"]]
    for model, (colour, mark, _) in _LINES.items():
        _line(axes, where, {p: against(data, model, p, measure) for p in usable}, colour, mark)
    _line(axes, where, {p: own(data, p, measure) for p in usable}, *_AUGMENTED[:2])
    if published is not None:
        clean = dict.fromkeys(published.at, plan.certified_training)
        theirs = {IBP: clean if measure == "clean" else published.of(IBP, measure)}
        theirs["augmented"] = published.of("augmented", measure)
        for model, row in theirs.items():
            colour, mark, _ = _LINES.get(model, _AUGMENTED)
            axes.plot([where[at] for at in row], list(row.values()), mark, color=colour, markerfacecolor="none",
                      markersize=8, markeredgewidth=1.3)  # fmt: skip
    axes.set_xticks(list(where.values()), [f"{at:g}" for at in where])
    axes.set_xlim(-0.5, len(where) - 0.5)
    axes.set_ylim(-3, 103)
    axes.set_xlabel(f"{axis(mechanism)} claimed")
    axes.set_ylabel("accuracy, %")
    axes.grid(alpha=0.25)
    upper = axes.secondary_xaxis("top")
    upper.set_xticks([where[p.at] for p in measured], [_spent(known(data, p)) for p in measured], fontsize=8)
    upper.set_xlabel("epsilon spent, as far as it is known", fontsize=8.5)


def _spent(facts: Data) -> str:
    """Return what is known of an epsilon, short."""
    if facts["below"]:
        return "no law"
    sign = "\u2265 " if facts["spent is"] == "at least" else ""
    return f"{sign}{facts['spent']:.3g}" + ("\nrefuted" if facts["claim"] == "refuted" else "")


def _line(axes: Any, where: dict[float, float], held: dict[Point, Found | None], colour: str, mark: str) -> None:  # noqa: ANN401 - matplotlib's
    """Draw one curve with its intervals."""
    pairs = [(where[point.at], one) for point, one in held.items() if one is not None]
    axes.errorbar(
        [x for x, _ in pairs], [100 * one.value for _, one in pairs],
        [[100 * (one.value - one.low) for _, one in pairs], [100 * (one.high - one.value) for _, one in pairs]],
        color=colour, marker=mark, linewidth=1.6, markersize=4.5, elinewidth=0.7,
    )  # fmt: skip


def _by_sets(axes: Any, plan: Plan, data: Data) -> None:  # noqa: ANN401 - matplotlib's
    """Draw for each model what attacks by the sets leave, and what is proved."""
    models = [training["model"] for training in data["trainings"]]
    for measure, mark, colour, title in _SETS:
        source = None if measure == "clean" else SETS
        pairs = [(row, held) for row, model in enumerate(models) if (held := found(data, model, measure, source))]
        axes.errorbar(
            [100 * held.value for _, held in pairs], [row for row, _ in pairs],
            xerr=[[100 * (h.value - h.low) for _, h in pairs], [100 * (h.high - h.value) for _, h in pairs]],
            color=colour, marker=mark, linestyle="", markersize=5, elinewidth=0.7, label=title,
        )  # fmt: skip
    axes.set_yticks(range(len(models)), models, fontsize=8)
    axes.invert_yaxis()
    axes.set_xlim(-3, 103)
    axes.set_xlabel("accuracy, %")
    axes.grid(alpha=0.25)
    axes.legend(fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.08), ncols=2, frameon=False)
    axes.set_title(f"{plan.name}: words from the substitution sets", loc="left", fontsize=10.5)


def _by_smoothing(axes: Any, plan: Plan, data: Data) -> None:  # noqa: ANN401 - matplotlib's
    """Draw the certified accuracy of smoothed models by the distance that the words of a text may move in all."""
    looked = [p for mechanism in (CALIBRATED, TIGHT) for p in points(data, mechanism) if smoothed(data, p, "distance")]
    for number, point in enumerate(looked):
        colour = COLOURS[number % len(COLOURS)]
        held = smoothed(data, point, "distance")
        _line(axes, {x: x for x in held}, {Point(point.mechanism, x): one for x, one in held.items()}, colour, "o")
        axes.plot([], [], color=colour, marker="o", label=point.title)
    axes.set_ylim(-3, 103)
    axes.set_xlabel("total distance by which words may move")
    axes.set_ylabel("certified accuracy, %")
    axes.grid(alpha=0.25)
    axes.set_title(f"{plan.name}: smoothed by the mechanism of the copies", loc="left", fontsize=10.5)
    if looked:
        axes.legend(fontsize=8, frameon=False)


def _legend(figure: Any) -> None:  # noqa: ANN401 - matplotlib's
    """Name the curves of the upper panels."""
    from matplotlib.lines import Line2D  # noqa: PLC0415 - an extra, and slow to import

    entries = [
        Line2D([], [], color=colour, marker=mark, label=title) for colour, mark, title in (*_LINES.values(), _AUGMENTED)
    ]
    entries.append(
        Line2D([], [], color=_DARK, marker="o", markerfacecolor="none", linestyle="", label="hollow: the paper's")
    )
    figure.legend(handles=entries, loc="outside lower center", ncols=4, frameon=False, fontsize=9.5,
                  title="places on the lower axis are evenly spaced; bars are 95 % intervals")  # fmt: skip
