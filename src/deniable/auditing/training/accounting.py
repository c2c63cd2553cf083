r"""The epsilon of DP-SGD by the scheme that was run, recomputed: between which numbers it lies, and by which theorem.

For a record that is added or removed while the number of places for records stays (as if it were made empty):

- ``poisson``: privacy loss distributions of the Poisson-sampled Gaussian, rounded to either side (dp-accounting);
- ``all``: Gaussian noise, T times;
- ``shuffled``: each record is in one batch of every epoch. *At most* Gaussian noise once for every epoch: given the
  order, only one batch of an epoch depends on the record, and the order is drawn without looking at it. *At least* what
  the event "the largest noisy sum of an epoch exceeds t" shows where all other records pull against the record (Chua et
  al. 2024, for adaptive batch linear queries), in E epochs j times or more: for an epoch of B batches the chances are::

      p = 1 - Phi((t - 2) / sigma) Phi(t / sigma)^(B - 1)      with the record
      q = 1 - Phi((t - 1) / sigma) Phi(t / sigma)^(B - 1)      with an empty one

  so delta(epsilon) >= P[Bin(E, p) >= j] - e^epsilon P[Bin(E, q) >= j].

For a record that is replaced, since no other relation has subsets of one size:

- ``fixed size``: Rényi divergences of sampling without replacement (Wang et al. 2019, dp-accounting), an upper bound.
"""

import dataclasses
import functools
import math

import numpy as np

from deniable.auditing.training.observation import Sampling, TrainingPlan
from deniable.core.errors import check_positive
from deniable.core.extras import import_extra

_OWNER = "An accountant of training"
_BISECTION_STEPS = 50
_MAX_EPSILON = 1e3
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
def recompute_epsilon(plan: TrainingPlan, delta: float) -> RecomputedEpsilon:
    """Return where the epsilon of a plan lies.

    Args:
        plan: the scheme, its numbers and its noise.
        delta: in (0, 1).

    Raises:
        InputError: delta outside (0, 1), or dp-accounting is not installed.
    """
    check_positive(_OWNER, "delta", delta, upper=1.0)
    return {
        "poisson": _account_poisson,
        "all": _account_poisson,
        "shuffled": _account_shuffled,
        "fixed size": _account_fixed_size,
    }[plan.sampling](plan, delta)


def _account_poisson(plan: TrainingPlan, delta: float) -> RecomputedEpsilon:
    lower, upper = _bound_poisson_epsilon(plan.rate, plan.noise_multiplier, plan.steps, delta)
    ground = "Gaussian noise" if plan.rate == 1 else "Poisson-sampled Gaussian noise"
    return RecomputedEpsilon(
        plan.sampling, lower, upper, f"{ground}, {plan.steps:,} times; privacy loss distributions, rounded both ways"
    )


def _account_shuffled(plan: TrainingPlan, delta: float) -> RecomputedEpsilon:
    batches = math.ceil(plan.records / plan.batch_size)
    whole_epochs = plan.steps // batches
    _, upper = _bound_poisson_epsilon(1.0, plan.noise_multiplier, math.ceil(plan.steps / batches), delta)
    lower = bound_shuffled_epsilon(plan.noise_multiplier, batches, whole_epochs, delta) if whole_epochs else 0.0
    return RecomputedEpsilon(
        plan.sampling,
        lower,
        upper,
        f"shuffled batches, {batches:,} an epoch: at least by the largest sum of an epoch (Chua et al. 2024), at most "
        "as Gaussian noise once an epoch",
    )


def _account_fixed_size(plan: TrainingPlan, delta: float) -> RecomputedEpsilon:
    accounting = import_extra("dp_accounting", _OWNER, "train")
    rdp = import_extra("dp_accounting.rdp", _OWNER, "train")
    accountant = rdp.RdpAccountant(_RDP_ORDERS, accounting.NeighboringRelation.REPLACE_ONE)
    # One record replaced by another moves the sum by 2 C.
    step = accounting.SampledWithoutReplacementDpEvent(
        plan.records, round(plan.batch_size), accounting.GaussianDpEvent(plan.noise_multiplier / 2)
    )
    accountant.compose(step, plan.steps)
    return RecomputedEpsilon(
        plan.sampling,
        0.0,
        float(accountant.get_epsilon(delta)),
        "batches of one size without replacement, for a record that is replaced by another; Rényi divergences",
    )


def _bound_poisson_epsilon(rate: float, multiplier: float, steps: int, delta: float) -> tuple[float, float]:
    """Return epsilon of the Poisson-sampled Gaussian with losses rounded down, and rounded up."""
    pld = import_extra("dp_accounting.pld.privacy_loss_distribution", _OWNER, "train")
    lower, upper = (
        pld.from_gaussian_mechanism(
            multiplier, sampling_prob=rate, pessimistic_estimate=is_upper, use_connect_dots=is_upper
        )
        .self_compose(steps)
        .get_epsilon_for_delta(delta)
        for is_upper in (False, True)
    )
    return float(lower), float(upper)


def bound_shuffled_epsilon(multiplier: float, batches: int, epochs: int, delta: float) -> float:
    """Return an epsilon that shuffled batches exceed on some data, at this delta (see above).

    Args:
        multiplier: sigma, per unit of the clipping norm.
        batches: B of each epoch.
        epochs: E >= 1.
        delta: in (0, 1).
    """
    from scipy import special, stats  # noqa: PLC0415 - only audits need it

    thresholds = np.linspace(0.0, 2 + 4 * multiplier, _THRESHOLDS)
    others = (batches - 1) * special.log_ndtr(thresholds / multiplier)
    # -expm1 keeps small chances exact.
    p, q = (-np.expm1(special.log_ndtr((thresholds - shift) / multiplier) + others) for shift in (2, 1))
    counts = np.arange(1, epochs + 1)[:, None]
    p_tails, q_tails = stats.binom.sf(counts - 1, epochs, p), stats.binom.sf(counts - 1, epochs, q)
    with np.errstate(divide="ignore", invalid="ignore"):
        epsilons = np.log(np.maximum(p_tails - delta, 0) / q_tails)
    finite = epsilons[np.isfinite(epsilons)]
    return max(float(finite.max(initial=0.0)), 0.0)
