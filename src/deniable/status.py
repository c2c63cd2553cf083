"""How far a claim of privacy is known to be true: one scale for guarantees and for verdicts."""

from typing import Literal, get_args

Status = Literal["proved", "proved for ideal arithmetic", "claimed", "not refuted", "undecided", "refuted"]
"""From the strongest to the weakest.

- ``proved``: true of what the program draws, its arithmetic included;
- ``proved for ideal arithmetic``: true of real numbers, and the program draws with floating point, whose
  rounding no proof covers;
- ``claimed_sensitivity``: a publication says so, and its proof has gaps;
- ``not refuted``: a search that could have refuted it did not;
- ``undecided``: the bounds lie on both sides of the claim, or nothing could be computed;
- ``refuted``: false, with a witness.
"""

PROVED_IDEAL: Status = "proved for ideal arithmetic"
_STRENGTH_ORDER: tuple[Status, ...] = get_args(Status)


def is_proved(status: Status) -> bool:
    """Return whether a claim is proved, by arithmetic that is the program's or by ideal arithmetic."""
    return status in {"proved", PROVED_IDEAL}


def find_weakest_status(*statuses: Status) -> Status:
    """Return the weakest of some statuses: what rests on several claims stands as the weakest of them."""
    return max(statuses, key=_STRENGTH_ORDER.index)
