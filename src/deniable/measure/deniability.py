"""Plausible deniability of single words: how often a word stays, and how many words it may become.

N_w and S_w of Feyisetan et al. 2020, as Xu et al. 2021 (Section 6.5, Figures 1 and 2) report them.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray, IntArray
from deniable.core.errors import NotTractable, check_count, make_parameter_error
from deniable.core.randomness import Streams, derive_key_from_seed, derive_stream_start, generate_key
from deniable.words import WordMechanism
from deniable.words.explanation import compute_seen_probabilities
from deniable.words.laws import tables
from deniable.words.laws.tabulated import MAX_MATRIX_INPUTS

_MAX_RUNS = 10_000_000
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
    """

    words: tuple[str, ...]
    runs: int
    unchanged: IntArray
    distinct: IntArray
    expected_unchanged: FloatArray | None
    expected_distinct: FloatArray | None


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
        words: words of the space; None for all of them.
        runs: number of draws for each word, 1 to 10,000,000.
        seed: public, for repeatable results; None for fresh noise.
        workers: number of threads; the result does not depend on it.

    Raises:
        InputError: a word is not in the space, there is no word, or runs is out of range.
    """
    check_count("measure_deniability", "runs", runs, maximum=_MAX_RUNS)
    space = mechanism.space
    if isinstance(words, str) or (words is not None and not len(words)):
        raise make_parameter_error("measure_deniability", "words", "a list of words, or None for all", words)
    numbers = np.array(range(len(space)) if words is None else list(map(space.index_of, words)), dtype=np.int32)
    chosen_words = tuple(space.words[number] for number in numbers.tolist())
    key = generate_key() if seed is None else derive_key_from_seed(seed)
    starts = [derive_stream_start(key, "deniability", mechanism.fingerprint, word) for word in chosen_words]
    unchanged, distinct = np.empty((2, len(numbers)), dtype=np.int64)
    step = max(_DRAWS_AT_A_TIME // runs, 1)
    for start in range(0, len(numbers), step):
        block = slice(start, start + step)
        block_numbers = numbers[block]
        streams = Streams(key, starts[block], [runs] * len(block_numbers))
        outputs = mechanism.draw_words(np.repeat(block_numbers, runs), streams, workers).reshape(-1, runs)
        unchanged[block] = (outputs == block_numbers[:, None]).sum(axis=1)
        outputs.sort(axis=1)
        distinct[block] = 1 + (np.diff(outputs, axis=1) != 0).sum(axis=1)
    return Deniability(
        chosen_words, runs, unchanged, distinct, *_compute_expectations(mechanism, numbers, runs, workers)
    )


def _compute_expectations(
    mechanism: WordMechanism, numbers: npt.NDArray[np.int32], runs: int, workers: int | None
) -> tuple[FloatArray, FloatArray] | tuple[None, None]:
    """Return E N_w and E S_w (k,) of the words, or two times None where the law cannot be computed."""
    space, law = mechanism.space, mechanism.law
    points, point_index = np.unique(space.point_by_word[numbers], return_inverse=True)
    if not law.has_rows or (not law.is_tabulated and len(points) * space.point_count >= MAX_MATRIX_INPUTS**2):
        return None, None
    words_per_point = np.bincount(space.point_by_word).astype(np.float64)  # equally likely words

    def compute_block(first: int, rows: FloatArray) -> FloatArray:
        expectations = np.empty((len(rows), 2))
        for i, point in enumerate(points[first : first + len(rows)]):
            # Draws come from integer tables, whose floor is the probability of far words.
            row = tables.compute_table_entries(rows[i : i + 1])[0] / tables.TABLE_TOTAL if law.is_tabulated else rows[i]
            shares = np.clip(row / words_per_point, 0.0, 1.0)
            expectations[i] = runs * shares[point], words_per_point @ compute_seen_probabilities(shares, runs)
        return expectations

    try:
        expected_unchanged, expected_distinct = np.concatenate(law.map_rows(compute_block, points, workers)).T
    except NotTractable:  # the integral is not accurate enough
        return None, None
    return expected_unchanged[point_index], expected_distinct[point_index]
