"""A large table of integers in the cache: mapped rather than read, its rows authenticated when first needed."""

import contextlib
import dataclasses
import functools
import hashlib
import hmac
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.core.cache import (
    CACHE_FORMAT,
    CODE_BYTES,
    authenticate,
    get_cache_folder,
    is_cache_readable,
    obtain_secret,
    read_secret,
    write_content,
)

_CHUNK_ROWS = 16
"""Rows that are authenticated together."""


@dataclasses.dataclass(frozen=True, eq=False)
class StoredTable:
    """A table of int64 that was computed, or that a file of the cache holds.

    Attributes:
        rows: (n, c), to be read where `is_genuine`.
        file: its name in the cache; None for a table that was computed.
    """

    rows: npt.NDArray[np.int64]
    file: str | None = None
    _codes: bytes = b""
    _secret: bytes = dataclasses.field(default=b"", repr=False)

    def __post_init__(self) -> None:
        """Make a computed table read-only, as a mapped one is: compiled loops then know one type of both."""
        self.rows.setflags(write=False)

    @functools.cached_property
    def _unread_chunks(self) -> npt.NDArray[np.bool_]:
        return np.full(_count_chunks(len(self.rows)), self.file is not None)

    def is_genuine(self, numbers: npt.NDArray[np.integer[Any]]) -> bool:
        """Return whether rows, by number, are what this user stored; the file is removed where one is not."""
        if self.file is None:
            return True
        chunks = numbers // _CHUNK_ROWS
        for chunk in np.unique(chunks[self._unread_chunks[chunks]]).tolist():
            code = _authenticate_chunk(self._secret, self.rows, chunk)
            if not hmac.compare_digest(code, self._codes[chunk * CODE_BYTES : (chunk + 1) * CODE_BYTES]):
                with contextlib.suppress(OSError):
                    (get_cache_folder() / self.file).unlink()
                return False
            self._unread_chunks[chunk] = False
        return True


def load_table(name: str, shape: tuple[int, int]) -> StoredTable | None:
    """Return the table (n, c) that the cache holds under a name, None where it holds none."""
    file = _name_file(name)
    if not is_cache_readable():
        return None
    secret, path = read_secret(), get_cache_folder() / file
    header_bytes = CODE_BYTES * (1 + _count_chunks(shape[0]))
    with contextlib.suppress(OSError, ValueError):
        with path.open("rb") as stream:
            header = stream.read(header_bytes)
        code, codes = header[:CODE_BYTES], header[CODE_BYTES:]
        if secret is None or not hmac.compare_digest(code, authenticate(secret, file, codes)):
            return None
        if path.stat().st_size == header_bytes + 8 * shape[0] * shape[1]:
            rows = np.memmap(path, dtype="<i8", mode="r", offset=header_bytes, shape=shape)
            return StoredTable(rows.view(np.ndarray), file, codes, secret)
    return None


def store_table(name: str, compute: Callable[[], npt.NDArray[np.int64]]) -> StoredTable:
    """Return a table (n, c) that is computed and kept in the cache, where there is one."""
    file, rows = _name_file(name), np.ascontiguousarray(compute(), dtype="<i8")
    secret = obtain_secret()
    if secret is not None:
        codes = b"".join(_authenticate_chunk(secret, rows, chunk) for chunk in range(_count_chunks(len(rows))))
        write_content(file, codes, rows.data)
    return StoredTable(rows)


def _name_file(name: str) -> str:
    return f"{name}.v{CACHE_FORMAT}.i64"


def _count_chunks(count: int) -> int:
    return -(-count // _CHUNK_ROWS)


def _authenticate_chunk(secret: bytes, rows: npt.NDArray[np.int64], chunk: int) -> bytes:
    """Return the code of a chunk of rows at its place."""
    content = np.ascontiguousarray(rows[chunk * _CHUNK_ROWS : (chunk + 1) * _CHUNK_ROWS]).data
    state = hashlib.blake2b(chunk.to_bytes(8, "little"), key=secret, digest_size=CODE_BYTES)
    state.update(content)
    return state.digest()
