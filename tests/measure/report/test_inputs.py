"""Plans and columns of a survey, refused before anything is measured."""

import dataclasses
import sys

import pytest

from deniable import InputError
from deniable.measure.report.inputs import SurveyPlan, build_survey_inputs, check_survey_plan

TEXTS = [f"text {row}" for row in range(20)]
LABELS = ["a", "b"] * 10


@pytest.mark.parametrize("name", ["folds", "examples", "attacked", "members", "rows", "shadows", "seed"])
@pytest.mark.parametrize("value", [-2, 2.0, True])
def test_sizes_that_cannot_be_used(name, value):
    """Every size is an int of at least some minimum; the message names it."""
    with pytest.raises(InputError, match=rf"^The '{name}' parameter of a survey must be an (even )?int of at least"):
        check_survey_plan(dataclasses.replace(SurveyPlan(), **{name: value}))


def test_missing_scikit_learn(monkeypatch):
    """Without scikit-learn a survey is refused at once, with the extra that installs it."""
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(InputError, match=r"^A survey needs scikit-learn, .*install deniable\[measure\]\.$"):
        check_survey_plan(SurveyPlan())


def test_a_sample_of_the_rows():
    """With more rows than the plan has, a sample is measured, in the order of the table."""
    inputs = build_survey_inputs(TEXTS, LABELS, None, SurveyPlan(rows=15))
    assert (len(inputs.texts), inputs.table_rows, inputs.class_count) == (15, 20, 2)
    assert inputs.rows.tolist() == sorted(set(inputs.rows.tolist()))
    assert inputs.texts == [TEXTS[row] for row in inputs.rows]
    assert [LABELS[inputs.rows[row]] == "b" for row in inputs.learned_rows] == (inputs.codes == 1).tolist()
