"""The page of a survey: self-contained HTML, with no script and nothing from a network; and its advice in sentences."""

import io
import math
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import TYPE_CHECKING

from deniable.core.errors import import_extra
from deniable.core.numbers import as_percent, format_exact, format_lower, format_upper, format_upper_percent
from deniable.measure.intervals import Estimate
from deniable.measure.reading import KNOWLEDGE
from deniable.measure.roc import JUDGED_FALSE_POSITIVE_RATES
from deniable.survey.limits import MAX_WHOLE_EPSILON
from deniable.survey.results import KINDS, Result, Survey

if TYPE_CHECKING:
    from jinja2 import Environment

Curve = list[tuple[Estimate, Estimate, str]]
"""Points to be joined: both coordinates, and the label beside each."""
_COLOURS, _MARKERS, _DASHES = ("#2a8fd0", "#d9730d", "#1f9d73", "#a86bb0"), "osD^", ("-", "--", ":", "-.")
"""Of curves, so that no reader depends on colour; each is seen on white and on black."""
_INK = "#123456"
"""Stands for the colour of the page's text, which depends on the reader."""
_LOGARITHMIC_RATIO = 25.0
"""An axis of epsilons whose ends have this ratio or more is logarithmic."""


def render_page(survey: Survey, command: str = "", next_command: str = "") -> str:
    """Return the page. It shows original private texts: it is for their owner, not for release.

    Args:
        survey: the results.
        command: the command line that measured them, if there is one.
        next_command: the command that makes the recommended release.

    Raises:
        InputError: jinja2 or matplotlib is not installed.
    """
    return (
        make_environment(is_html=True)
        .get_template("page.html.j2")
        .render(
            survey=survey,
            advice_lines=format_advice(survey),
            headline=find_headline(survey),
            charts=draw_charts(survey),
            command=command,
            next_command=next_command,
            chosen=next((one for one in survey.results if one.name in survey.advice.choices[:1]), None),
            rate=min(JUDGED_FALSE_POSITIVE_RATES, key=lambda rate: abs(rate - 0.01)),
        )
    )


def format_advice(survey: Survey) -> list[str]:
    """Return the advice in sentences, the weightiest first; what begins with a dash is an item of a list."""
    by_name = {one.name: one for one in survey.results}
    chosen = [by_name[name] for name in survey.advice.choices]
    text = make_environment(is_html=False).get_template("advice.txt.j2").render(survey=survey, chosen=chosen)
    return [line.strip() for line in text.splitlines() if line.strip()]


def find_headline(survey: Survey) -> str:
    """Return the sentence of the advice that says what to do."""
    return format_advice(survey)[1 if survey.advice.blind else 0]


def make_environment(*, is_html: bool) -> "Environment":
    """Return what the templates beside this file are read with.

    Raises:
        InputError: jinja2 or matplotlib is not installed.
    """
    jinja2 = import_extra("jinja2", "The page of a survey", "measure")
    import_extra("matplotlib", "The page of a survey", "measure")
    environment: Environment = jinja2.Environment(
        autoescape=is_html,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=jinja2.FunctionLoader(lambda name: read_style() if name == "style.css" else _read_file(name)),
    )
    environment.globals |= {
        "exact": format_exact,
        "upper": format_upper,
        "upper_percent": format_upper_percent,
        "lower": format_lower,
        "as_percent": as_percent,
        "readers": KNOWLEDGE,
        "max_whole": MAX_WHOLE_EPSILON,
    }
    return environment


def read_style() -> str:
    """Return the style of the page, as it stands between its tags."""
    return _read_file("style.css").strip()


def _read_file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text("utf-8")


def draw_charts(survey: Survey) -> list[tuple[str, str]]:
    """Return the trade-off curves of a survey: title and ``svg`` element of each."""
    words = [one for one in survey.results if one.kind == "words"]
    original = survey.originals.score
    levels = {} if original is None else {"trained on originals": original.private.value, "blind guess": original.blind}

    def trace(y_path: str, x_path: str = "epsilon", results: Sequence[Result] = words) -> Curve:
        points = [
            (one.find(x_path), one.find(y_path), "" if x_path == "epsilon" else format_exact(one.epsilon or 0.0))
            for one in results
        ]
        return [(x, y, label) for x, y, label in points if x is not None and y is not None]

    guessed = {
        "this table, in context": trace("recovery.context.share"),
        "this table, one word at a time": trace("recovery.single.share"),
        "any text": trace("recovery.any text.share"),
        "any text, rare words only": trace("outcomes.rare_guessed"),
    }
    kept = {"this table": trace("similarity.unchanged"), "any text": trace("expected")}
    named = {
        "words at their place": trace("entities.total.at_place"),
        "at places of other texts": trace("entities.total.chance_at_place"),
        "whole spans": trace("entities.total.whole"),
    }
    authors = {
        "attacker trained on private texts": trace("authorship.adaptive"),
        "attacker trained on originals": trace("authorship.static"),
    }
    against_words = {"words": trace("score.private", "guessed")}
    against_members: dict[str, Curve] = {
        kind: trace("score.private", "area", [one for one in survey.results if one.kind == kind]) for kind in KINDS
    }
    epsilon, balanced = "epsilon per unit of distance", "balanced accuracy"
    charts: list[tuple[str, str, str, Mapping[str, Curve], Mapping[str, float]]] = [
        ("Words that an attacker guesses", epsilon, "words guessed", guessed, {"without any output": survey.blind}),
        ("Words that are unchanged", epsilon, "words kept", kept, {}),
        ("Which names survive", epsilon, "labelled words that survive", named, {}),
        ("Whose author is identified", epsilon, "authors identified", authors, {}),
        ("What a classifier learns, against words guessed", "words guessed", balanced, against_words, levels),
        ("What a classifier learns, against membership", "area of membership", balanced, against_members, levels),
    ]
    return [
        (title, _draw_chart(title, x_label, y_label, curves, heights))
        for title, x_label, y_label, curves, heights in charts
        if any(curves.values())
    ]


def _draw_chart(
    title: str, x_label: str, y_label: str, curves: Mapping[str, Curve], levels: Mapping[str, float]
) -> str:
    """Return the chart as an ``svg`` element: the same bytes for the same figures, in the colour of the page's text.

    Style stands in attributes, since the page of the service allows no other.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.ticker import PercentFormatter

    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "deniable", "font.size": 9, "lines.linewidth": 1.5}):
        figure = Figure(figsize=(5, 4), layout="constrained")
        axes = figure.add_subplot()
        drawn = [(name, curve) for name, curve in curves.items() if curve]
        for (name, curve), colour, marker, dash in zip(drawn, _COLOURS, _MARKERS, _DASHES, strict=False):
            x, y = [point[0] for point in curve], [point[1] for point in curve]
            axes.errorbar(
                [one.value for one in x],
                [one.value for one in y],
                xerr=_measure_bars(x),
                yerr=_measure_bars(y),
                label=name,
                color=colour,
                marker=marker,
                linestyle=dash,
                elinewidth=0.8,
            )
            for point_x, point_y, label in curve:
                axes.annotate(label, (point_x.value, point_y.value), (5, 5), textcoords="offset points")
        for (name, height), dash in zip(levels.items(), ("--", ":"), strict=False):
            axes.axhline(height, label=name, color=_INK, linestyle=dash, linewidth=1)
        epsilons = [point[0].value for _, curve in drawn for point in curve]
        if x_label.startswith("epsilon") and max(epsilons) >= _LOGARITHMIC_RATIO * min(epsilons):
            axes.set_xscale("log")
        axes.set(xlabel=x_label, ylabel=y_label)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=None, symbol="%"))
        if x_label == "words guessed":
            axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=None, symbol="%"))
        for text in (axes.xaxis.label, axes.yaxis.label, *axes.texts):
            text.set_color(_INK)
        axes.tick_params(color=_INK, labelcolor=_INK)
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color(_INK)
        figure.legend(loc="outside upper left", frameon=False, labelcolor=_INK)
        stream = io.StringIO()
        figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = "<svg" + stream.getvalue().partition("<svg")[2]
    # What only a file of its own needs, and names that other charts of the page have too.
    svg = re.sub(r"<(metadata|style).*?</\1>|<defs>\s*</defs>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' (?:xmlns(?::\w+)?="[^"]*"|clip-path="[^"]*"|id="[^"]*_\d+")', "", svg)
    svg = re.sub(r' style="([^"]*)"', lambda match: re.sub(r" ?([\w-]+): ([^;]*);?", r' \1="\2"', match[1]), svg)
    return svg.replace(_INK, "currentColor").replace("<svg", f'<svg role="img" aria-label="{title}"', 1)


def _measure_bars(estimates: Sequence[Estimate]) -> list[list[float]] | None:
    """Return the lengths of the bars below and above figures; None where all are exact."""
    if not any(one.count for one in estimates):
        return None
    bars = [[one.value - one.low for one in estimates], [one.high - one.value for one in estimates]]
    return [[length if math.isfinite(length) and length > 0 else 0.0 for length in side] for side in bars]
