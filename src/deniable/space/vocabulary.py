"""From lists of words and vectors to folded words and distinct points."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError
from deniable.space.grammar import fold_word

MIN_COORDINATE, MAX_COORDINATE = 1e-100, 1e100
"""Vectors are refused whose squares would leave the range of float64."""


def parse_vectors(words: Sequence[str], vectors: npt.ArrayLike) -> FloatArray:
    """Return the vectors as float64 (n, d), or say what is wrong with them."""
    try:
        matrix = np.asarray(vectors, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"The vectors must be an array (n, d) of numbers: {error}.") from None
    if matrix.ndim != 2 or len(matrix) != len(words) or matrix.shape[1] == 0:  # noqa: PLR2004
        raise InputError(f"The vectors must have shape (n, d) with n = {len(words)} words. Got {matrix.shape}.")
    finite = np.isfinite(matrix).all(axis=1)
    if not finite.all():
        word = words[int(np.argmin(finite))]
        raise InputError(f"The vector of {word!r} holds a number that is not finite: leave it out.")
    largest = np.abs(matrix).max(axis=1)
    out_of_range = (largest != 0) & ((largest < MIN_COORDINATE) | (largest > MAX_COORDINATE))
    if out_of_range.any():
        word = words[int(np.argmax(out_of_range))]
        raise InputError(
            f"The vector of {word!r} has a largest number of {largest[np.argmax(out_of_range)]:g}, beyond "
            f"{MIN_COORDINATE:g} ... {MAX_COORDINATE:g}: rescale the vectors."
        )
    # -0.0 and 0.0 are one number but two bit patterns.
    return matrix + 0.0


def fold_words(words: Sequence[str]) -> tuple[dict[str, int], list[str]]:
    """Return folded word -> its first row, and remarks about what was left out."""
    for number, word in enumerate(words):
        if not isinstance(word, str):
            raise InputError(f"Words must be strings. Got {word!r} at position {number}.")
    # All at once, a tenth of the time: no word has a line break, and none changes how another is folded.
    folded_words = fold_word("\n".join(words)).splitlines()
    if len(folded_words) != len(words):
        folded_words = [fold_word(word) for word in words]
    first_rows: dict[str, int] = {}
    unusable_count = 0
    for number, folded in enumerate(folded_words):
        if not folded.strip() or folded.splitlines() != [folded]:
            unusable_count += 1
        else:
            first_rows.setdefault(folded, number)
    if words and not first_rows:
        raise InputError(
            "A space needs at least two words with different vectors. All given ones are blank or of several lines."
        )
    remarks = []
    repeated_count = len(words) - unusable_count - len(first_rows)
    if repeated_count:
        remarks.append(f"{repeated_count} entries repeat a word but for capitals; the first of each was kept")
    if unusable_count:
        remarks.append(f"{unusable_count} entries are blank or hold a line break and were left out")
    return first_rows, remarks


def merge_equal_vectors(vectors: FloatArray) -> tuple[FloatArray, npt.NDArray[np.int32]]:
    """Return the distinct rows in order of first appearance, and the row each word lies at."""
    number_by_vector: dict[bytes, int] = {}
    point_of = np.array(
        [number_by_vector.setdefault(row.tobytes(), len(number_by_vector)) for row in vectors + 0.0], np.int32
    )
    if len(number_by_vector) == len(vectors):
        return vectors, point_of
    _, first = np.unique(point_of, return_index=True)
    return np.ascontiguousarray(vectors[first]), point_of
