"""A column of labels as classes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable import InputError
from deniable.measure.labels import encode_labels


@given(st.lists(st.text(min_size=1).filter(str.strip), min_size=2).filter(lambda column: len(set(column)) > 1))
def test_codes_name_the_labels(column):
    """Each row's code stands for its label, names are sorted, and the majority is the largest share."""
    found = encode_labels(column)
    assert [found.names[code] for code in found.codes] == column
    assert list(found.names) == sorted(set(column))
    assert found.majority_share == max(column.count(name) for name in column) / len(column)


def test_numbers_are_labels_too():
    """Labels that are numbers are classes by their text."""
    assert encode_labels([1, 0, 1]).names == ("0", "1")


def test_rows_without_a_label_have_no_class():
    """A label that is None or blank is no class: its row has the code -1, and the others are numbered without it."""
    found = encode_labels(["b", None, "a", " ", "", "b"])
    assert found.names == ("a", "b")
    assert found.codes.tolist() == [1, -1, 0, -1, -1, 1]
    assert (found.labelled_rows.tolist(), found.unlabelled_rows.tolist()) == ([0, 2, 5], [1, 3, 4])
    assert found.majority_share == 2 / 3


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (["a", None], "Got only 'a'"),
        ([" ", None], "Got none, since no row has a label"),
        (["a", "a"], r"^The column 'topic' must hold at least 2 classes\. Got only 'a': name another column\.$"),
        ([], "Got none, since there are no rows"),
    ],
)
def test_what_cannot_be_learned_is_refused(column, message):
    """No labels, a single class or no rows are refused in one line that names the column."""
    with pytest.raises(InputError, match=message):
        encode_labels(column, "topic")
