"""What each epsilon means."""

from deniable.serve.ladder import describe_ladder
from tests.serve.helpers import build_fixed


def test_states_of_rungs():
    """A rung is ready, computing, or unavailable with the reason; the ladder is complete when none is computing."""
    catalogue = build_fixed()
    offer = catalogue.get(catalogue.default)
    ladder = describe_ladder("tem", {3.0: None, 2.0: offer, 1.0: "too small"})
    assert not ladder["is_complete"]
    states = [(rung["epsilon"], rung["state"]) for rung in ladder["ladder"]]
    assert states == [(1.0, "unavailable"), (2.0, "ready"), (3.0, "computing")]
    assert ladder["ladder"][0]["reason"] == "too small"
    assert ladder["ladder"][1]["recovery"] == offer.recovery
    assert describe_ladder("tem", {2.0: offer})["is_complete"]
