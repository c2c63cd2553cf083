"""An audit of training by one run: canaries join the data by fair coins, and the trained model is asked for the coins.

The algorithm is Algorithm 1 of Steinke, Nasr and Jagielski 2023, the bounds are those of
`deniable.auditing.training.bounds`. No audit can show that training is private: it refutes a claim, or says which
violation it would have seen.
"""

import math
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from deniable.auditing.games import make_coins
from deniable.auditing.training.bounds import (
    GuessPlan,
    NoiseKind,
    bound_epsilon_of_guesses,
    find_detectable_epsilon,
)
from deniable.core.arrays import BoolArray, FloatArray
from deniable.core.errors import (
    InputError,
    check_count,
    check_fraction,
    check_number_within,
    check_positive,
    make_parameter_error,
)
from deniable.core.evidence import Verdict, Witness
from deniable.core.guarantees import REPLACED_RECORD, ApproxDP, Guarantee, MetricDP

MIN_CANARIES = 10
"""With fewer coins hardly any claim can be refuted."""
_GUESSED_SHARE = 0.2
"""Share of the coins that is guessed unless said otherwise: near the best for claims of epsilon from 1 to 16."""
_OWNER = "audit_training_once"
_ANY_NOISE = "any training of this epsilon and delta"
_GAUSSIAN_NOISE = "training of this epsilon and delta by Gaussian noise, its whole trade-off curve"


def audit_training_once(
    train: Callable[[list[Any]], npt.ArrayLike],
    canaries: Sequence[Any],
    guarantee: Guarantee,
    *,
    noise: NoiseKind = "any",
    guesses: int | None = None,
    confidence: float = 0.95,
    seed: int | None = None,
) -> Verdict:
    """Train once with some of the canaries, by fair coins, and judge the scores of all of them.

    Args:
        train: takes the canaries that are to be added to its own data, in the order of ``canaries``, trains on both,
            and returns m scores, one for each of ``canaries``: the higher, the likelier it was added. A score may
            use anything of the trained model and of the canary, and nothing else of what was added.
        canaries: m units: records, or persons with all their records.
        guarantee: claimed for one unit more or less.
        noise: see `judge_canary_scores`.
        guesses: the same.
        confidence: the same.
        seed: of the coins; None for fresh ones.

    Raises:
        InputError: see `judge_canary_scores`.
    """
    start = time.perf_counter()
    plan = _plan_guesses(len(canaries), guesses)
    alpha = _check_claim(guarantee, noise, confidence)
    included = make_coins(_OWNER, seed).random(len(canaries)) < 0.5  # noqa: PLR2004 - a fair coin
    scores = train([canary for canary, is_included in zip(canaries, included, strict=True) if is_included])
    right = _count_right_guesses(plan, included, _check_scores(scores, plan))
    return _make_verdict(guarantee, noise, plan, right, alpha, start)


def judge_canary_scores(
    included: npt.ArrayLike,
    scores: npt.ArrayLike,
    guarantee: Guarantee,
    *,
    noise: NoiseKind = "any",
    guesses: int | None = None,
    confidence: float = 0.95,
) -> Verdict:
    """Return what the scores of canaries say against a claim.

    The canaries with the highest scores are guessed to have been included, as many with the lowest to have been left
    out, and no guess is made on the others. A true claim is refuted with probability 1 - confidence at most.

    Args:
        included: (m,) the coins: whether each canary was among the data, m >= 10.
        scores: (m,) from the trained model: the higher, the likelier the canary was included.
        guarantee: claimed for one unit more or less.
        noise: ``any`` tests (epsilon, delta)-DP, whatever it comes from. ``gaussian`` tests the claim that Gaussian
            noise was calibrated to epsilon and delta: it sees smaller violations, and its lower bound is the epsilon of
            the least Gaussian trade-off curve that is not refuted.
        guesses: how many coins are guessed, from 2 to m, fixed before the scores are known; None for a fifth.
        confidence: of the lower bound, in (0, 1).

    Returns:
        A `Verdict`: ``lower_bound`` on epsilon at the claim's delta, ``samples`` = m coins, the ``witness``,
        ``detectable_epsilon``.

    Raises:
        InputError: a parameter outside its domain, arrays of different lengths, coins that are not true or false,
            scores that are not finite, or a guarantee that canaries cannot test.
    """
    start = time.perf_counter()
    coins = np.asarray(included)
    if coins.ndim != 1 or coins.dtype.kind not in "biu" or not np.isin(coins, (0, 1)).all():
        raise make_parameter_error("judge_canary_scores", "included", "true or false for each canary", included)
    plan = _plan_guesses(len(coins), guesses)
    alpha = _check_claim(guarantee, noise, confidence)
    right = _count_right_guesses(plan, coins.astype(np.bool_), _check_scores(scores, plan))
    return _make_verdict(guarantee, noise, plan, right, alpha, start)


def _plan_guesses(canaries: int, guesses: int | None) -> GuessPlan:
    if canaries < MIN_CANARIES:
        raise InputError(f"An audit of training needs at least {MIN_CANARIES} canaries. Got {canaries}: give more.")
    total = max(round(_GUESSED_SHARE * canaries), 2) if guesses is None else guesses
    check_count(_OWNER, "guesses", total, 2, canaries)
    return GuessPlan(canaries, total - total // 2, total // 2)


def _check_claim(guarantee: Guarantee, noise: NoiseKind, confidence: float) -> float:
    """Return alpha, or raise `InputError` where coins of canaries say nothing about a claim, or it is none."""
    if not isinstance(guarantee, get_args(Guarantee)):
        raise make_parameter_error(_OWNER, "guarantee", "a guarantee such as ApproxDP(1.0, 1e-6, 'a claim')", guarantee)
    check_number_within(_OWNER, "guarantee.epsilon", guarantee.epsilon, 0.0, sys.float_info.max)
    if isinstance(guarantee, ApproxDP):
        check_fraction(_OWNER, "guarantee.delta", guarantee.delta)
    if isinstance(guarantee, MetricDP) or guarantee.adjacency == REPLACED_RECORD:
        raise InputError(
            "Canaries test guarantees for one unit that is added or removed. "
            f"Got {guarantee} for {guarantee.adjacency}: state what it implies for a unit more or less."
        )
    if noise not in get_args(NoiseKind):
        raise make_parameter_error(_OWNER, "noise", " or ".join(map(repr, get_args(NoiseKind))), noise)
    if noise == "gaussian" and not (isinstance(guarantee, ApproxDP) and guarantee.delta > 0 and guarantee.epsilon > 0):
        raise InputError(f"Gaussian noise gives an epsilon and a delta above 0. Got {guarantee}: take noise='any'.")
    return 1 - check_positive(_OWNER, "confidence", confidence, upper=1.0)


def _check_scores(scores: npt.ArrayLike, plan: GuessPlan) -> FloatArray:
    try:
        values = np.asarray(scores)
        # Complex numbers would lose a part without a word, and texts be read as numbers.
        flaw = "" if values.dtype.kind in "biufO" else f" of type {values.dtype}"
        values = np.empty(values.shape) if flaw else values.astype(np.float64)
    except (TypeError, ValueError):
        values, flaw = np.empty(0), " of no numbers"
    if not flaw and not np.isfinite(values).all():
        flaw = " with NaN or infinity"
    if flaw or values.shape != (plan.canaries,):
        raise InputError(
            f"The scores must be {plan.canaries} finite numbers, one for each canary in order. "
            f"Got shape {values.shape}{flaw}: return one float for each canary."
        )
    return values


def _count_right_guesses(plan: GuessPlan, included: BoolArray, scores: FloatArray) -> int:
    """Return W; equal scores are taken in the order of the canaries, which knows nothing of the coins."""
    order = np.argsort(scores, kind="stable")
    guessed_out, guessed_in = order[: plan.excluded], order[plan.canaries - plan.included :]
    return int(included[guessed_in].sum() + (~included[guessed_out]).sum())


def _make_verdict(
    guarantee: Guarantee, noise: NoiseKind, plan: GuessPlan, right: int, alpha: float, start: float
) -> Verdict:
    epsilon, delta = guarantee.epsilon, getattr(guarantee, "delta", 0.0)
    lower_bound = bound_epsilon_of_guesses(noise, plan, right, delta, alpha)
    detectable = find_detectable_epsilon(noise, plan, epsilon, delta, alpha)
    witness = Witness(
        input="a canary that was included",
        other="one that was left out",
        output="the scores name the coin",
        distance=1.0,
        loss=lower_bound,
        correct_guesses=right,
        guesses=plan.guesses,
    )
    return Verdict(
        guarantee=guarantee,
        status="refuted" if lower_bound > epsilon else "not refuted",
        epsilon=math.inf,
        lower_bound=lower_bound,
        confidence=1 - alpha,
        samples=plan.canaries,
        witness=witness,
        method=f"one training run with {plan.canaries:,} canaries by fair coins, {plan.guesses:,} of them guessed; "
        f"tested against {_GAUSSIAN_NOISE if noise == 'gaussian' else _ANY_NOISE}",
        seconds=time.perf_counter() - start,
        detectable_epsilon=detectable,
    )
