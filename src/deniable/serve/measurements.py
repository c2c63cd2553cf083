"""``deniable measure`` for a table in memory: the report's page, computed in a process of its own, and no file."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from deniable.auditing import verify
from deniable.core.numbers import format_exact
from deniable.registry import mechanism
from deniable.serve.catalogue import Choice
from deniable.serve.jobs import Report
from deniable.space import Space
from deniable.survey.page import make_environment, render_page
from deniable.survey.summary import TableRelease, render_summary
from deniable.survey.survey import Bench, survey_table
from deniable.survey.table import Plan, build_table
from deniable.survey.words import Words
from deniable.words.prior import build_prior

PLAN = Plan(rows=2_000)


def measure_table(
    report: Report,
    space: Space,
    choices: Sequence[Choice],
    texts: Sequence[str | None],
    labels: Sequence[str | None] | None,
    release: TableRelease,
    command: str,
) -> dict[str, Any]:
    """Return the report of a table: ``page``, as HTML, ``figures``, and the ``summary`` to sign, as HTML.

    Args:
        report: called with the name of each part of the work.
        space: the words that releases draw from.
        choices: word mechanisms and epsilons to compare.
        texts: (n,) private texts.
        labels: (n,) classes; None to measure no utility.
        release: what would leave beside the new texts.
        command: the command that measures the same, for the report.

    Raises:
        InputError: the table or an epsilon cannot be used.
    """
    make_environment(is_html=True)
    table = build_table(texts, labels, PLAN)  # refuses early what cannot be measured
    mechanisms = []
    for choice in choices:
        report(f"calibrating and verifying epsilon {format_exact(choice.epsilon)}")
        mechanisms.append(mechanism(choice.mechanism, space, epsilon=choice.epsilon))
        verify(mechanisms[-1])

    @contextmanager
    def report_stage(name: str) -> Iterator[None]:
        report(name)
        yield

    bench = Bench(table, PLAN, space, build_prior(space, None))
    survey = survey_table(bench, list(map(Words, mechanisms)), progress=report_stage)
    return {
        "page": render_page(survey, command),
        "figures": survey.to_dict(),
        "summary": render_summary(survey, release),
    }
