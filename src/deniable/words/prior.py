"""How frequent words are: public knowledge, under which an attacker's success and the words kept are computed.

A prior must not come from the texts that are to be private: figures under it stand in certificates that are public.
"""

import dataclasses
import math
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError
from deniable.space.grammar import fold_word
from deniable.space.space import Space

ZIPF_NAME = "Zipf's law by the space's ranks"
_MAX_NAMED = 5
"""Words or lines that a note names."""
_LINE = re.compile(r"(?P<word>.*\S)[\s,]+(?P<count>[^\s,]+)")
_SEPARATORS = " \t,\r"


@dataclasses.dataclass(frozen=True, eq=False)
class Prior:
    """How frequent words are.

    Attributes:
        weights: (n,) probabilities in the order of ``space.words``, which sum to 1.
        name: what the words follow, as part of a sentence: "Zipf's law by the space's ranks".
        notes: what of its source was left out, one line each.
        is_public: False where it was made from private texts: no certificate takes it, and nothing under it is cached.
    """

    weights: FloatArray
    name: str
    notes: tuple[str, ...] = ()
    is_public: bool = True

    @property
    def blind_success(self) -> float:
        """The share of words that a guess without any output is right about: that of the most frequent word."""
        return float(self.weights.max())


PriorLike = Prior | Mapping[str, float] | npt.ArrayLike | None
"""A prior, counts by word, n numbers in the order of ``space.words``, or None for `ZIPF_NAME`."""


def build_prior(
    space: Space, frequencies: PriorLike = None, name: str = "the counts given", *, is_public: bool = False
) -> Prior:
    """Return a prior over the words of a space.

    Args:
        space: whose words it is about.
        frequencies: a prior; counts by word, of which words that the space lacks are left out; n numbers in the order
            of ``space.words``; or None for Zipf's law, 1 / rank, by the order of the space.
        name: what the words follow, where ``frequencies`` holds counts.
        is_public: whether those counts are declared to be, see `Prior`.

    Raises:
        InputError: counts that are negative, not finite, all zero, or not one for each word.
    """
    if frequencies is None:
        return Prior(compute_zipf_prior(len(space)), ZIPF_NAME)
    if isinstance(frequencies, Prior):
        _check_counts(space, frequencies.weights, frequencies.name)
        return frequencies
    try:
        counts = np.asarray(
            _align_counts(space, frequencies) if isinstance(frequencies, Mapping) else frequencies, dtype=np.float64
        )
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(f"The prior must hold numbers: {error}.") from None
    _check_counts(space, counts, name)
    return Prior(counts / counts.sum(), name, is_public=is_public)


def compute_zipf_prior(size: int) -> FloatArray:
    """Return the public prior (n,) used where none is given: Zipf's law, 1 / rank, sums to 1."""
    weights: FloatArray = 1.0 / np.arange(1, size + 1)
    weights /= weights.sum()
    return weights


def read_prior(path: str | Path, space: Space) -> Prior:
    """Return the prior of a file of public counts: on each line a word and its count, with a tab, spaces or a comma.

    Words are folded as everywhere, and the counts of equal ones add. Words that the space lacks, and lines without a
    word and a count of at least 0, are left out; `Prior.notes` counts and names them.

    Args:
        path: text file in UTF-8.
        space: whose words the prior is about.

    Raises:
        InputError: the file cannot be read, or holds no positive count of a word of the space.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"The file of counts {str(path)!r} is not UTF-8: convert it.") from None
    except OSError as error:
        raise InputError(f"The file of counts {str(path)!r} cannot be read: {error.strerror}.") from None
    counts, invalid_lines = _parse_counts(text)
    prior = build_prior(space, counts, f"the counts of {Path(path).name!r}", is_public=True)
    unknown_words = [word for word in counts if word not in space.index_by_word]
    notes = (
        (unknown_words, "{} not in the vocabulary, left out"),
        (invalid_lines, "no word and count of at least 0 in line {}, left out"),
    )
    return dataclasses.replace(prior, notes=tuple(note.format(_name_first(some)) for some, note in notes if some))


def _parse_counts(text: str) -> tuple[dict[str, float], list[str]]:
    """The counts by folded word, and the numbers of the lines that hold none; blank lines count for nothing."""
    counts: dict[str, float] = {}
    invalid_lines: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        fields = _LINE.fullmatch(line.strip(_SEPARATORS))
        try:
            count = float(fields["count"].strip('"')) if fields else math.nan
        except ValueError:
            count = math.nan
        word = fields["word"].rstrip(_SEPARATORS).strip('"') if fields else ""
        if word and 0 <= count < math.inf:
            counts[fold_word(word)] = counts.get(fold_word(word), 0.0) + count
        elif line.strip():
            invalid_lines.append(f"{number:,}")
    return counts, invalid_lines


def _name_first(items: list[str]) -> str:
    """The first of some items, and how many there are besides."""
    more = len(items) - _MAX_NAMED
    return ", ".join(items[:_MAX_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _align_counts(space: Space, frequencies: Mapping[str, float]) -> FloatArray:
    """Return the counts (n,) of the words of the space."""
    counts = np.zeros(len(space))
    with np.errstate(over="ignore"):
        for word, count in frequencies.items():
            number = space.index_by_word.get(fold_word(word))
            if number is not None:
                counts[number] += count
    return counts


def _check_counts(space: Space, counts: FloatArray, name: str) -> None:
    if counts.shape != (len(space),):
        raise InputError(f"The prior must hold one number for each of {len(space)} words. Got shape {counts.shape}.")
    with np.errstate(over="ignore", invalid="ignore"):
        total = float(counts.sum())
    if not counts.min() >= 0 or not 0 < total < math.inf:
        raise InputError(
            f"The prior, {name}, must hold finite counts of at least 0, one above 0, for words of {space.source}. "
            f"Got a least of {counts.min():g} and a sum of {total:g}: give lines of a word and its count, for example "
            "'the 1200'."
        )
