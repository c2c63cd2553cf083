"""Reports: one set of facts, three renderings that hold all of it."""

import json
import math

import deniable as dn
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


TEXT = """\
A model

model  small
seed   none

Data
  records  60,000
           public
  classes  a
           b

not protected  the tests
               the options
"""


def test_text():
    """Labels stand in one column per section, notes and further items below their values; no title, no blank line."""
    assert Report("A release", (Section("", (Fact("noise", "fresh"),)),)).to_text() == "A release\nnoise  fresh\n"
    assert REPORT.to_text() == TEXT


def test_json():
    """Values keep their types, untitled facts stand at the top, and notes are repeated in the same structure."""
    assert json.loads(REPORT.to_json()) == {
        "schema": "a-report/1",
        "title": "A model",
        "model": "small",
        "seed": None,
        "not protected": ["the tests", "the options"],
        "data": {"records": 60_000, "classes": ["a", "b"]},
        "notes": {"data": {"records": "public"}},
    }


def test_json_is_strict():
    """Numbers that are not finite are texts, and a figure with fields is its fields."""
    facts = (
        Fact("bounds", {"upper": math.inf}),
        Fact("witness", dn.Witness("a", "b", "c", 1.0, 2.0)),
        Fact("points", ({"low": -math.inf},)),
    )
    content = json.loads(Report("x", (Section("", facts),)).to_json())
    assert content["bounds"] == {"upper": "inf"}
    assert (content["witness"]["input"], content["witness"]["loss"]) == ("a", 2.0)
    assert content["points"] == [{"low": "-inf"}]


def test_html():
    """Markup in a title, a label, a value or a note is shown, never interpreted; every line is there."""
    report = Report("<b>t", (Section("<i>s", (Fact("<u>l", "<script>v", "a & b"),)),))
    page = report.to_html()
    assert page.startswith("<!doctype html>")
    for markup in ("<b>", "<i>", "<u>", "<script>"):
        assert markup not in page
    for shown in ("&lt;b&gt;t", "&lt;i&gt;s", "&lt;u&gt;l", "&lt;script&gt;v", "a &amp; b"):
        assert shown in page
    page = REPORT.to_html()
    for section in REPORT.sections:
        for fact in section.facts:
            assert all(line in page for line in (fact.label, *fact.format_lines()))


def test_values():
    """Values read plainly, on one line; an empty list is none, and facts of a dictionary keep its order."""
    table = {None: "none", True: "yes", False: "no", 0.123456789: "0.123457", 12_345: "12345", "a\nb": "a b"}
    assert {value: format_value(value) for value in table} == table
    assert [format_value(value) for value in ([1, 2.5], {"a": 1, "b": None}, {})] == ["1, 2.5", "a 1, b none", "none"]
    assert Fact("columns", []).format_lines() == ["none"]
    assert [fact.label for fact in make_facts({"b": 1, "a": 2})] == ["b", "a"]
