"""Reports: one set of facts, three renderings that hold all of it."""

import json
import math

import pytest

from deniable.core.errors import InputError
from deniable.core.intervals import estimate_share
from deniable.core.report import Fact, Report, Section, format_value, make_facts

REPORT = Report(
    "A model",
    (
        Section("", (Fact("model", "small"), Fact("seed", None))),
        Section("data", (Fact("records", 60_000, "public", "60,000"), Fact("classes", ["a", "b"]))),
        Section("", (Fact("not protected", ["the tests", "the options"]),)),
    ),
    schema="a-report/1",
)


def test_text():
    """Labels stand in one column per section, notes and further items below their values."""
    assert REPORT.to_text() == (
        "A model\n"
        "\n"
        "model  small\n"
        "seed   none\n"
        "\n"
        "Data\n"
        "  records  60,000\n"
        "           public\n"
        "  classes  a\n"
        "           b\n"
        "\n"
        "not protected  the tests\n"
        "               the options\n"
    )


def test_text_without_titles():
    """A report of one untitled section has no blank lines."""
    assert Report("A release", (Section("", (Fact("noise", "fresh"),)),)).to_text() == "A release\nnoise  fresh\n"


def test_json():
    """Values keep their types, untitled facts stand at the top, and notes are repeated in the same structure."""
    assert json.loads(REPORT.to_json()) == {
        "schema": "a-report/1",
        "title": "A model",
        "model": "small",
        "seed": None,
        "data": {"records": 60_000, "classes": ["a", "b"]},
        "not protected": ["the tests", "the options"],
        "notes": {"data": {"records": "public"}},
    }


def test_json_is_strict():
    """Numbers that are not finite are texts, and an estimate is its fields."""
    share = estimate_share(3, 4)
    facts = (Fact("bounds", {"upper": math.inf}), Fact("share", share), Fact("points", ({"low": -math.inf},)))
    content = json.loads(Report("x", (Section("", facts),)).to_json())
    assert content["bounds"] == {"upper": "inf"}
    assert (content["share"]["value"], content["share"]["high"]) == (0.75, share.high)
    assert content["points"] == [{"low": "-inf"}]


def test_html_is_escaped():
    """Markup in a title, a label, a value or a note is shown, never interpreted."""
    report = Report("<b>t", (Section("<i>s", (Fact("<u>l", "<script>v", "a & b"),)),))
    page = report.to_html()
    assert page.startswith("<!doctype html>")
    for markup in ("<b>", "<i>", "<u>", "<script>"):
        assert markup not in page
    for shown in ("&lt;b&gt;t", "&lt;i&gt;s", "&lt;u&gt;l", "&lt;script&gt;v", "a &amp; b"):
        assert shown in page


def test_html_holds_every_line():
    """The page has every line of the text."""
    page = REPORT.to_html()
    for section in REPORT.sections:
        for fact in section.facts:
            assert all(line in page for line in (fact.label, *fact.format_lines()))


@pytest.mark.parametrize(
    "sections",
    [
        (Section("", (Fact("a", 1), Fact("a", 2))),),
        (Section("x", (Fact("a", 1), Fact("a", 2))),),
        (Section("x", (Fact("a", 1),)), Section("x", (Fact("b", 1),))),
        (Section("", (Fact("x", 1),)), Section("x", (Fact("b", 1),))),
        (Section("", (Fact("title", 1),)),),
    ],
)
def test_a_name_twice(sections):
    """Two facts that would have one place in the JSON are refused."""
    with pytest.raises(InputError, match="has several facts called"):
        Report("r", sections)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "none"), (True, "yes"), (False, "no"), (0.123456789, "0.123457"), (12_345, "12345"), ("a\nb", "a b"),
        ([1, 2.5], "1, 2.5"), ([], "none"), ({"a": 1, "b": None}, "a 1, b none"), ({}, "none"),
    ],
)  # fmt: skip
def test_values(value, text):
    """Values read plainly, on one line."""
    assert format_value(value) == text


def test_an_empty_list_is_none():
    """A list without items says so, and facts of a dictionary keep its order."""
    assert Fact("columns", []).format_lines() == ["none"]
    assert [fact.label for fact in make_facts({"b": 1, "a": 2})] == ["b", "a"]
