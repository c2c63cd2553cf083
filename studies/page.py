"""The page of a study: question, figure, findings by hand, statements, points, and how to run it."""

import dataclasses
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError

from deniable.core.errors import InputError
from studies.plotter import describe_figure, draw_figure, find_difference
from studies.rows import Results, Row, Selection, find_row, read_results
from studies.study import Expectation, Metric, Statement, Study, Table

ROOM = Path(__file__).parent
RESULTS, FINDINGS = ROOM / "results", ROOM / "findings"
DOCS = ROOM.parent / "docs"
_ENVIRONMENT = Environment(  # noqa: S701 - it writes markdown
    loader=FileSystemLoader(ROOM), undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True
)
_MANY = 3
"""More rows than these are shown as a count."""
_ENDS = {"low": "from", "high": "to"}


@dataclasses.dataclass(frozen=True)
class Quote:
    """A measured number in a text: ``{{ at("tem", "accuracy", 2) }}``, ``{{ at("tem", "accuracy", 2).interval }}``.

    Attributes:
        low: lower end of its interval.
        high: upper end.
        n: observations.
        interval: the number with both ends.
        value: the number.
    """

    low: str
    high: str
    n: str
    interval: str
    value: str

    def __str__(self) -> str:
        """Return the number."""
        return self.value


def build_page(study: Study, results: Results, findings: str) -> str:
    """Return the page in markdown.

    Args:
        study: which.
        results: of its run.
        findings: text by hand; everything from its first heading on goes to the end of the page.

    Raises:
        InputError: the text quotes a number that was not measured.
    """
    head, _, tail = quote_numbers(study, results, findings).strip().partition("\n## ")
    tables = [(table.title, _build_table(study, table, results.rows)) for table in study.tables]
    return _ENVIRONMENT.get_template("page.md.j2").render(
        study=study,
        head=head.strip(),
        tail=tail.strip(),
        statements=_build_statements(study, study.statements, "the paper says", results.rows),
        questions=_build_statements(study, study.questions, "asked here", results.rows),
        tables=tables,
        facts=results.facts,
    )


def quote_numbers(study: Study, results: Results, text: str) -> str:
    """Return a text, a template of Jinja, with the numbers that it quotes.

    ``at(curve, metric, x)`` is a `Quote` of one row, without ``x`` of a row without a place. ``over(curves, metric)``
    are all places of all curves, where ``*`` stands for any text, with ``max``, ``min``, ``sum`` and ``count``. Facts
    of the run go by their names, such as ``seed``.
    """

    def at(curve: str, metric: str, x: float | None = None) -> Quote:
        return quote_row(study, results, curve, metric, x)

    def over(curves: str, metric: str) -> dict[str, str]:
        rows = [row for row in results.rows if row.metric == metric and fnmatchcase(row.curve, curves)]
        if not rows:
            raise InputError(f"{study.name}: {curves!r} has no measured {metric!r}: correct the reference.")
        values, show = [row.value for row in rows], study.metrics[metric].show
        totals = {"sum": f"{sum(values):,.0f}", "count": f"{len(values):,}"}
        return {"max": show(max(values)), "min": show(min(values)), **totals}

    numbers = {name: f"{fact:,.0f}" if isinstance(fact, int | float) else fact for name, fact in results.facts.items()}
    return render_template(study.name, text, **numbers, at=at, over=over)


def quote_row(study: Study, results: Results, curve: str, metric: str, x: float | None = None) -> Quote:
    """Return one row as it is quoted.

    Raises:
        InputError: it was not measured.
    """
    row = find_row(results.rows, curve, x, metric)
    if row is None:
        raise InputError(f"{study.name}: {curve!r} at {x} has no measured {metric!r}: correct the reference.")
    show = study.metrics[metric]
    low, high = row.interval
    interval = f"{show.show(row.value)} ({show.show_number(low)} to {show.show_number(high)})"
    return Quote(show.show(low), show.show(high), f"{row.n:,}", interval, show.show(row.value))


def render_template(owner: str, text: str, **names: object) -> str:
    """Return a text with what it quotes.

    Raises:
        InputError: it quotes what is not there.
    """
    try:
        return _ENVIRONMENT.from_string(text).render(names)
    except TemplateError as error:
        raise InputError(f"{owner}: {error.message}: correct the reference.") from None


def _format_table(head: Sequence[str], lines: Sequence[Sequence[str]], texts: int) -> str:
    """Return a markdown table; all but the first columns hold numbers, and are aligned to the right."""
    rule = ["---"] * texts + ["---:"] * (len(head) - texts)
    escaped = [[cell.replace("|", "\\|") for cell in line] for line in (head, rule, *lines)]
    return "\n".join(f"| {' | '.join(line)} |" for line in escaped)


def _build_statements(study: Study, statements: Sequence[Statement], title: str, rows: Sequence[Row]) -> str:
    """Return statements with their outcomes, and a line for everything that they were compared with; empty for none."""
    if not statements:
        return ""
    everything, lines = (*rows, *study.published), []
    for statement in statements:
        first: tuple[str, str] = statement.text, statement.judge(everything)
        compared = [line for check in statement.checks for line in _compare_rows(study, *check, everything)]
        for line in compared or [("", "", "", "", "")]:
            lines.append((*first, *line))
            first = ("", "")
    head = (title, "outcome", "measured", "expected", "here", "from", "to")
    used = len(head) if any(line[-1] for line in lines) else len(head) - len(_ENDS)
    return _format_table(head[:used], [line[:used] for line in lines], 3)


def _compare_rows(
    study: Study, selection: Selection, expectation: Expectation, rows: Sequence[Row]
) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield what was measured, what was expected, the number and its interval; a count for many rows."""
    chosen = selection.select(rows)
    if len(chosen) > _MANY:
        outcomes = [expectation.judge(row, rows) for row in chosen]
        measured_count = len(outcomes) - outcomes.count("not measured")
        curves = list(dict.fromkeys(study.curves.get(row.curve, row.curve) for row in chosen))
        where = selection.label or (curves[0] if len(curves) == 1 else f"{len(curves)} curves")
        title = study.metrics[chosen[0].metric].title
        expected = expectation.describe_all(study.metrics, study.curves, chosen[0])
        yield f"{title}: {where}", expected, f"{outcomes.count('agrees')} of {measured_count}", "", ""
        return
    for row in chosen:
        metric, place = study.metrics[row.metric], "" if row.x is None else f" at {row.x:g}"
        where = f"{metric.title}: {study.curves.get(row.curve, row.curve)}{place}"
        low, high = ("", "") if row.low is None else map(metric.show_number, row.interval)
        yield where, expectation.describe(study.metrics, row, rows), metric.show(row.value), low, high


def _build_table(study: Study, table: Table, rows: Sequence[Row]) -> str:
    """Return measured numbers, one in a cell."""
    everything = (*rows, *study.published)
    names = {column.partition("|")[0] for column in table.columns}
    chosen = [row for row in everything if row.metric in names]
    curves = [name for name in table.curves or study.curves if any(row.curve == name for row in chosen)]
    titles = {name: study.curves.get(name, name) for name in curves}
    if table.across:
        (column,) = table.columns
        places = sorted({row.x for row in chosen if row.x is not None and row.curve in titles})
        lines = [[titles[c], *(_show_cell(study, everything, c, x, column) for x in places)] for c in curves]
        return _format_table([study.metrics[column].heading, *(f"{x:g}" for x in places)], lines, 1)
    lines, is_single = [], len(curves) == 1 and bool(table.x)
    for curve in curves:
        own = {row.x for row in chosen if row.curve == curve}
        for x in sorted(own, key=lambda place: (place is not None, place or 0.0)):
            cells = [_show_cell(study, everything, curve, x, column) for column in table.columns]
            own_names = [titles[curve], "" if x is None else f"{x:g}"]
            lines.append([*own_names[is_single : 1 + bool(table.x)], *cells])
    heads = [_ENDS.get(column.partition("|")[2]) or study.metrics[column].heading for column in table.columns]
    return _format_table([*["", table.x][is_single : 1 + bool(table.x)], *heads], lines, 1)


def _show_cell(study: Study, rows: Sequence[Row], curve: str, x: float | None, column: str) -> str:
    name, _, end = column.partition("|")
    row = find_row(rows, curve, x, name)
    if row is None or (end and row.low is None):
        return ""
    metric: Metric = study.metrics[name]
    value = row.value if not end else row.interval[end == "high"]
    return metric.show_number(value)


def write_page(study: Study, results: Path = RESULTS, output: Path = DOCS) -> tuple[Path, Path]:
    """Write page and figure from the rows of a finished run, and return their paths.

    Args:
        study: which.
        results: folder with the rows.
        output: folder with the folders ``studies`` and ``figures``.
    """
    page, figure = _find_outputs(study, output)
    measured = read_results(results, study.stem)
    text, picture = build_page(study, measured, read_findings(study)), None
    if find_difference(study, measured, figure) is not None:
        picture = draw_figure(describe_figure(study, measured), measured.picture)
    for path in (page, figure):
        path.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(text, encoding="utf-8")
    if picture is not None:
        figure.write_bytes(picture)
    return page, figure


def check_page(study: Study, results: Path = RESULTS, output: Path = DOCS) -> list[str]:
    """Return what of page and figure does not follow from the rows, one line for each."""
    page, figure = _find_outputs(study, output)
    measured = read_results(results, study.stem)
    problems = []
    if not page.is_file() or page.read_text(encoding="utf-8") != build_page(study, measured, read_findings(study)):
        problems.append(f"{page} does not follow from the rows: write it with python -m studies page {study.name}")
    difference = find_difference(study, measured, figure)
    if difference is not None:
        problems.append(f"{figure}: {difference}: draw it with python -m studies page {study.name}")
    return problems


def read_findings(study: Study) -> str:
    """Return the text by hand; empty where there is none yet."""
    path = FINDINGS / f"{study.stem}.md"
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _find_outputs(study: Study, output: Path) -> tuple[Path, Path]:
    return output / "studies" / f"{study.stem}.md", output / "figures" / f"{study.stem}.png"
