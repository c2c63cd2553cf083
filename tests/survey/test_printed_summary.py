"""The page to sign on paper and on a telephone, in a real browser."""

import dataclasses
import re

import pytest

from deniable.survey.limits import Limits
from deniable.survey.results import advise
from deniable.survey.summary import TableRelease, render_summary
from deniable.text.tables.layout import CopiedContent
from tests.serve.conftest import browser as browser  # noqa: PLC0414 - a fixture
from tests.survey.test_results import make_result, make_words

pytestmark = pytest.mark.deep


def test_one_sheet_of_paper(found, browser, tmp_path):
    """With as many releases, attackers, risks and columns as are shown it is one printed page, and fits a telephone."""
    words = [make_words(epsilon, 0.5 + epsilon / 1000, 0.5) for epsilon in range(1, 9)]
    full = dataclasses.replace(found.results[0], promise=words[0].promise, name="words, epsilon 0.5")
    results = (full, *words, make_result("records", 1000, 0.8), make_result("synthetic texts", 4, 0.8))
    survey = dataclasses.replace(found, results=results, advice=advise(results, Limits(), "texts"))
    names = tuple(f"a column with a name {number}" for number in range(30))
    path = tmp_path / "summary.html"
    path.write_text(render_summary(survey, TableRelease("letters.csv", "text", CopiedContent(names, texts=names))))
    page = browser.new_page(viewport={"width": 390, "height": 800})
    page.goto(path.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_label("Purpose").fill("research")
    page.get_by_label("Decided by (name and role)").fill("A. Officer, data protection")
    assert re.findall(rb"/Count (\d+)", page.pdf(prefer_css_page_size=True)) == [b"1"]
    page.close()
