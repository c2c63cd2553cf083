"""Documents beside what they should be: each leaf has one status."""

import pytest

from deniable.checking.document import TOLERANCE, Stated, compare_fields

WHY = Stated("nobody knows")


def compare(value, expected):
    """Return status and note of each field by path."""
    return {field.path: (field.status, field.note) for field in compare_fields(value, expected)}


def test_every_status():
    """What is equal is recomputed, what differs, lacks or is too much is contradicted, and the rest is stated."""
    document = {"a": 1, "b": "x", "c": {"d": [1, 2], "e": None}, "f": [], "x": {"y": [1, 2]}, "l": [1, 2], "m": []}
    expected = {"a": 1, "b": "y", "c": {"d": WHY, "e": None}, "f": [], "g": 3, "h": WHY, "l": [1], "m": [{"n": 1}]}
    assert compare(document, expected) == {
        "a": ("recomputed", ""),
        "b": ("contradicted", 'recomputed: "y"'),
        "c.d[0]": ("stated", "nobody knows"),
        "c.d[1]": ("stated", "nobody knows"),
        "c.e": ("recomputed", ""),
        "f": ("recomputed", ""),
        "x.y[0]": ("contradicted", "there is no such field"),
        "x.y[1]": ("contradicted", "there is no such field"),
        "l[0]": ("recomputed", ""),
        "l[1]": ("contradicted", "there is no such entry; recomputed: 1 of them"),
        "m[0]": ("contradicted", 'missing; recomputed: {"n": 1}'),
        "g": ("contradicted", "missing; recomputed: 3"),
        "h": ("contradicted", "missing"),
    }
    assert compare({"n": -1}, {"n": Stated("a count", "no such count")}) == {"n": ("contradicted", "no such count")}
    assert len(compare({"a": 1}, {"a": ["x" * 10_000]})["a"][1]) < 300


@pytest.mark.parametrize(
    ("is_equal", "pairs"),
    [
        (True, [(1, 1.0), (1.0, 1), (1 + TOLERANCE / 2, 1.0), ("inf", "inf")]),
        (False, [(1, True), (True, 1), (0, False), (None, False), (None, 0), ("1", 1), ([], {}), ({}, []), ([], None)]),
        (False, [(1 + TOLERANCE / 2, 1), (1 + 3 * TOLERANCE, 1.0), (10**15, 10**15 + 1), (0.0, 1e-300)]),
        (False, [({}, {"a": 1}), ([1], {"a": 1}), (2**62, 1e300)]),
    ],
)
def test_equality(is_equal, pairs):
    """Values are equal in type and content; of floats the last digits do not count, of integers all do."""
    for value, expected in pairs:
        statuses = {status for status, _ in compare({"a": value}, {"a": expected}).values()}
        assert statuses == ({"recomputed"} if is_equal else {"contradicted"})
