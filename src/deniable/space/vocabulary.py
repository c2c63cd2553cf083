"""From lists of words and vectors to folded words and distinct points, and how texts are read as these words."""

import functools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray
from deniable.core.classes import WriteOnce
from deniable.core.errors import InputError, shorten_text
from deniable.space.grammar import Grammar, fold_word, split_words
from deniable.space.word_classes import HiddenClass, WordClass, find_members

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
    largest = np.abs(matrix).max(axis=1)
    is_usable = (largest == 0) | ((largest >= MIN_COORDINATE) & (largest <= MAX_COORDINATE))
    if not is_usable.all():
        row = int(np.argmin(is_usable))
        raise InputError(
            f"The largest number in the vector of {words[row]!r} is {largest[row]:g}, outside {MIN_COORDINATE:g} to "
            f"{MAX_COORDINATE:g}: leave it out, or rescale the vectors."
        )
    # -0.0 and 0.0 are one number but two bit patterns.
    return matrix + 0.0


def fold_words(words: Sequence[str]) -> tuple[dict[str, int], list[str]]:
    """Return folded word -> its first row, and remarks about what was left out."""
    for number, word in enumerate(words):
        if not isinstance(word, str):
            raise InputError(f"Words must be strings. Got {word!r} at position {number}.")
    first_rows: dict[str, int] = {}
    unusable_count = 0
    for number, folded in enumerate(map(fold_word, words)):
        if not folded.strip() or folded.splitlines() != [folded]:
            unusable_count += 1
        else:
            first_rows.setdefault(folded, number)
    remarks = []
    repeated_count = len(words) - unusable_count - len(first_rows)
    if repeated_count:
        count = "1 entry repeats" if repeated_count == 1 else f"{repeated_count:,} entries repeat"
        remarks.append(f"{count} a word in other capitals; the first of each was kept")
    if unusable_count:
        remarks.append(f"{unusable_count} entries are blank or hold a line break and were left out")
    return first_rows, remarks


def merge_equal_vectors(vectors: FloatArray) -> tuple[FloatArray, npt.NDArray[np.int32]]:
    """Return the distinct rows in order of first appearance, and the row each word lies at."""
    number_by_vector: dict[bytes, int] = {}
    point_of = np.array(
        [number_by_vector.setdefault(row.tobytes(), len(number_by_vector)) for row in vectors + 0.0], np.int32
    )
    _, first = np.unique(point_of, return_index=True)
    return np.ascontiguousarray(vectors[first]), point_of


def remark_on_shared_points(points: npt.NDArray[np.int32]) -> list[str]:
    """Return how many words that no class hides share their point with another, given the point of each."""
    shared = len(points) - len(np.unique(points))
    count = "1 word has" if shared == 1 else f"{shared:,} words have"
    return [f"{count} the same vector as an earlier word: one may be replaced by the other"] if shared else []


class Vocabulary(WriteOnce):
    """Words, the public classes of them that are hidden, and which word of them a word of a text is read as.

    Args:
        words: different folded ones, most frequent first.
        hide: classes, see `deniable.space.word_classes.resolve_classes`.
    """

    def __init__(self, words: Sequence[str], hide: tuple[WordClass, ...]) -> None:
        self.hide = hide
        self.words = tuple(words)
        self.index_by_word = {word: number for number, word in enumerate(self.words)}
        self.hidden_classes = tuple(find_members(hide, self.words))

    def __len__(self) -> int:
        """Return the number of words."""
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        """Say whether the word, folded, is in the vocabulary, or is read as a word of a hidden class."""
        return isinstance(word, str) and self.find_number(word) is not None

    @property
    def grammar(self) -> Grammar:
        """How texts are split into words: a vocabulary that hides classes reads numbers and addresses whole."""
        return "whole" if self.hide else "plain"

    def split_words(self, text: str) -> list[str]:
        """Return [gap, word, gap, word, ..., gap] by that grammar; joined they are ``text`` itself."""
        return split_words(text, self.grammar)

    def find_number(self, word: str) -> int | None:
        """Return the number of the word that a word is read as, itself where it is here; None for an unknown one.

        Any number is read as the first word of the hidden class of numbers, which all lie at one point; so are
        addresses, and the listed words of a class that are not here.
        """
        folded = fold_word(word)
        number = self.index_by_word.get(folded)
        if number is not None or not self.hidden_classes:
            return number
        return next((hidden.first_member for hidden in self.hidden_classes if folded in hidden.word_class), None)

    def find_class(self, number: int) -> HiddenClass | None:
        """Return the hidden class of a word, by its number; None for a word that is not hidden."""
        class_number = self.class_by_word[number]
        return self.hidden_classes[class_number] if class_number >= 0 else None

    def index_of(self, word: str) -> int:
        """Return the index of a word; see `find_number`.

        Raises:
            InputError: the word is not in the space.
        """
        number = self.find_number(word) if isinstance(word, str) else None
        if number is None:
            raise InputError(
                f"{shorten_text(repr(word))} is not one of the {len(self)} words of the space. "
                "TextPrivatizer takes texts with unknown words."
            )
        return number

    @functools.cached_property
    def class_by_word(self) -> npt.NDArray[np.int32]:
        """The number of the hidden class of each word (n,), -1 for none."""
        out = np.full(len(self), -1, dtype=np.int32)
        for class_number, hidden_class in enumerate(self.hidden_classes):
            out[hidden_class.members] = class_number
        return out
