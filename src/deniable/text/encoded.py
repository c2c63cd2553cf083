"""Texts end to end in one buffer of UTF-8, as Arrow holds them: what compiled loops read and write."""

import dataclasses
import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import IntArray

if TYPE_CHECKING:
    import pyarrow as pa

ByteArray = npt.NDArray[np.uint8]


@dataclasses.dataclass(frozen=True)
class EncodedTexts:
    """R texts in UTF-8; lone surrogates, which only Python's texts have, stand as three bytes each.

    Attributes:
        data: bytes of all texts; only those between the first offset and the last one are texts.
        offsets: (R + 1,) where each text begins and ends.
    """

    data: ByteArray
    offsets: IntArray

    @classmethod
    def of(cls, texts: Sequence[str]) -> "EncodedTexts":
        """Return texts, encoded."""
        joined = "".join(texts)
        if joined.isascii():
            data, lengths = joined.encode(), map(len, texts)
        else:
            parts = [text.encode("utf-8", "surrogatepass") for text in texts]
            data, lengths = b"".join(parts), map(len, parts)
        return cls(np.frombuffer(data, dtype=np.uint8), np.cumsum([0, *lengths]))

    @classmethod
    def of_arrow(cls, texts: "pa.LargeStringArray") -> "EncodedTexts":
        """Return an Arrow array of texts without nulls, which is not copied."""
        if not len(texts):
            return cls.of([])
        _, offsets, data = texts.buffers()
        end = texts.offset + len(texts) + 1
        bounds = np.frombuffer(offsets, dtype=np.int64, count=end)[texts.offset :]
        return cls(np.frombuffer(data or b"", dtype=np.uint8), bounds)

    @classmethod
    def join(cls, parts: Sequence["EncodedTexts"]) -> "EncodedTexts":
        """Return the texts of several, one after the other."""
        sizes = [part.offsets[-1] - part.offsets[0] for part in parts]
        starts = itertools.accumulate(sizes, initial=0)
        data = [part.data[part.offsets[0] : part.offsets[-1]] for part in parts]
        offsets = [part.offsets[1:] - part.offsets[0] + start for part, start in zip(parts, starts, strict=False)]
        zero = np.zeros(1, dtype=np.int64)
        return cls(np.concatenate([np.empty(0, dtype=np.uint8), *data]), np.concatenate([zero, *offsets]))

    def __len__(self) -> int:
        """Return the number of texts."""
        return len(self.offsets) - 1

    @property
    def size(self) -> int:
        """Number of bytes."""
        return int(self.offsets[-1] - self.offsets[0])

    def decode(self, row: int) -> str:
        """Return one text."""
        return self.data[self.offsets[row] : self.offsets[row + 1]].tobytes().decode("utf-8", "surrogatepass")

    def decode_all(self) -> list[str]:
        """Return the texts."""
        data = self.data[self.offsets[0] : self.offsets[-1]].tobytes()
        bounds = (self.offsets - self.offsets[0]).tolist()
        if data.isascii():
            text = data.decode()
            return [text[start:end] for start, end in itertools.pairwise(bounds)]
        return [data[start:end].decode("utf-8", "surrogatepass") for start, end in itertools.pairwise(bounds)]

    def to_arrow(self) -> "pa.LargeStringArray":
        """Return the texts as an Arrow array; none has a lone surrogate."""
        import pyarrow as pa

        buffers = [None, pa.py_buffer(np.ascontiguousarray(self.offsets)), pa.py_buffer(self.data)]
        array: pa.LargeStringArray = pa.Array.from_buffers(pa.large_string(), len(self), buffers)
        return array

    def take(self, rows: IntArray) -> "EncodedTexts":
        """Return some of the texts, in the order given."""
        return EncodedTexts.of_arrow(self.to_arrow().take(rows))

    def find_rows(self, characters: bytes) -> IntArray:
        """Return the texts that have one of some ASCII characters."""
        data = self.data[self.offsets[0] : self.offsets[-1]]
        places = np.concatenate([np.flatnonzero(data == character) for character in characters])
        if not len(places):
            return places
        return np.unique(np.searchsorted(self.offsets, places + self.offsets[0], side="right") - 1)

    def split(self, size: int) -> "list[EncodedTexts]":
        """Return the texts in parts of about so many bytes, or one text each where it has more."""
        places = np.arange(int(self.offsets[0]) + size, int(self.offsets[-1]), size)
        if not len(places):
            return [self]
        cuts = np.unique([0, *np.searchsorted(self.offsets, places), len(self)])
        return [EncodedTexts(self.data, self.offsets[first : last + 1]) for first, last in itertools.pairwise(cuts)]
