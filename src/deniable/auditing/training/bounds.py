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
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Literal

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.vectors.gaussian import compute_noise_ratio

NoiseKind = Literal["any", "gaussian"]
"""What a claim of epsilon and delta rests on: nothing further, or Gaussian noise that was calibrated to them."""
InverseCurve = Callable[[float], float]
"""F^-1: the least chance of an event under one data set, from its chance under an adjacent one."""
_POWER = 0.9
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
        canaries: m.
        included: k, the canaries with the highest scores are guessed to be in the data set.
        excluded: the canaries with the lowest scores are guessed not to be.
    """

    canaries: int
    included: int
    excluded: int

    @property
    def guesses(self) -> int:
        """Return r."""
        return self.included + self.excluded


def invert_curve(noise: NoiseKind, epsilon: float, delta: float) -> InverseCurve:
    """Return F^-1 of the claim (epsilon, delta)-DP, or of Gaussian noise that just fulfils it.

    Args:
        noise: which of both.
        epsilon: >= 0; > 0 for Gaussian noise.
        delta: in [0, 1); > 0 for Gaussian noise.
    """
    from scipy.special import ndtr, ndtri  # noqa: PLC0415 - only audits need it

    if noise == "gaussian":
        mu = 1 / compute_noise_ratio(epsilon, delta)
        return lambda chance: float(ndtr(ndtri(chance) - mu)) if chance < 1 else 1.0
    growth = math.exp(min(epsilon, MAX_EPSILON))
    return lambda chance: max(0.0, (chance - delta) / growth, 1 - delta - growth * (1 - chance))


def is_count_refuting(inverse: InverseCurve, plan: GuessPlan, right: int, alpha: float) -> bool:
    """Return whether so many right guesses, or more, have a chance below alpha under a curve (see above)."""
    total = plan.guesses / plan.canaries * (1 + _ROUNDING)
    right_mass = right * alpha / plan.canaries
    wrong_mass = (plan.guesses - right) * alpha / plan.canaries
    for count in range(right, 0, -1):
        least = max(wrong_mass, inverse(right_mass))
        right_mass += (count - 1) / (plan.guesses - count + 1) * (least - wrong_mass)
        wrong_mass = least
        if right_mass + wrong_mass > total:
            return True
    return False


def bound_epsilon_of_guesses(noise: NoiseKind, plan: GuessPlan, right: int, delta: float, alpha: float) -> float:
    """Return a lower bound on epsilon at this delta, with confidence 1 - alpha, from the number of right guesses.

    For ``gaussian`` the epsilon of the least Gaussian curve that is not refuted.
    """

    def is_refuted(epsilon: float) -> bool:
        return is_count_refuting(invert_curve(noise, epsilon, delta), plan, right, alpha)

    low, high = 0.0, 1.0
    while is_refuted(high):
        low, high = high, 2 * high
        if high > MAX_EPSILON:
            return low
    for _ in range(_BISECTION_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if is_refuted(middle) else (low, middle)
    return low if low > _ROUNDING else 0.0


def find_refuting_count(inverse: InverseCurve, plan: GuessPlan, alpha: float) -> int:
    """Return the least number of right guesses that refutes a curve; one more than the guesses if none does."""
    low, high = 0, plan.guesses + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_count_refuting(inverse, plan, middle, alpha) else (middle, high)
    return high


def find_detectable_epsilon(noise: NoiseKind, plan: GuessPlan, epsilon: float, delta: float, alpha: float) -> float:
    """Return the least true epsilon at which so many guesses would have refuted a claim with probability 90 %.

    By an attacker who sees every coin through randomized response, or through Gaussian noise of its own, independent
    of the others. Infinite where even all guesses being right would refute nothing.
    """
    critical_count = find_refuting_count(invert_curve(noise, epsilon, delta), plan, alpha)
    if critical_count > plan.guesses:
        return math.inf

    def is_detected(truth: float) -> bool:
        return float(_compute_count_law(noise, plan, truth, delta)[critical_count:].sum()) >= _POWER

    return find_least_detected(is_detected, epsilon)


def find_least_detected(is_detected: Callable[[float], bool], epsilon: float) -> float:
    """Return the least true epsilon above a claim that is detected; infinite where none is.

    Args:
        is_detected: of a true epsilon; grows with it.
        epsilon: claimed.
    """
    low, high = epsilon, max(2 * epsilon, 1.0)
    while not is_detected(high):
        low, high = high, 2 * high
        if high > MAX_EPSILON:
            return math.inf
    for _ in range(_BISECTION_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if is_detected(middle) else (middle, high)
    return high


def _compute_count_law(noise: NoiseKind, plan: GuessPlan, epsilon: float, delta: float) -> FloatArray:
    """Return the law (r + 1,) of the number of right guesses that the attacker of `find_detectable_epsilon` makes."""
    from scipy import special, stats  # noqa: PLC0415 - only audits need it

    laws = []
    for count in (plan.included, plan.excluded):
        chance = (
            float(special.expit(epsilon))
            if noise == "any"
            else _compute_tail_chance(1 / compute_noise_ratio(epsilon, delta), count / plan.canaries)
        )
        laws.append(stats.binom.pmf(np.arange(count + 1), count, chance))
    law: FloatArray = np.convolve(*laws)
    return law


def _compute_tail_chance(mu: float, share: float) -> float:
    """Return the chance that a coin is heads, if its score N(mu coin, 1) is among this share of highest scores."""
    from scipy import optimize, special  # noqa: PLC0415 - only audits need it

    if not 0 < share < 1:
        return 0.5
    threshold = optimize.brentq(
        lambda score: (special.ndtr(mu - score) + special.ndtr(-score)) / 2 - share,
        -_MAX_DEVIATIONS,
        mu + _MAX_DEVIATIONS,
    )
    heads, tails = special.ndtr(mu - threshold), special.ndtr(-threshold)
    return float(heads / (heads + tails))
