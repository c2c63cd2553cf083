"""Python callables that an argument names; modules of the current folder can be imported."""

import contextlib
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from deniable.core.errors import InputError


class TimeLimitError(KeyboardInterrupt):
    """Interrupts a call that hangs, as Ctrl-C would; handlers of ordinary errors within the call do not stop it."""


def import_callable(target: str) -> Callable[..., Any]:
    """Return the callable that ``package.module:callable`` names; what the module prints goes to stderr.

    Raises:
        InputError: it cannot be imported, or is no callable.
    """
    function: Any = import_member(target)
    if not callable(function):
        module, _, name = target.partition(":")
        raise InputError(f"The module {module!r} has no callable {name!r}: write package.module:callable.")
    return function  # type: ignore[no-any-return]  # callable, as was checked


def import_member(target: str) -> Any:  # noqa: ANN401 - whatever the module holds
    """Return what ``package.module:name`` names, None where the module has nothing of this name.

    Raises:
        InputError: the module cannot be imported.
    """
    module, _, name = target.partition(":")
    folder = str(Path.cwd())
    sys.path.insert(0, folder)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            target_object: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise InputError(f"No module named {error.name!r}: run from its folder, or install it.") from None
    except KeyboardInterrupt:  # a time limit too
        raise
    except BaseException as error:  # SystemExit too
        raise InputError(f"The module {module!r} cannot be imported: {type(error).__name__}: {error}.") from error
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(folder)
    for part in name.split("."):
        target_object = getattr(target_object, part, None)
    return target_object
