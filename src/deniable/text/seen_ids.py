"""Which record ids were there before: a table of any length, with 24 bytes for each row, on disk where they are many.

An id is kept as its digest of 128 bits, two words, with the number of its row. The digests of a window make a run,
sorted by their first word. Two runs of like length are merged into one, so that n windows make at most log n runs, and
each digest is moved log n times. A run of more than `MAX_MEMORY_ROWS` lies in a file without a name, which is read a
chunk at a time.
"""

import dataclasses
import hashlib
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from typing import BinaryIO, cast

import numpy as np
import numpy.typing as npt

MAX_MEMORY_ROWS = 1 << 20
"""Rows of the longest run that is kept in memory."""
CHUNK_ROWS = 1 << 18
"""Rows that are read from a file at a time."""
_WORD_BYTES = 8

Words = npt.NDArray[np.uint64]


@dataclasses.dataclass(frozen=True)
class _Chunk:
    """Part of a run: n digests, sorted by their first words.

    Attributes:
        firsts: (n,) first words.
        seconds: (n,) second words.
        rows: (n,) numbers of their rows.
    """

    firsts: Words
    seconds: Words
    rows: Words

    def __len__(self) -> int:
        return len(self.firsts)

    def slice(self, first: int, last: int) -> "_Chunk":
        return _Chunk(self.firsts[first:last], self.seconds[first:last], self.rows[first:last])

    @classmethod
    def merge(cls, one: "_Chunk", other: "_Chunk") -> "_Chunk":
        """Return the digests of two parts, sorted."""
        firsts = np.concatenate([one.firsts, other.firsts])
        order = np.argsort(firsts, kind="stable")  # which merges what is sorted in parts
        seconds, rows = np.concatenate([one.seconds, other.seconds]), np.concatenate([one.rows, other.rows])
        return cls(firsts[order], seconds[order], rows[order])


class _StoredRun:
    """A run in a file without a name: all first words, then all second ones, then all rows."""

    def __init__(self, length: int) -> None:
        self._length, self._written = length, 0
        self._file = cast("BinaryIO", tempfile.TemporaryFile())  # noqa: SIM115 - closed with the run
        weakref.finalize(self, self._file.close)

    def __len__(self) -> int:
        return self._length

    def append(self, chunk: _Chunk) -> None:
        """Write what comes next."""
        for column, words in enumerate((chunk.firsts, chunk.seconds, chunk.rows)):
            self._file.seek((column * self._length + self._written) * _WORD_BYTES)
            self._file.write(words.data)
        self._written += len(chunk)

    def read(self, first: int, last: int) -> _Chunk:
        """Return the digests from one to before another."""
        return _Chunk(*(self._read_column(column, first, last) for column in range(3)))

    def read_firsts(self, first: int, last: int) -> Words:
        """Return first words."""
        return self._read_column(0, first, last)

    def _read_column(self, column: int, first: int, last: int) -> Words:
        words = np.empty(min(last, self._length) - first, dtype=np.uint64)
        self._file.seek((column * self._length + first) * _WORD_BYTES)
        self._file.readinto(words.data)  # type: ignore[attr-defined]  # of a buffered file
        return words


class _MemoryRun:
    """A run in memory."""

    def __init__(self, chunk: _Chunk) -> None:
        self._chunk = chunk

    def __len__(self) -> int:
        return len(self._chunk)

    def read(self, first: int, last: int) -> _Chunk:
        """Return the digests from one to before another."""
        return self._chunk.slice(first, last)

    def read_firsts(self, first: int, last: int) -> Words:
        """Return first words."""
        return self._chunk.firsts[first:last]


_Run = _MemoryRun | _StoredRun


class SeenIds:
    """The record ids of a table so far, of which none may come twice."""

    def __init__(self) -> None:
        self._runs: list[_Run] = []
        self._row_count = 0

    def add(self, record_ids: Sequence[str]) -> tuple[int, int] | None:
        """Add the ids of the rows that come next.

        Returns:
            The numbers of the first two rows with one id, from 0 on, where an id of these was there before; else None.
        """
        if not record_ids:
            return None
        chunk = _digest_ids(record_ids, self._row_count)
        self._row_count += len(chunk)
        repeats = [_find_repeat_within(chunk), *(_find_repeat(run, chunk) for run in self._runs)]
        listed = [repeat for repeat in repeats if repeat is not None]
        if listed:
            return min(listed, key=lambda rows: rows[1])
        self._append(_MemoryRun(chunk))
        return None

    def _append(self, run: _Run) -> None:
        """Add a run, merged with those before it that are not much longer than it is."""
        while self._runs and len(self._runs[-1]) <= 2 * len(run):
            run = _merge_runs(self._runs.pop(), run)
        self._runs.append(run)


def _digest_ids(record_ids: Sequence[str], first_row: int) -> _Chunk:
    """Return the digests of ids, sorted; of equal ones that of the first row comes first."""
    digests = [
        hashlib.blake2b(record_id.encode("utf-8", "surrogatepass"), digest_size=2 * _WORD_BYTES).digest()
        for record_id in record_ids
    ]
    words = np.frombuffer(b"".join(digests), dtype="<u8").reshape(-1, 2).astype(np.uint64)
    order = np.lexsort((words[:, 1], words[:, 0]))
    rows = np.arange(first_row, first_row + len(words), dtype=np.uint64)
    return _Chunk(words[order, 0], words[order, 1], rows[order])


def _find_repeat_within(chunk: _Chunk) -> tuple[int, int] | None:
    """Return the first two rows of a window that have one digest; None where there are none."""
    is_repeat = (chunk.firsts[1:] == chunk.firsts[:-1]) & (chunk.seconds[1:] == chunk.seconds[:-1])
    places = np.flatnonzero(is_repeat) + 1
    if not len(places):
        return None
    place = places[np.argmin(chunk.rows[places])]  # the second row of its id: the one before it is the first
    return int(chunk.rows[place - 1]), int(chunk.rows[place])


def _find_repeat(run: _Run, window: _Chunk) -> tuple[int, int] | None:
    """Return the row of a run and the first one of a window, without repeats, that have one digest; None for none."""
    repeats: list[tuple[int, int]] = []
    for start in range(0, len(run), CHUNK_ROWS):
        firsts = run.read_firsts(start, start + CHUNK_ROWS)
        begin, end = np.searchsorted(window.firsts, firsts[[0, -1]], side="left").tolist()
        end += int(np.searchsorted(window.firsts[end:], firsts[-1], side="right"))
        queries = window.slice(begin, end)
        lows = np.searchsorted(firsts, queries.firsts, side="left")
        highs = np.searchsorted(firsts, queries.firsts, side="right")
        candidates = np.flatnonzero(highs > lows)
        if not len(candidates):
            continue
        chunk = run.read(start, start + CHUNK_ROWS)
        for place in candidates[np.argsort(queries.rows[candidates])].tolist():
            matches = np.flatnonzero(chunk.seconds[lows[place] : highs[place]] == queries.seconds[place])
            if len(matches):
                repeats.append((int(chunk.rows[lows[place] + matches[0]]), int(queries.rows[place])))
                break
    return min(repeats, key=lambda rows: rows[1], default=None)


def _merge_runs(one: _Run, other: _Run) -> _Run:
    """Return the digests of two runs in one."""
    length = len(one) + len(other)
    if length <= MAX_MEMORY_ROWS:
        return _MemoryRun(_Chunk.merge(one.read(0, len(one)), other.read(0, len(other))))
    merged = _StoredRun(length)
    for chunk in _merge_chunks(one, other):
        merged.append(chunk)
    return merged


def _merge_chunks(one: _Run, other: _Run) -> Iterator[_Chunk]:
    """Yield the digests of two runs in their order, of each a chunk at a time."""
    runs, starts = (one, other), [0, 0]
    while any(start < len(run) for start, run in zip(starts, runs, strict=True)):
        chunks = [run.read(start, start + CHUNK_ROWS) for start, run in zip(starts, runs, strict=True)]
        # What is not read yet lies at or behind the last word of its chunk.
        bounds = [
            chunk.firsts[-1]
            for chunk, start, run in zip(chunks, starts, runs, strict=True)
            if start + len(chunk) < len(run)
        ]
        counts = [
            int(np.searchsorted(chunk.firsts, min(bounds), side="right")) if bounds else len(chunk) for chunk in chunks
        ]
        yield _Chunk.merge(*(chunk.slice(0, count) for chunk, count in zip(chunks, counts, strict=True)))
        starts = [start + count for start, count in zip(starts, counts, strict=True)]
