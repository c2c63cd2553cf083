"""A surrogate likelihood for mechanisms without a known law: a function of the distance, fitted to draws.

    ln P(y|w) = -kappa min(d(w, y), cutoff)^power + own_bonus [y = w], up to a number of y's own

An attacker who knows the mechanism draws from it on their own and takes the parameters whose guesses are right most
often on those draws.
"""

import dataclasses
import functools
import math

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray
from deniable.core.parallel import compile_loop
from deniable.core.randomness import Streams, derive_key_from_seed, derive_stream_start
from deniable.space.space import PointNumbers
from deniable.words import WordMechanism
from deniable.words.laws.tables import find_guessed_words

_FITTING_DRAWS = 2_000
"""Number of draws that the surrogate is fitted to."""
_STRENGTHS = np.geomspace(1.0, 400.0, 13)
"""kappa times the p-th power of a typical distance, from negligible to stronger than any prior."""
_POWERS = (1, 2)
_OWN_BONUSES = (-4.0, -2.0, 0.0, 1.0, 2.0, 4.0, 8.0)
_TIE_TOLERANCE = 1e-9
"""Scores closer than this are taken as equal."""


@dataclasses.dataclass(frozen=True)
class SurrogateLikelihood:
    """A likelihood that depends on the distance alone.

    Attributes:
        kappa: nats per (unit of distance)^power.
        power: 1 or 2.
        own_bonus: nats added where the output is the input.
        cutoff: larger distances count as this one.
    """

    kappa: float
    power: int
    own_bonus: float
    cutoff: float = math.inf

    def compute_logs(self, outputs: PointNumbers, distances: FloatArray) -> FloatArray:
        """Return ln P(y|w) (k, number of points) of outputs (k,), up to a number of y's own; overwrites distances."""
        for output, row in zip(outputs.tolist(), distances, strict=True):
            _score_distances(row, self.kappa, self.power, self.cutoff)
            row[output] += self.own_bonus
        return distances


def draw_from_prior(
    mechanism: WordMechanism, prior: FloatArray, draws: int, seed: int, purpose: str, workers: int | None = None
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return words drawn from a prior (draws,) and what the mechanism makes of them (draws,).

    Args:
        mechanism: the mechanism to draw from.
        prior: (n,) word frequencies; they sum to 1.
        draws: number of words.
        seed: public; words and draws follow from it.
        purpose: name of the use; each use has its own draws.
        workers: number of threads.
    """
    key = derive_key_from_seed(seed)
    start = derive_stream_start(key, "attacker", mechanism.fingerprint, purpose)
    generator = np.random.default_rng(list(start))
    words = generator.choice(len(prior), draws, p=prior).astype(np.int32)
    return words, mechanism.draw_words(words, Streams(key, [start], [draws]), workers)


def fit_surrogate(
    mechanism: WordMechanism, prior: FloatArray, seed: int = 0, workers: int | None = None
) -> SurrogateLikelihood:
    """Return the surrogate whose guesses are right most often on the attacker's own draws.

    Args:
        mechanism: any mechanism.
        prior: (n,) word frequencies; they sum to 1.
        seed: public; the draws follow from it.
        workers: number of threads.
    """
    space = mechanism.space
    words, outputs = draw_from_prior(mechanism, prior, _FITTING_DRAWS, seed, "fit", workers)
    points, true_points = space.point_by_word[outputs], space.point_by_word[words]
    guessed_words = find_guessed_words(space, prior)
    is_guessable = words == guessed_words[true_points]  # of the words at one point the most frequent is guessed
    with np.errstate(divide="ignore"):
        log_priors = np.log(prior[guessed_words])
    typical_distance = float(np.median(space.distances(points[:64])))
    grid = [(float(s) / typical_distance**power, power) for power in _POWERS for s in _STRENGTHS]
    best_others = np.empty((len(grid), _FITTING_DRAWS), dtype=np.int64)
    margins = np.empty((len(grid), _FITTING_DRAWS))

    def score_block(first: int, distances: FloatArray) -> None:
        for draw, row in enumerate(distances, first):
            for grid_row, (kappa, power) in enumerate(grid):
                best_other, score = _find_best_other(row, log_priors, points[draw], kappa, power)
                best_others[grid_row, draw], margins[grid_row, draw] = best_other, score - log_priors[points[draw]]

    space.map_row_blocks(score_block, points, workers)
    best_surrogate = SurrogateLikelihood(grid[0][0], grid[0][1], 0.0)
    best_result = (-1, -math.inf)
    for (kappa, power), other, margin in zip(grid, best_others, margins, strict=True):
        for bonus in _OWN_BONUSES:
            hit_count = int((is_guessable & (np.where(margin > bonus, other, points) == true_points)).sum())
            # Of equal successes take the one that is surest where it is right and least sure where it is wrong.
            loss = np.logaddexp(0.0, np.where(points == true_points, margin - bonus, bonus - margin)).sum()
            if (hit_count, -loss) > best_result:
                best_surrogate, best_result = SurrogateLikelihood(kappa, power, bonus), (hit_count, -loss)
    return best_surrogate


@compile_loop
def _score_distances(row: FloatArray, kappa: float, power: int, cutoff: float) -> None:  # pragma: no cover - compiled
    """Replace d by -kappa min(d, cutoff)^power."""
    if power == 1:
        for y in range(row.size):
            row[y] = -kappa * min(row[y], cutoff)
    else:
        for y in range(row.size):
            row[y] = -kappa * min(row[y], cutoff) ** power


@compile_loop
def _find_best_other(
    row: FloatArray, log_priors: FloatArray, output: int, kappa: float, power: int
) -> tuple[int, float]:  # pragma: no cover
    """Return the point w other than the output with the largest log_priors[w] - kappa d^power, and that score."""
    own_distance = row[output]
    row[output] = np.inf
    highest_score = _compute_highest_score(row, log_priors, kappa, power)
    best_point = 0
    while log_priors[best_point] - kappa * row[best_point] ** power < highest_score - _TIE_TOLERANCE:
        best_point += 1
    row[output] = own_distance
    return best_point, highest_score


@functools.partial(compile_loop, relaxed=True)
def _compute_highest_score(
    row: FloatArray, log_priors: FloatArray, kappa: float, power: int
) -> float:  # pragma: no cover - compiled
    """Return the maximum over w of log_priors[w] - kappa d^power."""
    highest_score = -np.inf
    if power == 1:
        for w in range(row.size):
            highest_score = max(highest_score, log_priors[w] - kappa * row[w])
    else:
        for w in range(row.size):
            highest_score = max(highest_score, log_priors[w] - kappa * (row[w] * row[w]))
    return highest_score
