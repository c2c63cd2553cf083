"""The report of a survey: one self-contained HTML page, with no script and nothing from a network."""

from collections.abc import Callable
from importlib import resources
from typing import TYPE_CHECKING

from deniable.core.errors import InputError
from deniable.core.numbers import as_percent, format_exact, format_lower, format_upper, format_upper_percent
from deniable.measure.entities.survival import EntityFigures
from deniable.measure.intervals import Estimate, as_exact_estimate
from deniable.measure.report.charts import ChartPoint, ChartSeries, LineChart, draw_chart
from deniable.measure.report.findings import EpsilonResult, SurveyResult
from deniable.measure.roc import JUDGED_FALSE_POSITIVE_RATES

if TYPE_CHECKING:
    from jinja2 import Environment, Template


def render_report(survey: SurveyResult, command: str = "") -> str:
    """Return the page. It shows original private texts: it is for their owner, not for release.

    Args:
        survey: the results.
        command: the command line, if there is one.

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
    return make_environment().from_string(resources.files(__package__).joinpath("page.html.j2").read_text("utf-8"))


def make_environment() -> "Environment":
    """Return what templates of pages are read with; they may include ``style.css``, the style of all pages.

    Raises:
        InputError: jinja2 is not installed.
    """
    try:
        from jinja2 import DictLoader, Environment, StrictUndefined
    except ImportError:
        raise InputError("The report needs jinja2, which is missing: install deniable[measure].") from None
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=DictLoader({"style.css": read_style()}),
    )
    environment.globals |= {
        "exact": format_exact,
        "upper": format_upper,
        "upper_percent": format_upper_percent,
        "lower": format_lower,
        "as_percent": as_percent,
    }
    return environment


def read_style() -> str:
    """Return the style of all pages, as it stands between the tags of a report."""
    return resources.files(__package__).joinpath("style.css").read_text("utf-8").strip()


def answer_questions(survey: SurveyResult) -> list[tuple[str, str]]:
    """Return the two questions of a survey, each with an answer in words."""
    return [("Which epsilon?", _advise_epsilon(survey)), ("What do I lose?", _describe_losses(survey))]


def _advise_epsilon(survey: SurveyResult) -> str:
    lowest, highest = survey.readings[0], survey.readings[-1]
    max_share = f"{format_exact(as_percent(survey.advice.limits.max_recovery))} %"
    protected = [judgement.epsilon for judgement in survey.advice.judgements if judgement.is_protected]
    low_share, high_share = (result.strongest_recovery.format_point() for result in (lowest, highest))
    text = (
        f"An attacker who sees the private texts guessed {low_share} of the original words at epsilon "
        f"{format_exact(lowest.epsilon)}"
    )
    if len(survey.readings) == 1:
        text += ". "
    else:
        text += (
            f" and {high_share} at epsilon {format_exact(highest.epsilon)}. (If words follow {survey.prior}, an "
            "attacker without the private texts, who always says the most frequent word, guesses "
            f"{100 * survey.blind:.1f} %; in this table that share is another.) "
        )
    if protected:
        text += f"Up to epsilon {format_exact(protected[-1])} it was at most {max_share}, its interval included. "
    else:
        text += f"At no measured epsilon is it certainly at most {max_share}. "
    refuted_epsilons = [
        format_exact(reading.epsilon) for reading in survey.readings if reading.promise.status == "refuted"
    ]
    if refuted_epsilons:
        text += f"The guarantee is refuted at epsilon {', '.join(refuted_epsilons)}: take another mechanism. "
    return text + "The stronger the attacker you expect, and the more one word can harm, the smaller epsilon must be."


def _describe_losses(survey: SurveyResult) -> str:
    lowest, highest = survey.readings[0], survey.readings[-1]
    text = (
        f"From {lowest.similarity.unchanged.format_point()} of the words at epsilon "
        f"{format_exact(lowest.epsilon)} to "
        f"{highest.similarity.unchanged.format_point()} at epsilon {format_exact(highest.epsilon)} stay as they "
        "were. "
    )
    if len(survey.readings) == 1:
        text = f"{lowest.similarity.unchanged.format_point()} of the words stay as they were. "
    with_utility = [(reading, reading.utility) for reading in survey.readings if reading.utility is not None]
    if not with_utility:
        return text + "What the private texts are still good for was not measured: name a column of labels for that."
    balanced = with_utility[0][1].balanced_accuracy
    text += (
        "A classifier trained on the original texts has a balanced accuracy of "
        f"{balanced.original.format_point()}, a blind guess {100 * balanced.blind:.1f} %. "
    )
    shares = [
        f"{utility.balanced_accuracy.retained.format_point()} at epsilon {format_exact(result.epsilon)}"
        for result, utility in with_utility
        if utility.balanced_accuracy.retained is not None
    ]
    if not shares:
        return text + "What private texts retain of that cannot be judged."
    return text + f"Of what lies between the two, training on private texts retains {', '.join(shares)}."


def build_charts(survey: SurveyResult) -> list[LineChart]:
    """Return the trade-off curves of a survey."""
    return [
        *_build_word_charts(survey),
        *_build_entity_charts(survey),
        *_build_classifier_charts(survey),
        *_build_authorship_charts(survey),
    ]


def _build_word_charts(survey: SurveyResult) -> list[LineChart]:
    def get_context_share(result: EpsilonResult) -> Estimate | None:
        return result.context.share if result.context else None

    recovery = [
        _build_series(survey, "this table, words in context", get_context_share),
        _build_series(survey, "this table, one word at a time", lambda result: result.alone.share),
        _build_series(survey, "public word frequencies", lambda result: result.public.share),
    ]
    unchanged = [
        _build_series(survey, "this table", lambda result: result.similarity.unchanged),
        _build_series(survey, "public word frequencies", lambda result: result.expected),
    ]
    return [
        _build_epsilon_chart(
            "What an attacker guesses", "words guessed", recovery, ("without any output", survey.blind)
        ),
        _build_epsilon_chart("Words that stay as they are", "words kept", unchanged),
    ]


def _build_entity_charts(survey: SurveyResult) -> list[LineChart]:
    if survey.readings[0].entities is None:
        return []

    def build_series(name: str, get_estimate: Callable[[EntityFigures], Estimate | None]) -> ChartSeries:
        return _build_series(
            survey, name, lambda result: get_estimate(result.entities.total) if result.entities else None
        )

    shares = [
        build_series("words at their place", lambda figures: figures.at_place),
        build_series("the same words at places of other texts", lambda figures: figures.chance_at_place),
        build_series("whole spans", lambda figures: figures.whole),
    ]
    return [_build_epsilon_chart("Who is still named", "labelled words that come out", shares)]


def _build_classifier_charts(survey: SurveyResult) -> list[LineChart]:
    with_utility = [(result, result.utility) for result in survey.readings if result.utility is not None]
    if not with_utility or survey.originals is None:
        return []
    balanced = with_utility[0][1].balanced_accuracy
    levels = (("trained on originals", balanced.original.value), ("blind guess", balanced.blind))
    accuracies = [
        ChartPoint(as_exact_estimate(result.epsilon), utility.balanced_accuracy.private)
        for result, utility in with_utility
    ]
    trade_off = [
        ChartPoint(result.strongest_recovery, utility.balanced_accuracy.private, format_exact(result.epsilon))
        for result, utility in with_utility
    ]
    membership = [
        _build_series(survey, "attacked with original records", lambda result: result.membership["original"].auc),
        _build_series(survey, "attacked with private records", lambda result: result.membership["private"].auc),
    ]
    name = "trained on private texts"
    return [
        _build_epsilon_chart(
            "What a classifier still learns", "balanced accuracy", [ChartSeries(name, tuple(accuracies))], *levels
        ),
        LineChart(
            "Balanced accuracy against words guessed, at each epsilon",
            "words an attacker guesses",
            "balanced accuracy",
            (ChartSeries(name, tuple(trade_off)),),
            levels,
            x_is_share=True,
        ),
        _build_epsilon_chart(
            "Who was in the training set",
            "area under the curve",
            membership,
            ("trained on originals", survey.originals.auc.value),
            ("blind guess", 0.5),
            percent=False,
        ),
    ]


def _build_authorship_charts(survey: SurveyResult) -> list[LineChart]:
    first_authorship = survey.readings[0].authorship
    if first_authorship is None:
        return []

    def get_adaptive(result: EpsilonResult) -> Estimate | None:
        return result.authorship.adaptive if result.authorship else None

    def get_static(result: EpsilonResult) -> Estimate | None:
        return result.authorship.static if result.authorship else None

    attackers = [
        _build_series(survey, "attacker trained on private texts", get_adaptive),
        _build_series(survey, "attacker trained on originals", get_static),
    ]
    levels = ("original texts", first_authorship.ceiling.value), ("blind guess", first_authorship.majority)
    return [_build_epsilon_chart("Whose author is named", "authors named", attackers, *levels)]


def _build_series(
    survey: SurveyResult, name: str, get_estimate: Callable[[EpsilonResult], Estimate | None]
) -> ChartSeries:
    """Return one curve over epsilon, without the epsilons that have no estimate."""
    estimates = [(result.epsilon, get_estimate(result)) for result in survey.readings]
    points = [ChartPoint(as_exact_estimate(epsilon), value) for epsilon, value in estimates if value is not None]
    return ChartSeries(name, tuple(points))


def _build_epsilon_chart(
    title: str, y_label: str, lines: list[ChartSeries], *levels: tuple[str, float], percent: bool = True
) -> LineChart:
    shown_series = tuple(series for series in lines if series.points)
    return LineChart(title, "epsilon per unit of distance", y_label, shown_series, levels, y_in_percent=percent)
