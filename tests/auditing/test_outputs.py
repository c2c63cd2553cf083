"""What a mechanism returned, made comparable or refused."""

import numpy as np
import pytest

import deniable as dn
from deniable.auditing.outputs import abbreviate, parse_outputs


@pytest.mark.parametrize(
    ("raw", "kind", "shape", "values"),
    [
        ([1, 2], "integer", (), [[1], [2]]),
        ([True, False], "integer", (), [[1], [0]]),
        ([1, 2.5], "real", (), [[1], [2.5]]),
        ([np.float32(0.5), np.int8(3)], "real", (), [[0.5], [3]]),
        ([[1, 2], (3, 4)], "integer", (2,), [[1, 2], [3, 4]]),
        ([np.zeros((2, 2)), np.ones((2, 2))], "real", (2, 2), [[0] * 4, [1] * 4]),
        (np.arange(6.0).reshape(3, 2), "real", (2,), [[0, 1], [2, 3], [4, 5]]),
    ],
)
def test_numbers(raw, kind, shape, values):
    """Numbers become rows of float64, but integers stay what they were: float64 does not tell large ones apart."""
    found = parse_outputs(raw)
    assert (found.kind, found.shape, len(found)) == (kind, shape, len(raw))
    assert (found.values.dtype == np.float64) == (kind == "real")
    assert found.values.tolist() == values
    assert not found.is_textual


@pytest.mark.parametrize(
    ("raw", "kind", "strings"),
    [
        (["a", "b"], "word", ("a", "b")),
        (["a", "b c"], "text", ("a", "b c")),
        (["a", ""], "text", ("a", "")),
        ([["a", "b"], ("c",)], "text", ("a b", "c")),
        ([["a"], []], "text", ("a", "")),
        ([[], ["a"]], "text", ("", "a")),
        (["\u00a0", "e\u0301"], "text", ("\u00a0", "e\u0301")),
    ],
)
def test_texts(raw, kind, strings):
    """Texts stay as they are, lists of tokens are joined, wherever an empty one stands."""
    found = parse_outputs(raw)
    assert (found.kind, found.strings, len(found)) == (kind, strings, len(raw))
    assert found.is_textual


def test_taking_and_appending():
    """Rows are taken in the order asked for, and later outputs follow earlier ones, of the wider kind."""
    numbers, more = parse_outputs([1, 2, 3]), parse_outputs([0.5])
    assert numbers.take(np.array([2, 0])).values.tolist() == [[3], [1]]
    assert numbers.append(more).values.tolist() == [[1], [2], [3], [0.5]]
    assert numbers.append(more).kind == "real"
    words, texts = parse_outputs(["a", "b"]), parse_outputs(["c d"])
    assert words.take(np.array([1, 1])).strings == ("b", "b")
    assert words.append(texts).strings == ("a", "b", "c d")
    assert words.append(texts).kind == "text"
    for other in (words, parse_outputs([[1.0, 2.0]])):
        with pytest.raises(dn.InputError, match="outputs of one kind"):
            numbers.append(other)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a\nb", "'a\\nb'"),
        ("x" * 100, "'" + "x" * 27 + " ... " + "x" * 26 + "'"),
        (["word"] * 50, "['word', 'word', 'word', 'wo ... d', 'word', 'word', 'word']"),
        (np.zeros(8), "0 in all 8 places"),
        (np.full((2, 2), 0.1), "0.1 in all 4 places"),
        (np.array([1.0, 2.0]), "[1.0, 2.0]"),
        (np.array([3.0]), "[3.0]"),
        (None, "None"),
    ],
)
def test_short_forms(value, shown):
    """Anything is named in one line of some sixty characters."""
    assert abbreviate(value) == shown


@pytest.mark.parametrize("value", [np.ones(3, bool), np.array(["a", "a"]), np.array([None, None]), np.array([])])
def test_short_forms_of_odd_arrays(value):
    """Arrays of flags, strings and objects are named too."""
    assert 0 < len(abbreviate(value)) <= 60
