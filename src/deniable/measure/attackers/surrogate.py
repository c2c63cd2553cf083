"""What an attacker computes with where a mechanism's law is out of reach: a law by distance, fitted to draws.

With kappa and the power p found by trial, and a term for words that were left as they are::

    ln P(y|w)  is taken as  -kappa min(d(w, y), cutoff)^p + own [w = y]

The attacker knows the mechanism, so that he can draw from it as often as he likes and keep what guesses best.
"""

import dataclasses
import functools
import math

import numpy as np
import numpy.typing as npt

from deniable.parallel import compiled
from deniable.randomness import Streams, key_from_seed, stream_start
from deniable.space.metrics import Array
from deniable.space.space import Points
from deniable.words import WordMechanism
from deniable.words.law import likeliest

_DRAWS = 2_000
"""Draws that the attacker fits to."""
_STRENGTHS = np.geomspace(1.0, 400.0, 13)
"""kappa times the p-th power of a typical distance: from next to nothing to more than any prior outweighs."""
_POWERS = (1, 2)
_OWN = (-4.0, -2.0, 0.0, 1.0, 2.0, 4.0, 8.0)
_TIE = 1e-9
"""Scores closer than this are equal but for rounding."""


@dataclasses.dataclass(frozen=True)
class Surrogate:
    """A likelihood that depends on the distance alone.

    Attributes:
        kappa: in nats per (unit of distance)^power.
        power: p, 1 or 2.
        own: nats added where the output is the input.
        cutoff: distances beyond it count as it.
    """

    kappa: float
    power: int
    own: float
    cutoff: float = math.inf

    def logs(self, outputs: Points, distances: Array) -> Array:
        """Return ln P(y|w) (k, number of points) of outputs (k,), up to a number of y's own; overwrites distances."""
        for output, row in zip(outputs.tolist(), distances, strict=True):
            _fall(row, self.kappa, self.power, self.cutoff)
            row[output] += self.own
        return distances


def sample(
    mechanism: WordMechanism, prior: Array, draws: int, seed: int, use: str, workers: int | None = None
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return words drawn from a prior (draws,) and what the mechanism makes of them (draws,).

    Args:
        mechanism: whose draws the attacker makes himself.
        prior: (n,) sums to 1.
        draws: how many.
        seed: public.
        use: what they are for; each use has draws of its own.
        workers: threads.
    """
    key = key_from_seed(seed)
    start = stream_start(key, "attacker", mechanism.fingerprint, use)
    generator = np.random.default_rng(list(start))
    words = generator.choice(len(prior), draws, p=prior).astype(np.int32)
    return words, mechanism.draw(words, Streams(key, [start], [draws]), workers)


def fitted(mechanism: WordMechanism, prior: Array, seed: int = 0, workers: int | None = None) -> Surrogate:
    """Return the surrogate whose guesses are right most often on the attacker's own draws.

    Args:
        mechanism: any that can be drawn from.
        prior: (n,) how frequent words are, sums to 1.
        seed: public.
        workers: threads.
    """
    space = mechanism.space
    words, outputs = sample(mechanism, prior, _DRAWS, seed, "fit", workers)
    points, true = space.point_of[outputs], space.point_of[words]
    tops = likeliest(space, prior)
    named = prior[words] >= tops[true]  # of the words at one point a guess names the most frequent
    with np.errstate(divide="ignore"):
        heights = np.log(tops)
    typical = float(np.median(space.distances(points[:64])))
    grid = [(float(s) / typical**power, power) for power in _POWERS for s in _STRENGTHS]
    others, margins = np.empty((len(grid), _DRAWS), dtype=np.int64), np.empty((len(grid), _DRAWS))

    def visit(first: int, distances: Array) -> None:
        for draw, row in enumerate(distances, first):
            for place, (kappa, power) in enumerate(grid):
                best, score = _other(row, heights, points[draw], kappa, power)
                others[place, draw], margins[place, draw] = best, score - heights[points[draw]]

    space.sweep(visit, points, workers)
    found = Surrogate(grid[0][0], grid[0][1], 0.0)
    most = (-1, -math.inf)
    for (kappa, power), other, margin in zip(grid, others, margins, strict=True):
        for own in _OWN:
            right = int((named & (np.where(margin > own, other, points) == true)).sum())
            # Of equal successes the one counts that is surest where it is right and least sure where it is wrong.
            loss = np.logaddexp(0.0, np.where(points == true, margin - own, own - margin)).sum()
            if (right, -loss) > most:
                found, most = Surrogate(kappa, power, own), (right, -loss)
    return found


@compiled
def _fall(row: Array, kappa: float, power: int, cutoff: float) -> None:  # pragma: no cover - compiled
    """Replace d by -kappa min(d, cutoff)^power."""
    if power == 1:
        for y in range(row.size):
            row[y] = -kappa * min(row[y], cutoff)
    else:
        for y in range(row.size):
            row[y] = -kappa * min(row[y], cutoff) ** power


@compiled
def _other(row: Array, heights: Array, output: int, kappa: float, power: int) -> tuple[int, float]:  # pragma: no cover
    """Return the point of the largest heights[w] - kappa d^power but for the output's own, and that score."""
    own = row[output]
    row[output] = np.inf
    most = _highest(row, heights, kappa, power)
    best = 0
    while heights[best] - kappa * row[best] ** power < most - _TIE:
        best += 1
    row[output] = own
    return best, most


@functools.partial(compiled, relaxed=True)
def _highest(row: Array, heights: Array, kappa: float, power: int) -> float:  # pragma: no cover - compiled
    """Return the maximum over w of heights[w] - kappa d^power."""
    most = -np.inf
    if power == 1:
        for w in range(row.size):
            most = max(most, heights[w] - kappa * row[w])
    else:
        for w in range(row.size):
            most = max(most, heights[w] - kappa * (row[w] * row[w]))
    return most
