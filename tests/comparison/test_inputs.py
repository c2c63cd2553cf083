"""The rows and sizes of a comparison."""

import numpy as np
import pytest

from deniable import InputError
from deniable.comparison.inputs import ComparisonPlan, build_comparison_inputs, choose_delta
from tests.comparison.toy import make_inputs, make_table


@pytest.mark.parametrize(
    ("units", "delta"), [(1, 0.1), (9, 1e-2), (10, 1e-2), (11, 1e-3), (1_000, 1e-4), (4_731, 1e-5)]
)
def test_default_delta(units, delta):
    """The default delta is a power of ten of at most one in ten units."""
    assert choose_delta(units) == pytest.approx(delta)
    assert choose_delta(units) <= 1 / (10 * units) + 1e-15


def test_declared_delta():
    """A delta that is given is used as it is."""
    assert make_inputs(plan=ComparisonPlan(delta=3e-7, folds=2)).delta == 3e-7


def test_persons_and_equal_texts_stay_together():
    """No person, and no text, is both trained on and tested on."""
    texts, codes = make_table(60)
    texts[7] = texts[31]
    persons = [f"person {row % 20}" for row in range(60)]
    inputs = build_comparison_inputs(texts, codes.astype(str), persons, ComparisonPlan(folds=3))
    assert len(inputs.splits) == 3
    for split in inputs.splits:
        trained, tested = ({persons[row] for row in rows} for rows in (split.train, split.test))
        assert not trained & tested
        assert not {texts[row] for row in split.train} & {texts[row] for row in split.test}
    assert np.array_equal(np.sort(np.concatenate([split.test for split in inputs.splits])), np.arange(60))
    assert inputs.unit_count == 20


def test_whole_persons_are_sampled():
    """A sample of a table holds all rows of a person or none."""
    texts, codes = make_table(90)
    persons = [row // 3 for row in range(90)]
    inputs = build_comparison_inputs(texts, codes.astype(str), persons, ComparisonPlan(folds=2, rows=30))
    assert len(inputs.texts) == 30
    assert np.unique(inputs.persons, return_counts=True)[1].tolist() == [3] * 10
    assert inputs.table_rows == 90


def test_unusable_rows_are_left_out():
    """Rows without a text or a label, and classes of one row, are not compared."""
    texts, codes = make_table(30)
    labels = [str(code) for code in codes]
    texts[0], labels[1], labels[2] = " ", None, "alone"
    inputs = build_comparison_inputs(texts, labels, None, ComparisonPlan(folds=2))
    assert inputs.rows.tolist() == list(range(3, 30))
    assert inputs.classes == ("0", "1")


def test_refusals():
    """Too few rows, columns of other lengths and numbers outside their domains are refused."""
    with pytest.raises(InputError, match="at least 8 rows"):
        build_comparison_inputs(["a b", "c d"] * 2, ["x", "y"] * 2, None, ComparisonPlan(folds=2))
    with pytest.raises(InputError, match="as many labels"):
        build_comparison_inputs(["a"], [], None, ComparisonPlan())
    for wrong in ({"budgets": (0.0,)}, {"recoveries": (1.5,)}, {"folds": 1}, {"delta": 0.5}, {"rows": 3}):
        with pytest.raises(InputError, match="comparison"):
            ComparisonPlan(**wrong)
