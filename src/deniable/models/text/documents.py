"""Texts as word ids, the form in which classifiers, attacks and certificates handle them."""

import dataclasses
import hashlib
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from deniable.space import Space

WordIds = npt.NDArray[np.int32]
TextOffsets = npt.NDArray[np.int64]
RowIndices = npt.NDArray[np.int64]
"""Indices of rows, or one integer for each row."""


@dataclasses.dataclass(frozen=True, eq=False)
class IndexedTexts:
    """Texts as one array of word ids.

    Attributes:
        words: (N,) word ids of a space, all texts in turn.
        offsets: (n + 1,) position at which each text begins, and N.
    """

    words: WordIds
    offsets: TextOffsets

    def __len__(self) -> int:
        """Return the number of texts."""
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> WordIds:
        """Return the words of one text."""
        return self.words[self.offsets[row] : self.offsets[row + 1]]

    def __iter__(self) -> Iterator[WordIds]:
        """Yield the words of every text."""
        return (self[row] for row in range(len(self)))

    @property
    def lengths(self) -> RowIndices:
        """Number of words of each text (n,)."""
        return np.diff(self.offsets)

    def take(self, rows: RowIndices) -> "IndexedTexts":
        """Return the texts of some rows, in their order."""
        return concatenate_texts([self[row] for row in rows])


def concatenate_texts(word_ids: Sequence[npt.ArrayLike]) -> IndexedTexts:
    """Return texts from the word ids of each."""
    arrays = [np.asarray(ids, dtype=np.int32) for ids in word_ids]
    offsets = np.cumsum([0, *map(len, arrays)], dtype=np.int64)
    return IndexedTexts(np.concatenate([np.empty(0, np.int32), *arrays]), offsets)


@dataclasses.dataclass(frozen=True, eq=False)
class Documents:
    """Labelled texts, or labelled pairs of premise and text; premises are never attacked.

    Attributes:
        texts: n texts to classify.
        labels: (n,) indices of classes.
        classes: names of the classes.
        premises: n premises; None where a document is one text.
    """

    texts: IndexedTexts
    labels: RowIndices
    classes: tuple[str, ...]
    premises: IndexedTexts | None = None

    def __len__(self) -> int:
        """Return the number of documents."""
        return len(self.texts)

    @property
    def fingerprint(self) -> str:
        """BLAKE2b of word ids, labels and names of classes, 32 hexadecimal digits."""
        digest = hashlib.blake2b(repr((self.classes, len(self), self.premises is None)).encode(), digest_size=16)
        parts = [self.texts] if self.premises is None else [self.texts, self.premises]
        for array in [self.labels, *(part for texts in parts for part in (texts.offsets, texts.words))]:
            digest.update(array.astype(array.dtype.newbyteorder("<")).tobytes())
        return digest.hexdigest()

    def take(self, rows: RowIndices) -> "Documents":
        """Return the documents of some rows, in their order."""
        premises = None if self.premises is None else self.premises.take(rows)
        return dataclasses.replace(self, texts=self.texts.take(rows), labels=self.labels[rows], premises=premises)


@dataclasses.dataclass(frozen=True, eq=False)
class TokenizedTexts:
    """Texts as word ids of a space, with the original text around the known words.

    Attributes:
        texts: the known words; none of a text that has none.
        pieces: [gap, word, gap, ..., gap] of each text, as `deniable.space.Space.split_words` gives it.
        word_positions: positions of the known words in ``pieces``, for each text.
    """

    texts: IndexedTexts
    pieces: list[list[str]]
    word_positions: list[list[int]]

    @property
    def unknown_count(self) -> int:
        """Number of words that the space lacks; a classifier leaves them out."""
        return sum(len(text_pieces) // 2 for text_pieces in self.pieces) - len(self.texts.words)

    def take(self, rows: RowIndices) -> "TokenizedTexts":
        """Return some of the texts, in their order."""
        indices = rows.tolist()
        return TokenizedTexts(
            self.texts.take(rows), [self.pieces[row] for row in indices], [self.word_positions[row] for row in indices]
        )

    def replace_words(self, row: int, words: Sequence[str | None]) -> str:
        """Return one text with other words in place of the known ones; None keeps a word."""
        parts = list(self.pieces[row])
        for place, word in zip(self.word_positions[row], words, strict=True):
            if word is not None:
                parts[place] = word
        return "".join(parts)


def tokenize_texts(space: Space, column: Sequence[str | None]) -> TokenizedTexts:
    """Split texts into words, and look them up; a row without text or without known words is a text of no words.

    No classifier takes a text of no words: leave such rows out.

    Args:
        space: of the classifier.
        column: (n,) texts.
    """
    known_ids, pieces, word_positions = [], [], []
    for text in column:
        text_pieces = space.split_words(text or "")
        word_ids = [space.find_number(word) for word in text_pieces[1::2]]
        known_ids.append([word_id for word_id in word_ids if word_id is not None])
        pieces.append(text_pieces)
        word_positions.append([2 * index + 1 for index, word_id in enumerate(word_ids) if word_id is not None])
    return TokenizedTexts(concatenate_texts(known_ids), pieces, word_positions)
