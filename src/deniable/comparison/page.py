"""The page of a comparison: one self-contained HTML page, with no script and nothing from a network."""

from importlib import resources

from deniable.comparison.findings import WAYS, Comparison, ReleaseResult
from deniable.core.numbers import format_exact
from deniable.core.report import Fact, Report
from deniable.measure.intervals import Estimate
from deniable.measure.report.charts import ChartPoint, ChartSeries, LineChart, draw_chart
from deniable.measure.report.page import make_environment

_TABLES: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "What is guaranteed",
        (
            ("guarantee", "guarantee"),
            ("adjacency", "compares"),
            ("status", "status"),
            ("all of a record or person", "all of one"),
        ),
    ),
    (
        "What the best attacker achieves",
        (
            ("words guessed", "words guessed"),
            ("guessed by frequency", "by frequency"),
            ("most exposed word", "most exposed word"),
            ("records linked", "records linked"),
            ("membership", "membership, area"),
            ("members found", "members found"),
        ),
    ),
    (
        "What the release is good for",
        (
            ("balanced accuracy", "balanced accuracy"),
            ("gain kept", "gain kept"),
            ("likeness", "likeness"),
            ("likeness of others", "likeness of others"),
            ("perplexity", "perplexity"),
            ("seconds", "seconds"),
        ),
    ),
)
_NAME_COLUMNS = (("names in their text", "names that come out"), ("the same by chance", "in other texts, by chance"))


def render_page(comparison: Comparison, report: Report) -> str:
    """Return the page; it holds figures computed from private texts, and is for their owner.

    Args:
        comparison: the figures of its chart.
        report: everything else that it shows, see `deniable.comparison.report.build_report`.

    Raises:
        InputError: jinja2 is not installed.
    """
    sections = {section.title: {fact.label: fact for fact in section.facts} for section in report.sections}
    names = [release.name for release in comparison.releases]
    source = resources.files(__package__).joinpath("page.html.j2").read_text("utf-8")
    return (
        make_environment()
        .from_string(source)
        .render(
            title=report.title,
            sections=sections,
            tables=[(title, _list_columns(title, comparison)) for title, _ in _TABLES],
            rows=[(name, sections[name]) for name in names],
            charts=[(chart.title, draw_chart(chart)) for chart in build_charts(comparison)],
            notes=_group_notes(comparison),
            split=split_cell,
        )
    )


def split_cell(fact: Fact) -> tuple[str, str]:
    """Return what a cell shows: the figure, and its interval or nothing."""
    value, _, interval = " ".join(fact.format_lines()[:1]).partition(" (")
    is_estimate = isinstance(fact.value, Estimate)
    return (value, interval.rstrip(")")) if is_estimate else (" ".join(fact.format_lines()[:1]), "")


def build_charts(comparison: Comparison) -> list[LineChart]:
    """Return what each release keeps against what an attack on membership gains from it."""
    series = []
    for way in WAYS:
        points = [_place_release(release) for release in comparison.releases if release.way == way]
        if points:
            series.append(ChartSeries(way, tuple(points)))
    if not series:
        return []
    baselines = comparison.baselines
    return [
        LineChart(
            "What is kept, against what an attacker on membership gains",
            "gain over a blind guess of an attacker on membership",
            "balanced accuracy",
            tuple(series),
            (("trained on originals", baselines.originals.value), ("blind guess", baselines.blind)),
            x_is_share=True,
        )
    ]


def _group_notes(comparison: Comparison) -> list[tuple[str, str]]:
    """Return every note once, with the names of the releases that it is on."""
    names_by_note: dict[str, list[str]] = {}
    for release in comparison.releases:
        if release.note:
            names_by_note.setdefault(release.note, []).append(release.name)
    return [("; ".join(names), note) for note, names in names_by_note.items()]


def _list_columns(title: str, comparison: Comparison) -> tuple[tuple[str, str], ...]:
    columns = dict(_TABLES)[title]
    has_names = any(release.attacks.names is not None for release in comparison.releases)
    return (*columns, *_NAME_COLUMNS) if has_names and "words guessed" in dict(columns) else columns


def _place_release(release: ReleaseResult) -> ChartPoint:
    membership = release.attacks.membership
    area = None if membership is None else membership.auc
    gain = Estimate(0, 0, 0, 1, 0, "exact") if area is None else _double_gain(area)
    return ChartPoint(gain, release.use.score.private, format_exact(release.epsilon))


def _double_gain(area: Estimate) -> Estimate:
    """Return 2 A - 1 for an area A: 0 for a blind guess, 1 for a perfect attack."""
    return Estimate(2 * area.value - 1, 2 * area.low - 1, 2 * area.high - 1, area.confidence, area.count, area.method)
