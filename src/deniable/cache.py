"""A small cache of computed facts and arrays, keyed by fingerprints, in the user's folder.

The folder is ``$DENIABLE_CACHE``, else ``deniable`` in the user's cache folder. Where it cannot be
read or written there is no cache, and nothing else changes.
"""

import contextlib
import io
import json
import os
import secrets
from collections.abc import Callable, Collection
from pathlib import Path

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

FORMAT = 1
"""Raised whenever a cached fact changes its meaning."""


def folder() -> Path:
    """Return the cache folder, which need not exist."""
    named = os.environ.get("DENIABLE_CACHE")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "deniable"


def remember(name: str, facts: Collection[str], compute: Callable[[], dict[str, float]]) -> dict[str, float]:
    """Return the cached facts called ``name``, or compute and keep them.

    Args:
        name: a file name made from the kind of fact and the fingerprints it depends on.
        facts: the names that ``compute`` gives values to; a file with others is not used.
        compute: called when nothing usable is cached.
    """
    path = folder() / f"{name}.v{FORMAT}.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(found, dict) and {*found} == {*facts} and all(isinstance(v, float) for v in found.values()):
            return found
    except (OSError, ValueError, RecursionError):
        pass
    computed = compute()
    _keep(path, json.dumps(computed).encode())
    return computed


def remember_array(name: str, shape: tuple[int, ...], compute: Callable[[], Array]) -> Array:
    """Return the cached float64 array called ``name``, or compute and keep it; see `remember`."""
    path = folder() / f"{name}.v{FORMAT}.npy"
    try:
        found = np.load(path, allow_pickle=False)
        if isinstance(found, np.ndarray) and found.shape == shape and found.dtype == np.float64:
            return found
    except (OSError, ValueError, EOFError):
        pass
    computed = compute()
    buffer = io.BytesIO()
    np.save(buffer, computed)
    _keep(path, buffer.getvalue())
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
