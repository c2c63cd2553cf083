"""A small cache of computed facts and arrays, keyed by fingerprints, in the user's folder.

The folder is ``$DENIABLE_CACHE``, else ``deniable`` in the user's cache folder. Where it cannot be
read or written there is no cache, and nothing else changes.

Facts from the cache are believed, and a certificate repeats them. So a folder that belongs to somebody else, or that
others can write to, is not used (`find_cache_fault`). Each file begins with a digest of its name and content: a proof
that was renamed, cut or damaged is computed anew.
"""

import contextlib
import hashlib
import json
import math
import os
import stat
from collections.abc import Callable, Collection, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import TypeVar

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.core.errors import DeniableError
from deniable.core.parts import write_whole

CACHE_FORMAT = 4
"""Raised whenever a cached fact changes its meaning."""
DIGEST_BYTES = 32
"""Bytes of the digest at the beginning of each file."""

_BYPASSED: ContextVar[bool] = ContextVar("bypassed", default=False)
_REQUIRED: ContextVar[bool] = ContextVar("required", default=False)
Computed = TypeVar("Computed")


@contextlib.contextmanager
def bypass_cache() -> Iterator[None]:
    """Within this context nothing is read from the cache and nothing kept."""
    token = _BYPASSED.set(True)
    try:
        yield
    finally:
        _BYPASSED.reset(token)


class NotCached(DeniableError):  # noqa: N818 - it says what is the case
    """A fact that would have to be computed is not in the cache."""


@contextlib.contextmanager
def require_cache() -> Iterator[None]:
    """Within this context what is not in the cache is not computed: `NotCached` is raised."""
    token = _REQUIRED.set(True)
    try:
        yield
    finally:
        _REQUIRED.reset(token)


def get_cache_folder() -> Path:
    """The cache folder, which need not exist."""
    configured = os.environ.get("DENIABLE_CACHE")
    if configured:
        return Path(configured)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "deniable"


def find_cache_fault() -> str | None:
    """Say why the cache folder must not be trusted, in one line with the remedy; None where it may be."""
    path = get_cache_folder()
    try:
        folder_stat = path.stat()
    except OSError:
        return None  # there is nothing to trust
    if not hasattr(os, "geteuid"):  # a system without such owners and modes
        return None
    if folder_stat.st_uid != os.geteuid():
        return f"the cache folder {str(path)!r} belongs to another user and is not used: name one with DENIABLE_CACHE"
    if folder_stat.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"others can write to the cache folder {str(path)!r}, and it is not used: chmod go-w {str(path)!r}"
    return None


def load_or_compute_facts(
    name: str,
    fact_names: Collection[str],
    compute: Callable[[], dict[str, float]],
    is_usable: Callable[[dict[str, float]], bool] = lambda facts: all(map(math.isfinite, facts.values())),
) -> dict[str, float]:
    """The cached facts called ``name``; computed and kept where there are none.

    Args:
        name: a file name made from the kind of fact and the fingerprints it depends on, none of them of private data.
        fact_names: names of the facts that ``compute`` returns; a file with other names is not used.
        compute: called when nothing usable is cached.
        is_usable: returns whether stored facts can be true.
    """

    def decode(content: bytes) -> dict[str, float] | None:
        facts = json.loads(content)
        are_floats = isinstance(facts, dict) and all(isinstance(value, float) for value in facts.values())
        return facts if are_floats and {*facts} == {*fact_names} and is_usable(facts) else None

    return _load_or_compute(f"{name}.v{CACHE_FORMAT}.facts", decode, compute, lambda facts: json.dumps(facts).encode())


def load_or_compute_array(
    name: str,
    shape: tuple[int, ...],
    compute: Callable[[], FloatArray],
    is_usable: Callable[[FloatArray], bool] = lambda stored: bool(np.isfinite(stored).all()),
) -> FloatArray:
    """The cached float64 array called ``name``; computed and kept where there is none; see `load_or_compute_facts`.

    A shape may begin with -1: any number of rows.
    """

    def decode(content: bytes) -> FloatArray | None:
        stored = np.frombuffer(content, dtype="<f8").reshape(shape).astype(np.float64)
        return stored if is_usable(stored) else None

    return _load_or_compute(
        f"{name}.v{CACHE_FORMAT}.f64", decode, compute, lambda computed: computed.astype("<f8").tobytes()
    )


def _load_or_compute(
    file: str,
    decode: Callable[[bytes], Computed | None],
    compute: Callable[[], Computed],
    encode: Callable[[Computed], bytes],
) -> Computed:
    """What a file of the cache holds; computed and kept where there is none that can be used.

    Raises:
        NotCached: nothing may be computed at present.
    """
    path = get_cache_folder() / file
    if is_used := not _BYPASSED.get():
        with contextlib.suppress(OSError, ValueError):
            data = b"" if find_cache_fault() else path.read_bytes()
            content = data[DIGEST_BYTES:]
            if data[:DIGEST_BYTES] == _digest(file, content) and (stored := decode(content)) is not None:
                return stored
    if _REQUIRED.get():
        raise NotCached(f"{file!r} is not in the cache: compute it first.")
    computed = compute()
    if is_used:
        with contextlib.suppress(OSError):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if find_cache_fault() is None:
                content = encode(computed)
                write_whole(path, _digest(file, content), content)
    return computed


def _digest(file: str, content: bytes) -> bytes:
    """Digest of a content under a name, in which the zero byte that ends it here does not occur."""
    return hashlib.blake2b(file.encode() + b"\0" + content, digest_size=DIGEST_BYTES).digest()
