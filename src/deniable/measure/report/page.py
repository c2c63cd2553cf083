"""The report of a survey: one HTML page that stands alone, with no script and nothing from a network."""

import itertools
from collections.abc import Callable
from importlib import resources
from typing import TYPE_CHECKING

from deniable.errors import InputError
from deniable.measure.estimate import Estimate, exact
from deniable.measure.report.chart import Chart, Point, Series, draw
from deniable.measure.report.findings import Reading, Survey
from deniable.measure.roc import RATES

if TYPE_CHECKING:
    from jinja2 import Template

_MANY = 0.10
"""Share of words named that the page reads the table by."""
_LITTLE = 0.05
"""Share of accuracy lost that the page reads the table by."""


def render(survey: Survey, command: str = "") -> str:
    """Return the page. It shows original private texts: it is for their owner, not for release.

    Args:
        survey: what was found.
        command: how it was called, if on a command line.

    Raises:
        InputError: jinja2 is not installed.
    """
    return template().render(
        survey=survey,
        answers=answers(survey),
        charts=[(chart.title, draw(chart)) for chart in charts(survey)],
        command=command,
        rate=min(RATES, key=lambda rate: abs(rate - 0.01)),
    )


def template() -> "Template":
    """Return the page's template.

    Raises:
        InputError: jinja2 is not installed.
    """
    try:
        from jinja2 import Environment, StrictUndefined  # noqa: PLC0415 - an extra
    except ImportError:
        raise InputError("The report is made with jinja2, which is missing: install deniable[plot].") from None
    made = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return made.from_string(resources.files(__package__).joinpath("page.html.j2").read_text("utf-8"))


def answers(survey: Survey) -> list[tuple[str, str]]:
    """Return the two questions that a survey is for, each with what the figures say, in plain words."""
    return [("Which epsilon?", _which(survey)), ("What do I lose?", _what_is_lost(survey))]


def _which(survey: Survey) -> str:
    least, most = survey.readings[0], survey.readings[-1]
    safe = list(itertools.takewhile(lambda it: it.strongest.high <= _MANY, survey.readings))
    text = (
        f"An attacker who sees the private texts named {_percent(least.strongest)} of the original words at epsilon "
        f"{least.epsilon:g} and {_percent(most.strongest)} at epsilon {most.epsilon:g}. (If words "
        f"follow {survey.prior}, an attacker who sees nothing and always says the most frequent one names "
        f"{100 * survey.blind:.1f} %; in this table that share is another.) "
    )
    if len(survey.readings) == 1:
        text = (
            f"An attacker who sees the private texts named {_percent(least.strongest)} of the original words at "
            f"epsilon {least.epsilon:g}. "
        )
    if safe:
        text += f"Up to epsilon {safe[-1].epsilon:g} it was fewer than one word in ten. "
    else:
        text += "That it was fewer than one word in ten cannot be said of any epsilon measured. "
    bad = [f"{reading.epsilon:g}" for reading in survey.readings if reading.promise.standing == "refuted"]
    if bad:
        text += f"The guarantee is refuted at epsilon {', '.join(bad)}: take another mechanism. "
    return text + "The stronger the attacker you expect, and the more one word can harm, the smaller epsilon must be."


def _what_is_lost(survey: Survey) -> str:
    least, most = survey.readings[0], survey.readings[-1]
    text = (
        f"From {_percent(least.similarity.unchanged)} of the words at epsilon {least.epsilon:g} to "
        f"{_percent(most.similarity.unchanged)} at epsilon {most.epsilon:g} stay as they were. "
    )
    if len(survey.readings) == 1:
        text = f"{_percent(least.similarity.unchanged)} of the words stay as they were. "
    measured = [(reading, reading.utility) for reading in survey.readings if reading.utility is not None]
    if not measured:
        return text + "What the private texts are still good for was not measured: name a column of labels for that."
    first = measured[0][1]
    text += (
        f"A classifier trained on the original texts names {_percent(first.original)} of the labels rightly, a blind "
        f"guess {100 * first.majority:.1f} %. "
    )
    useful = list(itertools.takewhile(lambda pair: pair[1].lost.high <= _LITTLE, reversed(measured)))
    if useful:
        return text + f"From epsilon {useful[-1][0].epsilon:g} on, training on private texts costs less than 5 points."
    best, found = min(measured, key=lambda pair: pair[1].lost.value)
    return text + (
        f"Trained on private texts it loses least at epsilon {best.epsilon:g}: {100 * found.lost.value:.1f} points "
        f"({100 * found.lost.low:.1f} to {100 * found.lost.high:.1f})."
    )


def charts(survey: Survey) -> list[Chart]:
    """Return the trade-off curves of a survey."""
    readings, epsilon = survey.readings, "epsilon per unit of distance"

    def line(name: str, of: Callable[[Reading], Estimate | None]) -> Series:
        found = [(reading.epsilon, of(reading)) for reading in readings]
        return Series(name, tuple(Point(exact(at), value) for at, value in found if value is not None))

    def against(title: str, up: str, lines: list[Series], *levels: tuple[str, float], percent: bool = True) -> Chart:
        held = tuple(series for series in lines if series.points)
        return Chart(title, epsilon, up, held, levels, percent=percent)

    made = [
        against(
            "What an attacker names",
            "words named",
            [
                line("this table, words in context", lambda it: it.context.share if it.context else None),
                line("this table, one word at a time", lambda it: it.alone.share),
                line("public word frequencies", lambda it: it.public.share),
            ],
            ("without any output", survey.blind),
        ),
        against(
            "Words that stay as they are",
            "words kept",
            [
                line("this table", lambda it: it.similarity.unchanged),
                line("public word frequencies", lambda it: it.expected),
            ],
        ),
    ]
    first = readings[0].utility
    if first is not None and survey.originals is not None:
        levels = (("trained on originals", first.original.value), ("blind guess", first.majority))
        learned = Series(
            "trained on private texts",
            tuple(Point(it.strongest, it.utility.private, f"{it.epsilon:g}") for it in readings if it.utility),
        )
        made += [
            against(
                "What a classifier still learns",
                "accuracy",
                [line("trained on private texts", lambda it: it.utility.private if it.utility else None)],
                *levels,
            ),
            Chart(
                "Accuracy against words named, at each epsilon",
                "words an attacker names",
                "accuracy",
                (learned,),
                levels,
                shares=True,
            ),
            against(
                "Who was in the training set",
                "area under the curve",
                [
                    line("attacked with original records", lambda it: it.membership["original"].auc),
                    line("attacked with private records", lambda it: it.membership["private"].auc),
                ],
                ("trained on originals", survey.originals.auc.value),
                ("blind guess", 0.5),
                percent=False,
            ),
        ]
    writers = readings[0].authorship
    if writers is not None:
        made.append(
            against(
                "Whose author is named",
                "authors named",
                [
                    line(
                        "attacker learned from private texts",
                        lambda it: it.authorship.adaptive if it.authorship else None,
                    ),
                    line("attacker learned from originals", lambda it: it.authorship.static if it.authorship else None),
                ],
                ("original texts", writers.ceiling.value),
                ("blind guess", writers.majority),
            )
        )
    return made


def _percent(estimate: Estimate) -> str:
    return f"{100 * estimate.value:.1f} %"
