"""The map of the papers: every numbered item with its place and its verdict, by hand but for what the studies decide.

The source, ``papers.md`` beside this file, is a template: ``said(study, beginning)`` is the outcome of the one
statement or question that begins so, with a link, and ``at(study, curve, metric, x)`` a measured number, so that
neither can differ from what the rows of a study say.
"""

from functools import cache
from pathlib import Path

from deniable.core.errors import InputError
from studies import STUDIES
from studies.page import DOCS, RESULTS, Quote, quote_row, render_template
from studies.rows import Results, read_results
from studies.study import Outcome, Study

SOURCE = Path(__file__).with_name("papers.md")
NAME = "papers"


def build_map(text: str, results: Path = RESULTS) -> str:
    """Return the page in markdown.

    Args:
        text: the source, a template of Jinja.
        results: folder with the rows of the studies.

    Raises:
        InputError: the source names a study, a statement or a row that is not there.
    """

    @cache
    def find(name: str) -> tuple[Study, Results]:
        if name not in STUDIES:
            raise InputError(f"papers: there is no study {name!r}: correct the reference.")
        return STUDIES[name], read_results(results, STUDIES[name].stem)

    def said(name: str, beginning: str) -> str:
        study, measured = find(name)
        return _show_outcome(study, measured, beginning)

    def at(name: str, curve: str, metric: str, x: float | None = None) -> Quote:
        return quote_row(*find(name), curve, metric, x)

    return render_template(NAME, text, said=said, at=at)


def _show_outcome(study: Study, measured: Results, beginning: str) -> str:
    """Return the outcome of a statement, how many rows are for or against it, and a link to it."""
    found = [statement for statement in study.everything_judged if statement.text.startswith(beginning)]
    if len(found) != 1:
        raise InputError(f"papers: {len(found)} statements of {study.name} begin with {beginning!r}: name one.")
    (statement,) = found
    rows = (*measured.rows, *study.published)
    outcome, outcomes = statement.judge(rows), statement.judge_rows(rows)
    if outcome == "not measured":
        raise InputError(f"papers: nothing was measured of {statement.text!r} of {study.name}: drop the reference.")
    part = "what-is-asked-here" if statement in study.questions else "what-the-paper-says"
    link = f"[{outcome}](studies/{study.stem}.md#{part})"
    counted: Outcome = "does not agree" if outcome == "does not agree" else "agrees"
    if len(outcomes) == 1 or outcome == "undecided":
        return link
    return f"{link} ({'against it ' * (counted != 'agrees')}{outcomes.count(counted)} of {len(outcomes)})"


def write_map(results: Path = RESULTS, output: Path = DOCS) -> Path:
    """Write the page and return its path."""
    page = output / f"{NAME}.md"
    page.write_text(build_map(SOURCE.read_text(encoding="utf-8"), results), encoding="utf-8")
    return page


def check_map(results: Path = RESULTS, output: Path = DOCS) -> list[str]:
    """Return a line if the page does not follow from its source and the rows."""
    page = output / f"{NAME}.md"
    if page.is_file() and page.read_text(encoding="utf-8") == build_map(SOURCE.read_text(encoding="utf-8"), results):
        return []
    return [f"{page} does not follow from the rows: write it with python -m studies page {NAME}"]
