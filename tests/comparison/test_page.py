"""The page of a comparison, as a parser reads it."""

import html.parser
import itertools
import json
import re

import pytest

from deniable.comparison.page import build_charts, render_page
from deniable.comparison.recommendation import recommend_release
from deniable.comparison.report import build_report
from deniable.core.numbers import as_percent, format_exact, format_lower, format_upper

NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")


class Cells(html.parser.HTMLParser):
    """Reads the cells of all tables, and every tag."""

    def __init__(self):
        super().__init__()
        self.cells, self.tags, self._is_open = [], [], False

    def handle_starttag(self, tag, attributes):
        """Open a cell."""
        self.tags.append((tag, dict(attributes)))
        if tag == "td":
            self._is_open = True
            self.cells.append((dict(attributes)["data-name"], ""))

    def handle_endtag(self, tag):
        """Close it."""
        self._is_open = self._is_open and tag != "td"

    def handle_data(self, data):
        """Add to the open one."""
        if self._is_open:
            name, text = self.cells[-1]
            self.cells[-1] = name, text + data


@pytest.fixture(scope="module")
def rendered(comparison):
    """Return the page and the JSON of a comparison."""
    report = build_report(comparison, recommend_release(comparison), "deniable compare 't & u.csv'", "")
    return render_page(comparison, report), json.loads(report.to_json())


def list_leaves(value):
    """Return all numbers and texts in a JSON value."""
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in list_leaves(item)]
    if isinstance(value, list):
        return [leaf for item in value for leaf in list_leaves(item)]
    return [value]


def list_spellings(leaves):
    """Return every way in which the page may write a number of the JSON."""
    spellings = set()
    for leaf in leaves:
        if isinstance(leaf, str):
            spellings |= set(NUMBER.findall(leaf))
        elif isinstance(leaf, int | float) and not isinstance(leaf, bool):
            for number, digits in itertools.product((leaf, as_percent(leaf)), range(4)):
                spellings |= {f"{number:.{digits}f}", f"{number:,.{digits}f}"}
                spellings |= {format_lower(number, decimals=digits), format_upper(number, decimals=digits)}
            spellings |= {format_exact(leaf), format_upper(leaf)}
    return spellings


def test_every_figure_is_in_the_json(rendered):
    """Whatever number a table of the page shows stands in the JSON, figure, interval or text."""
    page, content = rendered
    reader = Cells()
    reader.feed(page)
    spellings = list_spellings(list_leaves(content))
    numbers = {number for _, text in reader.cells for number in NUMBER.findall(text)}
    assert len(numbers) > 40
    assert not {number for number in numbers if number not in spellings}


def test_every_measured_figure_has_an_interval(rendered):
    """No share, area or perplexity of the tables stands alone."""
    reader = Cells()
    reader.feed(rendered[0])
    measured = ("words named", "records linked", "membership, area", "members found", "balanced accuracy", "perplexity")
    for name, text in reader.cells:
        if name in measured and text != "-":
            assert " to " in text, (name, text)


def test_one_page_by_itself(rendered):
    """It has no script and loads nothing, and says first that it is for the owner."""
    reader = Cells()
    reader.feed(rendered[0])
    assert not {tag for tag, _ in reader.tags} & {"script", "link", "img", "iframe"}
    assert not [attributes for _, attributes in reader.tags if "src" in attributes or "href" in attributes]
    body = rendered[0].partition("<main>")[2]
    assert body.strip().startswith('<p class="banner">This page shows figures computed from private records.')
    assert "t &amp; u.csv" in body


def test_rows_and_columns(rendered, comparison):
    """Each of the three tables has a row for each release, and names its columns where they stand below each other."""
    page = rendered[0]
    assert page.count("<table>") == 3
    for release in comparison.releases:
        assert page.count(f'data-name="release">{release.name}</th>') == 3
    assert "names that come out" in page


def test_the_chart(comparison, rendered):
    """One chart has a series for each way."""
    (chart,) = build_charts(comparison)
    assert [series.name for series in chart.series] == ["words", "records", "classifier", "synthetic texts"]
    assert rendered[0].count("<svg") == 1
