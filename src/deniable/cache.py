"""A small cache of computed facts and arrays, keyed by fingerprints, in the user's folder.

The folder is ``$DENIABLE_CACHE``, else ``deniable`` in the user's cache folder. Where it cannot be
read or written there is no cache, and nothing else changes.
"""

import contextlib
import json
import math
import os
import secrets
from collections.abc import Callable, Collection, Iterator
from contextvars import ContextVar
from pathlib import Path

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

FORMAT = 1
"""Raised whenever a cached fact changes its meaning."""


_BYPASSED: ContextVar[bool] = ContextVar("bypassed", default=False)


@contextlib.contextmanager
def bypassed() -> Iterator[None]:
    """Within this context nothing is read from the cache and nothing kept."""
    token = _BYPASSED.set(True)
    try:
        yield
    finally:
        _BYPASSED.reset(token)


def folder() -> Path:
    """Return the cache folder, which need not exist."""
    named = os.environ.get("DENIABLE_CACHE")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "deniable"


def remember(
    name: str,
    facts: Collection[str],
    compute: Callable[[], dict[str, float]],
    usable: Callable[[dict[str, float]], bool] = lambda found: all(map(math.isfinite, found.values())),
) -> dict[str, float]:
    """Return the cached facts called ``name``, or compute and keep them.

    Args:
        name: a file name made from the kind of fact and the fingerprints it depends on.
        facts: the names that ``compute`` gives values to; a file with others is not used.
        compute: called when nothing usable is cached.
        usable: says of facts that were found whether they can be true.
    """
    if _BYPASSED.get():
        return compute()
    path = folder() / f"{name}.v{FORMAT}.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        found = None
    if isinstance(found, dict) and {*found} == {*facts} and all(isinstance(v, float) for v in found.values()):
        facts_found: dict[str, float] = found
        if usable(facts_found):
            return facts_found
    computed = compute()
    _keep(path, json.dumps(computed).encode())
    return computed


def remember_array(
    name: str,
    shape: tuple[int, ...],
    compute: Callable[[], Array],
    usable: Callable[[Array], bool] = lambda found: bool(np.isfinite(found).all()),
) -> Array:
    """Return the cached float64 array called ``name``, or compute and keep it; see `remember`."""
    if _BYPASSED.get():
        return compute()
    path = folder() / f"{name}.v{FORMAT}.f64"
    with contextlib.suppress(OSError):
        data = path.read_bytes()
        if len(data) == 8 * math.prod(shape):
            found = np.frombuffer(data, dtype="<f8").reshape(shape).astype(np.float64)
            if usable(found):
                return found
    computed = compute()
    _keep(path, computed.astype("<f8").tobytes())
    return computed


def _keep(path: Path, data: bytes) -> None:
    """Write a file whole or not at all, where that is possible."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
        try:
            part.write_bytes(data)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
