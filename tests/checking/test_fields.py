"""Documents beside what they should be: each leaf has one status."""

import pytest

from deniable.checking.fields import TOLERANCE, FieldCheck, Stated, compare_fields

WHY = Stated("nobody knows")


def compare(value, expected):
    """Return status and note of each field by path."""
    return {field.path: (field.status, field.note) for field in compare_fields(value, expected)}


def test_every_status():
    """What is equal is recomputed, what differs is contradicted with what was found, and the rest is stated."""
    document = {"a": 1, "b": "x", "c": {"d": [1, 2], "e": None}, "f": [], "g": {}}
    expected = {"a": 1, "b": "y", "c": {"d": WHY, "e": None}, "f": [], "g": {}}
    assert compare(document, expected) == {
        "a": ("recomputed", ""),
        "b": ("contradicted", 'recomputed: "y"'),
        "c.d[0]": ("stated", "nobody knows"),
        "c.d[1]": ("stated", "nobody knows"),
        "c.e": ("recomputed", ""),
        "f": ("recomputed", ""),
        "g": ("recomputed", ""),
    }


def test_what_is_missing_and_what_is_too_much():
    """Missing fields and entries are contradictions, and so is every leaf of what is too much."""
    assert compare({"x": {"y": [1, 2]}, "l": [1, 2], "m": []}, {"a": 3, "b": WHY, "l": [1], "m": [{"n": 1}]}) == {
        "x.y[0]": ("contradicted", "there is no such field"),
        "x.y[1]": ("contradicted", "there is no such field"),
        "l[0]": ("recomputed", ""),
        "l[1]": ("contradicted", "there is no such entry; recomputed: 1 of them"),
        "m[0]": ("contradicted", 'missing; recomputed: {"n": 1}'),
        "a": ("contradicted", "missing; recomputed: 3"),
        "b": ("contradicted", "missing"),
    }


@pytest.mark.parametrize(
    ("value", "expected", "is_equal"),
    [
        (1, True, False),
        (True, 1, False),
        (0, False, False),
        (None, False, False),
        (None, 0, False),
        ("1", 1, False),
        (1, 1.0, True),
        (1.0, 1, True),
        (1 + TOLERANCE / 2, 1.0, True),
        (1 + TOLERANCE / 2, 1, False),
        (1 + 3 * TOLERANCE, 1.0, False),
        (10**15, 10**15 + 1, False),
        (0.0, 1e-300, False),
        ([], {}, False),
        ({}, [], False),
        ([], None, False),
        ({}, {"a": 1}, False),
        ([1], {"a": 1}, False),
        ("inf", "inf", True),
        (2**62, 1e300, False),
    ],
)
def test_equality(value, expected, is_equal):
    """Values are equal in type and content; of floats the last digits do not count, of integers all do."""
    statuses = {status for status, _ in compare({"a": value}, {"a": expected}).values()}
    assert statuses == ({"recomputed"} if is_equal else {"contradicted"})


def test_a_statement_with_a_problem():
    """A value that is only stated, but cannot be, is contradicted."""
    assert list(compare_fields(-1, Stated("a count", "no integer of at least 0"), ("n",))) == [
        FieldCheck("n", -1, "contradicted", "no integer of at least 0")
    ]


def test_notes_are_short():
    """What was found instead is cut, whatever its length."""
    assert len(compare({"a": 1}, {"a": ["x" * 10_000]})["a"][1]) < 300
