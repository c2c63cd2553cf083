"""The words that may stand behind each output, likeliest first."""

import dataclasses
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from deniable.errors import InputError, NotTractable, bad_parameter
from deniable.measure.attackers.surrogate import Surrogate, fitted
from deniable.parallel import compiled
from deniable.space.metrics import Array
from deniable.space.space import Points, Space
from deniable.words import WordMechanism
from deniable.words.exponential import Exponential, log_normalisers
from deniable.words.recovery import SLOW

_LEAST = 1e-300
"""What a probability that quadrature finds to be 0 counts as."""


@dataclasses.dataclass(frozen=True, eq=False)
class Likelihood:
    """How likely each input is to have become an output, as the attacker computes it.

    Attributes:
        space: of the words.
        logs: function of outputs (k,) and their distances (k, number of points) to all points, which it may
            overwrite, that returns ln P(y|w) (k, number of points) up to a number of y's own.
        optimal: whether it is the exact law; False for a surrogate, whose guesses can be bettered.
    """

    space: Space
    logs: Callable[[Points, Array], Array]
    optimal: bool


def likelihood(mechanism: WordMechanism, prior: Array, *, seed: int = 0, workers: int | None = None) -> Likelihood:
    """Return what an attacker who knows the mechanism computes with.

    The exact law in the exponential family, and in spaces of at most 3,000 points wherever a law is known; else
    a surrogate that he fits to draws of his own.

    Args:
        mechanism: known to the attacker, as are all its parameters.
        prior: (n,) how frequent words are, sums to 1; for the draws behind a surrogate.
        seed: public, of those draws.
        workers: threads.
    """
    space, law = mechanism.space, mechanism.closed_form
    if law is not None:
        return Likelihood(space, _family(law, log_normalisers(space, law, workers)), optimal=True)
    if mechanism.has_law and len(space.points) <= SLOW:
        try:
            return Likelihood(space, _table(mechanism, workers), optimal=True)
        except NotTractable:
            pass  # an integral that two grids disagree about: the attacker, too, goes on with a surrogate
    return Likelihood(space, fitted(mechanism, prior, seed, workers).logs, optimal=False)


def _family(law: Exponential, logs: Array) -> Callable[[Points, Array], Array]:
    """Return -s min(d, gamma) - ln Z(w); ln c(y) is a number of y's own."""
    near = Surrogate(law.scale, 1, 0.0, law.cutoff)

    def of(outputs: Points, distances: Array) -> Array:
        scores = near.logs(outputs, distances)
        scores -= logs
        return scores

    return of


def _table(mechanism: WordMechanism, workers: int | None) -> Callable[[Points, Array], Array]:
    """Return the law by output, from the rows of all inputs."""
    blocks = mechanism.space.sweep(
        lambda _, distances: np.log(np.maximum(mechanism.rows(distances), _LEAST)),
        range(len(mechanism.space.points)),
        workers,
    )
    table = np.ascontiguousarray(np.concatenate(blocks).T)

    def of(outputs: Points, distances: Array) -> Array:
        del distances
        rows: Array = table[outputs]
        return rows

    return of


@dataclasses.dataclass(frozen=True, eq=False)
class Guesses:
    """The K likeliest inputs behind each of m different output points.

    Attributes:
        row_of: (number of points,) the row of each output point; -1 for one that no row was made for.
        words: (m, K) word numbers, likeliest first; n for an unknown word.
        logs: (m, K) ln P(y|w), up to a number of y's own; -infinity where fewer words are possible at all.
        scores: (m, K) ln pi(w) + ln P(y|w), descending.
    """

    row_of: npt.NDArray[np.int64]
    words: npt.NDArray[np.int32]
    logs: Array
    scores: Array


def guesses(
    likely: Likelihood, prior: Array, outputs: npt.NDArray[np.int32], candidates: int, workers: int | None = None
) -> Guesses:
    """Return the likeliest words behind outputs.

    Args:
        likely: the law, or what stands for it.
        prior: (n,) how frequent words are; or (n + 1,), the last for unknown words, which are drawn as the
            public one is.
        outputs: (N,) word numbers that were released.
        candidates: K, at least 1; at most as many as the prior is long are returned.
        workers: threads.

    Raises:
        InputError: no outputs, or no candidates asked for.
    """
    if isinstance(candidates, bool) or not isinstance(candidates, int) or candidates < 1:
        raise bad_parameter("guesses", "candidates", "an int of at least 1", candidates)
    if not len(outputs):
        raise InputError("Guesses need words to guess. Got none: give texts with words.")
    space = likely.space
    chosen = np.unique(space.point_of[outputs])
    point_of = space.point_of
    if len(prior) > len(space):
        point_of = np.append(point_of, point_of[space.number(space.unknown)])
    shape = len(chosen), min(candidates, len(prior))
    words, logs, scores = np.empty(shape, dtype=np.int32), np.empty(shape), np.empty(shape)
    with np.errstate(divide="ignore"):
        heights = np.log(prior)
    likeliest = int(np.argmax(prior))

    def visit(first: int, distances: Array) -> None:
        here = slice(first, first + len(distances))
        found = likely.logs(chosen[here], distances)
        for row, at in zip(found, range(here.start, here.stop), strict=True):
            words[at], scores[at] = likeliest, -np.inf
            _top(row, heights, point_of, words[at], scores[at])
            logs[at] = np.where(np.isfinite(scores[at]), row[point_of[words[at]]], -np.inf)

    space.sweep(visit, chosen, workers)
    row_of = np.full(len(space.points), -1)
    row_of[chosen] = np.arange(len(chosen))
    return Guesses(row_of, words, logs, scores)


@compiled
def _top(  # pragma: no cover - compiled
    row: Array, heights: Array, point_of: Points, words: npt.NDArray[np.int32], scores: Array
) -> None:
    """Write the words of the largest heights[w] + row[point of w] and these, in order; of equals the first."""
    last = scores.size - 1
    for word in range(heights.size):
        score = heights[word] + row[point_of[word]]
        if score <= scores[last]:
            continue
        at = last
        while at > 0 and scores[at - 1] < score:
            scores[at], words[at] = scores[at - 1], words[at - 1]
            at -= 1
        scores[at], words[at] = score, word
