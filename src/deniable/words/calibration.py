"""The largest scale of an exponential law whose exact epsilon is at most the one requested."""

import math
import time

import numpy as np
from scipy.optimize import brentq

from deniable.cache import remember
from deniable.errors import InputError
from deniable.space.metrics import Array
from deniable.space.space import Space
from deniable.words.exponential import Exponential, Extreme, extremes, finding, finding_name, pair_bounds, prove
from deniable.words.law import Finding, remember_finding

PROOF = "exact epsilon over all pairs of words and all outputs, computed for this very space"
"""The ground of a calibrated guarantee."""
TOLERANCE = 1e-7
"""Share of epsilon that may stay unused."""
_PAIRS = 8
"""Pairs that each proof adds to those that bind the scale."""
_PROOFS = 40
_FIRST = 0.85


def calibrated(
    space: Space, epsilon: float, weights: Array | None = None, *, guess: float | None = None
) -> Exponential:
    """Return the law that `calibrate` finds; scale and proof are remembered.

    A remembered scale is used only if the law it gives is proved to suit, by a remembered proof or anew.
    """
    weighted = Exponential(1.0, weights=weights).fingerprint

    def compute() -> dict[str, float]:
        law, proof = calibrate(space, epsilon, weights, guess=guess)
        # What has been proved on the way need not be proved again.
        remember_finding(finding_name(space, law), len(space.points), lambda: proof)
        return {"scale": law.scale}

    def suits(found: dict[str, float]) -> bool:
        if not epsilon / 2 <= found["scale"] <= epsilon:
            return False
        law = Exponential(found["scale"], weights=weights)
        proof = remember_finding(finding_name(space, law), len(space.points), lambda: prove(space, law))
        return proof.epsilon <= epsilon

    scale = remember(f"scale-{space.fingerprint}-{weighted}-{epsilon!r}", ("scale",), compute, suits)["scale"]
    return Exponential(scale, weights=weights)


def calibrate(
    space: Space,
    epsilon: float,
    weights: Array | None = None,
    *,
    guess: float | None = None,
    workers: int | None = None,
) -> tuple[Exponential, Finding]:
    """Return the law c(y) exp(-s d) / Z(w) with the largest s found whose exact epsilon is at most epsilon.

    By cutting planes: the exact epsilon at a trial scale names the worst pairs; the next trial is
    the largest scale that suits all pairs named so far, which needs Z of their words alone.
    s = epsilon / 2 suits every pair, since ln Z is s-Lipschitz, and no s above epsilon does. The law
    returned is proved over all pairs, rounding included, and within `TOLERANCE` of epsilon.

    Args:
        space: the domain, of a metric that has a name.
        epsilon: > 0.
        weights: c (number of points,); None for c = 1.
        guess: a scale to try first. A good one saves time; the result does not rest on it.
        workers: threads.

    Raises:
        InputError: epsilon is so small that rounding alone may exceed it.
        NotTractable: the rounding of the space's metric is unknown.
    """
    low, high = epsilon / 2, epsilon
    best: tuple[Exponential, Finding] | None = None
    binding = _Binding(space, weights)
    scale = _FIRST * epsilon if guess is None else min(max(guess, low), high)
    for _ in range(_PROOFS):
        law = Exponential(scale, weights=weights)
        start = time.perf_counter()
        worst = extremes(space, law, workers)
        if worst[0].epsilon > epsilon:
            high = scale
        else:
            low, best = scale, (law, finding(space, law, worst, start))
            if worst[0].epsilon >= (1 - TOLERANCE) * epsilon or scale == high:
                break
        binding.add(worst[:_PAIRS])
        scale = binding.largest(low, high, (1 - TOLERANCE / 2) * epsilon)
        if math.isnan(scale) or high - low < TOLERANCE * epsilon / 100:
            break
    if best is None:
        words = " and ".join(repr(space.word_at(point)) for point in (worst[0].input, worst[0].other))
        if math.isinf(worst[0].epsilon):
            raise InputError(
                f"The 'epsilon' parameter must be smaller for this space: the loss between {words} is too large for a "
                f"float. Got {epsilon!r}: lower it."
            )
        raise InputError(
            f"The 'epsilon' parameter must be larger for this space: rounding alone may add {worst[0].epsilon:.2g} "
            f"between {words}. Got {epsilon!r}: raise it, or leave one of the two words out."
        )
    return best


class _Binding:
    """The pairs of words that bind the scale, with the distances of their words to all points."""

    def __init__(self, space: Space, weights: Array | None) -> None:
        self._space, self._weights = space, weights
        self._distances: dict[int, Array] = {}
        self._pairs: dict[tuple[int, int], None] = {}

    def add(self, worst: list[Extreme]) -> None:
        self._pairs |= {(one.input, one.other): None for one in worst}
        missing = sorted({point for pair in self._pairs for point in pair} - {*self._distances})
        self._distances.update(zip(missing, self._space.distances(missing), strict=True))

    def epsilon(self, scale: float) -> float:
        """Return the exact epsilon over these pairs alone."""
        law = Exponential(scale, weights=self._weights)
        points = [*self._distances]
        decay = law.decay(np.array([self._distances[point] for point in points]))
        sums = decay.sum(axis=1) if self._weights is None else decay @ self._weights
        logs = dict(zip(points, np.log(sums), strict=True))
        apart = np.array([self._distances[w][other] for w, other in self._pairs])
        lifts = np.array([abs(logs[other] - logs[w]) for w, other in self._pairs])
        return float(pair_bounds(self._space, law, apart, lifts).max())

    def largest(self, low: float, high: float, epsilon: float) -> float:
        """Return the scale in [low, high] at which epsilon is reached; nan where low exceeds it."""
        if self.epsilon(low) > epsilon:
            return math.nan
        if self.epsilon(high) <= epsilon:
            return high
        return float(brentq(lambda scale: self.epsilon(scale) - epsilon, low, high, xtol=1e-13 * high, rtol=1e-13))
