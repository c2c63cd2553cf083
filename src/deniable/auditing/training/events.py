"""Which event tells runs with a canary from others best: a statistic of them, and a threshold, by runs of their own."""

import dataclasses
import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np

from deniable.auditing.attackers import ATTACKERS, InputScorer
from deniable.auditing.outputs import Outputs
from deniable.auditing.training.glances import Glance
from deniable.auditing.training.judging import TrainingClaim
from deniable.auditing.training.rates import EventCounts, estimate_strength
from deniable.core.arrays import BoolArray, FloatArray

_EVENT_SHARES = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5)
"""Shares of the runs with an event, among which the best is chosen."""
_MIN_RUNS_FOR_BITS = 60

Statistic = Callable[[Glance], float]


@dataclasses.dataclass(frozen=True)
class Event:
    """That a statistic of a run is on one side of a threshold.

    Attributes:
        name: of the statistic.
        statistic: grows with the canary.
        threshold: t.
        is_above: the event is "at least t", and speaks for the canary; or "at most t", and speaks against it.
        strength: the bound that is expected of it.
    """

    name: str
    statistic: Statistic
    threshold: float
    is_above: bool
    strength: float = -math.inf

    def count(self, included: BoolArray, values: FloatArray) -> EventCounts:
        """Return how often it happens, among the runs for which it speaks first."""
        happened = values >= self.threshold if self.is_above else values <= self.threshold
        named = included if self.is_above else ~included
        return EventCounts(
            int(happened[named].sum()), int(happened[~named].sum()), int(named.sum()), int((~named).sum())
        )


def choose_event(claim: TrainingClaim, included: BoolArray, glances: list[Glance], judged: int) -> Event:
    """Return the event of which most is expected, by runs that are not judged.

    What needs fitting is fitted to a third of them, and all events are compared on the others.
    """
    fitting = len(glances) // 3
    statistics = _list_statistics(included[:fitting], glances[:fitting])
    shown, held_out = included[fitting:], glances[fitting:]
    best: Event | None = None
    for name, statistic in statistics.items():
        values = np.array([statistic(glance) for glance in held_out])
        if best is not None and np.ptp(values) == 0:
            continue
        for share, is_above in itertools.product(_EVENT_SHARES, (True, False)):
            threshold = float(np.quantile(values, 1 - share if is_above else share, method="nearest"))
            event = Event(name, statistic, threshold, is_above)
            strength = estimate_strength(claim.noise, _expect_counts(event.count(shown, values), judged), claim.alpha)
            if best is None or strength > best.strength:
                best = dataclasses.replace(event, strength=strength)
    return best  # type: ignore[return-value]  # there is always a size


def _expect_counts(counts: EventCounts, judged: int) -> EventCounts:
    """Return the counts among the judged runs, each chance moved by its standard error to the side of caution."""
    runs = judged // 2
    expected = []
    for count, total, side in (
        (counts.with_record, counts.runs_with, -1),
        (counts.without_record, counts.runs_without, 1),
    ):
        chance = (count + 0.5) / (total + 1)
        expected.append(runs * min(max(chance + side * math.sqrt(chance * (1 - chance) / total), 0.0), 1.0))
    return EventCounts(expected[0], expected[1], runs, runs)


def _list_statistics(included: BoolArray, glances: list[Glance]) -> dict[str, Statistic]:
    """Return the statistics, those that need fitting fitted; whatever grows with the canary is positive."""
    statistics: dict[str, Statistic] = {}
    for name in sorted(glances[0].values, key="size".__eq__):  # which is hardly ever of use
        values = np.array([glance.values[name] for glance in glances])
        has_both = included.any() and not included.all()
        is_signed = name != "size" or not has_both or values[included].mean() >= values[~included].mean()
        statistics[name] = _take_value(name, 1.0 if is_signed else -1.0)
    enough = min(included.sum(), (~included).sum()) >= _MIN_RUNS_FOR_BITS // 2
    if enough and len(glances[0].bits):
        statistics["last bits"] = _fit_last_bits(included, glances)
    return statistics


def _take_value(name: str, sign: float) -> Statistic:
    return lambda glance: sign * glance.values[name]


def _fit_last_bits(included: BoolArray, glances: list[Glance]) -> Statistic:
    """Return the log odds of the coin that the fineness of the first numbers gives."""
    score: InputScorer = ATTACKERS["precision"](("without", "with"), _stack_bits(glances), included.astype(np.int64))

    def compute_log_odds(glance: Glance) -> float:
        without, with_canary = score(_stack_bits([glance]))[0]
        return float(with_canary - without)

    return compute_log_odds


def _stack_bits(glances: Sequence[Glance]) -> Outputs:
    values = np.stack([glance.bits for glance in glances])
    return Outputs("real", values, (), ("",) * len(values), values.shape[1:])
