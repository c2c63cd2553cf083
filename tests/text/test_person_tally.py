"""What a release spends on each person, for the owner alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.text.certificate import RECORD_DELTA
from deniable.text.person_tally import PersonTally
from tests.text.helpers import MECHANISM

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
    expected = MECHANISM.document_guarantee(16, RECORD_DELTA)
    assert largest["pure"]["epsilon"] == expected.pure.epsilon
    assert largest["approximate"]["epsilon"] == expected.approximate.epsilon
    assert largest["approximate"]["delta"] == RECORD_DELTA


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
    assert tally.nameless_records == persons.count(None)


def test_lines_for_the_owner():
    """Every line says that it is for the owner; the count of persons tells how many records name none."""
    lines = count(PERSONS, LENGTHS).describe(MECHANISM, "proved")
    assert all(line.startswith("for you only   ") for line in lines)
    assert lines[0].endswith("   5 persons, 2 records without one counted as one each")
    assert "the median person, 1 record, 2 words: epsilon " in lines[1]
    assert "the person with most words, 3 records, 16 words: epsilon " in lines[2]
    assert "do not publish them" in lines[-1]


@pytest.mark.parametrize(("tally", "status"), [(count(PERSONS, LENGTHS), "refuted"), (PersonTally(), "proved")])
def test_no_guarantee_is_told_where_there_is_none(tally, status):
    """Of a refuted mechanism, and of no persons, no epsilon is told."""
    assert not any("epsilon" in line for line in tally.describe(MECHANISM, status))


def test_a_weaker_status_is_told():
    """The guarantee of a person is known no better than that of a word."""
    assert count(PERSONS, LENGTHS).describe(MECHANISM, "claimed")[2].endswith("(claimed)")
