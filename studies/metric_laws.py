"""Exponential laws over any metric: distances held in memory, what a law promises, and the scale of a given success."""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray, IntArray
from deniable.core.errors import NotTractable
from deniable.core.parallel import compile_loop, parallel_map
from deniable.core.randomness import Streams, derive_key_from_seed
from deniable.space import Space
from deniable.words.laws import ExponentialKernel, RingLaw
from deniable.words.laws.law import WordShares
from deniable.words.laws.tables import find_guessed_words, share_among_words
from deniable.words.outcomes import Outcomes, summarize_outcomes
from deniable.words.prior import compute_zipf_prior
from studies.reviews import Words

Steps = npt.NDArray[np.uint16]
"""Distances (n, n) in whole units."""
LANES = 4
"""Scales that one pass over all pairs evaluates."""
TOLERANCE = 5e-4
"""Difference of a success from its target up to which a scale is found."""
_MAX_STEPS = 30_000
"""Units of the largest distance of a metric that has none of its own."""
_MAX_PASSES = 20
_STRIP_ROWS = 256
_FIRST_FACTORS = (0.92, 1.0, 1.08, 1.16)
_STRIDE = 1.5
"""Factor to a scale beyond all that were tried."""
_EDGE = 1e-6
"""Distance of a success from 0 and 1 below which its logit grows no more."""


class WordLaw(Protocol):
    """The law P(y|w) proportional to exp(-s d(w, y)) on the points of a space."""

    @property
    def space(self) -> Space:
        """Its words."""

    @property
    def scale(self) -> float:
        """Its s."""

    @property
    def shares(self) -> WordShares:
        """How often each word stays, and how often it is guessed, under Zipf's law by the space's ranks."""

    def bound_losses(self) -> tuple[float, float]:
        """Return epsilon, the largest loss per unit of distance, and the largest loss of any two words."""

    def draw_points(self, points: Words, seed: int) -> Words:
        """Return a point (N,) drawn for each of N."""

    def log_likelihoods(self, point: int) -> FloatArray:
        """Return ln P(y|x) of a point y for each point x (n,), up to a constant."""


LawFamily = Callable[[Sequence[float]], Sequence[WordLaw]]
"""The laws of one metric at `LANES` scales."""


def draw_words(law: WordLaw, words: Words, seed: int) -> Words:
    """Return a word (N,) drawn for each of N: a point by the law, then any word of it."""
    space = law.space
    points = law.draw_points(space.point_by_word[words], seed)
    order, ends = space.words_by_point
    starts = np.concatenate([[0], ends[:-1]])
    places = np.random.default_rng(seed).integers(starts[points], ends[points])
    drawn: Words = order[places].astype(np.int32)
    return drawn


@dataclasses.dataclass(frozen=True, eq=False)
class StepLaw:
    """The law of the package on a graph whose points have equally many neighbours.

    Attributes:
        space: under a metric that counts steps.
        scale: s.
    """

    space: Space
    scale: float

    @functools.cached_property
    def _law(self) -> RingLaw:
        return RingLaw(self.space, ExponentialKernel(self.scale))

    @functools.cached_property
    def shares(self) -> WordShares:
        """See `WordLaw`."""
        return self._law.outcomes(compute_zipf_prior(len(self.space)))

    def bound_losses(self) -> tuple[float, float]:
        """See `WordLaw`."""
        epsilon, loss = self._law.exact_epsilon().epsilon, self._law.worst_loss()
        return epsilon, min(epsilon * self.space.diameter, math.inf if loss is None else loss)

    def draw_points(self, points: Words, seed: int) -> Words:
        """See `WordLaw`."""
        return self._law.sample(points, Streams(derive_key_from_seed(seed), [bytes(16)], [len(points)]))

    def log_likelihoods(self, point: int) -> FloatArray:
        """See `WordLaw`."""
        logs: FloatArray = -self.scale * self.space.distances([point])[0] - self._law.log_normalisers
        return logs


@dataclasses.dataclass(frozen=True, eq=False)
class StoredDistances:
    """The distances between the points of a space, in memory.

    Attributes:
        space: of n points.
        steps: (n, n) in whole units.
        unit: of distance.
    """

    space: Space
    steps: Steps
    unit: float

    def list_strips(self) -> list[Steps]:
        """Return the rows in strips, for passes on all cores."""
        return [self.steps[start : start + _STRIP_ROWS] for start in range(0, len(self.steps), _STRIP_ROWS)]

    def build_laws(self, scales: Sequence[float]) -> list["StoredLaw"]:
        """Return the laws at `LANES` scales, by two passes over all pairs.

        With pi(x) the largest prior of a word at x, the best guess from y is the x of the largest pi(x) P(y|x).
        """
        prior = compute_zipf_prior(len(self.space))
        guessed_words = find_guessed_words(self.space, prior)
        priors = prior[guessed_words]
        table = self.tabulate(scales)
        sums = np.concatenate(parallel_map(functools.partial(_sum_rows, table), self.list_strips()))
        find_maxima = functools.partial(_find_maxima, table, priors[:, None] / sums)
        maxima, inputs = map(np.concatenate, zip(*parallel_map(find_maxima, self.list_strips()), strict=True))
        laws = []
        for lane, scale in enumerate(scales):
            logs, best = np.log(sums[:, lane]), inputs[:, lane]
            likelihoods = maxima[:, lane] / priors[best]
            shares = share_among_words(self.space, np.exp(-logs), guessed_words, best, likelihoods)
            laws.append(StoredLaw(self, scale, logs, shares))
        return laws

    def tabulate(self, scales: Sequence[float]) -> FloatArray:
        """Return exp(-s d) (units, k) of each distance in units."""
        farthest = max(int(strip.max()) for strip in self.list_strips())
        decays: FloatArray = np.exp(-self.unit * np.arange(farthest + 1)[:, None] * np.asarray(scales))
        return decays


@dataclasses.dataclass(frozen=True, eq=False)
class StoredLaw:
    """The law over stored distances.

    Attributes:
        distances: between the points.
        scale: s.
        log_normalisers: ln Z (number of points,).
        shares: see `WordLaw`.
    """

    distances: StoredDistances
    scale: float
    log_normalisers: FloatArray
    shares: WordShares

    @property
    def space(self) -> Space:
        """See `WordLaw`."""
        return self.distances.space

    def bound_losses(self) -> tuple[float, float]:
        """See `WordLaw`."""
        strips = self.distances.list_strips()
        starts = range(0, len(self.distances.steps), _STRIP_ROWS)
        falls = self.scale * self.distances.unit
        bounds = parallel_map(
            lambda strip: _bound_pairs(*strip, falls, self.log_normalisers), zip(strips, starts, strict=True)
        )
        slope, loss = (max(values) for values in zip(*bounds, strict=True))
        return self.scale + slope / self.distances.unit, loss

    def draw_points(self, points: Words, seed: int) -> Words:
        """See `WordLaw`."""
        levels = np.random.default_rng(seed).random(len(points))
        order = np.lexsort((levels, points))
        distinct, starts = np.unique(points[order], return_index=True)
        table = self.distances.tabulate([self.scale])[:, 0]
        drawn = np.empty(len(points), dtype=np.int32)
        ends = np.append(starts[1:], len(points))
        chunks = np.array_split(np.arange(len(distinct)), max(1, len(distinct) // _STRIP_ROWS))

        def visit(chunk: IntArray) -> None:
            for x, start, end in zip(distinct[chunk], starts[chunk], ends[chunk], strict=True):
                targets = levels[order[start:end]] * math.exp(self.log_normalisers[x])
                drawn[order[start:end]] = _draw_from_row(table, self.distances.steps[x], targets)

        parallel_map(visit, chunks)
        return drawn

    def log_likelihoods(self, point: int) -> FloatArray:
        """See `WordLaw`."""
        falls = -self.scale * self.distances.unit
        logs: FloatArray = falls * self.distances.steps[point] - self.log_normalisers
        return logs


def store_distances(space: Space) -> StoredDistances:
    """Return the distances of a space, rounded to 2^ceil(log2(D / 30,000)): a part in 10,000 of the diameter D."""
    count = space.point_count
    farthest = float(space.distances([0]).max())
    unit = 2.0 ** math.ceil(math.log2(2 * farthest / _MAX_STEPS))
    steps: Steps = np.empty((count, count), dtype=np.uint16)

    def visit(first: int, rows: FloatArray) -> None:
        np.multiply(rows, 1 / unit, out=rows)
        np.maximum(np.rint(rows, out=rows), 1.0, out=rows)
        rows[np.arange(len(rows)), first + np.arange(len(rows))] = 0.0
        steps[first : first + len(rows)] = rows

    space.map_row_blocks(visit, np.arange(count))
    return StoredDistances(space, steps, unit)


@dataclasses.dataclass(frozen=True)
class Target:
    """What the best guesser shall have.

    Attributes:
        aim: about which words: ``average`` or ``rare``.
        success: the share of them that is guessed.
    """

    aim: str
    success: float

    def measure(self, outcomes: Outcomes) -> float:
        """Return the success under a law."""
        success = outcomes.guessed if self.aim == "average" else outcomes.rare_guessed
        return 0.0 if success is None else success


def summarize_law(law: WordLaw) -> Outcomes:
    """Return what words become under a law, when they follow Zipf's law by the space's ranks."""
    return summarize_outcomes(law.space, compute_zipf_prior(len(law.space)), law.shares)


def find_laws(build: LawFamily, targets: Sequence[Target], start: float) -> list[tuple[WordLaw, Outcomes]]:
    """Return for each target the law of its success, within `TOLERANCE`.

    Args:
        build: the laws of a metric by their scales.
        targets: up to `LANES`.
        start: a scale to begin near.

    Raises:
        NotTractable: no scale was found, as where a target is below the share of the most frequent word.
    """
    tried: list[tuple[WordLaw, Outcomes]] = []
    scales = [start * factor for factor in _FIRST_FACTORS]
    for number in range(_MAX_PASSES):
        tried += [(law, summarize_law(law)) for law in build(scales)]
        found = [min(tried, key=lambda pair: abs(target.measure(pair[1]) - target.success)) for target in targets]
        open_targets = [
            target
            for target, (_, outcomes) in zip(targets, found, strict=True)
            if abs(target.measure(outcomes) - target.success) > TOLERANCE
        ]
        if not open_targets:
            return found
        trials = [_guess_scale(tried, target, is_middle=number % 3 == 2) for target in open_targets]  # noqa: PLR2004
        scales = [*trials, *[trials[-1] * (1 + place / 1000) for place in range(1, LANES + 1 - len(trials))]]
    raise NotTractable(f"No scale was found at which the attacker guesses {targets[0].success} of words: set others.")


def _guess_scale(tried: Sequence[tuple[WordLaw, Outcomes]], target: Target, *, is_middle: bool) -> float:
    """Return a scale to try: by the straight line of ln s over logit V inside the bracket, or its middle."""
    pairs = sorted((law.scale, target.measure(outcomes)) for law, outcomes in tried)
    below = [pair for pair in pairs if pair[1] <= target.success]
    above = [pair for pair in pairs if pair[1] > target.success]
    if not above:
        return below[-1][0] * _STRIDE
    if not below:
        return above[0][0] / _STRIDE
    (low, least), (high, greatest) = below[-1], above[0]
    share = (_logit(target.success) - _logit(least)) / (_logit(greatest) - _logit(least))
    return math.sqrt(low * high) if is_middle else float(low * (high / low) ** share)


def _logit(share: float) -> float:
    inner = min(max(share, _EDGE), 1 - _EDGE)
    return math.log(inner / (1 - inner))


@functools.partial(compile_loop, relaxed=True)
def _sum_rows(table: FloatArray, steps: Steps) -> FloatArray:  # pragma: no cover - compiled
    """Return the sums (r, 4) of table[steps] over the columns of (r, n) steps."""
    sums = np.empty((steps.shape[0], 4))
    for i in range(steps.shape[0]):
        a = b = c = d = 0.0
        for j in range(steps.shape[1]):
            row = steps[i, j]
            a += table[row, 0]
            b += table[row, 1]
            c += table[row, 2]
            d += table[row, 3]
        sums[i, 0], sums[i, 1], sums[i, 2], sums[i, 3] = a, b, c, d
    return sums


@compile_loop
def _find_maxima(
    table: FloatArray, chances: FloatArray, steps: Steps
) -> tuple[FloatArray, IntArray]:  # pragma: no cover - compiled
    """Return the maxima (r, 4) of chances[j] table[steps] over the columns j of (r, n) steps, and the first j."""
    maxima, places = np.zeros((steps.shape[0], 4)), np.zeros((steps.shape[0], 4), dtype=np.int64)
    for i in range(steps.shape[0]):
        best, place = maxima[i], places[i]
        for j in range(steps.shape[1]):
            row = steps[i, j]
            for lane in range(4):
                value = chances[j, lane] * table[row, lane]
                if value > best[lane]:
                    best[lane], place[lane] = value, j
    return maxima, places


@compile_loop
def _bound_pairs(
    steps: Steps, first: int, fall: float, logs: FloatArray
) -> tuple[float, float]:  # pragma: no cover - compiled
    """Return the largest |ln Z(x) - ln Z(y)| per unit of distance, and the largest loss, of the pairs of a strip."""
    slope = loss = 0.0
    for i in range(steps.shape[0]):
        for j in range(first + i):
            difference, distance = abs(logs[first + i] - logs[j]), float(steps[i, j])
            slope = max(slope, difference / distance)
            loss = max(loss, difference + fall * distance)
    return slope, loss


@compile_loop
def _draw_from_row(
    table: FloatArray, steps: Steps, targets: FloatArray
) -> npt.NDArray[np.int32]:  # pragma: no cover - compiled
    """Return for each of increasing targets (k,) the first point whose cumulative sum of table[steps] exceeds it."""
    drawn = np.full(targets.size, np.int32(0), dtype=np.int32)
    total, place = 0.0, 0
    for point in range(steps.size):
        total += table[steps[point]]
        while place < targets.size and targets[place] < total:
            drawn[place] = point
            place += 1
        if place == targets.size:
            break
    return drawn
