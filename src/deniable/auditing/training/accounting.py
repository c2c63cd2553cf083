r"""The epsilon of DP-SGD by the scheme that was run, recomputed: between which numbers it lies, and by which theorem.

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

import numpy as np

from deniable.auditing.sensitivity import compute_gaussian_epsilon
from deniable.auditing.training.observation import Sampling, TrainingPlan
from deniable.core.errors import check_positive
from deniable.core.extras import import_extra

_OWNER = "An accountant of training"
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
class RecomputedEpsilon:
    """Where the epsilon of a scheme lies, at a delta.

    Attributes:
        sampling: the scheme.
        lower: no smaller epsilon holds for all data; 0 where nothing is known.
        upper: this epsilon holds for all data, if one record moves the sum by at most C; in exact arithmetic.
        ground: the theorems, in words.
    """

    sampling: Sampling
    lower: float
    upper: float
    ground: str


@functools.lru_cache(maxsize=256)
def recompute_epsilon(
    plan: TrainingPlan, delta: float, *, is_replaced: bool = False, batches: int | None = None, presence: float = 1.0
) -> RecomputedEpsilon:
    """Return where the epsilon of a plan lies.

    Args:
        plan: the scheme, its numbers and its noise.
        delta: in (0, 1).
        is_replaced: for a record that is replaced by another, else for one that is made empty.
        batches: of an epoch of ``shuffled``; None for as many as the batch size makes.
        presence: chance that such an epoch has a record.

    Raises:
        InputError: delta outside (0, 1), or dp-accounting is needed and not installed.
    """
    check_positive(_OWNER, "delta", delta, upper=1.0)
    if plan.sampling == "fixed size":
        return _account_fixed_size(plan, delta)
    factor = 2 if is_replaced else 1
    if plan.sampling == "shuffled":
        per_epoch = math.ceil(plan.records / plan.batch_size - _COUNT_ROUNDING) if batches is None else batches
        return _account_shuffled(plan, delta, factor, per_epoch, presence)
    if plan.rate == 1:
        epsilon = compute_gaussian_epsilon(factor * math.sqrt(plan.steps) / plan.noise_multiplier, delta)
        ground = f"Gaussian noise, {plan.steps:,} times"
        return RecomputedEpsilon(plan.sampling, epsilon * (1 - _ROUNDING), epsilon * (1 + _ROUNDING), ground)
    lower, upper = _bound_poisson_epsilon(plan, delta, factor)
    ground = f"Poisson-sampled Gaussian noise, {plan.steps:,} times; privacy loss distributions, rounded both ways"
    return RecomputedEpsilon(plan.sampling, lower, upper, ground)


def _account_shuffled(
    plan: TrainingPlan, delta: float, factor: int, batches: int, presence: float
) -> RecomputedEpsilon:
    whole_epochs, all_epochs = plan.steps // batches, math.ceil(plan.steps / batches)
    upper = compute_gaussian_epsilon(factor * math.sqrt(all_epochs) / plan.noise_multiplier, delta) * (1 + _ROUNDING)
    lower = 0.0
    if whole_epochs:
        lower = bound_shuffled_epsilon(plan.noise_multiplier, batches, whole_epochs, delta, presence)
    dropped = "" if presence == 1 else ", whose last records are dropped"
    return RecomputedEpsilon(
        plan.sampling,
        lower,
        upper,
        f"shuffled batches, {batches:,} an epoch{dropped}: at least by the largest sum of an epoch (Chua et al. 2024), "
        "at most as Gaussian noise once an epoch",
    )


def _account_fixed_size(plan: TrainingPlan, delta: float) -> RecomputedEpsilon:
    accounting = import_extra("dp_accounting", _OWNER, "train")
    rdp = import_extra("dp_accounting.rdp", _OWNER, "train")
    accountant = rdp.RdpAccountant(_RDP_ORDERS, accounting.NeighboringRelation.REPLACE_ONE)
    # One record replaced by another moves the sum by 2 C.
    step = accounting.SampledWithoutReplacementDpEvent(
        plan.records, max(round(plan.batch_size), 1), accounting.GaussianDpEvent(plan.noise_multiplier / 2)
    )
    accountant.compose(step, plan.steps)
    return RecomputedEpsilon(
        plan.sampling,
        0.0,
        float(accountant.get_epsilon(delta)),
        "batches of one size without replacement, for a record that is replaced by another; Rényi divergences",
    )


def _bound_poisson_epsilon(plan: TrainingPlan, delta: float, factor: int) -> tuple[float, float]:
    """Return epsilon of the Poisson-sampled Gaussian with losses rounded down, and rounded up."""
    whole = compute_gaussian_epsilon(factor * math.sqrt(plan.steps) / plan.noise_multiplier, delta) * (1 + _ROUNDING)
    if delta < _MIN_DELTA or compute_gaussian_epsilon(1 / plan.noise_multiplier, delta) > _MAX_STEP_EPSILON:
        return 0.0, whole
    pld = import_extra("dp_accounting.pld.privacy_loss_distribution", _OWNER, "train")
    losses = pld.from_gaussian_mechanism(
        plan.noise_multiplier, sampling_prob=plan.rate, pessimistic_estimate=False, use_connect_dots=False
    )
    lower = float(losses.self_compose(plan.steps).get_epsilon_for_delta(delta))
    accounting = import_extra("dp_accounting", _OWNER, "train")
    relations = accounting.NeighboringRelation
    accountant = import_extra("dp_accounting.pld", _OWNER, "train").PLDAccountant(
        relations.ADD_OR_REMOVE_ONE if factor == 1 else relations.REPLACE_ONE
    )
    step = accounting.PoissonSampledDpEvent(plan.rate, accounting.GaussianDpEvent(plan.noise_multiplier))
    accountant.compose(step, plan.steps)
    return lower, min(float(accountant.get_epsilon(delta)) * (1 + _ROUNDING), whole)


def bound_shuffled_epsilon(multiplier: float, batches: int, epochs: int, delta: float, presence: float = 1.0) -> float:
    """Return an epsilon that shuffled batches exceed on some data, at this delta (see above).

    Args:
        multiplier: sigma, per unit of the clipping norm.
        batches: B of each epoch.
        epochs: E >= 1.
        delta: in (0, 1).
        presence: a, the chance that an epoch has the record.
    """
    from scipy import special, stats  # noqa: PLC0415 - only audits need it

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
