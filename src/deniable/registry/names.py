"""Names of word mechanisms, read from the source: help and shell completion list them without loading a mechanism."""

import ast
import functools
import re
from collections.abc import Iterable
from pathlib import Path

_NAME = re.compile("[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_CHOICES = ("auto", "best")
"""Names that stand for a choice among mechanisms."""
_PACKAGE = Path(__file__).parents[1]


@functools.cache
def read_word_mechanism_names() -> tuple[str, ...]:
    """Return the names of the word mechanisms in `deniable.registry.word_mechanisms`, in its order.

    Raises:
        TypeError: a name that is none, or that stands for something else.
    """
    registry = ast.parse(Path(__file__).with_name("word_mechanisms.py").read_text(encoding="utf-8"))
    imports = [statement for statement in registry.body if isinstance(statement, ast.ImportFrom)]
    return check_mechanism_names(
        _read_name(statement.module or "", alias.name) for statement in imports for alias in statement.names
    )


def check_mechanism_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of mechanisms, each of another law: of two with one name, one would pass for the other.

    Raises:
        TypeError: a name that is taken, or that is not written as names are on the command line.
    """
    checked_names: list[str] = []
    for name in names:
        if _NAME.fullmatch(name) is None:
            raise TypeError(f'The mechanism name {name!r} must be lower-case words joined by hyphens: "my-mechanism".')
        if name in (*_CHOICES, *checked_names):
            raise TypeError(f"The mechanism name {name!r} is taken: set another in the class.")
        checked_names.append(name)
    return tuple(checked_names)


def _read_name(module: str, class_name: str) -> str:
    """Return the ``name`` that a class sets, from the source of its module.

    Raises:
        TypeError: it is no text that stands in the class.
    """
    path = _PACKAGE.joinpath(*module.split(".")[1:]).with_suffix(".py")
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.ClassDef) and statement.name == class_name:
            for line in statement.body:
                targets = line.targets if isinstance(line, ast.Assign) else [getattr(line, "target", None)]
                value = getattr(line, "value", None)
                if [getattr(target, "id", None) for target in targets] == ["name"] and isinstance(value, ast.Constant):
                    return str(value.value)
    raise TypeError(f'{module}.{class_name} must set its name as a text: write name = "..." in the class.')
