"""The scale of what is known of a claim."""

import itertools
import typing

from deniable.core.guarantees import Status, find_weakest_status


def test_the_weakest_stands_for_all():
    """A composition stands as its weakest part, in any order; refuted is the weakest and proved the strongest."""
    scale = typing.get_args(Status)
    assert scale[0] == "proved"
    assert scale[-1] == "refuted"
    for strong, weak in itertools.combinations(scale, 2):
        assert find_weakest_status(strong, weak) == find_weakest_status(weak, strong) == weak
    assert find_weakest_status(*scale) == "refuted"
