"""All measures of a table together: the survey, its page with charts, and the advice that follows from it."""

import builtins
import dataclasses
import functools
import html.parser
import json
import math
import re
import sys

import numpy as np
import pytest

import deniable as dn
from deniable.measure.report.advice import AdviceLimits, advise
from deniable.measure.report.inputs import SurveyPlan
from deniable.measure.report.page import render_report
from deniable.measure.report.survey import survey_table
from tests.conftest import SMALL_WORDS
from tests.refusals import refuses

PLAN = SurveyPlan(shadows=6, folds=2, examples=24)
ROWS = 24
EVIL = '<script>alert("x")</script> & <b>'


def table():
    """Return texts of two kinds, among them a script, a null and one that no space knows, with classes and authors."""
    generator = np.random.default_rng(1)
    texts = [" ".join(generator.choice(SMALL_WORDS[row % 2 * 30 :][:30], 6)) for row in range(ROWS)]
    texts[0], texts[3], texts[5] = EVIL, None, "Zork, zork!"
    return texts, [f"kind {row % 2}" for row in range(ROWS)], [f"author {row % 3}" for row in range(ROWS)]


TEXTS, KINDS, AUTHORS = table()
SPANS = [[(0, 5, "P"), (6, 11, "<b>")] if text and len(text) > 33 else [] for text in TEXTS]


@pytest.fixture(scope="module")
def found(small_space):
    """Return a survey at two epsilons, the larger given first."""
    mechanisms = [dn.TEM(small_space, epsilon=epsilon) for epsilon in (9.0, 0.5)]
    given = {"labels": KINDS, "authors": AUTHORS, "entities": SPANS, "columns": ["kind"]}
    return survey_table(TEXTS, mechanisms, **given, plan=PLAN)


@pytest.fixture(scope="module")
def page(found):
    return render_report(found, "deniable measure <in>.csv")


def test_the_table_is_counted(found):
    """Rows without text stay and are counted, as are words that the vocabulary lacks."""
    held = found.table
    assert (held.rows, held.whole, held.empty, held.classes, held.learned, held.alone) == (ROWS, ROWS, 1, 2, ROWS, 0)
    assert (held.words - held.unknown, held.median) == (21 * 6, 6)


def test_epsilons_ascend_and_more_is_kept(found):
    """A larger epsilon keeps more words, and lets every attacker name more words and more labelled ones."""
    least, most = found.readings
    assert (least.epsilon, most.epsilon) == (0.5, 9.0)
    for name in ("alone", "context", "public"):
        assert getattr(least, name).share.value < getattr(most, name).share.value - 0.2
    assert least.similarity.unchanged.value < 0.2
    assert most.similarity.unchanged.value > 0.8
    assert least.entities.total.at_place.value < 0.3
    assert most.entities.total.at_place.value > 0.7
    assert {kind.kind for kind in most.entities.kinds} == {"P", "<b>"}
    assert least.strongest_recovery.high == max(least.alone.share.high, least.context.share.high)
    assert found.not_protected[-1] == "the columns copied unchanged: 'kind'"


def test_what_is_proved(found, small_space):
    """Each reading has the verdict of the exact verification and the guarantee of the median record, or a claim's."""
    for reading in found.readings:
        promise = reading.promise
        assert promise.status == "proved"
        assert promise.least <= promise.proven <= reading.epsilon
        assert promise.record["words"] == found.table.median
        assert promise.record["approximate"]["epsilon"] <= promise.record["pure"]["epsilon"]
    space = dn.Space(small_space.words[:12], small_space.vectors[:12])
    [reading] = survey_table([" ".join(SMALL_WORDS[:3])], [dn.TruncatedGumbel(space, epsilon=300.0)]).readings
    assert reading.promise.status == reading.promise.record["pure"]["status"] == "claimed"
    assert reading.promise.proven is not None


def test_a_mechanism_is_measured_at_what_it_guarantees(small_space):
    """Readings, and the cost of a record, are those of the guarantee, whatever the parameter of the mechanism."""
    claim = dn.Guarantee.of_words(6.0, "euclidean", "Theorem 1 of my paper")
    own = type("Own", (dn.TEM,), {"guarantee": claim})(small_space, epsilon=2.0)
    survey = survey_table(TEXTS, [own, dn.TEM(small_space, epsilon=3.0)], plan=SurveyPlan(attacked=6))
    assert [reading.epsilon for reading in survey.readings] == [3.0, 6.0]
    assert survey.readings[1].promise.asked == 6.0
    with refuses("6 twice"):
        survey_table(TEXTS, [own, dn.TEM(small_space, epsilon=6.0)], plan=PLAN)


def test_the_same_rows_are_shown(found):
    """Examples are the same rows at every epsilon, their pieces make up the texts, and long texts are cut."""
    rows = [[example.row for example in reading.examples] for reading in found.readings]
    assert rows[0] == rows[1]
    assert len(rows[0]) == ROWS - 1
    for reading in found.readings:
        for example in reading.examples:
            assert "".join(piece for piece, _ in example.before) == TEXTS[example.row - 1]
    space = dn.Space(SMALL_WORDS, np.random.default_rng(0).normal(size=(60, 2)))
    touching, long = f"{SMALL_WORDS[0]}n't {SMALL_WORDS[1]}_{SMALL_WORDS[2]}.", " ".join(SMALL_WORDS * 2)
    [reading] = survey_table([touching, long], [dn.TEM(space, epsilon=0.1)], plan=SurveyPlan(examples=2)).readings
    first, second = reading.examples
    assert "".join(piece for piece, _ in first.before) == touching
    assert second.after[-1] == (" …", False)
    shown = "".join(piece for piece, _ in second.before).split()[:-1]
    assert shown == [*SMALL_WORDS * 2][: len(shown)]


def test_figures_as_json(found):
    """The figures are JSON without infinities, and without a word of the table's texts."""
    shown = json.dumps(found.to_dict(), allow_nan=False)
    again = json.loads(shown)
    assert not any(word in shown for word in ("examples", "Zork", "script"))
    private = again["readings"][1]["utility"]["accuracy"]["private"]
    assert private["value"] == found.readings[1].utility.accuracy.private.value
    assert again["readings"][0]["membership"]["original"]["tpr"]["0.01"]["count"] > 0
    assert again["readings"][1]["entities"]["total"]["at_place"]["value"] > 0.7
    assert sum(again["about"]["seconds"].values()) > 0


def test_texts_alone_with_and_without_public_ones(small_space):
    """Without columns their measures are left out; samples are drawn; public texts or other rows teach the attacker."""
    subject, plan = dn.TEM(small_space, epsilon=2.0), SurveyPlan(examples=2, attacked=6, rows=12)
    public = survey_table(TEXTS, [subject], public=[TEXTS[1], TEXTS[2], None], plan=plan)
    [reading] = public.readings
    assert (reading.utility, reading.membership, reading.authorship, public.originals) == (None, {}, None, None)
    assert reading.entities is None
    assert (public.table.rows, public.table.whole) == (12, ROWS)
    assert (public.about["attacked"], public.about["public"]) == (6, 3)
    assert reading.alone.share.count <= 6
    assert all(math.isfinite(value) for value in (reading.context.share.low, reading.context.share.high))
    others = survey_table(TEXTS, [subject], plan=SurveyPlan(examples=0, attacked=6))
    assert ROWS - 6 - 4 <= others.about["read"] <= ROWS - 6
    assert others.readings[0].context.share.count <= 6
    copies = survey_table([*TEXTS[6:7] * 10, *TEXTS[7:21]], [subject], plan=SurveyPlan(attacked=6))
    assert 6 < copies.about["read"] <= 14  # texts that equal an attacked one are not learned from
    assert survey_table([SMALL_WORDS[0]], [subject]).readings[0].context is None


def test_rare_classes_are_left_out(small_space):
    """A row whose class no other row has is left out of what is learned, and counted."""
    found = survey_table(TEXTS, [dn.TEM(small_space, epsilon=2.0)], labels=[*KINDS[:-1], "alone"], plan=PLAN)
    assert (found.table.learned, found.table.alone, found.table.classes) == (ROWS - 1, 1, 2)
    assert found.readings[0].utility.rows == ROWS - 1


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ({"texts": []}, "no rows"),
        ({"texts": [None, " "]}, "2 texts"),
        ({"texts": ["zork zork"]}, "2 words"),
        ({"labels": KINDS[:5]}, 5),
        ({"labels": ["a"] * ROWS}, "'a'"),
        ({"labels": [None, " ", ""] * (ROWS // 3)}, "none"),
        ({"labels": [*KINDS[:7], *[None] * (ROWS - 7)]}, 7),
        ({"labels": ["a"] * (ROWS - 1) + ["b"]}, "2 classes"),
        ({"labels": KINDS, "plan": SurveyPlan(folds=25)}, 25),
        ({"texts": TEXTS[:4], "labels": KINDS[:4], "plan": PLAN}, 4),
        ({"authors": ["a", *map(str, range(ROWS - 1))]}, "2 authors"),
        ({"plan": SurveyPlan(classifier="no")}, "'no'"),
        *(({"plan": SurveyPlan(**{name: -2})}, name) for name in ("folds", "examples", "attacked", "members", "rows")),
        ({"plan": SurveyPlan(shadows=7)}, 7),
        ({"plan": SurveyPlan(seed=True)}, True),
        ({"plan": SurveyPlan(folds=2.0)}, 2.0),
        ({"entities": [[]] * 5}, 5),
        ({"entities": [[]] * ROWS}, "24 texts"),
        ({"epsilons": []}, "one mechanism"),
        ({"epsilons": [1.0, 1.0]}, "1 twice"),
        ({"limits": AdviceLimits(max_recovery=1.0)}, "--max-recovery"),
        ({"limits": AdviceLimits(min_retained=0)}, "--min-retained"),
    ],
)
def test_what_cannot_be_measured(small_space, given, value):
    """Columns, plans, limits and mechanisms that do not fit are refused."""
    mechanisms = [dn.TEM(small_space, epsilon=epsilon) for epsilon in given.pop("epsilons", [1.0])]
    with refuses(value):
        survey_table(given.pop("texts", TEXTS), mechanisms, **given)


def test_what_is_missing_or_does_not_go_together(small_space, twin_space, found, monkeypatch):
    """Mechanisms of two spaces are refused, and a missing library, with the extra that installs it."""
    with refuses("one space"):
        survey_table(["x"], [dn.TEM(space, epsilon=len(space)) for space in (small_space, twin_space)])
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with refuses("deniable[measure]"):
        survey_table(TEXTS, [dn.TEM(small_space, epsilon=1.0)])
    real = builtins.__import__

    def refuse_jinja2(name, *rest):
        if name == "jinja2":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse_jinja2)
    with refuses("deniable[measure]"):
        render_report(found)


class Checker(html.parser.HTMLParser):
    """Reads a page, and checks that what is opened is closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.data = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in {"meta", "br"}:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.data.append(data)


def test_the_page_stands_alone_and_escapes_texts(page):
    """It is well formed, holds no script, no link and nothing from a network, and shows texts, read as no HTML."""
    reader = Checker(page)
    assert {tag for tag, _ in reader.seen} & {"script", "link", "img", "iframe", "a"} == set()
    assert re.search(r"https?:|url\(|@import|src=", page) is None
    assert "Do not release it." in page
    assert "<script" not in page
    assert EVIL in "".join(reader.data)
    assert "deniable measure <in>.csv" in "".join(reader.data)
    assert "<b>" in reader.data


def test_the_page_has_the_numbers_of_the_survey(found, page):
    """Every share of the figures stands on the page, and as many words are marked as were changed."""
    for reading in found.readings:
        estimates = [reading.alone.share, reading.context.share, reading.authorship.static]
        estimates += [reading.utility.accuracy.original, reading.utility.accuracy.private]
        estimates += [figures.at_place for figures in (reading.entities.total, *reading.entities.kinds)]
        assert all(f"{100 * estimate.value:.1f} %" in page for estimate in estimates)
        for attack in reading.membership.values():
            assert f"<b>{attack.auc.value:.3f}</b>" in page
    changed = sum(flag for r in found.readings for e in r.examples for side in (e.before, e.after) for _, flag in side)
    assert page.count("<mark>") == changed + 1  # one in the sentence that says so


def test_charts_lie_inside_their_views(page, small_space):
    """Each chart has a title and a description, and every point of it lies inside its view, at far epsilons too."""
    mechanisms = [dn.TEM(small_space, epsilon=epsilon) for epsilon in (0.01, 0.0101, 200.0)]
    far = render_report(survey_table(TEXTS, mechanisms, plan=SurveyPlan(examples=0, attacked=5)))
    drawn, more = (re.findall(r"<svg.*?</svg>", text, re.DOTALL) for text in (page, far))
    assert len(drawn) == 7
    for text in (*drawn, *more):
        assert [tag for tag, _ in Checker(text).seen][:3] == ["svg", "title", "desc"]
        width, height = map(float, re.search(r'viewBox="0 0 (\S+) (\S+)"', text).groups())
        points = re.findall(r'[ "](?:c?x)="([\d.-]+)" (?:c?y)="([\d.-]+)"', text)
        assert points
        assert all(0 <= float(x) <= width and 0 <= float(y) <= height for x, y in points)


def test_pages_of_less(small_space, found):
    """Parts are left out without labels, a law, several kinds or another text; a refutation is told."""
    plan = SurveyPlan(examples=0, attacked=5)
    alone = survey_table(TEXTS, [dn.MultivariateLaplace(small_space, epsilon=3.0)], plan=plan)
    page = render_report(alone)
    Checker(page)
    assert alone.readings[0].promise.proven is None
    assert "<b>none</b> <i>proved for ideal arithmetic</i>" in page
    assert not any(title in page for title in ("What a classifier learns", "Who wrote it", "Who is still named"))
    one = survey_table(SMALL_WORDS[:1], [dn.TEM(small_space, epsilon=9.0)], entities=[[(0, 5, "P")]], plan=plan)
    page = render_report(one)
    Checker(page)
    assert 'data-name="kind"' not in page
    assert '<td data-name="by chance, in another text"><b>-</b></td>' in page
    broken = dataclasses.replace(found.readings[0].promise, status="refuted", proven=None, record=None)
    readings = (dataclasses.replace(found.readings[0], promise=broken), found.readings[1])
    assert "refuted at epsilon 0.5" in render_report(dataclasses.replace(found, readings=readings))


class Known:
    """A classifier of texts such as "0.9 row class": right on as many first rows as its training texts begin with."""

    def __init__(self, _):
        pass

    def fit(self, texts, codes, classes):
        """Read the share."""
        assert len(texts) == len(codes) > classes
        self.share = float(texts[0].split()[0])
        return self

    def probabilities(self, texts):
        rows, codes = np.array([text.split()[1:] for text in texts], dtype=int).T
        return np.eye(2)[np.where(rows // 2 < self.share * 500, codes, 1 - codes)]


@functools.cache
def make_utility(private, original):
    """Return the scores of classifiers that are right on given shares of 1,000 rows of two equal classes."""
    versions = [[f"{share} {row} {row % 2}" for row in range(1_000)] for share in (original, private)]
    codes = np.arange(1_000) % 2
    return dn.measure.measure_utility(versions[0], {"x": versions[1]}, codes, classifier=Known, folds=2)["x"]


@pytest.fixture
def figures(found):
    """Return a function from epsilon, share that attackers guess and share that classifiers predict to figures."""

    def make(epsilon, named, private=None, original=0.9, **changes):
        recovery = dataclasses.replace(found.readings[0].alone.share, value=named, low=named - 0.03, high=named + 0.03)
        utility = None if private is None else make_utility(private, original)
        changes = {"epsilon": epsilon, "recovery": recovery, "utility": utility, "is_refuted": False, **changes}
        return dataclasses.replace(found.readings[0].deciding_figures, **changes)

    return make


NO = "do not share word by word"


@pytest.mark.parametrize(
    ("given", "answer", "epsilons", "unmeasured"),
    [
        ([(1, 0.05, 0.5), (2, 0.1, 0.8), (4, 0.6, 0.88)], "share", (2,), ()),
        ([(2, 0.1, 0.55), (2.4, 0.3, 0.6), (3, 0.5, 0.85)], NO, (), ()),
        ([(2, 0.1, 0.55), (4, 0.5, 0.85)], NO, (), ((2, 4),)),
        ([(3, 0.5, 0.85), (4, 0.6, 0.88)], NO, (), ((0, 3),)),
        ([(1, 0.05, 0.5), (2, 0.1, 0.55)], NO, (), ((2, None),)),
        ([(1, 0.5, 0.5), (2, 0.6, 0.55)], NO, (), ()),  # protects nothing and teaches nothing: no less would serve
        ([(2, 0.1, 0.5, 0.55)], NO, (), None),  # few points lost may be all there was
        ([(1, 0.05), (4, 0.6)], "utility not measured", (1,), ()),
        ([(4, 0.6)], NO, (), None),
        ([(1, 0.05, 0.5, 0.5)], "utility cannot be judged", (1,), ()),
        ([(1, 0.5, 0.5, 0.5)], NO, (), None),
    ],
)
def test_what_is_advised(figures, given, answer, epsilons, unmeasured):
    """Epsilons are advised that protect and are useful; where none is, what to do instead, and where to look."""
    advice = advise([figures(*one) for one in given])
    assert (advice.answer, advice.epsilons) == (answer, epsilons)
    assert unmeasured in {advice.unmeasured, None}
    assert bool(advice.alternatives) == (answer == NO)
    assert len(advice.judgements) == len(given)


def test_what_decides(figures):
    """Limits decide, a refuted guarantee protects nothing, and the whole record and its uncertainty are told."""
    limits = AdviceLimits(max_recovery=0.7, min_retained=0.9)
    advice = advise([figures(2, 0.1, 0.7), figures(4, 0.6, 0.89)], limits)
    assert (advice.answer, advice.epsilons, advice.limits) == ("share", (4,), limits)
    refuted = advise([figures(2, 0.1, 0.85, is_refuted=True)])
    assert (refuted.answer, refuted.epsilons) == (NO, ())
    assert "refuted at epsilon 2" in refuted.reasons[0]
    shared = advise([figures(1, 0.05, 0.5), figures(2, 0.1, 0.8, whole_record=(19, 545.2))])
    assert "19 words" in shared.reasons[-1]
    assert "546" in shared.reasons[-1]
    assert "epsilon 1" in shared.blind
    unbounded = advise([figures(2, 0.1, 0.85, whole_record=None)])
    assert "nothing" in unbounded.reasons[-1]
    for private, is_uncertain in ((0.7, True), (0.85, False)):
        assert ("more rows" in " ".join(advise([figures(2, 0.1, private)]).reasons)) == is_uncertain
