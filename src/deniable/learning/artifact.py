"""Reading back what torch.save wrote, damage noticed."""

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn

from deniable.core.errors import InputError

_KINDS_BY_FORMAT = {
    "deniable-model": "images",
    "deniable-text-model": "texts",
    "deniable-rewriter": "texts to rewrite",
    "deniable-representation": "representations of texts",
}
"""What the models of a format are of, whatever its version."""


def read_tensor_file(path: Path) -> Any:  # noqa: ANN401 - whatever the file holds
    """Return the tensors, numbers and texts of a file, on the processor; nothing in it is executed.

    torch reads past a changed byte of a tensor, so the file's own checksums are looked at first.

    Raises:
        FileNotFoundError: no such file.
        Exception: of many kinds, where the file is of another kind, cut short or damaged.
    """
    with zipfile.ZipFile(path) as archive:
        damaged_member = archive.testzip()
    if damaged_member is not None:
        raise zipfile.BadZipFile(f"the checksum of {damaged_member} is wrong")
    return torch.load(path, map_location="cpu", weights_only=True)


def read_artifact(path: Path, expected_format: str | None = None) -> dict[str, Any]:
    """Return what the file of a model holds.

    Args:
        path: of the file.
        expected_format: the format expected; None for any.

    Raises:
        InputError: no such file, or it is no model of that format.
    """
    try:
        content = read_tensor_file(path)
    except FileNotFoundError:
        raise InputError(f"There is no model {str(path)!r}: name the file that training wrote.") from None
    except Exception as error:  # noqa: BLE001 - whatever bytes there are
        reason = " ".join(str(error).split())[:100]
        raise InputError(f"{str(path)!r} is no model: {reason}. Name the file that training wrote.") from None
    stored_format = content.get("format") if isinstance(content, dict) else None
    if (
        isinstance(stored_format, str)
        and expected_format is not None
        and _strip_version(stored_format) != _strip_version(expected_format)
        and _strip_version(stored_format) in _KINDS_BY_FORMAT
    ):
        raise InputError(
            f"{str(path)!r} is a model of {_KINDS_BY_FORMAT[_strip_version(stored_format)]}, not of {_KINDS_BY_FORMAT[_strip_version(expected_format)]}: name another."
        )
    if not isinstance(stored_format, str) or (expected_format is not None and stored_format != expected_format):
        raise InputError(f"{str(path)!r} is no model of this version: name the file that training wrote.")
    artifact: dict[str, Any] = content
    return artifact


@contextmanager
def reraise_corrupt_file(path: Path) -> Iterator[None]:
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


def check_finite_weights(network: nn.Module) -> None:
    """Raise `InputError` for a network with weights that are no numbers."""
    if not all(weights.isfinite().all() for weights in network.state_dict().values()):
        raise InputError("weights that are no numbers")


def _strip_version(file_format: str) -> str:
    """Return a format without its version."""
    return file_format.partition("/")[0]
