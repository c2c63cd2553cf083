"""Plausible deniability of single words: how often a word stays, and how many words it may become.

N_w and S_w of Feyisetan et al. 2020, as the truncated Gumbel paper (Xu et al. 2021, Section 6.5, Figures 1
and 2) reports them.
"""

import dataclasses
import functools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from deniable.errors import InputError, NotTractable, bad_parameter
from deniable.measure.estimate import Estimate, exact, mean
from deniable.randomness import Streams, fresh_key, key_from_seed, stream_start
from deniable.space import Space
from deniable.space.metrics import Array
from deniable.words import WordMechanism, law
from deniable.words.recovery import SLOW

Counts = npt.NDArray[np.int64]
MOST_RUNS = 10_000_000
_DRAWN = 1 << 21
"""Draws held at a time."""


@dataclasses.dataclass(frozen=True, eq=False)
class Deniability:
    """What k words became in a number of runs each.

    Attributes:
        words: the k words, as the space has them.
        runs: how often each was drawn.
        unchanged: N_w (k,), how many of the runs returned the word itself.
        distinct: S_w (k,), how many different words the runs returned, the word itself among them.
        expected_unchanged: E N_w (k,), computed from the law; None where none is known.
        expected_distinct: E S_w (k,), the same.
        whole: whether these are all words of the space.
    """

    words: tuple[str, ...]
    runs: int
    unchanged: Counts
    distinct: Counts
    expected_unchanged: Array | None
    expected_distinct: Array | None
    whole: bool

    @property
    def mean_unchanged(self) -> Estimate:
        """Mean of N_w, with Student's interval over words."""
        return mean(self.unchanged)

    @property
    def mean_distinct(self) -> Estimate:
        """Mean of S_w, with Student's interval over words."""
        return mean(self.distinct)

    @property
    def mean_expected_unchanged(self) -> Estimate | None:
        """Mean of E N_w: exact where these are all words of the space, else with Student's interval over words."""
        return self._mean(self.expected_unchanged)

    @property
    def mean_expected_distinct(self) -> Estimate | None:
        """Mean of E S_w: exact where these are all words of the space, else with Student's interval over words."""
        return self._mean(self.expected_distinct)

    @property
    def deviation_unchanged(self) -> float:
        """Standard deviation of N_w over words; 0 for one word alone."""
        return _deviation(self.unchanged)

    @property
    def deviation_distinct(self) -> float:
        """Standard deviation of S_w over words; 0 for one word alone."""
        return _deviation(self.distinct)

    def _mean(self, expected: Array | None) -> Estimate | None:
        if expected is None:
            return None
        return exact(float(expected.mean())) if self.whole else mean(expected)


def deniability(
    mechanism: WordMechanism,
    words: Sequence[str] | None = None,
    *,
    runs: int = 1_000,
    seed: int | None = None,
    workers: int | None = None,
) -> Deniability:
    """Return N_w and S_w of words, drawn and, where the law is known, expected.

    What is drawn for a word does not depend on the other words. Expectations are left out where the law is
    an integral and 9 million probabilities or more would have to be computed, which takes hours, or
    where the integral is not accurate enough.

    Args:
        mechanism: draws the words.
        words: of the space, each once; None for all of them.
        runs: draws of each word, 1 to 10,000,000.
        seed: public, for results that can be repeated; None for fresh noise.
        workers: threads; the result does not depend on them.

    Raises:
        InputError: a word is not in the space or is listed twice, there is no word, or runs is out of range.
    """
    if isinstance(runs, bool) or not isinstance(runs, int) or not 1 <= runs <= MOST_RUNS:
        raise bad_parameter("deniability", "runs", f"an int from 1 to {MOST_RUNS:,}", runs)
    space = mechanism.space
    numbers = _numbers(space, words)
    chosen = tuple(space.words[number] for number in numbers.tolist())
    key = fresh_key() if seed is None else key_from_seed(seed)
    starts = [stream_start(key, "deniability", mechanism.fingerprint, word) for word in chosen]
    unchanged, distinct = np.empty((2, len(numbers)), dtype=np.int64)
    step = max(_DRAWN // runs, 1)
    for at in range(0, len(numbers), step):
        here = slice(at, at + step)
        given = numbers[here]
        streams = Streams(key, starts[here], [runs] * len(given))
        drawn = mechanism.draw(np.repeat(given, runs), streams, workers).reshape(len(given), runs)
        unchanged[here] = (drawn == given[:, None]).sum(axis=1)
        drawn.sort(axis=1)
        distinct[here] = 1 + (np.diff(drawn, axis=1) != 0).sum(axis=1)
    kept, different = _expected(mechanism, numbers, runs, workers)
    return Deniability(chosen, runs, unchanged, distinct, kept, different, whole=len(numbers) == len(space))


def _numbers(space: Space, words: Sequence[str] | None) -> npt.NDArray[np.int32]:
    """Return the numbers (k,) of the words, which are checked."""
    if words is None:
        return np.arange(len(space), dtype=np.int32)
    if isinstance(words, str):
        raise bad_parameter("deniability", "words", "a list of words, or None for all", words)
    numbers = np.array([space.number(word) for word in words], dtype=np.int32)
    if not len(numbers):
        raise InputError("The 'words' parameter of deniability holds no word: give at least one, or None for all.")
    values, times = np.unique(numbers, return_counts=True)
    if len(values) < len(numbers):
        twice = space.words[values[np.argmax(times)]]
        raise InputError(f"The 'words' parameter of deniability lists {twice!r} twice: list each word once.")
    return numbers


def _expected(
    mechanism: WordMechanism, numbers: npt.NDArray[np.int32], runs: int, workers: int | None
) -> tuple[Array, Array] | tuple[None, None]:
    """Return E N_w and E S_w (k,) of the words, or twice None where the law is out of reach."""
    space = mechanism.space
    points, back = np.unique(space.point_of[numbers], return_inverse=True)
    if not mechanism.has_law or (not mechanism.tabulated and len(points) * len(space.points) >= SLOW**2):
        return None, None
    sizes = np.bincount(space.point_of).astype(np.float64)
    visit = functools.partial(_expectations, mechanism, points, sizes, runs)
    try:
        kept, different = np.concatenate(space.sweep(visit, points, workers)).T
    except NotTractable:  # an integral that two grids do not agree on
        return None, None
    return kept[back], different[back]


def _expectations(
    mechanism: WordMechanism, points: npt.NDArray[np.int32], sizes: Array, runs: int, first: int, distances: Array
) -> Array:
    """Return E N_w and E S_w (k, 2) of a block of input points, from their distances to all points (k, n).

    An output point is shared by ``sizes`` (n,) words, which are equally likely. A word of probability p is seen
    in some run with probability 1 - (1 - p)^runs.
    """
    out = np.empty((len(distances), 2))
    for i, point in enumerate(points[first : first + len(distances)]):
        row = mechanism.rows(distances[i : i + 1])
        # Draws come from integer tables, whose least entries are what far words are drawn by.
        chances = law.entries(row)[0] / law.TOTAL if mechanism.tabulated else row[0]
        shares = np.clip(chances / sizes, 0.0, 1.0)
        with np.errstate(divide="ignore"):
            seen = -np.expm1(runs * np.log1p(-shares))
        out[i] = runs * shares[point], sizes @ seen
    return out


def _deviation(counts: Counts) -> float:
    return float(counts.std(ddof=1)) if len(counts) > 1 else 0.0
