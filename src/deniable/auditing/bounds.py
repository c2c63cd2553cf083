"""Bounds on the loss from the score of a guessing game, and the violations that it would have shown.

All of them compare right guesses with a sum of independent Bernoullis whose chances are the caps of the
game (`deniable.auditing.games`) at the epsilon in question.
"""

import functools
import math
from collections.abc import Callable

import numpy as np

from deniable.auditing.games import Claim, Game, Score
from deniable.core.arrays import FloatArray, IntArray
from deniable.core.numbers import bisect, find_least_count

DETECTION_POWER = 0.9
_MAX_EXACT_GUESSES = 200_000
"""Guesses up to which a sum of unequal Bernoullis is computed; beyond, Chernoff's bound is used."""
_DELTA_ALPHA_SHARE = 0.1
"""Share of alpha that bounds how often an event of probability delta happens."""
_MAX_LOSS = 1e6
"""Larger losses are all treated alike: no float64 probability is as small."""
_BISECTION_STEPS = 60


def compute_lower_bound(game: Game, score: Score, alpha: float, delta: float = 0.0) -> float:
    """A lower confidence bound, at level 1 - alpha, on the true epsilon per unit of distance.

    The least epsilon at which the chance of so many right guesses exceeds alpha (Clopper-Pearson
    where all caps are equal).

    Args:
        game: the game.
        score: of trials that the attacker was not fitted on.
        alpha: probability that the bound is above the truth.
        delta: of the claim, for two inputs. An (epsilon, delta) pair of laws is a mixture that shows
            the input with probability delta and is epsilon-private otherwise (Kairouz, Oh and
            Viswanath 2015), so as many right guesses as that event can explain are not counted.
    """
    right, guesses = int(score.right.sum()), score.guesses
    if delta > 0:
        revealed = _find_max_revealed_trials(score.trials, delta, _DELTA_ALPHA_SHARE * alpha)
        right, guesses, alpha = (
            right - revealed,
            _set_guesses_aside(guesses, game, revealed),
            (1 - _DELTA_ALPHA_SHARE) * alpha,
        )
    if right <= 0 or _compute_tail_probability(right, guesses, game.caps(0.0)) > alpha:
        return 0.0
    return _find_largest_epsilon(
        lambda epsilon: _compute_tail_probability(right, guesses, game.caps(epsilon)) <= alpha, game.unit
    )


def compute_log_e_value(game: Game, score: Score, epsilon: float) -> float:
    """The logarithm of the e-value against "the true epsilon is at most this".

    The mean over u in (0, 1] of the likelihood ratio of guesses that are right with probability
    q = cap + (1 - cap) u. Under the claim its expectation is at most 1 after every trial, so it
    exceeds 1 / alpha at any time with probability at most alpha (Ville's inequality): one may look
    after every trial and stop when convinced. It falls as epsilon grows, which makes
    `compute_anytime_bound` a confidence sequence.
    """
    caps, shares = game.caps(epsilon), _make_mixture_weights()
    wrong_count = int((score.guesses - score.right).sum())
    with np.errstate(divide="ignore"):
        gain = np.log1p(shares[:, None] * ((1 - caps) / caps).ravel()) @ score.right.ravel()
        loss = wrong_count * np.log1p(-shares) if wrong_count else 0.0
    log_ratios = gain + loss
    maximum = float(log_ratios.max())
    return maximum + math.log(float(np.exp(log_ratios - maximum).mean()))


def compute_anytime_bound(game: Game, score: Score, alpha: float) -> float:
    """The lower bound on epsilon that holds at all times at once, at level 1 - alpha."""
    threshold = math.log(1 / alpha)
    if compute_log_e_value(game, score, 0.0) < threshold:
        return 0.0
    return _find_largest_epsilon(lambda epsilon: compute_log_e_value(game, score, epsilon) >= threshold, game.unit)


def estimate_lower_bound(game: Game, share: float, guesses: IntArray, claim: Claim, trials: int) -> float:
    """A quick estimate of `compute_lower_bound` for a share of right guesses, by Chernoff's bound."""
    guess_count = float(guesses.sum())
    if claim.delta > 0:
        revealed = _find_max_revealed_trials(trials, claim.delta, _DELTA_ALPHA_SHARE * claim.alpha)
        if guess_count <= revealed:
            return 0.0
        share = (share * guess_count - revealed) / (guess_count - revealed)
        guess_count -= revealed
    threshold = math.log(1 / claim.alpha) / guess_count

    def is_refuted(epsilon: float) -> bool:
        cap = float((game.caps(epsilon) * guesses).sum() / guesses.sum())
        return share > cap and _compute_bernoulli_divergence(share, cap) >= threshold

    return _find_largest_epsilon(is_refuted, game.unit, steps=25) if is_refuted(0.0) else 0.0


def compute_detectable_epsilon(
    game: Game, guesses: IntArray, claim: float, alpha: float, delta: float = 0.0, trials: int = 0
) -> float:
    """The least true epsilon that so many guesses would have refuted with probability 90%.

    For the best possible attacker, which is right as often as a cap allows. Infinite where even all guesses being
    right would refute nothing.
    """
    revealed = _find_max_revealed_trials(trials, delta, _DELTA_ALPHA_SHARE * alpha) if delta > 0 else 0
    remaining_alpha = (1 - _DELTA_ALPHA_SHARE) * alpha if delta > 0 else alpha
    counted_guesses = _set_guesses_aside(guesses, game, revealed)
    caps, total = game.caps(claim), int(counted_guesses.sum())
    critical_count = find_least_count(
        lambda right: _compute_tail_probability(right, counted_guesses, caps) <= remaining_alpha, total
    )
    if critical_count > total:
        return math.inf
    # So many right guesses are needed beyond those that are not counted.
    return _find_detectable_epsilon(game, guesses, critical_count + revealed, claim)


def compute_anytime_detectable_epsilon(game: Game, guesses: IntArray, claim: float, alpha: float) -> float:
    """What `compute_detectable_epsilon` does, for e-values."""
    total, threshold = int(guesses.sum()), math.log(1 / alpha)

    def is_convincing(right: int) -> bool:
        right_counts = np.rint(guesses * (right / max(total, 1))).astype(np.int64)
        return compute_log_e_value(game, Score(np.minimum(right_counts, guesses), guesses, total), claim) >= threshold

    critical_count = find_least_count(is_convincing, total)
    if critical_count > total:
        return math.inf
    return _find_detectable_epsilon(game, guesses, critical_count, claim)


def _find_detectable_epsilon(game: Game, guesses: IntArray, critical_count: int, claim: float) -> float:
    """The least epsilon at which so many guesses are right, or more, with probability 90%."""

    def is_undetected(epsilon: float) -> bool:
        return _compute_tail_probability(critical_count, guesses, game.caps(epsilon)) < DETECTION_POWER

    return _find_largest_epsilon(is_undetected, game.unit, claim) if is_undetected(claim) else claim


def _compute_tail_probability(right: int, guesses: IntArray, caps: FloatArray) -> float:
    """P[sum of Bernoulli(cap) >= right], or an upper bound on it."""
    from scipy import special

    counts, chances = guesses[guesses > 0].ravel(), caps[guesses > 0].ravel()
    total = int(counts.sum())
    if right <= 0:
        return 1.0
    if right > total:
        return 0.0
    if np.ptp(chances) == 0:
        return float(special.bdtrc(right - 1, total, chances[0]))
    if total <= _MAX_EXACT_GUESSES:
        return min(max(float(_compute_poisson_binomial(counts, chances)[right:].sum()), 0.0), 1.0)
    mean = float(counts @ chances) / total
    return math.exp(-total * _compute_bernoulli_divergence(right / total, mean)) if right > mean * total else 1.0


def _compute_poisson_binomial(counts: IntArray, chances: FloatArray) -> FloatArray:
    """P[sum = 0 ... total] of ``counts`` Bernoullis of each chance: the inverse transform of their product.

    Exact but for rounding, some 1e-13 in a tail.
    """
    total = int(counts.sum())
    chances, groups = np.unique(chances, return_inverse=True)
    counts = np.bincount(groups, weights=counts)
    roots = np.exp(-2j * math.pi * np.arange((total + 1) // 2 + 1) / (total + 1))
    product = np.ones_like(roots)
    for count, chance in zip(counts, chances, strict=True):
        product *= (1 - chance + chance * roots) ** count
    probabilities: FloatArray = np.fft.irfft(product, total + 1)
    return probabilities


def _compute_bernoulli_divergence(share: float, cap: float) -> float:
    """The divergence (nats) of Bernoulli(share) from Bernoulli(cap)."""
    divergence = share * math.log(share / cap) if share > 0 else 0.0
    if share < 1:
        divergence += (1 - share) * math.log((1 - share) / (1 - cap)) if cap < 1 else math.inf
    return divergence


def _find_max_revealed_trials(trials: int, delta: float, alpha: float) -> int:
    """How often an event of probability delta happens at most, except with probability alpha."""
    from scipy import stats

    return int(stats.binom.isf(alpha, trials, delta))


def _set_guesses_aside(guesses: IntArray, game: Game, revealed: int) -> IntArray:
    """The guesses less so many: those about the nearest pairs, whose caps are lowest, to be cautious."""
    remaining = guesses.copy()
    for place in np.argsort(game.distances.sum(axis=2), axis=None, kind="stable"):
        removed = min(revealed, int(remaining.flat[place]))
        remaining.flat[place] -= removed
        revealed -= removed
    return remaining


def _find_largest_epsilon(
    predicate: Callable[[float], bool], unit: float, start: float = 0.0, steps: int = _BISECTION_STEPS
) -> float:
    """A number up to which a falling predicate of epsilon holds, from ``start``, where it does."""
    limit = _MAX_LOSS * unit + 2 * start
    return bisect(lambda epsilon: not predicate(epsilon), start, max(2 * start, unit), limit=limit, steps=steps)[0]


@functools.cache
def _make_mixture_weights() -> FloatArray:
    """The shares u: half of them even, half of them small, for violations that are."""
    return np.concatenate([np.linspace(0, 1, 201)[1:], np.geomspace(1e-4, 0.5, 200)])
