"""From words and vectors to folded words and points."""

import numpy as np
import pytest

import deniable as dn
from deniable.space.vocabulary import MAX_COORDINATE, MIN_COORDINATE, fold_words, merge_equal_vectors, parse_vectors


def test_vectors_become_rows_of_floats():
    """Whatever numbers are given come back as float64, and -0.0 as 0.0."""
    matrix = parse_vectors(["a", "b"], [[1, -0.0], [2, 3]])
    assert matrix.dtype == np.float64
    assert not np.signbit(matrix).any()


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        ([[1.0, 2.0]], r"shape \(n, d\) with n = 2 words. Got \(1, 2\)"),
        ([["x"], ["y"]], "must be an array"),
        ([[1.0], [np.nan]], "vector of 'b' holds a number that is not finite"),
        ([[1.0], [10 * MAX_COORDINATE]], "vector of 'b' has a largest number of 1e\\+101"),
        ([[MIN_COORDINATE / 10], [1.0]], "vector of 'a' has a largest number of 1e-101"),
    ],
)
def test_vectors_that_cannot_be_used(vectors, message):
    """The first word whose vector is wrong is named, with what is wrong."""
    with pytest.raises(dn.InputError, match=message):
        parse_vectors(["a", "b"], vectors)


def test_the_first_of_equal_words_stands():
    """Words are folded; repeated and unusable entries are left out and counted."""
    rows, remarks = fold_words(["The", "cat", "the", "  ", "a\nb"])
    assert rows == {"the": 0, "cat": 1}
    assert [remark.split()[0] for remark in remarks] == ["1", "2"]
    with pytest.raises(dn.InputError, match=r"Words must be strings\. Got 3 at position 1"):
        fold_words(["a", 3])


def test_equal_vectors_are_one_point():
    """Points are the distinct rows in order of first appearance; each word has the number of its own."""
    points, point_by_word = merge_equal_vectors(np.array([[1.0], [2.0], [1.0], [3.0]]))
    assert points.tolist() == [[1.0], [2.0], [3.0]]
    assert point_by_word.tolist() == [0, 1, 0, 2]
