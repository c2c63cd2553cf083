"""Texts as the numbers of their words: what classifiers, attacks and certificates work on."""

import dataclasses
import hashlib
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from deniable.space import Space
from deniable.space.grammar import fold, split

Words = npt.NDArray[np.int32]
Offsets = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int64]
"""Numbers of rows, or one number for each."""


@dataclasses.dataclass(frozen=True, eq=False)
class Texts:
    """Texts end to end.

    Attributes:
        words: (N,) numbers of words in a space.
        offsets: (n + 1,) where each text begins, and N.
    """

    words: Words
    offsets: Offsets

    def __len__(self) -> int:
        """Return the number of texts."""
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> Words:
        """Return the words of one text."""
        return self.words[self.offsets[row] : self.offsets[row + 1]]

    def __iter__(self) -> Iterator[Words]:
        """Yield the words of every text."""
        return (self[row] for row in range(len(self)))

    @property
    def lengths(self) -> Rows:
        """Words of each text (n,)."""
        return np.diff(self.offsets)

    def take(self, rows: Rows) -> "Texts":
        """Return the texts of some rows, in their order."""
        return texts([self[row] for row in rows])


def texts(words: Sequence[npt.ArrayLike]) -> Texts:
    """Return texts from the word numbers of each."""
    arrays = [np.asarray(held, dtype=np.int32) for held in words]
    offsets = np.cumsum([0, *map(len, arrays)], dtype=np.int64)
    return Texts(np.concatenate([np.empty(0, np.int32), *arrays]), offsets)


@dataclasses.dataclass(frozen=True, eq=False)
class Documents:
    """Labelled texts; those of a pair have a premise besides, which is never attacked.

    Attributes:
        texts: n texts to classify.
        labels: (n,) numbers of classes.
        classes: names of the classes.
        premises: n premises; None where a document is one text.
    """

    texts: Texts
    labels: Rows
    classes: tuple[str, ...]
    premises: Texts | None = None

    def __len__(self) -> int:
        """Return the number of documents."""
        return len(self.texts)

    @property
    def fingerprint(self) -> str:
        """BLAKE2b of the numbers of words, of labels and of names of classes, 32 hexadecimal digits."""
        digest = hashlib.blake2b(repr((self.classes, len(self), self.premises is None)).encode(), digest_size=16)
        parts = [self.texts] if self.premises is None else [self.texts, self.premises]
        for array in [self.labels, *(part for held in parts for part in (held.offsets, held.words))]:
            digest.update(array.astype(array.dtype.newbyteorder("<")).tobytes())
        return digest.hexdigest()

    def take(self, rows: Rows) -> "Documents":
        """Return the documents of some rows, in their order."""
        premises = None if self.premises is None else self.premises.take(rows)
        return dataclasses.replace(self, texts=self.texts.take(rows), labels=self.labels[rows], premises=premises)


@dataclasses.dataclass(frozen=True, eq=False)
class Read:
    """Texts, and what of them a space does not know.

    Attributes:
        texts: the known words; none of a text that has none.
        cut: [gap, word, gap, ..., gap] of each text, as `deniable.space.grammar.split` gives it.
        places: of the known words in ``cut``, for each text.
    """

    texts: Texts
    cut: list[list[str]]
    places: list[list[int]]

    @property
    def unknown(self) -> int:
        """Words that the space lacks; a classifier leaves them out."""
        return sum(len(cut) // 2 for cut in self.cut) - len(self.texts.words)

    def take(self, rows: Rows) -> "Read":
        """Return some of the texts, in their order."""
        chosen = rows.tolist()
        return Read(self.texts.take(rows), [self.cut[row] for row in chosen], [self.places[row] for row in chosen])

    def written(self, row: int, words: Sequence[str | None]) -> str:
        """Return one text with other words in the places of the known ones; None leaves a word as it is."""
        parts = list(self.cut[row])
        for place, word in zip(self.places[row], words, strict=True):
            if word is not None:
                parts[place] = word
        return "".join(parts)


def read(space: Space, column: Sequence[str | None]) -> Read:
    """Cut texts into words, and look them up; a row without a text, or without a known word, is a text of no words.

    No classifier takes a text of no words: leave such rows out.

    Args:
        space: of the classifier.
        column: (n,) texts.
    """
    numbers, cuts, places = [], [], []
    for text in column:
        cut = split(text or "")
        found = [space.index.get(fold(word)) for word in cut[1::2]]
        numbers.append([number for number in found if number is not None])
        cuts.append(cut)
        places.append([2 * at + 1 for at, number in enumerate(found) if number is not None])
    return Read(texts(numbers), cuts, places)
