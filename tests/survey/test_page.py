"""The page of a survey, as a parser reads it, and what it advises in sentences."""

import builtins
import dataclasses
import html.parser
import itertools
import re
import sys

import pytest

import deniable as dn
from deniable.survey.limits import Limits
from deniable.survey.page import draw_charts, format_advice, render_page
from deniable.survey.results import advise
from deniable.survey.table import Plan, build_table
from tests.conftest import SMALL_WORDS
from tests.refusals import refuses
from tests.survey.conftest import EVIL, TEXTS, survey_words
from tests.survey.test_results import (
    CLASSIFIERS,
    LOUD_WORDS,
    WORDS,
    make_public,
    make_result,
    make_words,
)
from tests.survey.test_results import (
    TEXTS as SYNTHETIC,
)

NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")


class Reader(html.parser.HTMLParser):
    """Reads tags, texts and the cells of all tables, and checks that what is opened is closed."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.data, self.cells = [], [], [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        """Open a tag."""
        self.tags.append(tag)
        if tag not in {"meta", "br"}:
            self.open.append(tag)
        if tag == "td":
            self.cells.append((dict(attributes)["data-name"], ""))

    def handle_startendtag(self, tag, attributes):
        """Take a tag that is closed at once."""
        del attributes
        self.tags.append(tag)

    def handle_endtag(self, tag):
        """Close a tag."""
        assert self.open.pop() == tag

    def handle_data(self, data):
        """Take a text."""
        self.data.append(data)
        if "td" in self.open:
            name, text = self.cells[-1]
            self.cells[-1] = name, text + data


@pytest.fixture(scope="module")
def page(found):
    return render_page(found, "deniable measure <in>.csv")


@pytest.fixture(scope="module")
def reader(compared):
    """Return what stands on the page of every way."""
    return Reader(compared.page)


def list_leaves(value):
    """Return all numbers and texts in a JSON value."""
    if isinstance(value, dict | list):
        items = value.values() if isinstance(value, dict) else value
        return [leaf for item in items for leaf in list_leaves(item)]
    return [value]


def test_every_figure_is_in_the_json(reader, compared):
    """Whatever number a table of the page shows stands in the JSON, as figure, interval or text, to its last digit."""
    leaves = list_leaves(compared.figures)
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
    measured = {
        "words guessed",
        "records linked",
        "membership, area",
        "found at 1% false positives",
        "balanced accuracy",
        "gain kept",
        "perplexity",
    }
    assert measured <= {name for name, _ in reader.cells}
    for name, text in reader.cells:
        if name in measured and text != "-":
            assert " to " in text, (name, text)


def test_rare_and_exposed_words_stand_beside_each_average(reader):
    """Where a share of words is shown that attackers guess, so are the rare words and the most exposed one."""
    shares = [text for name, text in reader.cells if name == "words guessed" and text != "-"]
    assert len(shares) == 2
    assert all("rare words" in text and "most exposed" in text for text in shares)


def test_the_page_stands_alone_and_escapes_texts(page, compared):
    """It is well formed, holds no script, no link and nothing from a network, and shows texts, read as no HTML."""
    for shown in (page, compared.page):
        assert {*Reader(shown).tags} & {"script", "link", "img", "iframe", "a", "metadata"} == set()
        assert re.search(r"https?:|url\(|@import|src=| style=", shown) is None
        assert shown.count("<style") == 1
        assert shown.partition("<main>")[2].strip().startswith('<p class="banner">')
    assert "t &amp; u.csv" not in page
    assert "deniable compare &#39;t &amp; u.csv&#39;" in compared.page
    assert "deniable synthesize &#39;t &amp; u.csv&#39;" in compared.page
    assert "<script" not in page
    data = Reader(page).data
    assert EVIL in "".join(data)
    assert "deniable measure <in>.csv" in "".join(data)
    assert "<b>" in data


def test_the_page_has_the_numbers_of_the_survey(found, page):
    """Every share of the figures stands on the page, and as many words are marked as were changed."""
    for result in found.results:
        estimates = [result.recovery["single"].share, result.recovery["context"].share, result.authorship.static]
        estimates += [result.utility.accuracy.original, result.utility.accuracy.private, result.linked]
        estimates += [figures.at_place for figures in (result.entities.total, *result.entities.kinds)]
        assert all(f"{100 * estimate.value:.1f}%" in page for estimate in estimates)
        for attack in result.membership.values():
            assert f"<b>{attack.auc.value:.3f}</b>" in page
    changed = sum(
        flag for one in found.results for e in one.examples for side in (e.before, e.after) for _, flag in side
    )
    assert page.count("<mark>") == changed + 1  # one in the sentence that says so


def test_charts(found, compared, small_space):
    """Each chart has a title, its curves and no identifier of its own; equal figures give equal bytes."""
    charts = dict(draw_charts(found))
    assert len(charts) == 6
    assert charts == dict(draw_charts(found))
    for title, svg in charts.items():
        Reader(svg)
        assert f'aria-label="{title}"' in svg
        assert "currentColor" in svg
        assert re.search(r'id="[^"]*_\d+"', svg) is None
    assert "any text, rare words only" in charts["Words that an attacker guesses"]
    against_members = compared.page.partition('aria-label="What a classifier learns, against membership"')[2]
    for kind in ("words", "records", "classifier", "synthetic texts"):
        assert f">{kind}</text>" in against_members.partition("</svg>")[0]
    far = [dn.TEM(small_space, epsilon=epsilon) for epsilon in (0.01, 0.0101, 200.0)]
    assert len(draw_charts(survey_words(far, plan=Plan(examples=0, attacked=5)))) == 2


def test_pages_of_less(small_space, found):
    """Parts are left out without labels, a law, several kinds or another text; a refutation is told."""
    plan = Plan(examples=0, attacked=5)
    alone = survey_words([dn.MultivariateLaplace(small_space, epsilon=3.0)], plan=plan)
    page = render_page(alone)
    Reader(page)
    assert alone.results[0].promise.proven is None
    assert "proved for ideal arithmetic" in page
    assert "no exact probabilities" in page
    assert not any(title in page for title in ("What a classifier learns", "Who wrote it", "Which names survive"))
    one = survey_words([dn.TEM(small_space, epsilon=9.0)], SMALL_WORDS[:1], plan, entities=[[(0, 5, "P")]])
    page = render_page(one)
    Reader(page)
    assert "by kind" not in page
    assert '<td data-name="by chance, in another text"><b>-</b></td>' in page
    broken = dataclasses.replace(found.results[0].promise, status="refuted", proven=None, whole=None, approximate=None)
    results = (dataclasses.replace(found.results[0], promise=broken), found.results[1])
    page = render_page(dataclasses.replace(found, results=results, advice=advise(results, Limits(), "texts")))
    assert "The guarantee of words, epsilon 0.5 is refuted" in page


def test_missing_libraries(found, monkeypatch):
    """A missing library is named with the extra that installs it."""
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with refuses("deniable[measure]"):
        build_table(TEXTS)
    real = builtins.__import__
    for missing in ("jinja2", "matplotlib"):

        def refuse(name, *rest, missing=missing):
            if name == missing:
                raise ImportError(name)
            return real(name, *rest)

        monkeypatch.setitem(sys.modules, missing, None)
        monkeypatch.setattr(builtins, "__import__", refuse)
        with refuses("deniable[measure]"):
            render_page(found)


REFUTED = make_result("words", 2, 0.85, guessed=0.1, status="refuted")
CASES = [
    (
        [make_words(1, 0.05, 0.5), make_words(2, 0.1, 0.8)],
        "texts",
        ["No better than a blind guess", "50.0% (48.0 to 52.0)"],
    ),
    (
        [make_words(2, 0.1, 0.8)],
        "texts",
        ["at most 20% of the words", "keeps at least 50%", "for a word epsilon is 500"],
    ),
    (
        [make_words(2, 0.1, 0.8)],
        "texts",
        ["found the record behind 99.0% (98.0 to 100.0) of the texts released word by word"],
    ),
    ([make_words(2, 0.1, 0.701)], "texts", ["1,000 rows leave open whether 50% is kept"]),
    ([WORDS, LOUD_WORDS], "texts", ["Release nothing yet", "Protected (attackers guess at most 20% of the words"]),
    ([WORDS, LOUD_WORDS], "texts", ["From words, epsilon 5, attackers guess 50.0% (47.0 to 53.0)", "between 2 and 5"]),
    (
        [LOUD_WORDS],
        "texts",
        ["Protected: none", "Useful: words, epsilon 5", "below 5", "- publish", "deniable compare"],
    ),
    ([WORDS], "texts", ["above 2 were not measured"]),
    ([REFUTED], "texts", ["The guarantee of words, epsilon 2 is refuted"]),
    ([make_words(1, 0.05)], "texts", ["was not measured: name a column of labels", "words, epsilon 1"]),
    (
        [*CLASSIFIERS, *SYNTHETIC],
        "texts",
        ["Synthesize texts, at epsilon 4 for a whole record", "80.0%", "column of person ids"],
    ),
    (
        [*CLASSIFIERS],
        "classifier",
        ["at epsilon 1 for a whole record", "This classifier"],
    ),
    ([*CLASSIFIERS, SYNTHETIC[0]], "texts", ["No useful texts can be released", "at epsilon 1"]),
    ([make_result("records", 10, 0.8)], "texts", ["Rewrite every record, at epsilon 10"]),
    ([*SYNTHETIC, make_public(0.824)], "texts", ["Use only the labelled public texts", "82.4%"]),
]


@pytest.mark.parametrize(("results", "need", "parts"), CASES)
def test_sentences(found, results, need, parts):
    """Each case has its sentences, with the figures that they are made from."""
    advice = advise(results, Limits(), need)
    lines = format_advice(dataclasses.replace(found, results=tuple(results), advice=advice))
    for part in parts:
        assert part in "\n".join(lines)


def test_a_label_that_nothing_tells(found):
    """Where the originals themselves teach nothing, use cannot be judged."""
    results = (make_words(1, 0.05, 0.5, 0.5),)
    advice = advise(results, Limits(), "texts")
    lines = format_advice(dataclasses.replace(found, results=results, originals=results[0], advice=advice))
    assert lines[0].startswith("Usefulness cannot be judged with this label")
    assert "no better than a blind guess (balanced accuracy 50.0%" in lines[0]
