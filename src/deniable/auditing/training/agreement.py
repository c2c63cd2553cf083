r"""Whether the steps that runs show are those of their plan, and by which chance they would look so if they were.

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

import dataclasses
import itertools
import math
from collections.abc import Sequence

import numpy as np

from deniable.auditing.training.batches import ShownBatches
from deniable.auditing.training.observation import ObservedRun, TrainingPlan
from deniable.core.arrays import FloatArray, IntArray

DOUBT = 0.01
"""A true sampler shows batches that are doubted with this chance at most."""
_COUNT_ROUNDING = 1e-9
_MIDDLE = (0.25, 0.75)
"""Quantiles between which about half of the sizes lie."""


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
    """Return in what runs disagree with their plan, None where they do not, or show nothing.

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
    """Return the chance that a batch has a record where empty ones are drawn again (see above)."""
    return min(plan.rate / -math.expm1(records * math.log1p(-plan.rate)), 1.0) if plan.rate < 1 else 1.0


def has_empty_batch(runs: Sequence[ObservedRun]) -> bool:
    """Return whether any run shows a step without records."""
    return any(step.batch is not None and not len(step.batch) for run in runs for step in run.steps)


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
    from scipy import stats  # noqa: PLC0415 - only audits need it

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
    """Return (n,), how often each record is in a batch."""
    places = np.concatenate([np.empty(0, dtype=np.int64), *batches]).astype(np.int64)
    return np.bincount(places[places < records], minlength=records)


def _find_least_chance(rate: float, batches_by_run: list[list[IntArray]], records: int) -> tuple[str, float]:
    """Return what is least likely of Poisson batches, in words, and the chance that anything is as unlikely."""
    from scipy import stats  # noqa: PLC0415 - only audits need it

    batches = list(itertools.chain.from_iterable(batches_by_run))
    sizes, steps = np.array([len(batch) for batch in batches]), len(batches)
    size_law = stats.binom(records, rate)
    empty_chance = float(size_law.pmf(0))
    tails = [("all batches are of one size", _compute_same_chance(size_law, sizes))]
    for name, count, law in (
        ("the mean size of batches", int(sizes.sum()), stats.binom(records * steps, rate)),
        ("the number of empty batches", int((sizes == 0).sum()), stats.binom(steps, empty_chance)),
    ):
        tails += [(name, float(law.cdf(count))), (name, float(law.sf(count - 1)))]
    tails += _list_tails("size of a batch", np.bincount(sizes), size_law)
    draws = _count_draws(batches, records)
    tails += _list_tails("number of draws of a record", np.bincount(draws), stats.binom(steps, rate))
    if len({len(run) for run in batches_by_run}) == 1 < len(batches_by_run):
        sizes_by_run, per_run = sizes.reshape(len(batches_by_run), -1), len(batches_by_run[0])
        runs = len(sizes_by_run)
        repeats = sum(np.bincount(_count_draws(run, records), minlength=per_run + 1) for run in batches_by_run)
        step_sizes, empty_runs = sizes_by_run.sum(axis=0), (sizes_by_run == 0).sum(axis=0)
        tails += _list_tails("number of draws of a record in a run", repeats, stats.binom(per_run, rate))
        tails += _list_tails("size of a step in all runs", np.bincount(step_sizes), stats.binom(runs * records, rate))
        tails += _list_tails(
            "number of empty batches of a step", np.bincount(empty_runs), stats.binom(runs, empty_chance)
        )
    words, smallest = min(tails, key=lambda tail: tail[1])
    chance = min(len(tails) * smallest, 1.0)
    coins = f"independent coins of chance {rate:.4g}"
    return f"in {steps:,} batches, {words}: {coins} show this with a chance of {chance:.1g}", chance


def _list_tails(name: str, histogram, law):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 - of scipy
    """Return the chances of independent values to spread as they do: their middle, their largest, and their least.

    Args:
        name: of a value.
        histogram: h[k] the number of values k.
        law: of each of them.
    """
    from scipy import stats  # noqa: PLC0415 - as above

    present, count = np.flatnonzero(histogram), int(histogram.sum())
    largest, least = int(present[-1]), int(present[0])
    low, high = (int(law.ppf(quantile)) for quantile in _MIDDLE)
    middle_law = stats.binom(count, min(float(law.cdf(high) - law.cdf(low - 1)), 1.0))
    middle = int(histogram[low : high + 1].sum())
    return [
        (f"the spread of the {name}", float(middle_law.cdf(middle))),
        (f"the spread of the {name}", float(middle_law.sf(middle - 1))),
        (f"the largest {name}", math.exp(count * float(law.logcdf(largest)))),  # none is larger
        (f"the largest {name}", -math.expm1(count * float(law.logcdf(largest - 1)))),  # one is as large
        (f"the least {name}", math.exp(count * float(law.logsf(least - 1)))),
        (f"the least {name}", -math.expm1(count * float(law.logsf(least)))),
    ]


def _compute_same_chance(law, sizes: IntArray) -> float:  # type: ignore[no-untyped-def]  # noqa: ANN001 - of scipy
    if len(sizes) < 2 or np.ptp(sizes):  # noqa: PLR2004 - one size is always the same
        return 1.0
    probabilities: FloatArray = law.pmf(np.arange(law.args[0] + 1))
    return float((probabilities ** len(sizes)).sum())
