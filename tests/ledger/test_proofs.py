"""What a ledger charges for: the guarantee that a verdict supports."""

import dataclasses
import math

import pytest

import deniable as dn
from deniable.core.errors import InputError
from deniable.ledger import get_charged_guarantee

CLAIM = dn.PureDP(3.0, "a theorem")


def judge(guarantee, status="proved", epsilon=None):
    """Return a verdict of a status, by default with an upper bound that is what was claimed."""
    return dn.Verdict(guarantee, status, guarantee.epsilon if epsilon is None else epsilon, 0.0, 1.0, 0, None, "", 0.0)


@pytest.mark.parametrize("status", ["proved", "proved for ideal arithmetic"])
def test_what_is_proved_is_charged(status):
    """A proved guarantee is charged as claimed, also where less was verified, and has the status of its verdict."""
    for verified in (3.0, 1.25):
        charged = get_charged_guarantee("own", judge(CLAIM, status, verified), "record")
        assert charged == dataclasses.replace(CLAIM, status=status)


@pytest.mark.parametrize("status", ["claimed", "not refuted", "undecided", "refuted"])
def test_what_is_not_proved_is_refused(status):
    """Neither a verdict nor a guarantee that is no proof is charged, whichever of the two it is."""
    for verdict in (judge(CLAIM, status), judge(dataclasses.replace(CLAIM, status=status))):
        with pytest.raises(InputError, match=f"the guarantee of own, 3-DP, is {status}: choose"):
            get_charged_guarantee("own", verdict, "record")


@pytest.mark.parametrize("verified", [3.1, math.inf, math.nan])
def test_less_than_was_verified_is_refused(verified):
    """A verdict that calls an epsilon proved below its own upper bound, or without one, is not believed."""
    with pytest.raises(InputError, match="is below what was verified"):
        get_charged_guarantee("own", judge(CLAIM, epsilon=verified), "record")


@pytest.mark.parametrize("unit", ["word", "person"])
def test_another_unit_is_refused(unit):
    """A guarantee for a word or a person is no cost of a record, of which it says less or more."""
    with pytest.raises(InputError, match=f"about one {unit}: state it for a record"):
        get_charged_guarantee("own", judge(dataclasses.replace(CLAIM, unit=unit)), "record")


@pytest.mark.parametrize("guarantee", [dn.PureDP(math.inf, ""), dn.PureDP(-1.0, ""), dn.ApproxDP(1.0, 1.0, "")])
def test_what_is_no_cost_is_refused(guarantee):
    """An infinite or negative epsilon, or a delta of 1, costs nothing that a ledger could count."""
    with pytest.raises(InputError, match=r"guarantee\.(epsilon|delta)"):
        get_charged_guarantee("own", judge(guarantee), "record")
