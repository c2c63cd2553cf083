"""Units of rows: every row once, the first rows of each person, nothing of one in another."""

import itertools
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.core.errors import InputError
from deniable.persons.collection import group_rows

PERSONS = st.lists(st.sampled_from(["a", "b", "c", "1e5", "é", "B"]), max_size=40)
SPELLINGS = {
    "17": ["17", "17.0", "17.00", "17.", " 17\t", "1.7e+01", 17, 17.0, np.float32(17), np.int16(17), Decimal("17.0")],
    "é": ["é", "e\u0301", "\u00a0é "],
    "10000000000000000": ["1e+16", "1.0E16", "10000000000000000", 10**16, np.uint64(10**16)],
    "0": [0, "-0", "-0.0", -0.0, "0.", "0e+00"],
    "١": ["١"],
}


def list_units(units):
    """Return the rows of every unit, as a set of tuples."""
    bounds = units.offsets.tolist()
    return {tuple(units.rows[first:last].tolist()) for first, last in itertools.pairwise(bounds)}


@given(PERSONS, st.one_of(st.none(), st.integers(1, 5)))
def test_each_person_has_their_first_rows(persons, maximum):
    """A unit holds the first rows of one person, in their order, and every person is one unit."""
    expected = {tuple([row for row, other in enumerate(persons) if other == person][:maximum]) for person in {*persons}}
    units = group_rows(len(persons), persons, maximum)
    assert list_units(units) == expected
    assert (len(units), units.unit) == (len(expected), "person")


@given(PERSONS, st.sampled_from(["a", "b"]), st.integers(1, 3))
def test_without_a_person_the_others_keep_their_rows(persons, left_out, maximum):
    """The rows that count of the others are the same rows of theirs when one person is left out."""
    others = [row for row, person in enumerate(persons) if person != left_out]
    smaller = group_rows(len(others), [persons[row] for row in others], maximum)
    renumbered = {tuple(others[row] for row in unit) for unit in list_units(smaller)}
    whole = list_units(group_rows(len(persons), persons, maximum))
    assert renumbered == {unit for unit in whole if persons[unit[0]] != left_out}


@given(st.lists(st.sampled_from([(name, one) for name, listed in SPELLINGS.items() for one in listed]), max_size=30))
def test_however_a_person_is_written_they_are_one_unit(rows):
    """The spellings that programs make of one person are one unit, and no two persons are."""
    names = [name for name, _ in rows]
    assert list_units(group_rows(len(rows), [spelling for _, spelling in rows])) == list_units(
        group_rows(len(rows), names)
    )


@pytest.mark.parametrize("person", [None, float("nan"), "", "\u2003", True, b"a", 1.5, 2.0**53, ("a",), Decimal("1.5")])
def test_who_names_nobody_is_refused(person):
    """A row without a person joins no other row's unit, and what is neither a text nor a whole number names nobody."""
    with pytest.raises(InputError, match=r"^Persons: (there is a null or a blank in row 1|.*\. Got .*: write)"):
        group_rows(3, ["a", person, "b"])


def test_records_are_units():
    """Without persons each row is a unit by itself."""
    units = group_rows(3)
    assert (list_units(units), units.unit) == ({(0,), (1,), (2,)}, "record")
    assert len(group_rows(0)) == 0


def test_what_does_not_match_is_refused():
    """A person is needed for each row, and at least one row of each."""
    with pytest.raises(InputError, match=r"3 rows need as many persons\. Got 2"):
        group_rows(3, ["a", "b"])
    with pytest.raises(InputError, match="'maximum' parameter"):
        group_rows(2, ["a", "b"], 0)


def test_many_rows_of_one_person():
    """A hundred thousand rows of one person are one unit."""
    units = group_rows(100_000, ["one"] * 100_000)
    np.testing.assert_array_equal(units.offsets, [0, 100_000])
