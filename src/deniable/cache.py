"""A small cache of computed facts (floats by name), keyed by fingerprints, in the user's folder.

The folder is ``$DENIABLE_CACHE``, else ``deniable`` in the user's cache folder. Where it cannot be
read or written there is no cache, and nothing else changes.
"""

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

FORMAT = 1
"""Raised whenever a cached fact changes its meaning."""


def folder() -> Path:
    """Return the cache folder, which need not exist."""
    named = os.environ.get("DENIABLE_CACHE")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "deniable"


def remember(name: str, compute: Callable[[], dict[str, float]]) -> dict[str, float]:
    """Return the cached facts called ``name``, or compute and keep them.

    Args:
        name: a file name made from the kind of fact and the fingerprints it depends on.
        compute: called when nothing usable is cached.
    """
    path = folder() / f"{name}.v{FORMAT}.json"
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(facts, dict) and all(isinstance(value, float) for value in facts.values()):
            return facts
    except (OSError, ValueError):
        pass
    facts = compute()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as file:
            json.dump(facts, file)
        Path(file.name).replace(path)
    except OSError:
        pass
    return facts
