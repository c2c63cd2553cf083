"""What a comparison finds."""

import typing

from deniable.comparison.findings import WAYS, Way


def test_all_ways_are_listed():
    """The list in the order of the page has every way once."""
    assert set(WAYS) == set(typing.get_args(Way))
    assert len(WAYS) == len(set(WAYS))
