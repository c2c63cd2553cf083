"""The report as a page, and its charts."""

import builtins
import dataclasses
import html.parser
import re

import pytest

from deniable import TEM, MultivariateLaplace
from deniable.core.errors import InputError
from deniable.core.numbers import as_percent, format_lower, format_upper
from deniable.measure.report.charts import draw_chart
from deniable.measure.report.inputs import SurveyPlan
from deniable.measure.report.page import answer_questions, build_charts, render_report
from deniable.measure.report.survey import survey_table
from tests.conftest import SMALL_WORDS
from tests.measure.report.test_survey import PLAN, ROWS, table

EVIL = '<script>alert("x")</script> & <b>'
_VOID = {"meta", "br"}


class Checker(html.parser.HTMLParser):
    """Reads a page, and checks that what is opened is closed."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.data = [], [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.data.append(data)


def checked(text):
    """Return a page as read by the standard library's parser."""
    reader = Checker()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


@pytest.fixture(scope="module")
def found(small_space):
    """Return a survey of a table with a script in one of its texts, all rows shown."""
    texts, kinds, authors = table()
    texts[0] = EVIL
    plan = dataclasses.replace(PLAN, examples=ROWS)
    mechanisms = [TEM(small_space, epsilon=epsilon) for epsilon in (0.5, 9.0)]
    return survey_table(texts, mechanisms, labels=kinds, authors=authors, plan=plan)


@pytest.fixture(scope="module")
def page(found):
    return render_report(found, "deniable measure <in>.csv")


def test_the_page_stands_alone(page):
    """The page is well formed, and holds no script, no link and nothing from a network."""
    reader = checked(page)
    assert {tag for tag, _ in reader.seen} & {"script", "link", "img", "iframe", "a"} == set()
    assert re.search(r"https?:|url\(|@import|src=", page) is None
    assert "It is for the owner of the texts. Do not release it." in page


def test_texts_are_escaped(page):
    """What stands in the texts and the command is shown, never read as HTML."""
    assert "<script" not in page
    shown = "".join(checked(page).data)
    assert EVIL in shown
    assert "deniable measure <in>.csv" in shown


def test_the_page_has_the_numbers_of_the_json(found, page):
    """Every share of the figures stands on the page."""
    for reading in found.to_dict()["readings"]:
        success = format_upper(as_percent(reading["public"]["share"]["value"]), decimals=1)
        assert f"<b>{success} %</b> <i>exact</i>" in page
        for name in ("alone", "context"):
            assert f"<b>{100 * reading[name]['share']['value']:.1f} %</b>" in page
        for name in ("original", "private"):
            estimate = reading["utility"]["accuracy"][name]
            assert f"<b>{100 * estimate['value']:.1f} %</b>" in page
            low, high = as_percent(estimate["low"]), as_percent(estimate["high"])
            assert f"<i>{format_lower(low, decimals=1)} to {format_upper(high, decimals=1)}</i>" in page
            assert f"<b>{reading['membership'][name]['auc']['value']:.3f}</b>" in page
        assert f"{format_upper(reading['promise']['proven'], 6)}" in page
        for bound in reading["promise"]["record"]["pure"], reading["promise"]["record"]["approximate"]:
            assert f"<b>epsilon {format_upper(bound['epsilon'])}</b>" in page
        assert f"{100 * reading['authorship']['static']['value']:.1f} %" in page


def test_changed_words_are_marked(found, page):
    """Each example marks as many words as were changed, on both sides."""
    changed = sum(flag for r in found.readings for e in r.examples for side in (e.before, e.after) for _, flag in side)
    assert page.count("<mark>") == changed + 1  # one in the sentence that says so


def test_charts_are_described(found, page):
    """Each chart has a title and a description with its numbers, and lies inside its view."""
    drawn = [draw_chart(chart) for chart in build_charts(found)]
    assert len(drawn) == 6
    assert page.count("<svg") == 6
    for text in drawn:
        tags = [tag for tag, _ in checked(text).seen]
        assert tags[:3] == ["svg", "title", "desc"]
        width, height = map(float, re.search(r'viewBox="0 0 (\S+) (\S+)"', text).groups())
        for x, y in re.findall(r'[ "](?:c?x)="([\d.-]+)" (?:c?y)="([\d.-]+)"', text):
            assert 0 <= float(x) <= width
            assert 0 <= float(y) <= height
    assert f"0.5: {found.readings[0].alone.share.format_percent()}" in drawn[0]


def test_a_page_of_texts_alone(small_space):
    """Without labels and authors, and at one epsilon without a known law, the page leaves their parts out."""
    plan = SurveyPlan(examples=0, attacked=5)
    found = survey_table(table()[0], [MultivariateLaplace(small_space, epsilon=3.0)], plan=plan)
    page = render_report(found)
    checked(page)
    assert found.readings[0].promise.status == "proved for ideal arithmetic"
    assert found.readings[0].promise.proven is None
    assert "<b>none</b> <i>proved for ideal arithmetic</i>" in page
    assert "What a classifier learns" not in page
    assert "Who wrote it" not in page
    assert "Who is still named" not in page
    assert "name a column of labels" in answer_questions(found)[1][1]


def test_who_is_still_named(small_space):
    """With labelled spans there is a section with every share, a table that shows kinds as text, and a chart."""
    texts = table()[0]
    entities = [[(0, 5, "P"), (6, 11, "<b>")] if text and len(text) > 20 else [] for text in texts]
    entities[5] = [(4, 5, "SIGN")]
    mechanisms = [TEM(small_space, epsilon=epsilon) for epsilon in (0.5, 9.0)]
    found = survey_table(texts, mechanisms, entities=entities, plan=SurveyPlan(examples=0, attacked=6))
    page = render_report(found)
    reader = checked(page)
    assert "Who is still named" in reader.data
    assert "44 labelled spans of names and the like in 22 rows, with 44 words" in page
    assert "1 further span holds no word" in page
    assert ("th", {"scope": "row", "data-name": "kind"}) in reader.seen
    assert "<b>" in reader.data
    for reading in found.readings:
        for figures in (reading.entities.total, *reading.entities.kinds):
            assert f"<b>{100 * figures.at_place.value:.1f} %</b>" in page
        for estimate in (reading.entities.total.chance_in_text, reading.entities.total.whole):
            assert f"<b>{100 * estimate.value:.1f} %</b>" in page
    assert found.readings[1].entities.total.is_beyond_chance
    assert "beyond chance" in page
    [chart] = [chart for chart in build_charts(found) if chart.title == "Who is still named"]
    assert [len(series.points) for series in chart.series] == [2, 2, 2]


def test_a_page_of_one_kind_and_one_text(small_space):
    """One kind has no table of its own, and a single text no chance level."""
    texts = [SMALL_WORDS[0]]
    found = survey_table(texts, [TEM(small_space, epsilon=9.0)], entities=[[(0, 5, "P")]], plan=SurveyPlan(examples=0))
    page = render_report(found)
    checked(page)
    assert "1 labelled span of names and the like in 1 row, with 1 word;" in page
    assert 'data-name="kind"' not in page
    assert '<td data-name="by chance, in another text"><b>-</b></td>' in page


def test_a_refuted_guarantee_is_named(found):
    """A refuted guarantee is on the page, and in the answer to which epsilon."""
    first = found.readings[0]
    broken = dataclasses.replace(first.promise, status="refuted", proven=None, record=None)
    page = render_report(
        dataclasses.replace(found, readings=(dataclasses.replace(first, promise=broken), found.readings[1]))
    )
    assert "The guarantee is refuted at epsilon 0.5" in page
    assert "<b>none</b>" in page


def test_without_jinja2(found, monkeypatch):
    """A missing jinja2 is one line that says what to install."""
    real = builtins.__import__

    def missing(name, *rest):
        if name == "jinja2":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(InputError, match=r"install deniable\[measure\]"):
        render_report(found)
