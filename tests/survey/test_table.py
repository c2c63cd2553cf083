"""The rows that are surveyed, and their sizes."""

import numpy as np
import pytest

from deniable.survey.table import Plan, build_table
from tests.refusals import refuses
from tests.survey.conftest import AUTHORS, KINDS, PLAN, ROWS, TEXTS
from tests.survey.toy import CLASSES, make_table


def test_persons_and_equal_texts_stay_together():
    """No person, and no text, is both trained on and tested on."""
    texts, codes = make_table(60)
    texts[7] = texts[31]
    persons = [f"person {row % 20}" for row in range(60)]
    table = build_table(texts, list(map(str, codes)), Plan(folds=3), persons=persons)
    assert len(table.splits) == 3
    for split in table.splits:
        trained, tested = ({persons[row] for row in rows} for rows in (split.train, split.test))
        assert not trained & tested
        assert not {texts[row] for row in split.train} & {texts[row] for row in split.test}
    assert np.array_equal(np.sort(np.concatenate([split.test for split in table.splits])), np.arange(60))
    assert (table.unit, table.units) == ("person", 20)


def test_samples():
    """A sample holds all rows of a person or none."""
    texts, codes = make_table(90)
    labels, plan = [CLASSES[code] for code in codes], Plan(folds=2, rows=31)
    table = build_table(texts, labels, plan, persons=[row // 3 for row in range(90)])
    assert len(table.texts) == 30
    assert np.unique(table.persons, return_counts=True)[1].tolist() == [3] * 10
    assert table.table_rows == 90
    assert len(build_table(texts, labels, plan).texts) == 31


def test_rows_that_are_learned():
    """Rows without a label, and classes of one row, are kept and not learned."""
    texts, codes = make_table(30)
    labels = [str(code) for code in codes]
    labels[1], labels[2] = None, "alone"
    table = build_table(texts, labels, Plan(folds=2))
    assert table.learned.tolist() == [0, *range(3, 30)]
    assert (table.classes, table.unlabelled, len(table.texts)) == (("0", "1"), 1, 30)


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ({"texts": []}, "no rows"),
        ({"texts": [None, " "]}, "2 texts"),
        ({"labels": KINDS[:5]}, 5),
        ({"persons": KINDS[:5]}, 5),
        ({"labels": ["a"] * ROWS}, "'a'"),
        ({"labels": [None, " ", ""] * (ROWS // 3)}, "none"),
        ({"labels": [*KINDS[:7], *[None] * (ROWS - 7)]}, 7),
        ({"labels": ["a"] * (ROWS - 1) + ["b"]}, "2 classes"),
        ({"labels": KINDS, "plan": Plan(folds=25)}, 25),
        ({"texts": TEXTS[:4], "labels": KINDS[:4], "plan": PLAN}, 4),
        ({"authors": ["a", *map(str, range(ROWS - 1))]}, "2 authors"),
        ({"authors": AUTHORS[:5]}, 5),
        ({"plan": Plan(classifier="no")}, "'no'"),
    ],
)
def test_columns_that_cannot_be_used(given, value):
    """Columns that do not match, or have too few or too uniform rows, are refused."""
    with refuses(value):
        build_table(given.pop("texts", TEXTS), given.pop("labels", None), given.pop("plan", PLAN), **given)


@pytest.mark.parametrize("name", ["folds", "examples", "attacked", "members", "linked", "rows", "seed", "shadows"])
def test_sizes(name):
    """Sizes outside their domains are refused."""
    for value in (-2, 2.5, True):
        with refuses(name):
            Plan(**{name: value})
    with refuses("even"):
        Plan(shadows=7)
