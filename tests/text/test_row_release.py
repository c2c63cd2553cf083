"""Rows of a table: what a release spends on each person, and record ids that were there before."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.text.row_release import PersonTally, SeenIds
from tests.text.helpers import MECHANISM
from tests.text.tables.helpers import few

PERSONS = ["ann", "bob", "ann", None, "eve", None, "ann"]
LENGTHS = [5, 2, 7, 1, 3, 0, 4]


def count(persons, lengths, windows=1):
    """Return the tally of records, added in so many parts."""
    tally = PersonTally()
    for start in range(windows):
        tally.add_records(persons[start::windows], lengths[start::windows])
    return tally


def test_the_words_of_a_person_add_up():
    """The guarantee of a person is that of one text of all their words, whatever record these stand in."""
    median, largest = count(PERSONS, LENGTHS).list_guarantees(MECHANISM, "proved")
    assert (median["person"], median["records"], median["words"]) == ("median person", 1, 2)
    assert (largest["person"], largest["records"], largest["words"]) == ("person with most words", 3, 16)
    expected = MECHANISM.document_guarantee(16, 1e-6)
    assert largest["pure"]["epsilon"] == expected.pure.epsilon
    assert (largest["approximate"]["epsilon"], largest["approximate"]["delta"]) == (expected.approximate.epsilon, 1e-6)


@few
@given(st.lists(st.tuples(st.sampled_from(["a", "b", "0", None]), st.integers(0, 9)), max_size=20), st.integers(1, 4))
def test_windows_do_not_show(rows, windows):
    """In whatever parts records come, median and largest are those of the sums by person."""
    persons, lengths = [person for person, _ in rows], [words for _, words in rows]
    sums = [sum(words for owner, words in rows if owner == name) for name in set(persons) - {None}]
    ranked = sorted([*sums, *(words for owner, words in rows if owner is None)])
    expected = [ranked[(len(ranked) - 1) // 2], ranked[-1]] if ranked else []
    tally = count(persons, lengths, windows)
    entries = tally.list_guarantees(MECHANISM, "proved")
    assert [entry["words"] for entry in entries] == [words for words in expected if words]


@pytest.mark.parametrize("status", ["proved", "claimed", "refuted"])
def test_lines_for_the_owner(status):
    """Every line is marked; no epsilon is told of a refuted mechanism, and a weaker status is told."""
    tally = count(PERSONS, LENGTHS)
    lines = tally.describe(MECHANISM, status)
    assert all(line.startswith("for you only   ") for line in lines)
    assert "5 persons, 2 records" in lines[0]
    assert sum("epsilon" in line for line in lines) == (0 if status == "refuted" else 2)
    assert any("(claimed)" in line for line in lines) == (status == "claimed")
    assert not any("epsilon" in line for line in PersonTally().describe(MECHANISM, "proved"))


IDS = st.text(st.sampled_from("ab\ud800é"), max_size=3) | st.integers(0, 99).map(str)


def find_first_repeat(windows):
    """Return the first two rows with one id, found in a dictionary."""
    first_rows = {}
    for row, record_id in enumerate(record_id for window in windows for record_id in window):
        if first_rows.setdefault(record_id, row) != row:
            return first_rows[record_id], row
    return None


@few
@given(windows=st.lists(st.lists(IDS, max_size=12), max_size=12))
def test_the_first_repeat_is_found(windows):
    """In whatever windows ids come the first repeated one is named with both rows."""
    ids = SeenIds()
    repeats = [repeat for repeat in map(ids.add, windows) if repeat is not None]
    assert repeats[:1] == [repeat for repeat in [find_first_repeat(windows)] if repeat is not None]


def test_many_ids():
    """Of ten thousand different ids none is refused, and a repeat of any is."""
    seen = SeenIds()
    for first in range(0, 10_000, 137):
        assert seen.add([f"r{number}" for number in range(first, min(first + 137, 10_000))]) is None
    for row in random.Random(5).sample(range(10_000), 20):
        assert seen.add([f"r{row}"])[0] == row
