"""Spellings of words by their bytes, numbered once and looked up by compiled loops."""

import secrets
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import IntArray
from deniable.core.parallel import compile_loop
from deniable.text.encoded import ByteArray, EncodedTexts

_FIRST_SLOTS, _FIRST_BYTES = 1 << 12, 1 << 15
_EMPTY, _MISSING = -1, -1
_ASCII_END = 0x80
_HASH_BITS = 32


class SpellingArrays(NamedTuple):
    """A hash table of S spellings by open addressing.

    Attributes:
        seed: two secret numbers, so that no text can be written whose words all collide.
        lowered: (256,) what each byte of an ASCII word counts as.
        slots: entries, each below the high bits of its hash; -1 for none.
        data: bytes of the spellings, end to end.
        ends: (S + 1,) where each ends, from 0 on.
    """

    seed: npt.NDArray[np.uint64]
    lowered: ByteArray
    slots: IntArray
    data: ByteArray
    ends: IntArray


class SpellingTable:
    """Spellings, numbered as they are met.

    Args:
        is_folding: whether ASCII words that differ in capitals alone are one spelling, in small letters.

    Attributes:
        is_torn: whether an interrupt left spellings in the table that are not counted; it is of no use then.
    """

    def __init__(self, *, is_folding: bool) -> None:
        seed = np.frombuffer(secrets.token_bytes(16), dtype=np.uint64) | np.uint64(1)
        lowered = np.arange(256, dtype=np.uint8)
        if is_folding:
            lowered = np.frombuffer(lowered.tobytes().lower(), dtype=np.uint8)
        slots = np.full(_FIRST_SLOTS, _EMPTY, dtype=np.int64)
        self._arrays = SpellingArrays(
            seed, lowered, slots, np.empty(_FIRST_BYTES, dtype=np.uint8), np.zeros(_FIRST_SLOTS // 2, dtype=np.int64)
        )
        self._count = 0
        self.is_torn = False

    def __len__(self) -> int:
        """Return the number of spellings."""
        return self._count

    def find(
        self, data: ByteArray, starts: npt.NDArray[np.int32], ends: npt.NDArray[np.int32]
    ) -> npt.NDArray[np.int32]:
        """Return the entries (T,) of words, -1 for those that are not known; several threads may do so at once."""
        entries = np.full(len(starts), _MISSING, dtype=np.int32)
        _look_up(data, starts, ends, self._arrays, entries, 0, self._count, is_adding=False)
        return entries

    def add(
        self,
        data: ByteArray,
        starts: npt.NDArray[np.int32],
        ends: npt.NDArray[np.int32],
        entries: npt.NDArray[np.int32],
    ) -> None:
        """Add the words without an entry, and fill in their entries (T,).

        No other thread may use the table meanwhile.
        """
        done, self.is_torn = 0, True
        while done < len(starts):
            done, self._count = _look_up(data, starts, ends, self._arrays, entries, done, self._count, is_adding=True)
            if done < len(starts):
                self._grow(int(ends[done] - starts[done]))
        self.is_torn = False

    def list_spellings(self, first: int) -> list[str]:
        """Return the spellings of the entries from the first on."""
        return EncodedTexts(self._arrays.data, self._arrays.ends[first : self._count + 1]).decode_all()

    def _grow(self, word_bytes: int) -> None:
        """Double the room for entries and for bytes."""
        arrays = self._arrays
        if 2 * (self._count + 1) >= len(arrays.slots):
            slots = np.full(2 * len(arrays.slots), _EMPTY, dtype=np.int64)
            ends = np.zeros(len(slots) // 2, dtype=np.int64)
            ends[: self._count + 1] = arrays.ends[: self._count + 1]
            arrays = arrays._replace(slots=slots, ends=ends)
            _fill_slots(arrays, self._count)
        size = int(arrays.ends[self._count])
        if size + word_bytes > len(arrays.data):
            data = np.empty(2 * len(arrays.data) + word_bytes, dtype=np.uint8)
            data[:size] = arrays.data[:size]
            arrays = arrays._replace(data=data)
        self._arrays = arrays


@compile_loop
def _look_up(
    data: ByteArray,
    starts: npt.NDArray[np.int32],
    ends: npt.NDArray[np.int32],
    table: SpellingArrays,
    entries: npt.NDArray[np.int32],
    first: int,
    count: int,
    is_adding: bool,  # noqa: FBT001 - compiled
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Fill in the entries of words from the first on; return where room ran out, and the number of entries."""
    mask = len(table.slots) - 1
    for word in range(first, len(starts)):
        if is_adding and entries[word] != _MISSING:
            continue
        start, end = starts[word], ends[word]
        code, is_ascii = _hash_word(data, start, end, table)
        tag = np.int64(code >> np.uint64(_HASH_BITS + 1)) << _HASH_BITS
        place = np.int64(code & np.uint64(mask))
        while table.slots[place] != _EMPTY:
            slot = table.slots[place]
            entry = slot & ((1 << _HASH_BITS) - 1)
            if slot ^ entry == tag and _is_entry(data, start, end, is_ascii, entry, table):
                entries[word] = entry
                break
            place = (place + 1) & mask
        if table.slots[place] == _EMPTY and is_adding:
            key_start = table.ends[count]
            if 2 * (count + 1) >= len(table.slots) or key_start + end - start > len(table.data):
                return word, count
            for at in range(start, end):
                table.data[key_start + at - start] = table.lowered[data[at]] if is_ascii else data[at]
            table.slots[place], table.ends[count + 1] = tag | count, key_start + end - start
            entries[word] = count
            count += 1
    return len(starts), count


@compile_loop
def _hash_word(
    data: ByteArray, start: int, end: int, table: SpellingArrays
) -> tuple[np.uint64, bool]:  # pragma: no cover - compiled
    """Return the hash of a word, folded if it is ASCII, and whether it is."""
    code, bits = table.seed[0], np.uint8(0)
    for at in range(start, end):
        bits |= data[at]
        code = (code ^ np.uint64(table.lowered[data[at]])) * table.seed[1]
        code ^= code >> np.uint64(_HASH_BITS)
    if bits < _ASCII_END:
        return code, True
    code = table.seed[0]
    for at in range(start, end):
        code = (code ^ np.uint64(data[at])) * table.seed[1]
        code ^= code >> np.uint64(_HASH_BITS)
    return code, False


@compile_loop
def _is_entry(
    data: ByteArray,
    start: int,
    end: int,
    is_ascii: bool,  # noqa: FBT001 - compiled
    entry: int,
    table: SpellingArrays,
) -> bool:  # pragma: no cover - compiled
    """Return whether a word is the spelling of an entry."""
    key_start = table.ends[entry]
    if table.ends[entry + 1] - key_start != end - start:
        return False
    for at in range(start, end):
        byte = table.lowered[data[at]] if is_ascii else data[at]
        if byte != table.data[key_start + at - start]:
            return False
    return True


@compile_loop
def _fill_slots(table: SpellingArrays, count: int) -> None:  # pragma: no cover - compiled
    """Put the entries into empty slots."""
    mask = len(table.slots) - 1
    for entry in range(count):
        code, _ = _hash_word(table.data, table.ends[entry], table.ends[entry + 1], table)
        place = np.int64(code & np.uint64(mask))
        while table.slots[place] != _EMPTY:
            place = (place + 1) & mask
        table.slots[place] = np.int64(code >> np.uint64(_HASH_BITS + 1)) << _HASH_BITS | entry
