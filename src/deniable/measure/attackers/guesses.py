"""The words behind each output of a mechanism, likeliest first, under the exact law or a surrogate.

The surrogate, for mechanisms without a known law, is a function of the distance, fitted to draws::

    ln P(y|w) = -kappa min(d(w, y), cutoff)^power + own_bonus [y = w], up to a number of y's own

An attacker who knows the mechanism draws from it on their own and takes the parameters whose guesses are right most
often on those draws.
"""

import contextlib
import dataclasses
import functools
import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray
from deniable.core.errors import NotTractable
from deniable.core.parallel import compile_loop
from deniable.core.randomness import Streams, derive_key_from_seed, derive_stream_start
from deniable.space.space import PointNumbers, Space
from deniable.words import WordMechanism
from deniable.words.laws import ExponentialLaw, RingLaw
from deniable.words.laws.tables import find_guessed_words
from deniable.words.laws.tabulated import MAX_MATRIX_INPUTS

_LEAST_PROBABILITY = 1e-300
"""Probabilities that quadrature computes as 0 are taken as this."""
_FITTING_DRAWS = 2_000
"""Number of draws that the surrogate is fitted to."""
_STRENGTHS = np.geomspace(1.0, 400.0, 13)
"""kappa times the p-th power of a typical distance, from negligible to stronger than any prior."""
_POWERS = (1, 2)
_OWN_BONUSES = (-4.0, -2.0, 0.0, 1.0, 2.0, 4.0, 8.0)
_TIE_TOLERANCE = 1e-9
"""Scores closer than this are taken as equal."""


@dataclasses.dataclass(frozen=True, eq=False)
class WordLikelihood:
    """The likelihood of each input given an output, as the attacker computes it.

    Attributes:
        space: the space of the words.
        compute_logs: function of outputs (k,) and their distances (k, number of points) to all points, which it may
            overwrite, that returns ln P(y|w) (k, number of points) up to a number of y's own.
        is_exact: whether it is the exact law; False for a surrogate, whose guesses can be improved on.
    """

    space: Space
    compute_logs: Callable[[PointNumbers, FloatArray], FloatArray]
    is_exact: bool

    def compute_columns(self, outputs: PointNumbers) -> npt.NDArray[np.float32]:
        """Return ln P(y|w) (k, number of points) of outputs (k,), up to a number of y's own."""
        columns = np.empty((len(outputs), self.space.point_count), dtype=np.float32)

        def write_block(first: int, distances: FloatArray) -> None:
            block = slice(first, first + len(distances))
            columns[block] = self.compute_logs(outputs[block], distances)

        self.space.map_row_blocks(write_block, outputs)
        return columns


def build_likelihood(mechanism: WordMechanism, prior: FloatArray, *, seed: int = 0) -> WordLikelihood:
    """Return the likelihood that an attacker who knows the mechanism uses.

    It is the exact law in the exponential family, on graphs too, and in spaces of at most 3,000 points wherever a law
    is known; else a surrogate fitted to the attacker's own draws.

    Args:
        mechanism: the mechanism, known to the attacker with all its parameters.
        prior: (n,) word frequencies for those draws; they sum to 1.
        seed: public; those draws follow from it.
    """
    space, law = mechanism.space, mechanism.law
    if isinstance(law, ExponentialLaw | RingLaw):
        exponential = SurrogateLikelihood(law.kernel.scale, 1, 0.0, law.kernel.cutoff)
        log_normalisers = law.log_normalisers

        def subtract_normalisers(outputs: PointNumbers, distances: FloatArray) -> FloatArray:
            """Return -s min(d, gamma) - ln Z(w); ln c(y) is a number of y's own."""
            scores = exponential.compute_logs(outputs, distances)
            scores -= log_normalisers
            return scores

        return WordLikelihood(space, subtract_normalisers, is_exact=True)
    # Where the integral is not accurate enough the attacker uses a surrogate instead.
    with contextlib.suppress(NotTractable):
        if law.has_rows and space.point_count <= MAX_MATRIX_INPUTS:
            blocks = law.map_rows(
                lambda _, rows: np.log(np.maximum(rows, _LEAST_PROBABILITY)), np.arange(space.point_count)
            )
            log_probabilities: FloatArray = np.ascontiguousarray(np.concatenate(blocks).T)
            return WordLikelihood(space, lambda outputs, _: log_probabilities[outputs], is_exact=True)
    return WordLikelihood(space, fit_surrogate(mechanism, prior, seed).compute_logs, is_exact=False)


@dataclasses.dataclass(frozen=True, eq=False)
class RankedGuesses:
    """The K likeliest inputs behind each of m different output points.

    Attributes:
        row_of: (number of points,) the row of each output point; -1 for a point that is no output.
        words: (m, K) word numbers, likeliest first; n for an unknown word.
        log_likelihoods: (m, K) ln P(y|w), up to a number of y's own; -infinity where fewer than K words are possible.
        scores: (m, K) ln pi(w) + ln P(y|w), descending.
    """

    row_of: npt.NDArray[np.int64]
    words: npt.NDArray[np.int32]
    log_likelihoods: FloatArray
    scores: FloatArray


def rank_guesses(
    word_likelihood: WordLikelihood,
    prior: FloatArray,
    outputs: npt.NDArray[np.int32],
    candidates: int,
) -> RankedGuesses:
    """Return the likeliest words behind outputs.

    Args:
        word_likelihood: the law or a surrogate.
        prior: (n,) word frequencies; or (n + 1,), the last for unknown words, which are drawn as the space's public
            word for unknown ones.
        outputs: (N,) released word numbers, at least one.
        candidates: K, at least 1; cut to the length of the prior.
    """
    space = word_likelihood.space
    output_points = np.unique(space.point_by_word[outputs])
    point_of = space.point_by_word
    if len(prior) > len(space):
        point_of = np.append(point_of, point_of[space.index_of(space.unknown_word)])
    shape = len(output_points), min(candidates, len(prior))
    words, logs, scores = np.empty(shape, dtype=np.int32), np.empty(shape), np.empty(shape)
    with np.errstate(divide="ignore"):
        log_priors = np.log(prior)
    most_frequent_word = int(np.argmax(prior))

    def rank_block(first: int, distances: FloatArray) -> None:
        block = slice(first, first + len(distances))
        block_logs = word_likelihood.compute_logs(output_points[block], distances)
        for row, place in zip(block_logs, range(block.start, block.stop), strict=True):
            words[place], scores[place] = most_frequent_word, -np.inf
            _write_top_words(row, log_priors, point_of, words[place], scores[place])
            logs[place] = np.where(np.isfinite(scores[place]), row[point_of[words[place]]], -np.inf)

    space.map_row_blocks(rank_block, output_points)
    row_of = np.full(space.point_count, -1)
    row_of[output_points] = np.arange(len(output_points))
    return RankedGuesses(row_of, words, logs, scores)


@compile_loop
def _write_top_words(  # pragma: no cover - compiled
    row: FloatArray, log_priors: FloatArray, point_of: PointNumbers, words: npt.NDArray[np.int32], scores: FloatArray
) -> None:
    """Write the words of the largest log_priors[w] + row[point of w] and these scores, in order; first of equals."""
    last = scores.size - 1
    for word in range(log_priors.size):
        score = log_priors[word] + row[point_of[word]]
        if score <= scores[last]:
            continue
        place = last
        while place > 0 and scores[place - 1] < score:
            scores[place], words[place] = scores[place - 1], words[place - 1]
            place -= 1
        scores[place], words[place] = score, word


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
    mechanism: WordMechanism, prior: FloatArray, draws: int, seed: int, purpose: str
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return words drawn from a prior (draws,) and what the mechanism makes of them (draws,).

    Args:
        mechanism: the mechanism to draw from.
        prior: (n,) word frequencies; they sum to 1.
        draws: number of words.
        seed: public; words and draws follow from it.
        purpose: name of the use; each use has its own draws.
    """
    key = derive_key_from_seed(seed)
    start = derive_stream_start(key, "attacker", mechanism.fingerprint, purpose)
    generator = np.random.default_rng(list(start))
    words = generator.choice(len(prior), draws, p=prior).astype(np.int32)
    return words, mechanism.draw_words(words, Streams(key, [start], [draws]))


def fit_surrogate(mechanism: WordMechanism, prior: FloatArray, seed: int = 0) -> SurrogateLikelihood:
    """Return the surrogate whose guesses are right most often on the attacker's own draws.

    Args:
        mechanism: any mechanism.
        prior: (n,) word frequencies; they sum to 1.
        seed: public; the draws follow from it.
    """
    space = mechanism.space
    words, outputs = draw_from_prior(mechanism, prior, _FITTING_DRAWS, seed, "fit")
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

    space.map_row_blocks(score_block, points)
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
