"""A guarantee is shown as high as its verdict, and no higher."""

import dataclasses
from typing import get_args

import pytest

import deniable as dn
from deniable.core.evidence import limit_status
from deniable.core.guarantees import Status, find_weakest_status

STATUSES = get_args(Status)


@pytest.mark.parametrize("claimed", STATUSES)
@pytest.mark.parametrize("status", STATUSES)
def test_the_weaker_of_the_two(claimed, status):
    """Standing and status are compared on one scale, and all else of the guarantee stays."""
    verdict = dn.Verdict(status, 2.0, 1.5, 1.4, 1.0, 0, None, "by hand", 0.25)
    for guarantee in (
        dn.PureDP(2.0, "a theorem", claimed),
        dn.ApproxDP(2.0, 1e-6, "a theorem", claimed),
        dn.MetricDP(2.0, "euclidean", "a theorem", claimed),
    ):
        shown = limit_status(guarantee, verdict)
        assert shown == dataclasses.replace(guarantee, status=find_weakest_status(claimed, status))
        assert STATUSES.index(shown.status) >= STATUSES.index(claimed)
