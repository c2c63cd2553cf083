"""Classifiers of a collection in the form in which measures train them."""

import numpy as np
import pytest

from deniable.comparison.training import PrivateLearner, build_collection_runner, get_unit
from tests.comparison.toy import PLAN, make_collection, make_inputs, make_table


def test_a_private_learner():
    """With a large epsilon it learns the classes, and equal seeds give equal classifiers."""
    inputs = make_inputs()
    setting = make_collection(inputs)
    texts, codes = make_table(200, seed=2)
    first, second = (PrivateLearner(setting, 50.0, 3).fit(texts[:150], codes[:150], 2) for _ in range(2))
    found = first.probabilities(texts[150:])
    assert found.shape == (50, 2)
    assert np.mean(found.argmax(axis=1) == codes[150:]) > 0.8
    assert np.array_equal(found, second.probabilities(texts[150:]))


@pytest.mark.parametrize("has_texts", [True, False])
def test_a_fold(has_texts):
    """A fold tests the private classifier, and one that learned from synthetic texts."""
    inputs = make_inputs()
    columns = inputs.texts, inputs.codes, inputs.persons
    run_fold = build_collection_runner(make_collection(inputs), columns, 50.0, PLAN, has_texts=has_texts)
    found = run_fold(inputs.splits[0])
    assert len(found) == 1 + has_texts
    for hits in found:
        assert hits.shape == inputs.splits[0].test.shape
        assert hits.mean() > 0.7


def test_units():
    """Rows are records, or the rows of persons; a text alone is a unit of the kind that is hidden."""
    inputs = make_inputs(persons=[row // 4 for row in range(120)])
    setting = make_collection(inputs, max_records=3)
    units = setting.group_texts(inputs.texts, inputs.codes, inputs.persons).units
    assert (units.unit, len(units), len(units.rows)) == ("person", 30, 90)
    alone = setting.group_texts(inputs.texts, inputs.codes, None).units
    assert (alone.unit, len(alone)) == ("person", 120)
    assert get_unit(None) == "record"
