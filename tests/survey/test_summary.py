"""The page to sign: what it says of a survey, and that nobody reads a private text in it."""

import dataclasses
import re

from deniable.survey.limits import Limits
from deniable.survey.results import advise
from deniable.survey.summary import TableRelease, render_summary
from deniable.text.tables.layout import CopiedContent
from tests.survey.conftest import EVIL, TEXTS
from tests.survey.test_page import Reader
from tests.survey.test_results import make_result, make_words

RELEASE = TableRelease("letters & co.csv", "text", CopiedContent(("id", "<b>"), texts=("<b>",), identifiers=("id",)))
FIELDS = ["Purpose", "Recipient", "Conditions", "Decided by (name and role)", "Date", "Signature"]


def test_what_is_signed_for(found):
    """Purpose, recipient, columns, unit, both epsilons, attackers, risks, who decided and when are on one page."""
    page = render_summary(found, RELEASE)
    reader = Reader(page.replace("<input ", "<meta ").replace("<br>", ""))
    text = " ".join("".join(reader.data).split())
    assert all(field in text for field in [*FIELDS, "letters & co.csv", found.about["date"]])
    assert "<b> (looks like text)" in text
    assert "id (looks like an identifier)" in text
    for result in found.results:
        row = page.partition(f">{result.name}")[2].partition("</tr>")[0]
        for shown in (f"each {result.promise.unit}", f"{result.epsilon:g}", result.linked.format_point()):
            assert shown in row
        assert ("not protected" in row) == (result.promise.whole > 10)
    for part in ("Guessing words", "Linking", "Finding out which of", "Identifying authors", "labelled names"):
        assert part in text
    for part in ("Whole records are not protected", "links up to", "Rare words", "copied unchanged", "second release"):
        assert part in text
    assert EVIL not in text
    assert not any(str(one) in text for one in TEXTS if one)
    assert re.search(r"https?:|url\(|@import|src=| style=|<script", page) is None


def test_a_recommended_release_and_many_others(found):
    """The recommended release is marked, and stays where there are more than a page has room for."""
    words = [make_words(epsilon, 0.5 + epsilon / 1000, 0.5) for epsilon in range(1, 12)]
    results = (*words, make_result("synthetic texts", 4, 0.8))
    survey = dataclasses.replace(found, results=results, advice=advise(results, Limits(), "texts"))
    page = render_summary(survey, TableRelease("t.csv", "text"))
    assert page.count('class="chosen"') == 1
    assert "<i>recommended</i>" in page.partition('class="chosen"')[2].partition("</tr>")[0]
    assert page.count('aria-label="approve ') == 8
    assert "4 more in the report." in page
    assert "Whole records are not protected" not in page  # of the recommended one, epsilon is 4
    assert "Columns copied" in page


def test_a_large_delta_is_no_recommendation(found):
    """Synthetic records with a small epsilon and a delta of a half are not recommended, and the page says why."""
    results = (dataclasses.replace(make_result("synthetic texts", 4, 0.8), delta=0.5),)
    survey = dataclasses.replace(found, results=results, advice=advise(results, Limits(), "texts"))
    page = render_summary(survey, TableRelease("t.csv", "text"))
    assert 'class="chosen"' not in page
    assert "delta is 0.5, the chance" in page
