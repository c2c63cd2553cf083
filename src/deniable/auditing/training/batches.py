r"""Which sampling scheme the batches of runs show, and in what they differ from their plan.

Numbers of steps, sizes of batches and who is in them are facts for every scheme but ``poisson``. There the plan is a
law: each of n records is in each of T batches by a coin of chance q of its own. So

- the sizes are Binomial(n, q), independent; the number of empty ones is Binomial(T, (1 - q)^n); none is larger than k
  with the chance P(size <= k)^T; all are the same with the chance sum over k of P(size = k)^T;
- how often a record is drawn is Binomial(T, q), independent between records, in one run as in all of them;
- the sizes of one step in R runs sum to Binomial(R n, q), and the number of empty ones is Binomial(R, (1 - q)^n).

Each of these gives exact tails, of which the least, times their number, is the chance of what was seen (Bonferroni).
A true sampler has a chance below alpha with probability alpha at most, however small its batches are.

**Empty batches.** A trainer that draws an empty batch again, or leaves it out, has the rate q / (1 - (1 - q)^n) in the
batches that it shows, and never shows an empty one. A true sampler can look the same by luck. So where no batch is
empty, and this rate would spend more than is claimed, nothing is said.
"""

import collections
import dataclasses
import itertools
import math
from collections.abc import Sequence

import numpy as np
from scipy import special, stats

from deniable.accounting.training import Sampling, TrainingPlan
from deniable.auditing.training.observation import ObservedRun
from deniable.core.arrays import FloatArray, IntArray

CHANCE = 1e-6
"""What the stated scheme shows with a larger chance than this says nothing against it."""
DOUBT = 0.01
"""A true sampler shows batches that are doubted with this chance at most."""
_COUNT_ROUNDING = 1e-9
_MIDDLE = (0.25, 0.75)
"""Quantiles between which about half of the sizes lie."""


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
    """The scheme that batches show.

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
    """The scheme of batches none of which has a record twice."""
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
    """What is shown of n records, without its scheme where that of the plan would show the same by chance."""
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
    """How many batches an epoch has if none has a record twice, again and again; 0 otherwise.

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
    """Limits of the chance of a record that the sizes (T,) of batches of coins leave."""
    limits = stats.binomtest(int(sizes.sum()), records * len(sizes)).proportion_ci(1 - CHANCE)
    return float(limits.low), float(limits.high)


def _compute_chance(shown: ShownBatches, plan: TrainingPlan, records: int) -> float:
    """About the chance with which the stated scheme shows this one, or 1 where it shows it always."""
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
    return float((stats.binom.pmf(np.arange(records + 1), records, plan.rate) ** len(sizes)).sum())


def _compute_disjoint_chance(records: int, shown: ShownBatches) -> float:
    """The chance that random batches of one size have no record twice in any whole epoch."""
    size = int(shown.sizes[0])
    left = np.array([records, *(records - size * np.arange(1, shown.per_epoch))])
    left = left[left >= size]
    logs = special.gammaln(left + 1) - special.gammaln(left - size + 1)
    return math.exp((logs - logs[0]).sum() * (len(shown.sizes) // shown.per_epoch))


@dataclasses.dataclass(frozen=True)
class Disagreement:
    """That runs do not show what their plan states.

    Attributes:
        words: what they show, and what is stated.
        chance: with which the plan would show so much; 0 for what it never shows.
        is_accounted: whether an epsilon can be recomputed for what they show.
    """

    words: str
    chance: float
    is_accounted: bool = False


def find_disagreement(
    plan: TrainingPlan, shown: ShownBatches, runs: Sequence[ObservedRun], records: int
) -> Disagreement | None:
    """In what runs disagree with their plan, None where they do not, or show nothing.

    Args:
        plan: what they state.
        shown: what the batches of the first one show, doubts removed.
        runs: with independent seeds, on as many records.
        records: n.
    """
    counts = sorted({len(run.steps) for run in runs})
    if counts[-1] and counts != [plan.steps]:
        seen = " or ".join(f"{count:,}" for count in counts)
        return Disagreement(f"{seen} steps, where the plan states {plan.steps:,}", 0.0, is_accounted=True)
    batches = [[step.batch for step in run.steps if step.batch is not None] for run in runs]
    return _compare_batches(plan, shown, batches, records) if any(batches) else None


def _compare_batches(
    plan: TrainingPlan, shown: ShownBatches, batches_by_run: list[list[IntArray]], records: int
) -> Disagreement | None:
    batches = list(itertools.chain.from_iterable(batches_by_run))
    sizes = np.array([len(batch) for batch in batches])
    if any(len(np.unique(batch)) < len(batch) for batch in batches):
        return Disagreement("a record counts more than once in a batch", 0.0)
    if plan.rate < 1 and shown.scheme not in {None, plan.sampling}:
        return Disagreement(f"{shown.note}, which is not what the plan states ({plan.sampling})", 0.0)
    if plan.rate < 1 and plan.sampling != "poisson":
        return _compare_sizes(plan, shown, sizes, records) or _compare_subsets(plan, batches, records)
    if plan.rate == 1:
        words = "a batch without one of the records, where the plan has all of them"
        return None if (sizes == records).all() else Disagreement(words, 0.0)
    words, chance = _find_least_chance(plan.rate, batches_by_run, records)
    return Disagreement(words, chance) if chance < DOUBT else None


def compute_rate_without_empty(plan: TrainingPlan, records: int) -> float:
    """The chance that a batch has a record where empty ones are drawn again (see above)."""
    return min(plan.rate / -math.expm1(records * math.log1p(-plan.rate)), 1.0) if plan.rate < 1 else 1.0


def _compare_sizes(plan: TrainingPlan, shown: ShownBatches, sizes: IntArray, records: int) -> Disagreement | None:
    """Compare with ``shuffled`` and ``fixed size``, whose sizes are facts."""
    if records != plan.records:
        return Disagreement(f"{records:,} records, where the plan states {plan.records:,}", 0.0)
    stated = f"where the plan states {plan.batch_size:g} of {plan.records:,} ({plan.sampling})"
    if plan.sampling == "fixed size":
        is_stated = bool((sizes == max(round(plan.batch_size), 1)).all())
        return None if is_stated else Disagreement(f"batches of {sizes.min():,} to {sizes.max():,}, {stated}", 0.0)
    whole, all_batches = records / plan.batch_size, math.ceil(records / plan.batch_size - _COUNT_ROUNDING)
    largest = int(sizes.max())
    per_epoch = shown.per_epoch or (-(-records // largest) if largest else 0)
    if per_epoch not in {all_batches, math.floor(whole + _COUNT_ROUNDING)} and records // max(largest, 1) != int(whole):
        return Disagreement(f"batches of {largest:,}, {stated}", 0.0)
    # Fewer batches than an epoch show no scheme, and have nobody twice.
    if not shown.scheme and len(sizes) > all_batches:
        return Disagreement(f"{shown.note}, {stated}", 0.0)
    return None


def _compare_subsets(plan: TrainingPlan, batches: list[IntArray], records: int) -> Disagreement | None:
    """Compare how often records are drawn with ``fixed size``, by the tails of one record times their number."""
    if plan.sampling != "fixed size":
        return None
    draws = _count_draws(batches, records)
    law = stats.binom(len(batches), max(round(plan.batch_size), 1) / records)
    tail = min(float(law.sf(draws.max() - 1)), float(law.cdf(draws.min())))
    chance = min(2 * records * tail, 1.0)
    words = (
        f"in {len(batches):,} batches a record is drawn from {draws.min():,} to {draws.max():,} times: random "
        f"subsets of one size show this with a chance of {chance:.1g}"
    )
    return Disagreement(words, chance) if chance < DOUBT else None


def _count_draws(batches: list[IntArray], records: int) -> IntArray:
    """(n,), how often each record is in a batch."""
    places = np.concatenate([np.empty(0, dtype=np.int64), *batches]).astype(np.int64)
    return np.bincount(places[places < records], minlength=records)


def _find_least_chance(rate: float, batches_by_run: list[list[IntArray]], records: int) -> tuple[str, float]:
    """What is least likely of Poisson batches, in words, and the chance that anything is as unlikely."""
    batches = list(itertools.chain.from_iterable(batches_by_run))
    sizes, steps = np.array([len(batch) for batch in batches]), len(batches)
    size_law = stats.binom(records, rate)
    empty_chance = float(size_law.pmf(0))
    # Independent numbers, and the law of each.
    seen = [
        ("size of all batches", sizes.sum(), (records * steps, rate)),
        ("number of empty batches", (sizes == 0).sum(), (steps, empty_chance)),
        ("size of a batch", sizes, (records, rate)),
        ("number of draws of a record", _count_draws(batches, records), (steps, rate)),
    ]
    if len({len(run) for run in batches_by_run}) == 1 < len(batches_by_run):
        by_run, per_run = sizes.reshape(len(batches_by_run), -1), len(batches_by_run[0])
        repeats = np.concatenate([_count_draws(run, records) for run in batches_by_run])
        seen += [
            ("number of draws of a record in a run", repeats, (per_run, rate)),
            ("size of a step in all runs", by_run.sum(axis=0), (len(by_run) * records, rate)),
            ("number of empty batches of a step", (by_run == 0).sum(axis=0), (len(by_run), empty_chance)),
        ]
    tails = [("all batches are of one size", _compute_same_chance(size_law, sizes))]
    for name, numbers, law in seen:
        tails += _list_tails(name, np.atleast_1d(numbers), stats.binom(*law))
    words, smallest = min(tails, key=lambda tail: tail[1])
    chance = min(len(tails) * smallest, 1.0)
    coins = f"independent coins of chance {rate:.4g}"
    return f"in {steps:,} batches, {words}: {coins} show this with a chance of {chance:.1g}", chance


def _list_tails(name: str, numbers: IntArray, law):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 - of scipy
    """The chances of independent numbers of one law to spread as they do: their middle, largest, and least."""
    count, largest, least = len(numbers), int(numbers.max()), int(numbers.min())
    tails = [
        (f"the largest {name}", math.exp(count * float(law.logcdf(largest)))),  # none is larger
        (f"the largest {name}", -math.expm1(count * float(law.logcdf(largest - 1)))),  # one is as large
    ]
    if count == 1:
        return tails
    low, high = (int(law.ppf(quantile)) for quantile in _MIDDLE)
    middle_law = stats.binom(count, min(float(law.cdf(high) - law.cdf(low - 1)), 1.0))
    middle = int(((numbers >= low) & (numbers <= high)).sum())
    return [
        *tails,
        (f"the spread of the {name}", float(middle_law.cdf(middle))),
        (f"the spread of the {name}", float(middle_law.sf(middle - 1))),
        (f"the least {name}", math.exp(count * float(law.logsf(least - 1)))),
        (f"the least {name}", -math.expm1(count * float(law.logsf(least)))),
    ]


def _compute_same_chance(law, sizes: IntArray) -> float:  # type: ignore[no-untyped-def]  # noqa: ANN001 - of scipy
    if len(sizes) < 2 or np.ptp(sizes):  # noqa: PLR2004 - one size is always the same
        return 1.0
    probabilities: FloatArray = law.pmf(np.arange(law.args[0] + 1))
    return float((probabilities ** len(sizes)).sum())
