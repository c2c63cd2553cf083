"""The page of a comparison, as a parser reads it."""

import html.parser
import itertools
import re

import pytest

NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")


class Cells(html.parser.HTMLParser):
    """Reads the cells of all tables, and every tag."""

    def __init__(self, page):
        super().__init__()
        self.cells, self.tags, self._is_open = [], [], False
        self.feed(page)

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
def reader(compared):
    """Return the cells and tags of the page."""
    return Cells(compared.page)


def list_leaves(value):
    """Return all numbers and texts in a JSON value."""
    if isinstance(value, dict | list):
        items = value.values() if isinstance(value, dict) else value
        return [leaf for item in items for leaf in list_leaves(item)]
    return [value]


def test_every_figure_is_in_the_json(reader, compared):
    """Whatever number a table of the page shows stands in the JSON, as figure, interval or text, to its last digit."""
    leaves = list_leaves(compared.content)
    texts = {number for leaf in leaves if isinstance(leaf, str) for number in NUMBER.findall(leaf)}
    values = [leaf for leaf in leaves if isinstance(leaf, int | float) and not isinstance(leaf, bool)]
    shown = {number for _, text in reader.cells for number in NUMBER.findall(text)} - texts
    assert len(shown) > 40
    for number in shown:
        step = 1.01 * 10.0 ** -len(number.partition(".")[2])
        parsed = float(number.replace(",", ""))
        nearest = min(abs(parsed - scale * value) for value, scale in itertools.product(values, (1, 100)))
        assert nearest <= step, number


def test_every_measured_figure_has_an_interval(reader):
    """No share, area or perplexity of the tables stands alone."""
    measured = (
        "words guessed",
        "records linked",
        "membership, area",
        "members found",
        "balanced accuracy",
        "perplexity",
    )
    for name, text in reader.cells:
        if name in measured and text != "-":
            assert " to " in text, (name, text)


def test_one_page_by_itself(reader, compared):
    """It has no script, loads nothing, escapes names, and says first that it is for the owner."""
    assert not {tag for tag, _ in reader.tags} & {"script", "link", "img", "iframe"}
    assert not [attributes for _, attributes in reader.tags if "src" in attributes or "href" in attributes]
    body = compared.page.partition("<main>")[2]
    assert body.strip().startswith('<p class="banner">')
    assert "t &amp; u.csv" in body


def test_rows_columns_and_chart(compared):
    """Each of the three tables has a row for each release, with names where they come out; one chart has the ways."""
    page = compared.page
    assert (page.count("<table>"), page.count("<svg")) == (3, 1)
    for name in compared.releases:
        assert page.count(f'data-name="release">{name}</th>') == 3
    assert "names that come out" in page
    chart = page.partition("<svg")[2].partition("</svg>")[0]
    assert all(way in chart for way in ("words", "records", "classifier", "synthetic texts"))
