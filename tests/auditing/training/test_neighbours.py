"""Two data sets that differ in one record."""

from deniable.auditing.training.neighbours import NeighbourPair


def test_a_record_that_is_added_or_removed():
    """One of them ends with the canary, and the other ends before it."""
    pair = NeighbourPair([1, 2], 3)
    assert (pair.with_canary, pair.without_canary, pair.is_removal) == ([1, 2, 3], [1, 2], True)


def test_a_record_in_the_place_of_the_canary():
    """Both have one size; None is a record like others."""
    pair = NeighbourPair([1, 2], 3, None)
    assert (pair.with_canary, pair.without_canary, pair.is_removal) == ([1, 2, 3], [1, 2, None], False)


def test_both_are_new_lists():
    """Training that changes its records changes neither the pair nor the other data set."""
    pair = NeighbourPair([1, 2], 3)
    pair.with_canary.clear()
    pair.without_canary.clear()
    assert pair.records == [1, 2]
