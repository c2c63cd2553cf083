"""From coins and scores to a verdict on the claim of a training: what all methods of this room share.

The theorem is that of `deniable.auditing.training.bounds`: each coin says whether one unit was there, all coins are
fair and independent, and what is guessed of them is a function of what training showed.
"""

import dataclasses
import math
import sys
import time
from typing import get_args

import numpy as np
import numpy.typing as npt

from deniable.auditing.training.bounds import (
    GuessPlan,
    NoiseKind,
    bound_epsilon_of_guesses,
    find_detectable_epsilon,
)
from deniable.auditing.training.observation import check_scores
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

MIN_COINS = 10
"""With fewer coins hardly any claim can be refuted."""
GUESSED_SHARE = 0.2
"""Share of the coins that is guessed unless said otherwise: near the best for claims of epsilon from 1 to 16."""
_OWNER = "an audit of training"
_ANY_NOISE = "any training of this epsilon and delta"
_GAUSSIAN_NOISE = "training of this epsilon and delta by Gaussian noise, its whole trade-off curve"


@dataclasses.dataclass(frozen=True)
class TrainingClaim:
    """What is tested.

    Attributes:
        guarantee: claimed for one unit.
        noise: ``any`` tests (epsilon, delta)-DP, whatever it comes from. ``gaussian`` tests the claim that Gaussian
            noise alone was calibrated to epsilon and delta, without sampling: it sees smaller violations, and its lower
            bound is the epsilon of the least Gaussian trade-off curve that is not refuted.
        confidence: of the lower bound, in (0, 1).
        takes_pair: whether the two data sets are given, so that any adjacency will do, or canaries join the data.

    Raises:
        InputError: a parameter outside its domain, or a guarantee that coins say nothing about.
    """

    guarantee: Guarantee
    noise: NoiseKind = "any"
    confidence: float = 0.95
    takes_pair: bool = False

    def __post_init__(self) -> None:
        guarantee = self.guarantee
        if not isinstance(guarantee, get_args(Guarantee)):
            raise make_parameter_error(
                _OWNER, "guarantee", "a guarantee such as ApproxDP(1.0, 1e-6, 'a claim')", guarantee
            )
        check_number_within(_OWNER, "guarantee.epsilon", guarantee.epsilon, 0.0, sys.float_info.max)
        if isinstance(guarantee, ApproxDP):
            check_fraction(_OWNER, "guarantee.delta", guarantee.delta)
        if isinstance(guarantee, MetricDP) or (guarantee.adjacency == REPLACED_RECORD and not self.takes_pair):
            raise InputError(
                "Canaries test guarantees for one unit that is added or removed. "
                f"Got {guarantee} for {guarantee.adjacency}: state what it implies for a unit more or less."
            )
        if self.noise not in get_args(NoiseKind):
            raise make_parameter_error(_OWNER, "noise", " or ".join(map(repr, get_args(NoiseKind))), self.noise)
        if self.noise == "gaussian" and not (self.delta > 0 and guarantee.epsilon > 0):
            raise InputError(f"Gaussian noise gives an epsilon and a delta above 0. Got {guarantee}: take noise='any'.")
        check_positive(_OWNER, "confidence", self.confidence, upper=1.0)

    @property
    def alpha(self) -> float:
        """The chance of a false refutation."""
        return 1 - self.confidence

    @property
    def delta(self) -> float:
        """The delta claimed; 0 for a guarantee without one."""
        return getattr(self.guarantee, "delta", 0.0)

    def bound_epsilon(self, plan: GuessPlan, right: int) -> float:
        """Return the lower bound on epsilon that so many right guesses give."""
        return bound_epsilon_of_guesses(self.noise, plan, right, self.delta, self.alpha)


def describe_noise(noise: NoiseKind) -> str:
    """Return what a claim is tested against, in words."""
    return _GAUSSIAN_NOISE if noise == "gaussian" else _ANY_NOISE


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
        noise: see `TrainingClaim`.
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
    plan = plan_guesses(len(coins), guesses)
    claim = TrainingClaim(guarantee, noise, confidence)
    values = check_scores(scores, plan.canaries)
    return judge_coins(claim, plan, coins.astype(np.bool_), values, "one training run", "canaries", start)


def plan_guesses(coins: int, guesses: int | None) -> GuessPlan:
    """Return how many coins are guessed, half of them to be heads; None for a fifth of all.

    Raises:
        InputError: fewer than 10 coins, or a number of guesses that is not from 2 to all.
    """
    if coins < MIN_COINS:
        raise InputError(f"An audit of training needs at least {MIN_COINS} canaries. Got {coins}: give more.")
    total = max(round(GUESSED_SHARE * coins), 2) if guesses is None else guesses
    check_count(_OWNER, "guesses", total, 2, coins)
    return GuessPlan(coins, total - total // 2, total // 2)


def count_right_guesses(plan: GuessPlan, included: BoolArray, scores: FloatArray) -> int:
    """Return W; equal scores are taken in the order of the canaries, which knows nothing of the coins."""
    order = np.argsort(scores, kind="stable")
    guessed_out, guessed_in = order[: plan.excluded], order[plan.canaries - plan.included :]
    return int(included[guessed_in].sum() + (~included[guessed_out]).sum())


def judge_coins(
    claim: TrainingClaim,
    plan: GuessPlan,
    included: BoolArray,
    scores: FloatArray,
    design: str,
    coins: str,
    start: float,
) -> Verdict:
    """Return the verdict of the planned guesses.

    Args:
        claim: what is tested.
        plan: how many coins are guessed.
        included: (m,) the coins.
        scores: (m,) what they are guessed from.
        design: what was run.
        coins: what one coin decides, in the plural.
        start: clock reading when the audit began.
    """
    right = count_right_guesses(plan, included, scores)
    lower_bound = claim.bound_epsilon(plan, right)
    epsilon = claim.guarantee.epsilon
    detectable = find_detectable_epsilon(claim.noise, plan, epsilon, claim.delta, claim.alpha)
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
        guarantee=claim.guarantee,
        status="refuted" if lower_bound > epsilon else "not refuted",
        epsilon=math.inf,
        lower_bound=lower_bound,
        confidence=claim.confidence,
        samples=plan.canaries,
        witness=witness,
        method=f"{design} with {plan.canaries:,} {coins} by fair coins, {plan.guesses:,} of them guessed; "
        f"tested against {describe_noise(claim.noise)}",
        seconds=time.perf_counter() - start,
        detectable_epsilon=detectable,
    )
