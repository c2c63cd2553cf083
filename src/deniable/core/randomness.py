"""Keyed randomness: one AES-CTR stream per record, and draws from integer tables.

No global random state is read or written anywhere in deniable. A run has one 32-byte key, fresh
from the operating system unless its owner supplies one. From it come the key of one AES-128 in
counter mode and, for every record, the counter where the record's stream starts: a keyed BLAKE2b of
everything that the record's output is a function of (`deniable.text.release`). So an output depends
neither on chunks nor on workers, retries or the order of records, and no two different inputs share
noise: the starts are 128 bits, and R streams of B blocks overlap with probability below R^2 B / 2^128.
"""

import dataclasses
import functools
import hashlib
import secrets
from collections.abc import Iterable, Iterator, Sequence
from typing import NoReturn

import numpy as np
import numpy.typing as npt
from randomgen import AESCounter

from deniable.core.errors import InputError

KEY_BYTES = 32
CHUNK_TOKENS = 1 << 15
"""Tokens of one record drawn at a time: it bounds memory and fixes the order of consumption."""
_NEXT_BLOCKS = np.array([[0, 0], [1, 0], [2, 0], [3, 0]], dtype=np.uint64)
"""Added to a counter, as low and high word: it and the three after it, but for the carry."""


class SecretBytes(bytes):
    """A key's bytes, to compute with: a traceback that shows variables does not show them, and no pickle takes them."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Return no part of the key."""
        return "<secret key>"

    __str__ = __repr__

    def __copy__(self) -> "SecretBytes":
        return self

    def __deepcopy__(self, memo: object) -> "SecretBytes":
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise InputError(
            "A key that was given as bytes cannot be pickled: give it by reference, 'env:NAME' or 'file:PATH'."
        )


def generate_key() -> SecretBytes:
    """32 random bytes from the operating system."""
    return SecretBytes(secrets.token_bytes(KEY_BYTES))


def derive_key_from_seed(seed: int) -> bytes:
    """The key of a public seed. Noise made with it hides nothing: for tests only."""
    if isinstance(seed, bool) or not isinstance(seed, int):
        # The value may be a key by mistake: it is not shown.
        raise InputError(f"The 'seed' parameter must be an int. Got {type(seed).__name__}.")
    return hashlib.blake2b(b"deniable public seed %d" % seed, digest_size=KEY_BYTES).digest()


def check_key(key: bytes) -> SecretBytes:
    """Return ``key`` if it can serve as a secret key, else raise `InputError`."""
    if not isinstance(key, bytes) or len(key) != KEY_BYTES:
        size = f"{len(key)} bytes" if isinstance(key, bytes) else type(key).__name__
        raise InputError(f"A key must be {KEY_BYTES} bytes. Got {size}.")
    return SecretBytes(key)


def derive_stream_start(key: bytes, *parts: str | bytes) -> bytes:
    """The 16-byte counter at which one record's stream starts: keyed BLAKE2b over the parts.

    Each part is preceded by its length, so that no two different lists of parts collide.
    """
    return derive_stream_starts(key, parts, [()])[0]


def derive_stream_starts(
    key: bytes, common_parts: Sequence[str | bytes], part_lists: Iterable[Sequence[str | bytes]]
) -> list[bytes]:
    """`derive_stream_start` of the common parts and those of each name; the common ones are hashed once."""
    prefix = hashlib.blake2b(key=key, digest_size=16)
    _update_hash(prefix, common_parts)
    starts = []
    for parts in part_lists:
        state = prefix.copy()
        _update_hash(state, parts)
        starts.append(state.digest())
    return starts


def _update_hash(state: hashlib.blake2b, parts: Iterable[str | bytes]) -> None:
    pieces: list[bytes] = []
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        pieces += (len(data).to_bytes(8, "little"), data)
    state.update(b"".join(pieces))


def make_generator(key: bytes, *parts: str) -> np.random.Generator:
    """Numpy's generator over one AES-CTR stream, that of a key and the parts which name it."""
    return np.random.Generator(AESCounter(key=np.frombuffer(derive_stream_start(key, *parts), dtype=np.uint64)))


class _Cipher:
    """AES-128 in counter mode under a run's key, at any counter."""

    def __init__(self, key: bytes) -> None:
        self.generator = AESCounter(key=np.frombuffer(derive_stream_start(key, "AES-128"), dtype=np.uint64))
        # Setting the counter in a generator's state costs a tenth of making a generator.
        self._state = self.generator.state

    def seek(self, counters: npt.NDArray[np.uint64]) -> AESCounter:
        """The generator at the block whose counter, and the three after it, are given."""
        self._state["s"]["counter"] = counters
        self.generator.state = self._state
        return self.generator


@dataclasses.dataclass(frozen=True)
class TokenChunk:
    """Up to `CHUNK_TOKENS` consecutive tokens of one record, with the generator at the record's stream.

    The generator serves one piece after the other: use it up before asking for the next piece.
    """

    tokens: slice
    generator: AESCounter


@dataclasses.dataclass(frozen=True)
class Streams:
    """The streams of a batch of records whose tokens lie end to end in one array.

    Attributes:
        key: the run's key, 32 bytes.
        starts: the 16 bytes of `derive_stream_start` of every record.
        lengths: tokens per record, same order.
    """

    key: bytes = dataclasses.field(repr=False)
    starts: Sequence[bytes]
    lengths: Sequence[int]

    @functools.cached_property
    def _counters(self) -> npt.NDArray[np.uint64]:
        """(R, 8): four consecutive 128-bit counters per record, each as low and high word."""
        starts = np.frombuffer(b"".join(self.starts), dtype="<u8").reshape(-1, 1, 2)
        out = starts + _NEXT_BLOCKS
        out[:, :, 1] += out[:, :, 0] < starts[:, :, 0]
        return out.reshape(-1, 8)

    @functools.cached_property
    def _cipher(self) -> "_Cipher":
        return _Cipher(self.key)

    def bits(self, region: int = 0) -> npt.NDArray[np.uint64]:
        """(N,) uint64: one 64-bit draw per token, from the token's own record.

        Args:
            region: regions of a stream lie 2^64 blocks apart and are independent.
        """
        cipher = self._cipher
        counters = self._counters.copy()
        counters[:, 1::2] += np.uint64(region)
        out = np.empty(sum(self.lengths), dtype=np.uint64)
        at = 0
        for counter, length in zip(counters, self.lengths, strict=True):
            if length:
                out[at : at + length] = cipher.seek(counter).random_raw(length)
            at += length
        return out

    def uniform_below(self, bounds: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """(N,) uniform draws from 0 ... bounds[i] - 1, independent of `bits`.

        They come from a region that other draws do not reach. The modulo leaves a relative bias
        below bounds[i] / 2^62.
        """
        draws = self.bits(region=1) >> np.uint64(2)
        return draws.astype(np.int64) % bounds

    def batches(self, batch_tokens: int) -> Iterator[tuple[int, int]]:
        """Yield ranges of records (first, last + 1) that hold about ``batch_tokens`` tokens each."""
        first, token_count = 0, 0
        for record, length in enumerate(self.lengths):
            token_count += length
            if token_count >= batch_tokens:
                yield first, record + 1
                first, token_count = record + 1, 0
        if first < len(self.lengths):
            yield first, len(self.lengths)

    def chunks(self, first: int, last: int, offset: int) -> Iterator[TokenChunk]:
        """Yield the pieces of records first ... last - 1, whose first token is number ``offset``."""
        cipher = _Cipher(self.key)
        start = offset
        for record in range(first, last):
            length = self.lengths[record]
            if length:
                generator = cipher.seek(self._counters[record])
                for at in range(0, length, CHUNK_TOKENS):
                    yield TokenChunk(slice(start + at, start + min(at + CHUNK_TOKENS, length)), generator)
            start += length
