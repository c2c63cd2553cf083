"""A small cache of computed facts and arrays, keyed by fingerprints, in the user's folder.

The folder is ``$DENIABLE_CACHE``, else ``deniable`` in the user's cache folder. Where it cannot be
read or written there is no cache, and nothing else changes.

Facts from the cache are believed, and a certificate repeats them. So each file begins with a code, keyed by a secret
that the folder holds for its user alone, of its name and content: a fact whose file was changed, renamed or brought
from elsewhere is computed anew. A folder that belongs to somebody else, or that others can write to, is not used
(`find_cache_fault`).
"""

import contextlib
import hashlib
import hmac
import json
import math
import os
import secrets
import stat
from collections.abc import Callable, Collection, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import TypeVar

import numpy as np

from deniable.core.arrays import FloatArray
from deniable.core.errors import DeniableError

CACHE_FORMAT = 3
"""Raised whenever a cached fact changes its meaning."""
SECRET_FILE = "secret"  # noqa: S105 - the name of a file
"""File that holds the user's secret, 32 random bytes."""
_SECRET_BYTES = 32
CODE_BYTES = 32
"""Bytes of the code at the beginning of each file."""
_OTHERS_ACCESS = stat.S_IRWXG | stat.S_IRWXO
_BINARY = getattr(os, "O_BINARY", 0)
"""Of systems that would write line ends of their own."""


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


def _compute_uncached(name: str, compute: Callable[[], Computed]) -> Computed:
    """Return what is not in the cache, computed.

    Raises:
        NotCached: nothing may be computed at present.
    """
    if _REQUIRED.get():
        raise NotCached(f"{name!r} is not in the cache: compute it first.")
    return compute()


def get_cache_folder() -> Path:
    """Return the cache folder, which need not exist."""
    configured = os.environ.get("DENIABLE_CACHE")
    if configured:
        return Path(configured)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "deniable"


def find_cache_fault() -> str | None:
    """Return why the cache folder must not be trusted, in one line with the remedy; None where it may be."""
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
    """Return the cached facts called ``name``, or compute and keep them.

    Args:
        name: a file name made from the kind of fact and the fingerprints it depends on, none of them of private data.
        fact_names: names of the facts that ``compute`` returns; a file with other names is not used.
        compute: called when nothing usable is cached.
        is_usable: returns whether stored facts can be true.
    """
    file = f"{name}.v{CACHE_FORMAT}.facts"
    try:
        stored = json.loads(_read_content(file) or b"null")
    except (ValueError, RecursionError):
        stored = None
    if isinstance(stored, dict) and {*stored} == {*fact_names} and all(isinstance(v, float) for v in stored.values()):
        stored_facts: dict[str, float] = stored
        if is_usable(stored_facts):
            return stored_facts
    computed = _compute_uncached(name, compute)
    write_content(file, json.dumps(computed).encode())
    return computed


def load_or_compute_array(
    name: str,
    shape: tuple[int, ...],
    compute: Callable[[], FloatArray],
    is_usable: Callable[[FloatArray], bool] = lambda stored: bool(np.isfinite(stored).all()),
) -> FloatArray:
    """Return the cached float64 array called ``name``, or compute and keep it; see `load_or_compute_facts`.

    A shape may begin with -1: any number of rows.
    """
    file = f"{name}.v{CACHE_FORMAT}.f64"
    data = _read_content(file)
    row_count = len(data or b"") // (8 * math.prod(shape[1:])) if shape[0] == -1 else shape[0]
    if data is not None and len(data) == 8 * row_count * math.prod(shape[1:]):
        stored = np.frombuffer(data, dtype="<f8").reshape(shape).astype(np.float64)
        if is_usable(stored):
            return stored
    computed = _compute_uncached(name, compute)
    write_content(file, computed.astype("<f8").tobytes())
    return computed


def _read_content(file: str) -> bytes | None:
    """Return the content that this user's `write_content` stored in a file; None where there is none."""
    if not is_cache_readable():
        return None
    try:
        data = (get_cache_folder() / file).read_bytes()
        secret = read_secret()
    except OSError:
        return None
    content = data[CODE_BYTES:]
    is_genuine = secret is not None and hmac.compare_digest(data[:CODE_BYTES], authenticate(secret, file, content))
    return content if is_genuine else None


def is_cache_readable() -> bool:
    """Return whether what is in the cache is read at present."""
    return not _BYPASSED.get() and find_cache_fault() is None


def write_content(file: str, content: bytes, tail: bytes | memoryview = b"") -> None:
    """Write a file whole or not at all, where that is possible.

    Args:
        file: its name in the folder.
        content: what the code at its beginning authenticates.
        tail: what follows it, of which the content holds the codes.
    """
    secret = obtain_secret()
    if secret is None:
        return
    path = get_cache_folder() / file
    with (
        contextlib.suppress(OSError),
        _write_part_file(path, authenticate(secret, file, content) + content, tail) as part,
    ):
        part.replace(path)


def obtain_secret() -> bytes | None:
    """Return the secret, a new one where there was none; None where nothing is kept in the cache at present."""
    if _BYPASSED.get():
        return None
    with contextlib.suppress(OSError):
        get_cache_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
        if find_cache_fault() is None:
            return read_secret() or _make_secret()
    return None


def authenticate(secret: bytes, file: str, content: bytes) -> bytes:
    """Return the code of a content under a name: keyed BLAKE2b. No name holds the zero byte that ends it here."""
    return hashlib.blake2b(file.encode() + b"\0" + content, key=secret, digest_size=CODE_BYTES).digest()


def read_secret() -> bytes | None:
    """Return the secret; None where there is none that only this user can know."""
    try:
        descriptor = os.open(get_cache_folder() / SECRET_FILE, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | _BINARY)
    except OSError:
        return None
    with open(descriptor, "rb") as stream:  # noqa: PTH123 - a descriptor
        file_stat = os.fstat(descriptor)
        is_exposed = hasattr(os, "geteuid") and (file_stat.st_uid != os.geteuid() or file_stat.st_mode & _OTHERS_ACCESS)
        secret = b"" if is_exposed or not stat.S_ISREG(file_stat.st_mode) else stream.read(_SECRET_BYTES + 1)
    return secret if len(secret) == _SECRET_BYTES else None


def _make_secret() -> bytes | None:
    """Write a fresh secret, and return the one that is there then: another process may have been first."""
    path = get_cache_folder() / SECRET_FILE
    with _write_part_file(path, secrets.token_bytes(_SECRET_BYTES)) as part:
        try:
            os.link(part, path)
        except FileExistsError:
            if read_secret() is None:
                part.replace(path)
        except OSError:  # a file system without links
            part.replace(path)
    return read_secret()


@contextlib.contextmanager
def _write_part_file(path: Path, data: bytes, tail: bytes | memoryview = b"") -> Iterator[Path]:
    """Write a file that is its owner's alone, to be given the name of ``path``; it is removed if it was not."""
    part = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o600), "wb") as stream:  # noqa: PTH123 - a descriptor
            stream.write(data)
            stream.write(tail)
        yield part
    finally:
        part.unlink(missing_ok=True)
