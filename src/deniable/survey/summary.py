"""The summary of a survey: one page to fill in, print and sign, without any text of the table."""

import dataclasses

from deniable.core.numbers import format_upper, format_upper_percent
from deniable.survey.limits import MAX_WHOLE_DELTA, MAX_WHOLE_EPSILON
from deniable.survey.page import find_headline, make_environment
from deniable.survey.results import Result, Survey
from deniable.text.tables.layout import CopiedContent

_MAX_ROWS, _MAX_COLUMNS = 8, 8
"""Releases and columns for which one sheet of paper has room."""


@dataclasses.dataclass(frozen=True)
class TableRelease:
    """What would leave, beside the new texts.

    Attributes:
        source: name of the table.
        text: name of the column with the texts.
        copied: the columns that are copied unchanged; None where that is not decided yet.
    """

    source: str
    text: str
    copied: CopiedContent | None = None


def render_summary(survey: Survey, release: TableRelease) -> str:
    """Return the page. Its figures were computed from private texts: it is for their owner, and shows none of them.

    Raises:
        InputError: jinja2 or matplotlib is not installed.
    """
    releases = [one for one in survey.results if one.promise is not None]
    # The recommended one is among those for which there is room.
    chosen = survey.advice.choices[:1]
    shown = sorted(releases, key=lambda one: one.name not in chosen)[:_MAX_ROWS]
    return (
        make_environment(is_html=True)
        .get_template("summary.html.j2")
        .render(
            survey=survey,
            release=release,
            rows=[one for one in releases if one in shown],
            left_out=len(releases) - len(shown),
            headline=find_headline(survey),
            attackers=_list_attackers(survey),
            risks=_list_risks(survey, release),
            max_columns=_MAX_COLUMNS,
        )
    )


def _list_attackers(survey: Survey) -> list[str]:
    """Return what was tried against the releases, in sentences without a full stop."""
    about, results = survey.about, survey.results
    words = next((one for one in results if one.kind == "words"), None)
    lines = []
    if words is not None:
        context = ", and with the words around it" if "context" in words.recovery else ""
        lines.append(f"Guessing words: each word on its own{context}, on {about['attacked']:,} rows")
    reading = next((one.reading for one in results if one.reading is not None), None)
    if reading is not None:
        lines.append(f"Guessing words with the language model {reading.model}")
    if any(one.linked is not None for one in results):
        lines.append(f"Linking at most {about['linked']:,} released texts to the originals, all of which are known")
    if any(one.membership for one in results):
        lines.append(
            f"Finding out which of {about['members']:,} records trained a classifier, with {about['shadows']} models"
        )
    if any(one.authorship is not None for one in results):
        lines.append("Identifying authors from other texts of theirs")
    if any(one.entities is not None for one in results):
        lines.append("Looking for labelled names that survive")
    return lines


def _list_risks(survey: Survey, release: TableRelease) -> list[str]:
    """Return what is left to fear, in sentences without a full stop: of the recommended release, or of any."""
    chosen = [one for one in survey.results if one.name in survey.advice.choices[:1]]
    considered = [one for one in chosen or survey.results if one.promise is not None]
    lines = [line for line in map(_describe_whole, considered) if line][:1]
    linked = max((one.linked.value for one in considered if one.linked is not None), default=0.0)
    if linked:
        lines.append(
            f"Whoever has the originals links up to {format_upper_percent(linked)} of the texts to their records"
        )
    rare = max((one.outcomes.rare_guessed or 0.0 for one in considered if one.outcomes is not None), default=0.0)
    if rare:
        lines.append(
            f"Rare words, which may be the ones that matter: up to {format_upper_percent(rare)} of them are guessed"
        )
    if release.copied is None or release.copied.columns:
        lines.append("Columns that are copied unchanged are not protected at all")
    return [
        *lines,
        "Better attackers than those above may exist; only the guarantee holds against all of them",
        "A second release of the same texts adds to the first: count every release",
    ]


def _describe_whole(result: Result) -> str:
    """Return that a release does not protect whole records; nothing where it does."""
    promise, delta = result.promise, result.delta or 0.0
    if delta > MAX_WHOLE_DELTA:
        return (
            f"Whole records are not protected by {result.name}: delta is {format_upper(delta)}, the chance with which "
            "any of them may be shown"
        )
    if promise is None or (promise.whole is not None and promise.whole <= MAX_WHOLE_EPSILON):
        return ""
    bound = "no bound is known" if promise.whole is None else f"epsilon is {format_upper(promise.whole)}"
    return f"Whole records are not protected by {result.name}: {bound} for {promise.whole_unit}; 10 is weak already"
