"""Bounds on the loss from the score of a guessing game, and the violations that it would have shown.

All of them compare right guesses with a sum of independent Bernoullis whose chances are the caps of the
game (`deniable.auditing.games`) at the epsilon in question.
"""

import functools
import math
from collections.abc import Callable

import numpy as np

from deniable.auditing.games import Array, Claim, Game, Numbers, Score

POWER = 0.9
_EXACT = 200_000
"""Guesses up to which a sum of unequal Bernoullis is computed; beyond, Chernoff's bound is used."""
_SPENT = 0.1
"""Share of alpha that bounds how often an event of probability delta happens."""
_LARGEST = 1e6
"""Losses beyond this are not told apart: no float64 probability is as small."""
_STEPS = 60


def lower_bound(game: Game, score: Score, alpha: float, delta: float = 0.0) -> float:
    """Return a lower confidence bound, at level 1 - alpha, on the true epsilon per unit of distance.

    The least epsilon at which the chance of so many right guesses exceeds alpha (Clopper-Pearson
    where all caps are equal).

    Args:
        game: the game.
        score: of trials that the attacker was not fitted on.
        alpha: probability that the bound is above the truth.
        delta: of the claim, for two inputs. An (epsilon, delta) pair of laws is a mixture that shows
            the input with probability delta and is epsilon-private otherwise (Kairouz, Oh and
            Viswanath 2015), so as many right guesses as that event may have given are set aside.
    """
    right, guesses = int(score.right.sum()), score.guesses
    if delta > 0:
        shown = _most_shown(score.trials, delta, _SPENT * alpha)
        right, guesses, alpha = right - shown, _without(guesses, game, shown), (1 - _SPENT) * alpha
    if right <= 0 or _tail(right, guesses, game.caps(0.0)) > alpha:
        return 0.0
    return _largest(lambda epsilon: _tail(right, guesses, game.caps(epsilon)) <= alpha, game.unit)


def evidence(game: Game, score: Score, epsilon: float) -> float:
    """Return the logarithm of the e-value against "the true epsilon is at most this".

    The mean over u in (0, 1] of the likelihood ratio of guesses that are right with probability
    q = cap + (1 - cap) u. Under the claim its expectation is at most 1 after every trial, so it
    exceeds 1 / alpha at any time with probability at most alpha (Ville's inequality): one may look
    after every trial and stop when convinced. It falls as epsilon grows, which makes
    `anytime_bound` a confidence sequence.
    """
    caps, shares = game.caps(epsilon), _mixture()
    wrong = int((score.guesses - score.right).sum())
    with np.errstate(divide="ignore"):
        gain = np.log1p(shares[:, None] * ((1 - caps) / caps).ravel()) @ score.right.ravel()
        loss = wrong * np.log1p(-shares) if wrong else 0.0
    logs = gain + loss
    top = float(logs.max())
    return top + math.log(float(np.exp(logs - top).mean()))


def anytime_bound(game: Game, score: Score, alpha: float) -> float:
    """Return the lower bound on epsilon that holds at all times at once, at level 1 - alpha."""
    needed = math.log(1 / alpha)
    if evidence(game, score, 0.0) < needed:
        return 0.0
    return _largest(lambda epsilon: evidence(game, score, epsilon) >= needed, game.unit)


def rough_bound(game: Game, share: float, guesses: Numbers, claim: Claim, trials: int) -> float:
    """Return about what `lower_bound` gives for a share of right guesses, quickly: Chernoff's bound."""
    total = float(guesses.sum())
    if claim.delta > 0:
        shown = _most_shown(trials, claim.delta, _SPENT * claim.alpha)
        if total <= shown:
            return 0.0
        share = (share * total - shown) / (total - shown)
        total -= shown
    needed = math.log(1 / claim.alpha) / total

    def refuted(epsilon: float) -> bool:
        cap = float((game.caps(epsilon) * guesses).sum() / guesses.sum())
        return share > cap and _divergence(share, cap) >= needed

    return _largest(refuted, game.unit, steps=25) if refuted(0.0) else 0.0


def detectable(game: Game, guesses: Numbers, claim: float, alpha: float, delta: float = 0.0, trials: int = 0) -> float:
    """Return the least true epsilon that so many guesses would have refuted with probability 90 %.

    It is about the best attacker there is, who is right as often as a cap allows. Infinite where even
    guesses that are all right refute nothing.
    """
    shown = _most_shown(trials, delta, _SPENT * alpha) if delta > 0 else 0
    level = (1 - _SPENT) * alpha if delta > 0 else alpha
    counted = _without(guesses, game, shown)
    critical = _critical(counted, game.caps(claim), level)
    if critical > counted.sum():
        return math.inf
    # So many right guesses are needed beyond those that are set aside.
    return _refuted_from(game, guesses, critical + shown, claim)


def detectable_anytime(game: Game, guesses: Numbers, claim: float, alpha: float) -> float:
    """Return what `detectable` does, for e-values."""
    total, needed = int(guesses.sum()), math.log(1 / alpha)

    def convinced(right: int) -> bool:
        share = np.rint(guesses * (right / max(total, 1))).astype(np.int64)
        return evidence(game, Score(np.minimum(share, guesses), guesses, total), claim) >= needed

    critical = _least(convinced, total)
    if critical > total:
        return math.inf
    return _refuted_from(game, guesses, critical, claim)


def _refuted_from(game: Game, guesses: Numbers, critical: int, claim: float) -> float:
    """Return the least epsilon at which so many guesses are right, or more, with probability 90 %."""

    def unseen(epsilon: float) -> bool:
        return _tail(critical, guesses, game.caps(epsilon)) < POWER

    return _largest(unseen, game.unit, claim) if unseen(claim) else claim


def _tail(right: int, guesses: Numbers, caps: Array) -> float:
    """Return P[sum of Bernoulli(cap) >= right], or an upper bound on it."""
    from scipy import special  # noqa: PLC0415 - only audits need it

    counts, chances = guesses[guesses > 0].ravel(), caps[guesses > 0].ravel()
    total = int(counts.sum())
    if right <= 0:
        return 1.0
    if right > total:
        return 0.0
    if np.ptp(chances) == 0:
        return float(special.bdtrc(right - 1, total, chances[0]))
    if total <= _EXACT:
        return min(max(float(_law(counts, chances)[right:].sum()), 0.0), 1.0)
    mean = float(counts @ chances) / total
    return math.exp(-total * _divergence(right / total, mean)) if right > mean * total else 1.0


def _law(counts: Numbers, chances: Array) -> Array:
    """Return P[sum = 0 ... total] of ``counts`` Bernoullis of each chance: the inverse transform of their product.

    Exact but for rounding, some 1e-13 in a tail.
    """
    total = int(counts.sum())
    chances, groups = np.unique(chances, return_inverse=True)
    counts = np.bincount(groups, weights=counts)
    roots = np.exp(-2j * math.pi * np.arange((total + 1) // 2 + 1) / (total + 1))
    product = np.ones_like(roots)
    for count, chance in zip(counts, chances, strict=True):
        product *= (1 - chance + chance * roots) ** count
    law: Array = np.fft.irfft(product, total + 1)
    return law


def _divergence(share: float, cap: float) -> float:
    """Return the divergence (nats) of Bernoulli(share) from Bernoulli(cap)."""
    out = share * math.log(share / cap) if share > 0 else 0.0
    if share < 1:
        out += (1 - share) * math.log((1 - share) / (1 - cap)) if cap < 1 else math.inf
    return out


def _most_shown(trials: int, delta: float, alpha: float) -> int:
    """Return the number of times that an event of probability delta happens at most, but for alpha."""
    from scipy import stats  # noqa: PLC0415 - only audits need it

    return int(stats.binom.isf(alpha, trials, delta))


def _without(guesses: Numbers, game: Game, shown: int) -> Numbers:
    """Return the guesses less those set aside: from the nearest pairs, whose caps are lowest, to be cautious."""
    left = guesses.copy()
    for place in np.argsort(game.distances.sum(axis=2), axis=None, kind="stable"):
        taken = min(shown, int(left.flat[place]))
        left.flat[place] -= taken
        shown -= taken
    return left


def _critical(guesses: Numbers, caps: Array, alpha: float) -> int:
    """Return the least number of right guesses that refutes these caps; one too many if none does."""
    return _least(lambda right: _tail(right, guesses, caps) <= alpha, int(guesses.sum()))


def _least(holds: Callable[[int], bool], total: int) -> int:
    """Return the least number in 1 ... total that a growing predicate holds for, else total + 1."""
    low, high = 0, total + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _largest(holds: Callable[[float], bool], unit: float, start: float = 0.0, steps: int = _STEPS) -> float:
    """Return a number up to which a falling predicate of epsilon holds, from ``start``, where it does."""
    low, high = start, max(2 * start, unit)
    while holds(high):
        low, high = high, 2 * high
        if high > _LARGEST * unit + 2 * start:
            return low
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


@functools.cache
def _mixture() -> Array:
    """Return the shares u: half of them even, half of them small, for violations that are."""
    return np.concatenate([np.linspace(0, 1, 201)[1:], np.geomspace(1e-4, 0.5, 200)])
