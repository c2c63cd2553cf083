"""A guarantee is shown as high as its verdict, and no higher."""

import dataclasses
from typing import get_args

import pytest

import deniable as dn
from deniable.auditing import limit_standing
from deniable.status import Status, weakest

STATUSES = get_args(Status)


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("standing", STATUSES)
def test_the_weaker_of_the_two(standing, status):
    """Standing and status are compared on one scale, and all else of the guarantee stays."""
    verdict = dn.Verdict(status, 2.0, 1.5, 1.4, 1.0, 0, None, "by hand", 0.25)
    for guarantee in (
        dn.PureDP(2.0, "a theorem", standing),
        dn.ApproxDP(2.0, 1e-6, "a theorem", standing),
        dn.MetricDP(2.0, "euclidean", "a theorem", standing),
    ):
        shown = limit_standing(guarantee, verdict)
        assert shown == dataclasses.replace(guarantee, standing=weakest(standing, status))
        assert STATUSES.index(shown.standing) >= STATUSES.index(status)
