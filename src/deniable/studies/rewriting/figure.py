"""The figure: what is left of texts, how often they are found, and the losses of published ADePT."""

from typing import Any

from deniable.studies.rewriting.plan import PUBLISHED, TITLES
from deniable.studies.rewriting.series import audit, cells, methods, top
from deniable.studies.study import Data
from deniable.studies.style import COLOURS, GREY, blank

_COLOURS = dict(zip(TITLES, (*COLOURS, "#1b7837", "#d6604d"), strict=True))
_MARKS = dict(zip(TITLES, "osDv^P", strict=True))


def draw(data: Data) -> Any:  # noqa: ANN401 - matplotlib's figure
    """Return six panels: three of utility above three of privacy."""
    figure, grid = blank(2, 3, 15.0, 9.2)
    _utility(grid[0, 0], data, "bleu")
    _utility(grid[0, 1], data, "accuracy")
    _success(grid[0, 2], data, "vector", 1)
    _success(grid[1, 0], data, "vector", 10)
    _success(grid[1, 1], data, "text", 1)
    _losses(grid[1, 2], data)
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False, fontsize=9.5,
                  title="bars are 95 % intervals")  # fmt: skip
    return figure


def _over_epsilon(axes: Any, data: Data) -> None:  # noqa: ANN401 - matplotlib's
    epsilons = sorted({cell["epsilon"] for cell in data["cells"]})
    axes.set_xscale("log")
    axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
    axes.minorticks_off()
    axes.set_xlabel("epsilon claimed, of one text")
    axes.grid(alpha=0.25)


def _line(axes: Any, method: str, pairs: list[tuple[float, Data]]) -> None:  # noqa: ANN401 - matplotlib's
    """Draw shares in percent with their intervals; a share of nothing has no place on a logarithmic axis."""
    pairs = [(x, found) for x, found in pairs if found["value"] > 0]
    axes.errorbar(
        [x for x, _ in pairs], [100 * found["value"] for _, found in pairs],
        [[100 * (found["value"] - found["low"]) for _, found in pairs],
         [100 * (found["high"] - found["value"]) for _, found in pairs]],
        color=_COLOURS[method], marker=_MARKS[method], markersize=5, linewidth=1.5, elinewidth=0.7,
        linestyle="--" if method == PUBLISHED else "-", label=TITLES[method],
    )  # fmt: skip


def _utility(axes: Any, data: Data, measure: str) -> None:  # noqa: ANN401 - matplotlib's
    (model,) = data["models"]
    for method in methods(data):
        if measure == "bleu":
            axes.plot([c["epsilon"] for c in cells(data, method)], [c["bleu"] for c in cells(data, method)],
                      color=_COLOURS[method], marker=_MARKS[method], markersize=5, linewidth=1.5,
                      linestyle="--" if method == PUBLISHED else "-", label=TITLES[method])  # fmt: skip
        else:
            _line(axes, method, [(cell["epsilon"], cell["accuracy"]) for cell in cells(data, method)])
    _over_epsilon(axes, data)
    if measure == "bleu":
        for row in data["tuned"]:
            axes.plot(row["epsilon"], row["bleu"], color=_COLOURS[row["method"]], marker=_MARKS[row["method"]],
                      markersize=9, fillstyle="none", linestyle="")  # fmt: skip
        _level(axes, data, model["without noise"]["bleu"], "without noise")
        axes.set_ylim(bottom=-1)
        axes.set_ylabel("BLEU of rewritten test texts")
        axes.set_title("What is left of a text (large: trained on with the noise)", loc="left", fontsize=10)
        return
    _level(axes, data, 100 * model["originals"]["accuracy"]["value"], "original texts")
    _level(axes, data, 100 * model["most frequent intent"]["value"], "the most frequent intent", above=-12)
    axes.set_ylabel("intents of original test texts, %")
    axes.set_title("Classifier trained on rewritten texts", loc="left")


def _level(axes: Any, data: Data, height: float, text: str, above: float = 3) -> None:  # noqa: ANN401 - matplotlib's
    """Draw a line across, and say what it is, so many points above it."""
    axes.axhline(height, color=GREY, linewidth=1, linestyle=":")
    left = min(cell["epsilon"] for cell in data["cells"])
    axes.annotate(text, (left, height), xytext=(0, above), textcoords="offset points", fontsize=8.5, color="#4d4d4d")


def _success(axes: Any, data: Data, source: str, first: int) -> None:  # noqa: ANN401 - matplotlib's
    """Draw how often the true text was among the first k of the ranking, and what pure epsilon permits."""
    for method in methods(data):
        pairs = [(c["epsilon"], found) for c in cells(data, method) if (found := top(c, source, first)) is not None]
        if pairs:
            _line(axes, method, pairs)
    published = [(c["epsilon"], found) for c in cells(data, PUBLISHED) if (found := top(c, "text", first)) is not None]
    axes.plot([x for x, _ in published], [100 * found["permitted"] for _, found in published],
              color="black", linewidth=2, label="_")  # fmt: skip
    (model,) = data["models"]
    floor = 100 * first / model["candidates"]
    axes.set_yscale("log")
    axes.set_ylim(floor / 5, 150)
    _over_epsilon(axes, data)
    axes.axhline(floor, color=GREY, linewidth=1, linestyle=":")
    axes.set_ylabel(f"true text among the first {first}, %" if first > 1 else "true text named, %")
    seen = "the vector" if source == "vector" else "the rewritten text"
    axes.set_title(f"Attacker sees {seen}; black: most that epsilon permits", loc="left", fontsize=10)


def _losses(axes: Any, data: Data) -> None:  # noqa: ANN401 - matplotlib's
    """Draw the losses of published ADePT by dimension: of the ball, of the corpus, and shown by an audit."""
    grown = data["grown"]
    if not grown:
        return
    places = [found["n"] for found in grown]
    claim = grown[0]["claim"]
    axes.plot(places, [found["exact"] for found in grown], color=_COLOURS[PUBLISHED], label="worst two vectors, exact")
    axes.plot(places, [found["loss"] for found in grown], "s-", color=COLOURS[1], label="worst two texts of ATIS")
    axes.plot(places, [claim * found["median ratio"] for found in grown], "D-", color=COLOURS[2],
              label="median two texts")  # fmt: skip
    axes.plot(places, [found["bound"] for found in grown], "v-", color=COLOURS[3],
              label="shown of the worst two by an audit")  # fmt: skip
    axes.axhline(claim, color="black", linewidth=2)
    text = audit(data, PUBLISHED, "text")
    if text is not None:
        axes.plot([data["models"][0]["latent"]], [text["bound"]], "x", color=GREY, label="the same from texts alone")
    axes.set_xscale("log", base=2)
    axes.set_xticks(places, [str(n) for n in places])
    axes.minorticks_off()
    axes.grid(alpha=0.25)
    axes.set_xlabel("coordinates n of the encoder")
    axes.set_ylabel("loss, nats")
    axes.set_title(f"ADePT as published, epsilon = {claim:g} claimed (black)", loc="left")
    axes.legend(frameon=False, fontsize=8.5)
