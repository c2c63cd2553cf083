"""The report of a survey: one HTML page that stands alone, with no script and nothing from a network."""

import itertools
from collections.abc import Callable
from importlib import resources
from typing import TYPE_CHECKING

from deniable.core.errors import InputError
from deniable.core.intervals import Estimate, as_exact_estimate
from deniable.measure.report.charts import ChartPoint, ChartSeries, LineChart, draw_chart
from deniable.measure.report.findings import EpsilonResult, SurveyResult
from deniable.measure.roc import JUDGED_FALSE_POSITIVE_RATES

if TYPE_CHECKING:
    from jinja2 import Template

_MAX_NAMED_SHARE = 0.10
"""Share of words named that the page reads the table by."""
_MAX_ACCURACY_LOSS = 0.05
"""Share of accuracy lost that the page reads the table by."""


def render_report(survey: SurveyResult, command: str = "") -> str:
    """Return the page. It shows original private texts: it is for their owner, not for release.

    Args:
        survey: what was found.
        command: how it was called, if on a command line.

    Raises:
        InputError: jinja2 is not installed.
    """
    return load_template().render(
        survey=survey,
        answers=answer_questions(survey),
        charts=[(chart.title, draw_chart(chart)) for chart in build_charts(survey)],
        command=command,
        rate=min(JUDGED_FALSE_POSITIVE_RATES, key=lambda rate: abs(rate - 0.01)),
    )


def load_template() -> "Template":
    """Return the page's template.

    Raises:
        InputError: jinja2 is not installed.
    """
    try:
        from jinja2 import Environment, StrictUndefined  # noqa: PLC0415 - an extra
    except ImportError:
        raise InputError("The report is made with jinja2, which is missing: install deniable[plot].") from None
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(resources.files(__package__).joinpath("page.html.j2").read_text("utf-8"))


def answer_questions(survey: SurveyResult) -> list[tuple[str, str]]:
    """Return the two questions that a survey is for, each with what the figures say, in plain words."""
    return [("Which epsilon?", _advise_epsilon(survey)), ("What do I lose?", _describe_losses(survey))]


def _advise_epsilon(survey: SurveyResult) -> str:
    lowest, highest = survey.readings[0], survey.readings[-1]
    safe_results = list(itertools.takewhile(lambda it: it.strongest_recovery.high <= _MAX_NAMED_SHARE, survey.readings))
    text = (
        f"An attacker who sees the private texts named {_format_percent(lowest.strongest_recovery)} of the original words at epsilon "
        f"{lowest.epsilon:g} and {_format_percent(highest.strongest_recovery)} at epsilon {highest.epsilon:g}. (If words "
        f"follow {survey.prior}, an attacker who sees nothing and always says the most frequent one names "
        f"{100 * survey.blind:.1f} %; in this table that share is another.) "
    )
    if len(survey.readings) == 1:
        text = (
            f"An attacker who sees the private texts named {_format_percent(lowest.strongest_recovery)} of the original words at "
            f"epsilon {lowest.epsilon:g}. "
        )
    if safe_results:
        text += f"Up to epsilon {safe_results[-1].epsilon:g} it was fewer than one word in ten. "
    else:
        text += "That it was fewer than one word in ten cannot be said of any epsilon measured. "
    refuted_epsilons = [f"{reading.epsilon:g}" for reading in survey.readings if reading.promise.status == "refuted"]
    if refuted_epsilons:
        text += f"The guarantee is refuted at epsilon {', '.join(refuted_epsilons)}: take another mechanism. "
    return text + "The stronger the attacker you expect, and the more one word can harm, the smaller epsilon must be."


def _describe_losses(survey: SurveyResult) -> str:
    lowest, highest = survey.readings[0], survey.readings[-1]
    text = (
        f"From {_format_percent(lowest.similarity.unchanged)} of the words at epsilon {lowest.epsilon:g} to "
        f"{_format_percent(highest.similarity.unchanged)} at epsilon {highest.epsilon:g} stay as they were. "
    )
    if len(survey.readings) == 1:
        text = f"{_format_percent(lowest.similarity.unchanged)} of the words stay as they were. "
    with_utility = [(reading, reading.utility) for reading in survey.readings if reading.utility is not None]
    if not with_utility:
        return text + "What the private texts are still good for was not measured: name a column of labels for that."
    first_utility = with_utility[0][1]
    text += (
        f"A classifier trained on the original texts names {_format_percent(first_utility.original)} of the labels rightly, a blind "
        f"guess {100 * first_utility.majority:.1f} %. "
    )
    affordable = list(itertools.takewhile(lambda pair: pair[1].lost.high <= _MAX_ACCURACY_LOSS, reversed(with_utility)))
    if affordable:
        return (
            text + f"From epsilon {affordable[-1][0].epsilon:g} on, training on private texts costs less than 5 points."
        )
    best_result, best_utility = min(with_utility, key=lambda pair: pair[1].lost.value)
    return text + (
        f"Trained on private texts it loses least at epsilon {best_result.epsilon:g}: {100 * best_utility.lost.value:.1f} points "
        f"({100 * best_utility.lost.low:.1f} to {100 * best_utility.lost.high:.1f})."
    )


def build_charts(survey: SurveyResult) -> list[LineChart]:
    """Return the trade-off curves of a survey."""
    readings, epsilon = survey.readings, "epsilon per unit of distance"

    def build_series(name: str, select_estimate: Callable[[EpsilonResult], Estimate | None]) -> ChartSeries:
        values = [(reading.epsilon, select_estimate(reading)) for reading in readings]
        return ChartSeries(
            name,
            tuple(
                ChartPoint(as_exact_estimate(epsilon_value), value)
                for epsilon_value, value in values
                if value is not None
            ),
        )

    def build_epsilon_chart(
        title: str, y_label: str, lines: list[ChartSeries], *levels: tuple[str, float], percent: bool = True
    ) -> LineChart:
        shown_series = tuple(series for series in lines if series.points)
        return LineChart(title, epsilon, y_label, shown_series, levels, y_in_percent=percent)

    built_charts = [
        build_epsilon_chart(
            "What an attacker names",
            "words named",
            [
                build_series("this table, words in context", lambda it: it.context.share if it.context else None),
                build_series("this table, one word at a time", lambda it: it.alone.share),
                build_series("public word frequencies", lambda it: it.public.share),
            ],
            ("without any output", survey.blind),
        ),
        build_epsilon_chart(
            "Words that stay as they are",
            "words kept",
            [
                build_series("this table", lambda it: it.similarity.unchanged),
                build_series("public word frequencies", lambda it: it.expected),
            ],
        ),
    ]
    first_utility = readings[0].utility
    if first_utility is not None and survey.originals is not None:
        levels = (("trained on originals", first_utility.original.value), ("blind guess", first_utility.majority))
        utility_series = ChartSeries(
            "trained on private texts",
            tuple(
                ChartPoint(it.strongest_recovery, it.utility.private, f"{it.epsilon:g}")
                for it in readings
                if it.utility
            ),
        )
        built_charts += [
            build_epsilon_chart(
                "What a classifier still learns",
                "accuracy",
                [build_series("trained on private texts", lambda it: it.utility.private if it.utility else None)],
                *levels,
            ),
            LineChart(
                "Accuracy against words named, at each epsilon",
                "words an attacker names",
                "accuracy",
                (utility_series,),
                levels,
                x_is_share=True,
            ),
            build_epsilon_chart(
                "Who was in the training set",
                "area under the curve",
                [
                    build_series("attacked with original records", lambda it: it.membership["original"].auc),
                    build_series("attacked with private records", lambda it: it.membership["private"].auc),
                ],
                ("trained on originals", survey.originals.auc.value),
                ("blind guess", 0.5),
                percent=False,
            ),
        ]
    first_authorship = readings[0].authorship
    if first_authorship is not None:
        built_charts.append(
            build_epsilon_chart(
                "Whose author is named",
                "authors named",
                [
                    build_series(
                        "attacker learned from private texts",
                        lambda it: it.authorship.adaptive if it.authorship else None,
                    ),
                    build_series(
                        "attacker learned from originals", lambda it: it.authorship.static if it.authorship else None
                    ),
                ],
                ("original texts", first_authorship.ceiling.value),
                ("blind guess", first_authorship.majority),
            )
        )
    return built_charts


def _format_percent(estimate: Estimate) -> str:
    return f"{100 * estimate.value:.1f} %"
