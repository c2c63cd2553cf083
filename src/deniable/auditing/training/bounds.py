r"""How many coins of canaries can be guessed right under a claim.

Each of m canaries joins the data set if its own fair coin says so. The mechanism runs once, and r coins are guessed
from its output; r is fixed in advance, and which coins are guessed may depend on the output in any way. W guesses are
right. This is the game of Steinke, Nasr and Jagielski 2023 (Algorithm 1), bounded as by Mahloujifar, Melis and
Chaudhuri 2024, for the adjacency "one unit added or removed".

A claim is a trade-off curve F, concave and growing: P[M(D) in E] <= F(P[M(D') in E]) for every event E and all
adjacent D and D', in both orders. Of (epsilon, delta)-DP, and of Gaussian noise (Dong, Roth and Su 2022)::

    F(x) = min(delta + e^epsilon x, 1 - e^-epsilon (1 - delta - x))        F(x) = Phi(Phi^-1(x) + mu)

**Theorem.** Let p_w = P[W = w]. For every i from 1 to r::

    R_i <= F(H_(i-1))   with   R_i = sum over w >= i of (w / m) p_w,   H_i = sum over w >= i of ((r - w) / m) p_w

*Proof.* Let u be the coins, j a uniform place independent of them, and E the outputs for which coin j is guessed as
u_j and at least i guesses agree with u. P[M(u) in E] = R_i, for W = w means that a share w / m of all places is
guessed right. Let u' be u with coin j turned. It is uniform too, and an output is in E exactly if coin j is guessed
and differs from u'_j and at least i - 1 guesses agree with u'; hence P[M(u') in E] = H_(i-1). For fixed u and j the
data sets of u and u' are adjacent; F is concave, so the mean over u and j obeys the inequality (Jensen).

**A chance of alpha or more refutes.** Let P[W >= v] = tau, v >= 1. Moving the probability of all w > v to v lowers
every R_i, raises every H_i with i <= v, and keeps the inequalities true; so let R_v = v tau / m and
H_v = (r - v) tau / m. Downwards, with c_i = i / (r - i)::

    H_(i-1) >= max(H_i, F^-1(R_i)),      R_(i-1) = R_i + c_(i-1) (H_(i-1) - H_i)

Written out, R_i is tau times a positive number plus a sum of H_i, ..., H_(v-1) with coefficients that are not
negative, since c grows with i. So the least values everywhere follow from equality everywhere, and they grow with tau
and fall as F grows. In truth R_0 + H_0 = r / m. Where the least value for tau = alpha is larger, P[W >= v] < alpha.

The largest epsilon whose curve is refuted by W is therefore a lower bound on the true one with confidence 1 - alpha.
With no delta the inequalities for single counts are those of Binomial(r, e^epsilon / (1 + e^epsilon)), the law of
Theorem 5.2 of Steinke et al., and the bounds all but agree.

From coins and scores to a verdict on the claim of a training: what all methods of this room share.

The theorem is that of `deniable.auditing.training.bounds`: each coin says whether one unit was there, all coins are
fair and independent, and what is guessed of them is a function of what training showed.
"""

import dataclasses
import math
from collections.abc import Callable

import numpy as np
from scipy import optimize, special, stats

from deniable.accounting.gaussian import compute_noise_ratio
from deniable.auditing.games import Claim, NoiseKind
from deniable.core.arrays import BoolArray, FloatArray
from deniable.core.errors import InputError, check_count
from deniable.core.guarantees import Verdict, Witness
from deniable.core.numbers import bisect, find_least_count

InverseCurve = Callable[[float], float]
"""F^-1: the least chance of an event under one data set, from its chance under an adjacent one."""
_POWER = 0.9
_WRONG_CHANCES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.5)
"""Chances of wrong guesses among which the best attacker against Gaussian noise chooses."""
MAX_EPSILON = 512.0
"""Larger ones are not told apart: e^-epsilon is far below the rounding granted."""
_BISECTION_STEPS = 40
_ROUNDING = 1e-9
"""Relative error granted to the sums of the recursion."""
_MAX_DEVIATIONS = 40.0
"""Deviations from its mean within which a normal number lies in float64."""


@dataclasses.dataclass(frozen=True)
class GuessPlan:
    """What is guessed, fixed in advance.

    Attributes:
        coins: m.
        guesses: r; as many coins with the highest scores are guessed to be heads (their canaries are in the data set)
            as with the lowest to be tails, or one more.
    """

    coins: int
    guesses: int


def invert_curve(noise: NoiseKind, epsilon: float, delta: float) -> InverseCurve:
    """F^-1 of the claim (epsilon, delta)-DP, or of Gaussian noise that just fulfils it.

    Args:
        noise: which of both.
        epsilon: >= 0; > 0 for Gaussian noise.
        delta: in [0, 1); > 0 for Gaussian noise.
    """
    if noise == "gaussian":
        mu = 1 / compute_noise_ratio(epsilon, delta)
        return lambda chance: float(special.ndtr(special.ndtri(chance) - mu)) if chance < 1 else 1.0
    growth = math.exp(min(epsilon, MAX_EPSILON))
    return lambda chance: max(0.0, (chance - delta) / growth, 1 - delta - growth * (1 - chance))


def is_count_refuting(inverse: InverseCurve, plan: GuessPlan, right: int, alpha: float) -> bool:
    """Whether so many right guesses, or more, have a chance below alpha under a curve (see above)."""
    total = plan.guesses / plan.coins * (1 + _ROUNDING)
    right_mass = right * alpha / plan.coins
    wrong_mass = (plan.guesses - right) * alpha / plan.coins
    for count in range(right, 0, -1):
        least = max(wrong_mass, inverse(right_mass))
        right_mass += (count - 1) / (plan.guesses - count + 1) * (least - wrong_mass)
        wrong_mass = least
        if right_mass + wrong_mass > total:
            return True
    return False


def bound_epsilon_of_guesses(noise: NoiseKind, plan: GuessPlan, right: int, delta: float, alpha: float) -> float:
    """A lower bound on epsilon at this delta, with confidence 1 - alpha, from the number of right guesses.

    For ``gaussian`` the epsilon of the least Gaussian curve that is not refuted.
    """

    def is_accepted(epsilon: float) -> bool:
        return not is_count_refuting(invert_curve(noise, epsilon, delta), plan, right, alpha)

    low, _ = bisect(is_accepted, 0.0, 1.0, limit=MAX_EPSILON, steps=_BISECTION_STEPS)
    return low if low > _ROUNDING else 0.0


def find_refuting_count(inverse: InverseCurve, plan: GuessPlan, alpha: float) -> int:
    """The least number of right guesses that refutes a curve; one more than the guesses if none does."""
    return find_least_count(lambda right: is_count_refuting(inverse, plan, right, alpha), plan.guesses)


def find_detectable_epsilon(noise: NoiseKind, plan: GuessPlan, epsilon: float, delta: float, alpha: float) -> float:
    """The least true epsilon at which so many guesses would have refuted a claim with probability 90%.

    By an attacker who sees every coin through randomized response, or through Gaussian noise of its own, independent
    of the others, and guesses as many heads as tails. Infinite where even all guesses being right would refute nothing.
    """
    critical_count = find_refuting_count(invert_curve(noise, epsilon, delta), plan, alpha)
    if critical_count > plan.guesses:
        return math.inf

    def is_detected(truth: float) -> bool:
        chance = special.expit(truth)
        if noise == "gaussian":
            chance = _compute_tail_chance(1 / compute_noise_ratio(truth, delta), plan.guesses / (2 * plan.coins))
        return bool(stats.binom.sf(critical_count - 1, plan.guesses, chance) >= _POWER)

    return find_least_detected(is_detected, epsilon)


def find_least_detected(is_detected: Callable[[float], bool], epsilon: float) -> float:
    """The least true epsilon above a claim that is detected; infinite where none is.

    Args:
        is_detected: of a true epsilon; grows with it.
        epsilon: claimed.
    """
    return bisect(is_detected, epsilon, max(2 * epsilon, 1.0), limit=MAX_EPSILON, steps=_BISECTION_STEPS)[1]


def bound_gaussian_mu(right: float, wrong: float, trials: tuple[float, float], alpha: float) -> float:
    """A lower bound on mu of a Gaussian curve, with confidence 1 - alpha, from independent runs; -inf for nothing.

    By a fixed rule some runs are guessed right with a chance p each, some wrong with q: p <= F(q), as above. Both
    chances have limits of Clopper and Pearson, each at alpha / 2 (Nasr et al. 2023)::

        mu >= Phi^-1(p_low) - Phi^-1(q_high)

    Args:
        right: guesses.
        wrong: the others.
        trials: runs that could be guessed right, and wrong: all of both, or where only heads are guessed the heads and
            the tails, given all coins.
        alpha: probability that the bound is above the truth.
    """
    if not right > 0 or wrong >= trials[1]:
        return -math.inf
    p_low = special.betaincinv(right, trials[0] - right + 1, alpha / 2)
    q_high = special.betaincinv(wrong + 1, trials[1] - wrong, 1 - alpha / 2)
    return float(special.ndtri(p_low) - special.ndtri(q_high))


def find_detectable_epsilon_of_runs(runs: int, epsilon: float, delta: float, alpha: float) -> float:
    """The least true epsilon of Gaussian noise at which so many runs would have refuted a claim nine times in ten.

    By the best attacker, who guesses heads above the best of some thresholds, and tails below its mirror image.
    """
    claimed_mu, likely = 1 / compute_noise_ratio(epsilon, delta), math.sqrt(_POWER)

    def is_detected(truth: float) -> bool:
        mu = 1 / compute_noise_ratio(truth, delta)
        for wrong_chance in np.minimum(_WRONG_CHANCES, special.ndtr(-mu / 2)):  # where nobody abstains
            right_chance = special.ndtr(special.ndtri(wrong_chance) + mu)
            # Many right guesses and few wrong ones go together: both are at least as likely as if independent.
            right = stats.binom.isf(likely, runs, right_chance)
            wrong = stats.binom.ppf(likely, runs, wrong_chance)
            if bound_gaussian_mu(right, wrong, (runs, runs), alpha) > claimed_mu:
                return True
        return False

    return find_least_detected(is_detected, epsilon)


def _compute_tail_chance(mu: float, share: float) -> float:
    """The chance that a coin is heads, if its score N(mu coin, 1) is among this share of highest scores."""
    if not 0 < share < 1:
        return 0.5
    threshold = optimize.brentq(
        lambda score: (special.ndtr(mu - score) + special.ndtr(-score)) / 2 - share,
        -_MAX_DEVIATIONS,
        mu + _MAX_DEVIATIONS,
    )
    heads, tails = special.ndtr(mu - threshold), special.ndtr(-threshold)
    return float(heads / (heads + tails))


MIN_COINS = 10
"""With fewer coins hardly any claim can be refuted."""
GUESSED_SHARE = 0.2
"""Share of the coins that is guessed unless said otherwise: near the best for claims of epsilon from 1 to 16."""
_TESTED_AGAINST = {
    "any": "any training of this epsilon and delta",
    "gaussian": "training of this epsilon and delta by Gaussian noise, its whole trade-off curve",
}


def plan_guesses(coins: int, guesses: int | None) -> GuessPlan:
    """How many coins are guessed, half of them to be heads; None for a fifth of all.

    Raises:
        InputError: fewer than 10 coins, or a number of guesses that is not from 2 to all.
    """
    if coins < MIN_COINS:
        raise InputError(f"An audit of training needs at least {MIN_COINS} canaries. Got {coins}: give more.")
    total = max(round(GUESSED_SHARE * coins), 2) if guesses is None else guesses
    return GuessPlan(coins, check_count("an audit of training", "guesses", total, 2, coins))


def judge_scores(claim: Claim, included: BoolArray, scores: FloatArray, plan: GuessPlan, design: str) -> Verdict:
    """The verdict of the guesses that the highest scores (m,) were there and the lowest were not, as planned.

    Equal scores are taken in the order of the coins (m,), which knows nothing of them.
    """
    order = np.argsort(scores, kind="stable")
    excluded = plan.guesses // 2
    heads, tails = order[plan.coins - plan.guesses + excluded :], order[:excluded]
    right = int(included[heads].sum() + (~included[tails]).sum())
    lower_bound = bound_epsilon_of_guesses(claim.noise, plan, right, claim.delta, claim.alpha)
    detectable = find_detectable_epsilon(claim.noise, plan, claim.epsilon, claim.delta, claim.alpha)
    return make_verdict(claim, design, "the score", plan.coins, (right, plan.guesses), (lower_bound, detectable))


def make_verdict(
    claim: Claim, design: str, event: str, coins: int, counts: tuple[int, int], limits: tuple[float, float]
) -> Verdict:
    """The verdict of guesses.

    Args:
        claim: that was tested.
        design: what was run, and what a coin decided.
        event: what names a coin.
        coins: m.
        counts: right guesses, and all.
        limits: the lower bound on epsilon, and the epsilon that would have been refuted.
    """
    (right, guesses), (lower_bound, detectable) = counts, limits
    return Verdict(
        guarantee=claim.guarantee,
        status="refuted" if lower_bound > claim.epsilon else "not refuted",
        lower_bound=lower_bound,
        confidence=claim.confidence,
        samples=coins,
        witness=Witness(
            "data with a canary", "the same without it", f"{event} names the data", 1.0, lower_bound, right, guesses
        ),
        method=f"{design} by fair coins, {guesses:,} of them guessed; tested against {_TESTED_AGAINST[claim.noise]}",
        detectable_epsilon=detectable,
    )
