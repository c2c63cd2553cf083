"""Private text under differential privacy, with a guarantee that is checked.

The public names stand in the stub beside this file, and those of word mechanisms in their registry; each is imported
when it is first used, so that ``import deniable`` stays fast.
"""

import ast
from pathlib import Path

import lazy_loader

__version__ = "0.1.0"


def _list_public_names() -> dict[str, list[str]]:
    """Return the public names by the module that they are imported from; "" holds the public modules."""
    folder = Path(__file__).parent
    sources = [folder / "__init__.pyi", folder / "registry" / "word_mechanisms.py"]  # which the stub imports by a star
    names: dict[str, list[str]] = {}
    for statement in (statement for source in sources for statement in ast.parse(source.read_text("utf-8")).body):
        if isinstance(statement, ast.ImportFrom):
            module = (statement.module or "").removeprefix("deniable.")
            names.setdefault(module, []).extend(alias.name for alias in statement.names if alias.name != "*")
    return names


_NAMES = _list_public_names()
__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, _NAMES.pop(""), _NAMES)
