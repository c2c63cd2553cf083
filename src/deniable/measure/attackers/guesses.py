"""The words behind each output of a mechanism, likeliest first, under the exact law or a surrogate."""

import dataclasses
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError, NotTractable, check_count
from deniable.core.parallel import compile_loop
from deniable.measure.attackers.surrogate import SurrogateLikelihood, fit_surrogate
from deniable.space.space import PointNumbers, Space
from deniable.words import WordMechanism
from deniable.words.laws import ExponentialKernel, ExponentialLaw, Law
from deniable.words.laws.tabulated import MAX_MATRIX_INPUTS

_LEAST_PROBABILITY = 1e-300
"""Probabilities that quadrature computes as 0 are taken as this."""


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


def build_likelihood(
    mechanism: WordMechanism, prior: FloatArray, *, seed: int = 0, workers: int | None = None
) -> WordLikelihood:
    """Return the likelihood that an attacker who knows the mechanism uses.

    It is the exact law in the exponential family, and in spaces of at most 3,000 points wherever a law is known; else
    a surrogate fitted to the attacker's own draws.

    Args:
        mechanism: the mechanism, known to the attacker with all its parameters.
        prior: (n,) word frequencies for those draws; they sum to 1.
        seed: public; those draws follow from it.
        workers: number of threads.
    """
    space, law = mechanism.space, mechanism.law
    if isinstance(law, ExponentialLaw):
        return WordLikelihood(space, _build_exponential_logs(law.kernel, law.log_normalisers), is_exact=True)
    if law.has_rows and space.point_count <= MAX_MATRIX_INPUTS:
        try:
            return WordLikelihood(space, _build_table_logs(law, workers), is_exact=True)
        except NotTractable:
            pass  # the integral is not accurate enough: the attacker uses a surrogate instead
    return WordLikelihood(space, fit_surrogate(mechanism, prior, seed, workers).compute_logs, is_exact=False)


def _build_exponential_logs(
    kernel: ExponentialKernel, logs: FloatArray
) -> Callable[[PointNumbers, FloatArray], FloatArray]:
    """Return -s min(d, gamma) - ln Z(w); ln c(y) is a number of y's own."""
    exponential = SurrogateLikelihood(kernel.scale, 1, 0.0, kernel.cutoff)

    def compute_logs(outputs: PointNumbers, distances: FloatArray) -> FloatArray:
        scores = exponential.compute_logs(outputs, distances)
        scores -= logs
        return scores

    return compute_logs


def _build_table_logs(law: Law, workers: int | None) -> Callable[[PointNumbers, FloatArray], FloatArray]:
    """Return the law by output, computed from the rows of all inputs."""
    blocks = law.map_rows(
        lambda _, rows: np.log(np.maximum(rows, _LEAST_PROBABILITY)), np.arange(law.space.point_count), workers
    )
    log_probabilities = np.ascontiguousarray(np.concatenate(blocks).T)

    def compute_logs(outputs: PointNumbers, distances: FloatArray) -> FloatArray:
        del distances
        rows: FloatArray = log_probabilities[outputs]
        return rows

    return compute_logs


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
    workers: int | None = None,
) -> RankedGuesses:
    """Return the likeliest words behind outputs.

    Args:
        word_likelihood: the law or a surrogate.
        prior: (n,) word frequencies; or (n + 1,), the last for unknown words, which are drawn as the space's public
            word for unknown ones.
        outputs: (N,) released word numbers.
        candidates: K, at least 1; cut to the length of the prior.
        workers: number of threads.

    Raises:
        InputError: no outputs, or no candidates asked for.
    """
    check_count("rank_guesses", "candidates", candidates)
    if not len(outputs):
        raise InputError("An attack needs released words. Got none: give texts with words.")
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

    space.map_row_blocks(rank_block, output_points, workers)
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
