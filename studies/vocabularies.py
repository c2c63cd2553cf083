"""The two vocabularies of Xu et al. 2021: words of a data set that have a vector."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError
from deniable.space import Space
from deniable.space.grammar import fold_word, split_words
from deniable.text.tables import read_table
from deniable.text.tables.layout import TableLayout
from studies.runner import Context

VECTORS = "glove.840B.300d.33860.npz"
_PAIRS = ("premise", "hypothesis")
TABLES: dict[str, dict[str, Sequence[str]]] = {
    "IMDB": {"imdb_train.parquet": ("text",)},
    "NLI": {"nli_train.parquet": _PAIRS, "snli_dev.parquet": _PAIRS, "snli_test.parquet": _PAIRS},
}
"""Vocabulary -> file -> its columns of text."""
FILES = (VECTORS, *(file for tables in TABLES.values() for file in tables))
_MIN_WORDS = 2
_Pair = tuple[float, int, int]


@dataclasses.dataclass(frozen=True)
class Vocabulary:
    """One vocabulary and the words of it that are looked at.

    Attributes:
        name: of the vocabulary.
        space: its words.
        sample: (k,) words drawn uniformly from the space.
    """

    name: str
    space: Space
    sample: tuple[str, ...]


def load_vocabulary(context: Context, name: str, sample: int, maximum: int | None) -> Vocabulary:
    """Return a vocabulary, once in a run.

    Args:
        context: of the run.
        name: one of `TABLES`.
        sample: words that are looked at, at most.
        maximum: words that are kept, the most frequent ones; None for all.

    Raises:
        InputError: a file is missing, or fewer than two of its words have vectors.
    """
    return context.share(f"vocabulary {name}", lambda: _build_vocabulary(context, name, sample, maximum))


def _build_vocabulary(context: Context, name: str, sample: int, maximum: int | None) -> Vocabulary:
    vectors = context.share("vectors", lambda: Space.load(context.find_file(VECTORS), hide=(), metric="euclidean"))
    spellings: set[str] = set()
    for file, columns in TABLES[name].items():
        for texts in read_table(str(context.find_file(file)), TableLayout(file, columns)).values():
            spellings.update(word for text in texts if text for word in split_words(text)[1::2])
    folded = {fold_word(spelling) for spelling in spellings}
    known = [number for number, word in enumerate(vectors.words) if word in folded]
    if len(known) < _MIN_WORDS:
        raise InputError(
            f"Fewer than 2 words of {', '.join(TABLES[name])} have a vector in {VECTORS}: check the files."
        )
    kept = known[:maximum]
    space = Space([vectors.words[number] for number in kept], vectors.vectors[kept], source=f"{name} vocabulary")
    random = np.random.default_rng(context.derive_seed("words", name))
    chosen = np.sort(random.choice(len(space), min(sample, len(space)), replace=False))
    return Vocabulary(name, space, tuple(space.words[number] for number in chosen))


def compute_published_minimum(points: int, separation: float) -> float:
    """Return (2 + 2 ln n) / Delta0, the paper's lower bound on epsilon (Appendix A)."""
    return (2 + 2 * math.log(points)) / separation


def find_nearest_words(space: Space) -> tuple[str, str]:
    """Return the two words at the smallest distance."""

    def visit(first: int, distances: FloatArray) -> _Pair:
        rows = np.arange(len(distances))
        distances[rows, first + rows] = np.inf
        i, j = np.unravel_index(np.argmin(distances), distances.shape)
        return float(distances[i, j]), first + int(i), int(j)

    _, one, other = min(space.map_row_blocks(visit, range(space.point_count)))
    return space.first_word_at(one), space.first_word_at(other)
