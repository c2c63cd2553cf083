"""Plausible deniability of single words: how often a word stays, and how many words it may become.

N_w and S_w of Feyisetan et al. 2020, as Xu et al. 2021 (Section 6.5, Figures 1 and 2) report them.
"""

import dataclasses
import functools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError, NotTractable, check_count, make_parameter_error
from deniable.core.randomness import Streams, derive_key_from_seed, derive_stream_start, generate_key
from deniable.measure.intervals import Estimate, as_exact_estimate, estimate_mean
from deniable.space import Space
from deniable.words import WordMechanism
from deniable.words.laws import Law, tables
from deniable.words.laws.tabulated import MAX_MATRIX_INPUTS

WordCounts = npt.NDArray[np.int64]
MAX_RUNS = 10_000_000
_DRAWS_AT_A_TIME = 1 << 21
"""Draws in memory at a time."""


@dataclasses.dataclass(frozen=True, eq=False)
class Deniability:
    """What k words became in a number of runs each.

    Attributes:
        words: the k words, as the space spells them.
        runs: number of draws for each word.
        unchanged: N_w (k,), the number of runs that returned the word itself.
        distinct: S_w (k,), the number of different words that the runs returned, the word itself included.
        expected_unchanged: E N_w (k,), computed from the law; None where no law is known.
        expected_distinct: E S_w (k,), likewise.
        is_whole_space: whether these are all words of the space.
    """

    words: tuple[str, ...]
    runs: int
    unchanged: WordCounts
    distinct: WordCounts
    expected_unchanged: FloatArray | None
    expected_distinct: FloatArray | None
    is_whole_space: bool

    @property
    def mean_unchanged(self) -> Estimate:
        """Mean of N_w, with Student's interval over words."""
        return estimate_mean(self.unchanged)

    @property
    def mean_distinct(self) -> Estimate:
        """Mean of S_w, with Student's interval over words."""
        return estimate_mean(self.distinct)

    @property
    def mean_expected_unchanged(self) -> Estimate | None:
        """Mean of E N_w: exact where these are all words of the space, else with Student's interval over words."""
        return self._estimate_expected_mean(self.expected_unchanged)

    @property
    def mean_expected_distinct(self) -> Estimate | None:
        """Mean of E S_w: exact where these are all words of the space, else with Student's interval over words."""
        return self._estimate_expected_mean(self.expected_distinct)

    @property
    def std_unchanged(self) -> float:
        """Standard deviation of N_w over words; 0 for one word alone."""
        return _compute_std(self.unchanged)

    @property
    def std_distinct(self) -> float:
        """Standard deviation of S_w over words; 0 for one word alone."""
        return _compute_std(self.distinct)

    def _estimate_expected_mean(self, expected: FloatArray | None) -> Estimate | None:
        if expected is None:
            return None
        return as_exact_estimate(float(expected.mean())) if self.is_whole_space else estimate_mean(expected)


def measure_deniability(
    mechanism: WordMechanism,
    words: Sequence[str] | None = None,
    *,
    runs: int = 1_000,
    seed: int | None = None,
    workers: int | None = None,
) -> Deniability:
    """Return N_w and S_w of words, drawn and, where the law is known, expected.

    The draws for a word do not depend on the other words. Expectations are left out where the law is an integral
    and 9 million probabilities or more would have to be computed, which takes hours, or where the integral is not
    accurate enough.

    Args:
        mechanism: the mechanism that is measured.
        words: words of the space, each once; None for all of them.
        runs: number of draws for each word, 1 to 10,000,000.
        seed: public, for repeatable results; None for fresh noise.
        workers: number of threads; the result does not depend on it.

    Raises:
        InputError: a word is not in the space or is listed twice, there is no word, or runs is out of range.
    """
    check_count("measure_deniability", "runs", runs, maximum=MAX_RUNS)
    space = mechanism.space
    numbers = _number_words(space, words)
    chosen_words = tuple(space.words[number] for number in numbers.tolist())
    key = generate_key() if seed is None else derive_key_from_seed(seed)
    starts = [derive_stream_start(key, "deniability", mechanism.fingerprint, word) for word in chosen_words]
    unchanged, distinct = np.empty((2, len(numbers)), dtype=np.int64)
    step = max(_DRAWS_AT_A_TIME // runs, 1)
    for start in range(0, len(numbers), step):
        block = slice(start, start + step)
        block_numbers = numbers[block]
        streams = Streams(key, starts[block], [runs] * len(block_numbers))
        outputs = mechanism.draw_words(np.repeat(block_numbers, runs), streams, workers).reshape(
            len(block_numbers), runs
        )
        unchanged[block] = (outputs == block_numbers[:, None]).sum(axis=1)
        outputs.sort(axis=1)
        distinct[block] = 1 + (np.diff(outputs, axis=1) != 0).sum(axis=1)
    expected_unchanged, expected_distinct = _compute_expectations(mechanism, numbers, runs, workers)
    return Deniability(
        chosen_words,
        runs,
        unchanged,
        distinct,
        expected_unchanged,
        expected_distinct,
        is_whole_space=len(numbers) == len(space),
    )


def _number_words(space: Space, words: Sequence[str] | None) -> npt.NDArray[np.int32]:
    """Return the numbers (k,) of the words; raise `InputError` where they cannot be measured."""
    if words is None:
        return np.arange(len(space), dtype=np.int32)
    if isinstance(words, str):
        raise make_parameter_error("measure_deniability", "words", "a list of words, or None for all", words)
    numbers = np.array([space.index_of(word) for word in words], dtype=np.int32)
    if not len(numbers):
        raise InputError(
            "The 'words' parameter of measure_deniability is empty: give at least one word, or None for all."
        )
    values, counts = np.unique(numbers, return_counts=True)
    if len(values) < len(numbers):
        repeated_word = space.words[values[np.argmax(counts)]]
        raise InputError(
            f"The 'words' parameter of measure_deniability has {repeated_word!r} twice: give each word once."
        )
    return numbers


def _compute_expectations(
    mechanism: WordMechanism, numbers: npt.NDArray[np.int32], runs: int, workers: int | None
) -> tuple[FloatArray, FloatArray] | tuple[None, None]:
    """Return E N_w and E S_w (k,) of the words, or two times None where the law cannot be computed."""
    space = mechanism.space
    points, point_index = np.unique(space.point_by_word[numbers], return_inverse=True)
    law = mechanism.law
    if not law.has_rows or (not law.is_tabulated and len(points) * space.point_count >= MAX_MATRIX_INPUTS**2):
        return None, None
    words_per_point = np.bincount(space.point_by_word).astype(np.float64)
    compute_block = functools.partial(_compute_block_expectations, law, points, words_per_point, runs)
    try:
        expected_unchanged, expected_distinct = np.concatenate(law.map_rows(compute_block, points, workers)).T
    except NotTractable:  # the integral is not accurate enough
        return None, None
    return expected_unchanged[point_index], expected_distinct[point_index]


def _compute_block_expectations(
    law: Law,
    points: npt.NDArray[np.int32],
    words_per_point: FloatArray,
    runs: int,
    first: int,
    rows: FloatArray,
) -> FloatArray:
    """Return E N_w and E S_w (k, 2) of a block of input points, from their rows of the law (k, n).

    An output point has ``words_per_point`` (n,) words, which are equally likely. A word of probability p is
    returned by some run with probability 1 - (1 - p)^runs.
    """
    expectations = np.empty((len(rows), 2))
    for i, point in enumerate(points[first : first + len(rows)]):
        # Draws come from integer tables, whose floor is the probability of far words.
        chances = tables.compute_table_entries(rows[i : i + 1])[0] / tables.TABLE_TOTAL if law.is_tabulated else rows[i]
        shares = np.clip(chances / words_per_point, 0.0, 1.0)
        with np.errstate(divide="ignore"):
            seen_probabilities = -np.expm1(runs * np.log1p(-shares))
        expectations[i] = runs * shares[point], words_per_point @ seen_probabilities
    return expectations


def _compute_std(counts: WordCounts) -> float:
    return float(counts.std(ddof=1)) if len(counts) > 1 else 0.0
