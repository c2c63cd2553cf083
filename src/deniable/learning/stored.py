"""Reading back what torch.save wrote, damage noticed."""

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn

from deniable.errors import InputError

_KINDS = {
    "deniable-model": "images",
    "deniable-text-model": "texts",
    "deniable-rewriter": "texts to rewrite",
    "deniable-representation": "representations of texts",
}
"""What the models of a format are of, whatever its version."""


def read_stored(path: Path) -> Any:  # noqa: ANN401 - whatever the file holds
    """Return the tensors, numbers and texts of a file, on the processor; nothing in it is executed.

    torch reads past a changed byte of a tensor, so the file's own checksums are looked at first.

    Raises:
        FileNotFoundError: no such file.
        Exception: of many kinds, where the file is of another kind, cut short or damaged.
    """
    with zipfile.ZipFile(path) as archive:
        damaged = archive.testzip()
    if damaged is not None:
        raise zipfile.BadZipFile(f"the checksum of {damaged} is wrong")
    return torch.load(path, map_location="cpu", weights_only=True)


def read_model(path: Path, form: str | None = None) -> dict[str, Any]:
    """Return what the file of a model holds.

    Args:
        path: of the file.
        form: the format expected; None for any.

    Raises:
        InputError: no such file, or it is no model of that format.
    """
    try:
        held = read_stored(path)
    except FileNotFoundError:
        raise InputError(f"There is no model {str(path)!r}: name the file that training wrote.") from None
    except Exception as error:  # noqa: BLE001 - whatever bytes there are
        reason = " ".join(str(error).split())[:100]
        raise InputError(f"{str(path)!r} is no model: {reason}. Name the file that training wrote.") from None
    found = held.get("format") if isinstance(held, dict) else None
    if isinstance(found, str) and form is not None and _what(found) != _what(form) and _what(found) in _KINDS:
        raise InputError(
            f"{str(path)!r} is a model of {_KINDS[_what(found)]}, not of {_KINDS[_what(form)]}: name another."
        )
    if not isinstance(found, str) or (form is not None and found != form):
        raise InputError(f"{str(path)!r} is no model of this version: name the file that training wrote.")
    kept: dict[str, Any] = held
    return kept


@contextmanager
def damage_told(path: Path) -> Iterator[None]:
    """Turn whatever comes of a part of a model's file that is missing or wrong into one line.

    Args:
        path: of the file.

    Raises:
        InputError: an error came up within the context.
    """
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError, ArithmeticError) as error:
        reason = " ".join(str(error).split())[:100]
        raise InputError(f"{str(path)!r} is a damaged model ({reason}): train it again.") from None


def check_finite(network: nn.Module) -> None:
    """Raise `InputError` for a network with weights that are no numbers."""
    if not all(weights.isfinite().all() for weights in network.state_dict().values()):
        raise InputError("weights that are no numbers")


def _what(form: str) -> str:
    """Return a format without its version."""
    return form.partition("/")[0]
