"""The two vocabularies: words of a data set that have a vector."""

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError
from deniable.published.truncated_gumbel.mechanism import compute_min_epsilon
from deniable.space import Space
from deniable.space.grammar import fold_word, split_words
from deniable.studies.study import Data, derived
from deniable.text.tables.columns import read_columns
from deniable.text.tables.layout import TableLayout

VECTORS = "glove.840B.300d.33860.npz"
_PAIRS = ("premise", "hypothesis")
TABLES: dict[str, dict[str, Sequence[str]]] = {
    "IMDB": {"imdb_train.parquet": ("text",)},
    "NLI": {"nli_train.parquet": _PAIRS, "snli_dev.parquet": _PAIRS, "snli_test.parquet": _PAIRS},
}
"""Vocabulary -> file -> its columns of text."""


@dataclasses.dataclass(frozen=True)
class Vocabulary:
    """One vocabulary and the words of it that are looked at.

    Attributes:
        name: of the vocabulary.
        space: its words.
        sample: (k,) words drawn uniformly from the space.
        facts: what there is to say of it, as JSON.
    """

    name: str
    space: Space
    sample: tuple[str, ...]
    facts: Data


def vocabularies(folder: Path | None, words: int, most: int | None, seed: int) -> list[Vocabulary]:
    """Return the vocabularies.

    Args:
        folder: with the data sets.
        words: in each sample, at most.
        most: words of a vocabulary that are kept, the most frequent ones; None for all.
        seed: of the samples.

    Raises:
        InputError: no folder, or a file is missing or has too few words with vectors.
    """
    files = [VECTORS, *(file for tables in TABLES.values() for file in tables)]
    if folder is None:
        raise InputError(f"The study gumbel-deniability needs a folder with {', '.join(files)}: name it by --data DIR.")
    missing = [file for file in files if not (folder / file).is_file()]
    if missing:
        raise InputError(
            f"The study gumbel-deniability finds no {', '.join(missing)} in {str(folder)!r}: add what is missing, or "
            "name another folder by --data DIR."
        )
    vectors = Space.load(folder / VECTORS)
    return [_vocabulary(name, vectors, folder, words, most, seed) for name in TABLES]


def _vocabulary(name: str, vectors: Space, folder: Path, words: int, most: int | None, seed: int) -> Vocabulary:
    spellings: set[str] = set()
    for file, columns in TABLES[name].items():
        for texts in read_columns(str(folder / file), TableLayout(file, columns)).values():
            spellings.update(word for text in texts if text for word in split_words(text)[1::2])
    found = {fold_word(spelling) for spelling in spellings}
    known = [number for number, word in enumerate(vectors.words) if word in found]
    if len(known) < 2:  # noqa: PLR2004 - a space needs two words
        raise InputError(
            f"Fewer than 2 words of {', '.join(TABLES[name])} have a vector in {VECTORS}: check the files."
        )
    kept = known[:most]
    space = Space([vectors.words[number] for number in kept], vectors.vectors[kept], source=f"{name} vocabulary")
    random = np.random.default_rng(derived(seed, "words", name))
    chosen = np.sort(random.choice(len(space), min(words, len(space)), replace=False))
    return Vocabulary(
        name,
        space,
        tuple(space.words[number] for number in chosen),
        {
            "vocabulary": name,
            "different words in the texts": len(found),
            "with a vector": len(known),
            "words": len(space),
            "points": len(space.points),
            "Delta": space.diameter,
            "Delta0": space.separation,
            "nearest words": _nearest(space),
            "least epsilon": compute_min_epsilon(len(space.points), space.separation),
            "least epsilon as published": published_bound(len(space.points), space.separation),
            "sample": len(chosen),
        },
    )


def published_bound(count: int, separation: float) -> float:
    """Return (2 + 2 ln n) / Delta0, the paper's lower bound on epsilon (Appendix A)."""
    return (2 + 2 * math.log(count)) / separation


def _nearest(space: Space) -> list[str]:
    """Return the two words at the smallest distance."""

    def visit(rows: slice, columns: slice, distances: FloatArray) -> _Pair:
        if rows == columns:
            np.fill_diagonal(distances, np.inf)
        i, j = np.unravel_index(np.argmin(distances), distances.shape)
        return float(distances[i, j]), rows.start + int(i), columns.start + int(j)

    _, one, other = min(space.map_tiles(visit))
    return [space.first_word_at(one), space.first_word_at(other)]


_Pair = tuple[float, int, int]
