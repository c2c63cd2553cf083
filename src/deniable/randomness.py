"""Keyed randomness: one AES-CTR stream per record, and draws from integer tables.

No global random state is read or written anywhere in deniable. A run has one 32-byte key, fresh
from the operating system unless its owner supplies one. Every record gets a keystream of its own,
derived from (key, mechanism and parameters, record id, record text), so that an output depends
neither on chunks nor on workers, retries or the order of records, and two different texts never
share noise.
"""

import dataclasses
import hashlib
import secrets
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from randomgen import AESCounter

from deniable.errors import InputError

KEY_BYTES = 32
PIECE = 1 << 15
"""Tokens of one record drawn at a time: it bounds memory and fixes the order of consumption."""

_MEMBER_REGION = 1 << 64
"""Counter offset of the second region of a stream (16 * 2^64 bytes after the first)."""


def fresh_key() -> bytes:
    """Return 32 random bytes from the operating system."""
    return secrets.token_bytes(KEY_BYTES)


def key_from_seed(seed: int) -> bytes:
    """Return the key of a public seed. Noise made with it hides nothing: for tests only."""
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise InputError(f"The 'seed' parameter must be an int. Got {seed!r}.")
    return hashlib.blake2b(b"deniable public seed %d" % seed, digest_size=KEY_BYTES).digest()


def check_key(key: bytes) -> bytes:
    """Return ``key`` if it can serve as a secret key, else raise `InputError`."""
    if not isinstance(key, bytes) or len(key) != KEY_BYTES:
        size = f"{len(key)} bytes" if isinstance(key, bytes) else type(key).__name__
        raise InputError(f"A key must be {KEY_BYTES} bytes. Got {size}.")
    return key


def stream_key(key: bytes, *parts: str) -> bytes:
    """Return the 16-byte AES key of one record's stream: keyed BLAKE2b over the parts.

    Each part is preceded by its length, so that no two different lists of parts collide.
    """
    state = hashlib.blake2b(key=key, digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        state.update(len(data).to_bytes(8, "little"))
        state.update(data)
    return state.digest()


def keystream(key: bytes, counter: int = 0) -> AESCounter:
    """Return the AES-CTR generator of a 16-byte key, from block ``counter`` on."""
    return AESCounter(key=np.frombuffer(key, dtype=np.uint64), counter=counter)


@dataclasses.dataclass(frozen=True)
class Piece:
    """Up to `PIECE` consecutive tokens of one record, with the record's generator."""

    tokens: slice
    generator: AESCounter


@dataclasses.dataclass(frozen=True)
class Streams:
    """The streams of a batch of records whose tokens lie end to end in one array.

    Attributes:
        keys: one 16-byte AES key per record.
        lengths: tokens per record, same order.
    """

    keys: Sequence[bytes]
    lengths: Sequence[int]

    def bits(self, counter: int = 0) -> npt.NDArray[np.uint64]:
        """Return (N,) uint64: one 64-bit draw per token, from the token's own record."""
        total = sum(self.lengths)
        out = np.empty(total, dtype=np.uint64)
        start = 0
        for key, length in zip(self.keys, self.lengths, strict=True):
            if length:
                out[start : start + length] = keystream(key, counter).random_raw(length)
            start += length
        return out

    def choose(self, sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return (N,) uniform draws from 0 ... sizes[i] - 1, independent of `bits`.

        They come from a region of the stream that `bits` and `pieces` never reach. The modulo
        leaves a relative bias below sizes[i] / 2^62.
        """
        drawn = self.bits(counter=_MEMBER_REGION) >> np.uint64(2)
        return drawn.astype(np.int64) % sizes

    def batches(self, tokens: int) -> Iterator[tuple[int, int]]:
        """Yield ranges of records (first, last + 1) that hold about ``tokens`` tokens each."""
        first, held = 0, 0
        for record, length in enumerate(self.lengths):
            held += length
            if held >= tokens:
                yield first, record + 1
                first, held = record + 1, 0
        if first < len(self.lengths):
            yield first, len(self.lengths)

    def pieces(self, first: int, last: int, offset: int) -> Iterator[Piece]:
        """Yield the pieces of records first ... last - 1, whose first token is number ``offset``."""
        start = offset
        for key, length in zip(self.keys[first:last], self.lengths[first:last], strict=True):
            if length:
                generator = keystream(key)
                for at in range(0, length, PIECE):
                    yield Piece(slice(start + at, start + min(at + PIECE, length)), generator)
            start += length
