"""How outputs are given: whatever tells two of them apart is part of it, or is refused."""

import decimal
import enum
import fractions
import typing

import numpy as np
import pandas as pd
import pytest

import deniable as dn
from deniable.auditing.forms import abbreviate, describe_form


class Pair(typing.NamedTuple):
    """A tuple with a name."""

    a: int
    b: int


class Number(enum.IntEnum):
    """A number that carries a name."""

    THREE = 3


class Note(str):
    """A text with something beside it."""

    __slots__ = ("remark",)


MASKED = np.ma.masked_array([1.0, 2.0], mask=[True, False])


@pytest.mark.parametrize(
    "alike",
    [
        (3, 3.0, np.int64(3), np.float64(3), decimal.Decimal(3), decimal.Decimal("3.0"), fractions.Fraction(3)),
        (1, True, np.True_, np.uint8(1)),
        ("a", np.str_("a"), ["a"], ("a",), np.array(["a"])),
        ([1, 2], (1, 2), Pair(1, 2), [1, 2.0], [True, 2], np.array([1, 2]), np.array([1.0, 2.0], np.float32)),
        (
            np.zeros(2),
            np.zeros(2, ">f8"),
            np.zeros((1, 2)),
            np.zeros((1, 2)).view(np.matrix),
            np.ma.masked_array([0.0, 0.0]),
        ),
        (MASKED, np.ma.masked_array([1.0, 2.0], mask=[False, True]), np.ma.masked_array(MASKED, fill_value=0.0)),
        (np.ma.masked, np.ma.masked_array(0.0), np.float64(0)),
        (np.ma.masked_array([1.0, 2.0]), np.ma.masked_array([1.0, 2.0], mask=[False, False])),
        (np.ones((2, 3)), np.ones((2, 3), order="F")),
        (["a b", "c"], ["a", "b c"]),
    ],
)
def test_forms_differ(alike):
    """Values that are equal as numbers or as words have forms of their own."""
    assert len({describe_form(value) for value in alike}) == len(alike)


@pytest.mark.parametrize("values", [(1, 2), (0.5, 1e300), ("a", "b c"), ([1, 2], [3, 4]), (["a", "b"], ["c", "d"])])
def test_forms_of_one_kind_are_equal(values):
    """The form says nothing of the value."""
    assert describe_form(values[0]) == describe_form(values[1])


@pytest.mark.parametrize(
    ("value", "got"),
    [
        (None, "Got nothing"),
        ({"a": 1}, "Got {'a': 1}"),
        ({1}, "Got {1}"),
        (b"a", "Got b'a'"),
        (1j, "Got 1j"),
        ([1, None], "Got nothing"),
        (np.array([1, "a"], dtype=object), "Got"),
        (np.zeros(2, [("a", int)]), "Got"),
        (np.zeros(2).view(np.recarray), "numpy.rec.recarray, of which an audit would see a part only"),
        (Note("a"), "Note, of which an audit would see a part only"),
        (Number.THREE, "Number, of which an audit would see a part only"),
        (pd.Series([1.0], index=["private"]), "Series, of which an audit would see a part only"),
        (pd.NA, "NAType, of which an audit would see a part only"),
    ],
)
def test_objects_that_would_lose_a_part_are_refused(value, got):
    """What holds more than numbers and words is refused by the name of its type."""
    with pytest.raises(dn.InputError) as raised:
        describe_form(value)
    assert got in str(raised.value)
    assert "\n" not in str(raised.value)


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
