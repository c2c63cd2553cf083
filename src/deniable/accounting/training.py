r"""What DP-SGD does, and its epsilon by each scheme of sampling: between which numbers it lies, and by which theorem.

For a record that is added or removed while the number of places for records stays (as if it were made empty):

- ``all``: Gaussian noise, T times, exactly (Balle and Wang 2018);
- ``poisson``: privacy loss distributions of the Poisson-sampled Gaussian, rounded to either side (dp-accounting). Where
  their rounding is not small against delta, or a step without sampling would spend more than 50, the lower bound is 0
  and the upper one that of all records;
- ``shuffled``: each record is in one batch of every epoch. *At most* Gaussian noise once for every epoch: given the
  order, only one batch of an epoch depends on the record, and the order is drawn without looking at it. *At least* what
  the event "the largest noisy sum of an epoch exceeds t" shows where all other records pull against the record (Chua et
  al. 2024, for adaptive batch linear queries), in E epochs j times or more: for an epoch of B batches the chances are::

      p = 1 - Phi((t - 2) / sigma) Phi(t / sigma)^(B - 1)      with the record
      q = 1 - Phi((t - 1) / sigma) Phi(t / sigma)^(B - 1)      with an empty one
      r = 1 - Phi(t / sigma)^B                                 where it is dropped at the end of the epoch

  so delta(epsilon) >= P[Bin(E, p') >= j] - e^epsilon P[Bin(E, q') >= j], with p' = a p + (1 - a) r for the chance a
  that an epoch has the record, and q' alike.

For a record that is replaced by another, the sum moves by twice as much: the lower bounds above hold, since the other
may be an empty one, and the upper ones with half of the noise. No other relation has subsets of one size:

- ``fixed size``: Rényi divergences of sampling without replacement (Wang et al. 2019, dp-accounting), an upper bound.
"""

import dataclasses
import functools
import math
from typing import Literal, get_args

import numpy as np

from deniable.accounting.gaussian import compute_gaussian_epsilon
from deniable.core.errors import check_count, check_positive, import_extra, make_parameter_error

Sampling = Literal["poisson", "shuffled", "fixed size", "all"]
"""How records come into the batch of a step.

- ``poisson``: each by its own coin of chance batch size / records;
- ``shuffled``: every epoch is a random order of all records, cut into batches;
- ``fixed size``: a random subset of the same size at each step;
- ``all``: every record, at every step.
"""
_OWNER, _PLAN = "An accountant of training", "TrainingPlan"
_MAX_STEP_EPSILON = 50.0
"""Privacy loss distributions of steps that spend more without sampling take long, and nobody takes so little noise."""
_MIN_DELTA = 1e-8
"""Below it the rounding of privacy loss distributions is not small against delta."""
_ROUNDING, _COUNT_ROUNDING = 1e-6, 1e-9
"""Relative error granted to epsilons of Gaussian noise, and absolute one of a number of batches."""
_COUNTS = 64
"""Counts j of epochs that are tried; any of them gives a valid bound."""
_THRESHOLDS = 200
"""Thresholds t that are tried for shuffled batches; any of them gives a valid bound."""
_RDP_ORDERS = (*(1 + x / 10 for x in range(1, 100)), *range(11, 64), 128, 256, 512, 1024)


@dataclasses.dataclass(frozen=True)
class TrainingPlan:
    """What a run of DP-SGD does: T noisy sums of clipped gradients, each over a sample of the records.

    Attributes:
        sampling: the scheme by which records come into a batch.
        records: n, the public number of records.
        batch_size: expected number of records in the batch of a step, from 0 to n.
        steps: T.
        noise_multiplier: standard deviation of the noise on the clipped sum, per unit of ``clip``.
        clip: C, the norm by which one record is said to move that sum.

    Raises:
        InputError: a number outside its domain, or an unknown scheme.
    """

    sampling: Sampling
    records: int
    batch_size: float
    steps: int
    noise_multiplier: float
    clip: float

    def __post_init__(self) -> None:
        if self.sampling not in get_args(Sampling):
            raise make_parameter_error(_PLAN, "sampling", f"one of {', '.join(get_args(Sampling))}", self.sampling)
        check_count(_PLAN, "records", self.records)
        check_count(_PLAN, "steps", self.steps)
        check_positive(_PLAN, "batch_size", self.batch_size)
        check_positive(_PLAN, "noise_multiplier", self.noise_multiplier)
        check_positive(_PLAN, "clip", self.clip)
        if self.batch_size > self.records:
            raise make_parameter_error(_PLAN, "batch_size", f"at most the {self.records:,} records", self.batch_size)

    @property
    def rate(self) -> float:
        """The chance that the batch of a step has a record."""
        return 1.0 if self.sampling == "all" else self.batch_size / self.records


@dataclasses.dataclass(frozen=True)
class EpsilonBounds:
    """Where the epsilon of a plan lies, at a delta.

    Attributes:
        lower: no smaller epsilon holds for all data; 0 where nothing is known.
        upper: this epsilon holds for all data, if one record moves the sum by at most C; in exact arithmetic.
        ground: the theorems, in words.
        is_replaced: whether it is about a record that is replaced by another, else about one that is made empty.
    """

    lower: float
    upper: float
    ground: str
    is_replaced: bool


@functools.lru_cache(maxsize=256)
def compute_poisson_epsilon(plan: TrainingPlan, delta: float, *, is_replaced: bool = False) -> float:
    """An upper bound on epsilon at this delta after all steps over Poisson samples, whatever the plan's scheme.

    The losses of the steps (Abadi et al. 2016) are composed as distributions (Koskela et al. 2020), rounded towards
    more loss. Rate and divisor stay: either one term of a batch's sum is missing, or it is replaced, which costs more.

    Args:
        plan: its rate, steps and noise.
        delta: in (0, 1).
        is_replaced: see `EpsilonBounds`.
    """
    accounting = import_extra("dp_accounting", _OWNER, "train")
    relations = accounting.NeighboringRelation
    accountant = import_extra("dp_accounting.pld", _OWNER, "train").PLDAccountant(
        relations.REPLACE_ONE if is_replaced else relations.ADD_OR_REMOVE_ONE
    )
    step = accounting.PoissonSampledDpEvent(plan.rate, accounting.GaussianDpEvent(plan.noise_multiplier))
    return float(accountant.compose(step, plan.steps).get_epsilon(delta))


@functools.lru_cache(maxsize=256)
def bound_epsilon(
    plan: TrainingPlan, delta: float, *, is_replaced: bool = False, batches: int = 0, presence: float = 1.0
) -> EpsilonBounds:
    """Where the epsilon of a plan lies.

    Args:
        plan: what was done.
        delta: in (0, 1).
        is_replaced: see `EpsilonBounds`; ``fixed size`` knows no other.
        batches: of an epoch of ``shuffled``; 0 for as many as the batch size makes.
        presence: chance that such an epoch has a record.

    Raises:
        InputError: delta outside (0, 1), or dp-accounting is needed and not installed.
    """
    check_positive(_OWNER, "delta", delta, upper=1.0)
    sigma, steps = plan.noise_multiplier, plan.steps
    if plan.sampling == "fixed size":
        ground = "batches of one size without replacement, for a record that is replaced by another; Rényi divergences"
        return EpsilonBounds(0.0, _compute_fixed_size_epsilon(plan, delta), ground, is_replaced=True)

    def compute_whole_epsilon(sums: int) -> float:
        return compute_gaussian_epsilon((2 if is_replaced else 1) * math.sqrt(sums) / sigma, delta)

    if plan.sampling == "shuffled":
        batches = batches or math.ceil(plan.records / plan.batch_size - _COUNT_ROUNDING)
        epochs = steps // batches
        lower = bound_shuffled_epsilon(sigma, batches, epochs, delta, presence) if epochs else 0.0
        upper = compute_whole_epsilon(math.ceil(steps / batches))
        dropped = "" if presence == 1 else ", whose last records are dropped"
        ground = (
            f"shuffled batches, {batches:,} an epoch{dropped}: at least by the largest sum of an epoch (Chua et al. "
            "2024), at most as Gaussian noise once an epoch"
        )
    elif plan.rate == 1:
        upper = compute_whole_epsilon(steps)
        lower, ground = upper * (1 - _ROUNDING), f"Gaussian noise, {steps:,} times"
    else:
        lower, upper = 0.0, compute_whole_epsilon(steps)
        ground = f"Poisson-sampled Gaussian noise, {steps:,} times; privacy loss distributions, rounded both ways"
        if delta >= _MIN_DELTA and compute_gaussian_epsilon(1 / sigma, delta) <= _MAX_STEP_EPSILON:
            pld = import_extra("dp_accounting.pld.privacy_loss_distribution", _OWNER, "train")
            losses = pld.from_gaussian_mechanism(
                sigma, sampling_prob=plan.rate, pessimistic_estimate=False, use_connect_dots=False
            )
            lower = float(losses.self_compose(steps).get_epsilon_for_delta(delta))
            upper = min(upper, compute_poisson_epsilon(plan, delta, is_replaced=is_replaced))
    return EpsilonBounds(lower, upper * (1 + _ROUNDING), ground, is_replaced)


def _compute_fixed_size_epsilon(plan: TrainingPlan, delta: float) -> float:
    accounting = import_extra("dp_accounting", _OWNER, "train")
    rdp = import_extra("dp_accounting.rdp", _OWNER, "train")
    accountant = rdp.RdpAccountant(_RDP_ORDERS, accounting.NeighboringRelation.REPLACE_ONE)
    # One record replaced by another moves the sum by 2 C.
    noise = accounting.GaussianDpEvent(plan.noise_multiplier / 2)
    batch_size = max(round(plan.batch_size), 1)
    step = accounting.SampledWithoutReplacementDpEvent(plan.records, batch_size, noise)
    return float(accountant.compose(step, plan.steps).get_epsilon(delta))


def bound_shuffled_epsilon(multiplier: float, batches: int, epochs: int, delta: float, presence: float = 1.0) -> float:
    """An epsilon that shuffled batches exceed on some data, at this delta (see above).

    Args:
        multiplier: sigma, per unit of the clipping norm.
        batches: B of each epoch.
        epochs: E >= 1.
        delta: in (0, 1).
        presence: a, the chance that an epoch has the record.
    """
    from scipy import special, stats

    thresholds = np.linspace(0.0, 2 + 4 * multiplier, _THRESHOLDS)
    free = special.log_ndtr(thresholds / multiplier)
    # -expm1 keeps small chances exact.
    p, q, dropped = (
        -np.expm1(special.log_ndtr((thresholds - shift) / multiplier) + (batches - 1) * free) for shift in (2, 1, 0)
    )
    p, q = (presence * chance + (1 - presence) * dropped for chance in (p, q))
    counts = np.unique(np.linspace(1, epochs, min(epochs, _COUNTS)).astype(np.int64))[:, None]
    p_tails, q_tails = stats.binom.sf(counts - 1, epochs, p), stats.binom.sf(counts - 1, epochs, q)
    with np.errstate(all="ignore"):
        epsilons = np.log(np.maximum(p_tails - delta, 0) / q_tails)
    finite = epsilons[np.isfinite(epsilons)]
    return max(float(finite.max(initial=0.0)), 0.0)
