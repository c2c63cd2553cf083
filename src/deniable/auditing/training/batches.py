"""Which sampling scheme the batches of a run show."""

import collections
import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from deniable.auditing.training.observation import Sampling, TrainingPlan
from deniable.core.arrays import IntArray

CHANCE = 1e-6
"""What the stated scheme shows with a larger chance than this says nothing against it."""


@dataclasses.dataclass(frozen=True)
class ShownBatches:
    """What batches show.

    Attributes:
        scheme: the sampling that they fit; None where they fit none, or are not shown.
        note: what was seen, in words.
        sizes: (T,) of the batches; empty where they are not shown.
        per_epoch: batches of an epoch; 0 but for ``shuffled``.
        presence: chance that an epoch has a record; below 1 where its last records are dropped.
        rates: limits of the chance of a record that the sizes of ``poisson`` leave; (0, 1) for others.
        is_distinct: whether no record is in two batches.
    """

    scheme: Sampling | None
    note: str
    sizes: IntArray
    per_epoch: int = 0
    presence: float = 1.0
    rates: tuple[float, float] = (0.0, 1.0)
    is_distinct: bool = False


def classify_batches(batches: Sequence[IntArray | None], records: int) -> ShownBatches:
    """Return the scheme that batches show.

    Args:
        batches: numbers of the records of each step; None where a run does not say.
        records: n.
    """
    shown = [np.asarray(batch) for batch in batches if batch is not None]
    sizes = np.array([len(batch) for batch in shown], dtype=np.int64)
    if not shown or len(shown) < len(batches):
        return ShownBatches(None, "the run does not show its batches", np.empty(0, dtype=np.int64))
    repeated = [number for number, batch in enumerate(shown) if len(np.unique(batch)) < len(batch)]
    if repeated:
        most = max(collections.Counter(shown[repeated[0]].tolist()).values())
        note = (
            f"a record counts up to {most} times in one batch, in {len(repeated):,} of {len(shown):,} steps: of no "
            "scheme that is accounted for"
        )
        return ShownBatches(None, note, sizes)
    is_distinct = len(np.unique(np.concatenate(shown))) == sizes.sum()
    return dataclasses.replace(_classify_distinct(shown, sizes, records), is_distinct=is_distinct)


def _classify_distinct(shown: list[IntArray], sizes: IntArray, records: int) -> ShownBatches:
    """Return the scheme of batches none of which has a record twice."""
    if (sizes == records).all():
        return ShownBatches("all", "every batch has all records", sizes)
    per_epoch = _find_epoch(shown, records)
    if per_epoch:
        presence = int(sizes[:per_epoch].sum()) / records
        note = "every epoch has each record once" if presence == 1 else "every epoch has a record once or not at all"
        return ShownBatches("shuffled", note, sizes, per_epoch, presence)
    if np.ptp(sizes) == 0:
        return ShownBatches("fixed size", f"every batch has {sizes[0]:,} records", sizes)
    return _classify_sizes(sizes, records)


def doubt_batches(shown: ShownBatches, plan: TrainingPlan, records: int) -> ShownBatches:
    """Return what is shown of n records, without its scheme where that of the plan would show the same by chance."""
    if shown.scheme in {None, plan.sampling} or _compute_chance(shown, plan, records) < CHANCE:
        return shown
    note = f"{shown.note}: too little to tell it from {_NAMES[plan.sampling]}"
    return dataclasses.replace(shown, scheme=None, note=note)


_NAMES = {
    "poisson": "independent coins",
    "shuffled": "a shuffled order",
    "fixed size": "random batches of one size",
    "all": "all records",
}


def _find_epoch(batches: list[IntArray], records: int) -> int:
    """Return how many batches an epoch has if none has a record twice, again and again; 0 otherwise.

    Batches of one size that are dropped at the end of an epoch are seen too: an epoch has as many whole batches as fit.
    """
    size = len(batches[0])
    if not 0 < size <= records or len(batches) < 2:  # noqa: PLR2004 - one batch shows no order
        return 0
    for per_epoch in (-(-records // size), records // size):
        if not 1 < per_epoch <= len(batches):
            continue
        epochs = [np.concatenate(batches[start : start + per_epoch]) for start in range(0, len(batches), per_epoch)]
        if all(len(np.unique(epoch)) == len(epoch) for epoch in epochs):
            # Independent batches hardly ever have no record in common.
            sizes = {len(batch) for batch in batches}
            if len(sizes) == 1 or (len(sizes) == 2 and len(epochs[0]) == records):  # noqa: PLR2004 - a short last one
                return per_epoch
    return 0


def _classify_sizes(sizes: IntArray, records: int) -> ShownBatches:
    from scipy import stats  # noqa: PLC0415 - only audits need it

    rate = int(sizes.sum()) / (records * len(sizes))
    dispersion = ((sizes - sizes.mean()) ** 2).sum() / (records * rate * (1 - rate)) if 0 < rate < 1 else 0.0
    freedom = len(sizes) - 1
    tail = min(stats.chi2.sf(dispersion, freedom), stats.chi2.cdf(dispersion, freedom))
    words = f"sizes from {sizes.min():,} to {sizes.max():,}, mean {sizes.mean():.4g}"
    if tail < CHANCE:
        return ShownBatches(None, f"{words}: they do not vary as those of independent coins", sizes)
    note = f"{words}: as of independent coins of chance {rate:.4g}"
    return ShownBatches("poisson", note, sizes, rates=bound_rate(sizes, records))


def bound_rate(sizes: IntArray, records: int) -> tuple[float, float]:
    """Return limits of the chance of a record that the sizes (T,) of batches of coins leave."""
    from scipy import stats  # noqa: PLC0415 - only audits need it

    limits = stats.binomtest(int(sizes.sum()), records * len(sizes)).proportion_ci(1 - CHANCE)
    return float(limits.low), float(limits.high)


def _compute_chance(shown: ShownBatches, plan: TrainingPlan, records: int) -> float:
    """Return about the chance with which the stated scheme shows this one, or 1 where it shows it always."""
    sizes = shown.sizes
    if plan.sampling == "shuffled":
        return float(shown.is_distinct and int(sizes.sum()) <= records)  # within its first epoch it shows only sizes
    if plan.sampling == "fixed size" and shown.scheme == "shuffled":
        return _compute_disjoint_chance(records, shown)
    if plan.sampling != "poisson":
        return 0.0
    if shown.scheme == "all":
        return float(plan.rate ** int(sizes.sum()))
    if shown.scheme == "shuffled":
        epochs, rest = divmod(len(sizes), shown.per_epoch)
        once = shown.per_epoch * plan.rate * (1 - plan.rate) ** (shown.per_epoch - 1)
        never = 0.0 if rest == 0 and shown.presence == 1 else (1 - plan.rate) ** shown.per_epoch
        return float(min(once + never, 1.0) ** (epochs * records))
    from scipy import stats  # noqa: PLC0415 - only audits need it

    return float((stats.binom.pmf(np.arange(records + 1), records, plan.rate) ** len(sizes)).sum())


def _compute_disjoint_chance(records: int, shown: ShownBatches) -> float:
    """Return the chance that random batches of one size have no record twice in any whole epoch."""
    size = int(shown.sizes[0])
    logs = sum(
        _log_binomial(records - number * size, size) - _log_binomial(records, size)
        for number in range(shown.per_epoch)
        if records - number * size >= size
    )
    return math.exp(logs * (len(shown.sizes) // shown.per_epoch))


def _log_binomial(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
