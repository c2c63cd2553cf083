"""The curves of the figures, read from the results."""

import dataclasses

from deniable.core.errors import InputError
from deniable.studies.adversarial.plan import CLEAN, CURVES, Place, Plan
from deniable.studies.study import Data

HALF = 0.5
"""Share of the images for which the reach of certificates is told."""


@dataclasses.dataclass(frozen=True)
class At:
    """One measured point.

    Attributes:
        x: budget, or attack size.
        value: share.
        low: of the 95 % interval.
        high: of the same.
    """

    x: float
    value: float
    low: float
    high: float

    @property
    def percent(self) -> str:
        """The share and its interval."""
        return f"{100 * self.value:.1f} % ({100 * self.low:.1f} to {100 * self.high:.1f})"


def series(plan: Plan, data: Data, place: Place, curve: str, attack: str) -> list[At]:
    """Return one curve of one panel, in order of its axis."""
    if place == "certified":
        return certified(data, curve, attack)
    if place == "budget":
        chosen = [p for p in data["accuracy"] if p["size"] == plan.attacked_at]
    else:
        chosen = [p for p in data["accuracy"] if p["budget"] == plan.tight and p["size"]]
        if plan.attacked_at not in data["schedule"]["attack_sizes"]:
            chosen = [p for p in chosen if p["size"] != plan.attacked_at]
    return _sorted([p for p in chosen if (p["curve"], p["attack"]) == (curve, attack)], place)


def certified(data: Data, curve: str, attack: str) -> list[At]:
    """Return certified accuracy as the paper counts it."""
    chosen = [p for p in data["certified"] if p["counted"] == "published"]
    return _sorted([p for p in chosen if (p["curve"], p["attack"]) == (curve, attack)], "size")


def proved(data: Data, curve: str) -> list[At]:
    """Return the share of images that no attack up to a size changes."""
    return _sorted([p for p in data["certified"] if (p["curve"], p["counted"]) == (curve, "proved")], "size")


def unattacked(data: Data, curve: str) -> list[At]:
    """Return the accuracy without attack, by budget."""
    return _sorted([p for p in data["accuracy"] if (p["curve"], p["attack"]) == (curve, CLEAN)], "budget")


def value_at(found: list[At], x: float) -> At | None:
    """Return the point at a place of the axis; None where it was not measured."""
    return next((point for point in found if point.x == x), None)


def run_of(data: Data, curve: str, budget: float | None) -> Data | None:
    """Return what is known of a curve's model at a budget; the only one of a system that has no budget."""
    system = CURVES[curve].system
    runs = [run for run in data["runs"] if run["system"] == system]
    return next((run for run in runs if run["budget"] in {None, budget}), None)


def reach(found: list[At]) -> str:
    """Return the largest size at which half of the images are held."""
    held = [at.x for at in found if at.value >= HALF]
    return f"{max(held):g}" if held else "none"


def check(plan: Plan, budgets: tuple[float, ...]) -> None:
    """Raise `InputError` where sizes leave out a budget that a figure is made at."""
    missing = [budget for budget in (plan.tight, plan.certified_at) if budget not in budgets]
    if missing:
        raise InputError(f"The study's budgets must have {missing[0]:g}, at which a figure is made. Got {budgets}.")


def _sorted(chosen: list[Data], place: str) -> list[At]:
    axis = "budget" if place == "budget" else "size"
    return sorted((At(p[axis], p["value"], p["low"], p["high"]) for p in chosen), key=lambda point: point.x)
