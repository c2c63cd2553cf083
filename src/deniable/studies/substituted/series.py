"""The curves of the figures, read from the results, and comparisons of two models text by text."""

import dataclasses
from typing import Literal

import numpy as np

from deniable.core.intervals import estimate_share
from deniable.studies.study import Data
from deniable.studies.substituted.plan import Measure, Point, augmented

Order = Literal["ahead", "behind", "undecided"]
HALF = 0.5


@dataclasses.dataclass(frozen=True)
class Found:
    """One measured share of the test texts.

    Attributes:
        value: share.
        low: of the 95 % interval.
        high: of the same.
        count: of the texts.
        texts: which of them, packed bits in hexadecimal; empty where they are not kept.
    """

    value: float
    low: float
    high: float
    count: int
    texts: str = ""

    @property
    def percent(self) -> str:
        """The share and its interval."""
        return f"{100 * self.value:.1f} % ({100 * self.low:.1f} to {100 * self.high:.1f})"


def found(data: Data, model: str, measure: Measure, source: str | None = None, at: float | None = None) -> Found | None:
    """Return one measured share; None where it was not measured.

    Args:
        data: of the results.
        model: name of the model, see `deniable.studies.substituted.plan.Cell.name`.
        measure: which.
        source: of an attack's words, or what interval bounds are about.
        at: place of a mechanism on its axis.
    """
    wanted = (model, measure, source, at)
    chosen = (p for p in data["points"] if (p["model"], p["measure"], p["source"], p["at"]) == wanted)
    return next((Found(p["value"], p["low"], p["high"], p["count"], p["texts"]) for p in chosen), None)


def against(data: Data, model: str, point: Point, measure: Measure) -> Found | None:
    """Return a model's share without attack, or under the genetic one by a mechanism."""
    if measure == "clean":
        return found(data, model, "clean")
    return found(data, model, measure, point.mechanism, point.at)


def own(data: Data, point: Point, measure: Measure) -> Found | None:
    """Return the same of the model that was trained on copies from this very mechanism."""
    return against(data, augmented(point), point, measure)


def points(data: Data, mechanism: str) -> list[Point]:
    """Return where a mechanism was looked at, in order; those at which it has no law among them."""
    return sorted((Point(m["mechanism"], m["at"]) for m in data["mechanisms"] if m["mechanism"] == mechanism), key=_at)


def _at(point: Point) -> float:
    return point.at


def known(data: Data, point: Point) -> Data:
    """Return what is known of the epsilon of one point."""
    facts: Data = next(m for m in data["mechanisms"] if (m["mechanism"], m["at"]) == (point.mechanism, point.at))
    return facts


def compared(first: Found, second: Found) -> Order:
    """Say whether a model is right on more texts than another, at 95 %.

    The same texts are asked of both: of those on which the two differ, Clopper and Pearson's interval for the first's
    share must lie on one side of a half (McNemar's test in its exact form).
    """
    one, other = (np.unpackbits(np.frombuffer(bytes.fromhex(held.texts), np.uint8)) for held in (first, second))
    wins, losses = int((one > other).sum()), int((one < other).sum())
    if not wins + losses:
        return "undecided"
    interval = estimate_share(wins, wins + losses)
    return "ahead" if interval.low > HALF else "behind" if interval.high < HALF else "undecided"


def near(measured: Found, percent: float, tested: int) -> bool:
    """Say whether our interval and that of a published percentage of so many texts meet."""
    theirs = estimate_share(min(round(percent / 100 * tested), tested), tested)
    return measured.low <= theirs.high and theirs.low <= measured.high


def smoothed(data: Data, point: Point, kind: str) -> dict[float, Found]:
    """Return the certified accuracy of the smoothed model, by total distance or by words changed."""
    return {
        p["size"]: Found(p["value"], p["low"], p["high"], p["count"])
        for p in data["smoothed"]
        if (p["mechanism"], p["at"], p["kind"]) == (point.mechanism, point.at, kind)
    }
