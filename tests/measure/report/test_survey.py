"""All measures of a table together."""

import json
import math

import numpy as np
import pytest

from deniable import TEM, MetricDP
from deniable.core.errors import InputError
from deniable.measure.report.inputs import SurveyPlan
from deniable.measure.report.survey import survey_table
from tests.conftest import SMALL_WORDS

PLAN = SurveyPlan(shadows=6, folds=2, examples=4)
ROWS = 24


def table():
    """Return texts of two kinds, one of them None and one of words that no space knows, with classes and authors."""
    generator = np.random.default_rng(1)
    texts = [" ".join(generator.choice(SMALL_WORDS[row % 2 * 30 :][:30], 6)) for row in range(ROWS)]
    texts[3], texts[5] = None, "Zork, zork!"
    return texts, [f"kind {row % 2}" for row in range(ROWS)], [f"author {row % 3}" for row in range(ROWS)]


@pytest.fixture(scope="module")
def found(small_space):
    """Return a survey at two epsilons, the larger given first."""
    texts, kinds, authors = table()
    mechanisms = [TEM(small_space, epsilon=epsilon) for epsilon in (9.0, 0.5)]
    return survey_table(texts, mechanisms, labels=kinds, authors=authors, columns=["kind"], plan=PLAN)


def test_a_mechanism_is_measured_at_what_it_guarantees(small_space):
    """Readings, and the cost of a record, are those of the guarantee, whatever the parameter of the mechanism."""
    claim = MetricDP(6.0, "euclidean", "Theorem 1 of my paper")
    own = type("Own", (TEM,), {"guarantee": claim})(small_space, epsilon=2.0)
    survey = survey_table(table()[0], [own, TEM(small_space, epsilon=3.0)], plan=PLAN)
    assert [reading.epsilon for reading in survey.readings] == [3.0, 6.0]
    assert survey.readings[1].promise.asked == 6.0
    with pytest.raises(InputError, match="Got 6 twice"):
        survey_table(table()[0], [own, TEM(small_space, epsilon=6.0)], plan=PLAN)


def test_the_table_is_counted(found):
    """Rows without text stay and are counted, as are words that the vocabulary lacks."""
    held = found.table
    assert (held.rows, held.whole, held.empty, held.classes, held.learned, held.alone) == (ROWS, ROWS, 1, 2, ROWS, 0)
    assert (held.words, held.unknown, held.median, held.longest) == (22 * 6 + 2, 2, 6, 6)


def test_epsilons_ascend_and_more_is_kept(found):
    """A larger epsilon keeps more words and lets every attacker name more."""
    least, most = found.readings
    assert (least.epsilon, most.epsilon) == (0.5, 9.0)
    for of in (lambda it: it.alone, lambda it: it.context, lambda it: it.public):
        assert of(least).share.value < of(most).share.value - 0.2
    assert least.similarity.unchanged.value < 0.2
    assert most.similarity.unchanged.value > 0.8
    assert least.strongest_recovery == max(least.alone.share, least.context.share, key=lambda share: share.value)
    assert found.not_protected[-1] == "the columns copied unchanged: 'kind'"


def test_what_is_proved(found):
    """Each reading has the verdict of the exact verification and the guarantee of the median record."""
    for reading in found.readings:
        promise = reading.promise
        assert promise.status == "proved"
        assert promise.least <= promise.proven <= reading.epsilon
        assert promise.record["words"] == found.table.median
        assert promise.record["approximate"]["epsilon"] <= promise.record["pure"]["epsilon"]


def test_the_same_rows_are_shown(found):
    """Examples are the same rows at every epsilon, and their pieces make up the texts."""
    texts = table()[0]
    rows = [[example.row for example in reading.examples] for reading in found.readings]
    assert rows[0] == rows[1]
    assert len(rows[0]) == PLAN.examples
    for reading in found.readings:
        for example in reading.examples:
            assert "".join(piece for piece, _ in example.before) == texts[example.row - 1]


def test_figures_as_json(found):
    """The figures are JSON without infinities, and without a word of the table's texts."""
    shown = json.dumps(found.to_dict(), allow_nan=False)
    again = json.loads(shown)
    assert "examples" not in shown
    assert "Zork" not in shown
    assert (
        again["readings"][1]["utility"]["accuracy"]["private"]["value"]
        == found.readings[1].utility.accuracy.private.value
    )
    assert again["readings"][0]["membership"]["original"]["tpr"]["0.01"]["count"] > 0
    assert sum(again["about"]["seconds"].values()) > 0


def test_nothing_but_texts(small_space):
    """Without labels and authors their measures are left out; public texts teach the attacker; samples are drawn."""
    texts = table()[0]
    plan = SurveyPlan(shadows=6, examples=2, attacked=6, rows=12)
    found = survey_table(texts, [TEM(small_space, epsilon=2.0)], public=[texts[0], texts[1], None], plan=plan)
    [reading] = found.readings
    assert (reading.utility, reading.membership, reading.authorship, found.originals) == (None, {}, None, None)
    assert (found.table.rows, found.table.whole) == (12, ROWS)
    assert (found.about["attacked"], found.about["public"]) == (6, 3)
    assert reading.alone.share.count <= 6
    assert all(math.isfinite(value) for value in (reading.context.share.low, reading.context.share.high))


def test_other_rows_teach_the_attacker(small_space):
    """Where most rows are not attacked, the attacker learns from those."""
    found = survey_table(table()[0], [TEM(small_space, epsilon=2.0)], plan=SurveyPlan(examples=0, attacked=6))
    assert found.about["read"] >= ROWS - 6 - 2
    assert found.readings[0].context.share.count <= 6


def test_one_text(small_space):
    """A single text leaves nothing to learn how people write from."""
    found = survey_table([SMALL_WORDS[0]], [TEM(small_space, epsilon=2.0)])
    assert found.readings[0].context is None


def test_rare_classes_are_left_out(small_space):
    """A row whose class no other row has is left out of what is learned, and counted."""
    texts, kinds, _ = table()
    found = survey_table(texts, [TEM(small_space, epsilon=2.0)], labels=[*kinds[:-1], "alone"], plan=PLAN)
    assert (found.table.learned, found.table.alone, found.table.classes) == (ROWS - 1, 1, 2)
    assert found.readings[0].utility.rows == ROWS - 1


def test_labelled_words_are_counted(small_space):
    """With labelled spans every reading says how many of their words come out, of the measured rows alone."""
    texts = table()[0]
    entities = [[] if not text else [(0, 5, "P"), (6, 11, "Q")] for text in texts]
    mechanisms = [TEM(small_space, epsilon=epsilon) for epsilon in (0.5, 9.0)]
    found = survey_table(texts, mechanisms, entities=entities, plan=SurveyPlan(examples=0, attacked=6, rows=12))
    least, most = (reading.entities for reading in found.readings)
    assert least.total.texts == most.total.texts <= 12
    assert [kind.kind for kind in most.kinds] == ["P", "Q"]
    assert least.total.at_place.value < 0.3
    assert most.total.at_place.value > 0.7
    again = json.loads(json.dumps(found.to_dict(), allow_nan=False))["readings"][1]["entities"]
    assert again["total"]["at_place"]["value"] == most.total.at_place.value
    assert [kind["kind"] for kind in again["kinds"]] == ["P", "Q"]
    assert survey_table(texts, mechanisms[:1], plan=SurveyPlan(attacked=6)).readings[0].entities is None


TEXTS, KINDS, AUTHORS = table()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"texts": []}, "has nothing to measure, since it has no rows"),
        ({"texts": [None, " "]}, "all of its 2 texts are empty"),
        ({"texts": ["zork zork"]}, "None of the 2 words of the texts is in the vocabulary"),
        ({"labels": KINDS[:5]}, "24 texts need as many labels. Got 5"),
        ({"labels": ["a"] * ROWS}, "must hold at least 2 classes. Got only 'a'"),
        ({"labels": [None, " ", ""] * (ROWS // 3)}, "Got none, since no row has a label"),
        ({"labels": [*KINDS[:7], *[None] * (ROWS - 7)]}, "Classifiers need at least 8 labelled rows. Got 7"),
        ({"labels": ["a"] * (ROWS - 1) + ["b"]}, "at least 2 classes with 2 rows each"),
        ({"labels": KINDS, "plan": SurveyPlan(folds=25)}, "25 folds need at least 25 rows. Got 24"),
        ({"texts": TEXTS[:4], "labels": KINDS[:4], "plan": PLAN}, "at least 8 labelled rows. Got 4"),
        ({"authors": ["a", *map(str, range(ROWS - 1))]}, "at least 2 authors with 2 texts each. Got 0"),
        ({"plan": SurveyPlan(classifier="no")}, "Unknown classifier 'no'. Known: tfidf"),
        ({"plan": SurveyPlan(shadows=7)}, "an even int of at least 6. Got 7"),
        ({"plan": SurveyPlan(folds=1)}, "an int of at least 2. Got 1"),
        ({"entities": [[]] * 5}, "24 texts need as many lists of spans. Got 5"),
        ({"entities": [[]] * ROWS}, "None of the 24 texts has a labelled word"),
        ({"epsilons": []}, "at least one mechanism"),
        ({"epsilons": [1.0, 1.0]}, "Got 1 twice"),
    ],
)
def test_what_cannot_be_measured(small_space, given, message):
    """Columns, plans and mechanisms that do not fit are refused in one line."""
    mechanisms = [TEM(small_space, epsilon=epsilon) for epsilon in given.pop("epsilons", [1.0])]
    with pytest.raises(InputError) as refused:
        survey_table(given.pop("texts", TEXTS), mechanisms, **given)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_two_spaces(small_space, twin_space):
    """Mechanisms of different spaces cannot be compared."""
    with pytest.raises(InputError, match="must have one space"):
        survey_table(["x"], [TEM(small_space, epsilon=1.0), TEM(twin_space, epsilon=2.0)])
