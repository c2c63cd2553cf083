"""The file of a trained model: kind, configuration, weights and facts, written and read by one codec.

Each kind of model says how it becomes an `Artifact` (its method ``to_artifact``) and how it is rebuilt from one (a
function of its room, all of them by kind in `deniable.registry.models`). What is common to them stands here: one
format, one reader, and one line for whatever file is damaged, of another kind or of another version.
"""

import dataclasses
import io
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from deniable.core.errors import InputError, shorten_text
from deniable.core.files import open_outputs
from deniable.learning.pickles import check_pickle

ARTIFACT_FORMAT = "deniable-artifact/1"
_FORMAT_PREFIX = "deniable-"
_MAX_SHOWN = 200
"""Characters of a reason, a kind or a format that a message shows."""


@dataclasses.dataclass(frozen=True)
class Artifact:
    """A trained model as a file holds it: tensors, numbers and texts only.

    Attributes:
        kind: what it is a model of, such as ``image model``.
        configuration: everything that the network is rebuilt from beside its weights, and what is claimed of it.
        weights: of the network, by name.
        facts: about the training run, as JSON holds them; they go into the model card.
        path: the file that it was read from, for messages; None where it was not read.
    """

    kind: str
    configuration: dict[str, Any]
    weights: dict[str, Tensor]
    facts: dict[str, Any]
    path: Path | None = dataclasses.field(default=None, compare=False)


class StoredModel(Protocol):
    """A trained model that can be written to a file."""

    def to_artifact(self) -> Artifact:
        """Return the model as a file holds it."""


def serialize_model(model: StoredModel) -> bytes:
    """Return the content of a model's file."""
    artifact = model.to_artifact()
    content = {
        "format": ARTIFACT_FORMAT,
        "kind": artifact.kind,
        "configuration": _to_plain_values(artifact.configuration),
        "weights": {name: tensor.cpu() for name, tensor in artifact.weights.items()},
        "facts": _to_plain_values(artifact.facts),
    }
    buffer = io.BytesIO()
    torch.save(content, buffer)
    return buffer.getvalue()


def save_model(model: StoredModel, path: Path, *, force: bool = False) -> None:
    """Write a model, whole or not at all.

    Raises:
        InputError: the file exists and ``force`` is not set, or it cannot be written.
    """
    with open_outputs(str(path), force=force) as (stream,):
        stream.write(serialize_model(model))


def read_artifact(path: Path, expected_kind: str | None = None) -> Artifact:
    """Return what the file of a model holds; nothing in it is executed.

    Args:
        path: of the file.
        expected_kind: the kind of model that is needed; None for any.

    Raises:
        InputError: no such file, it is not a model, it is damaged, or it is of another version or another kind.
    """
    try:
        content = read_tensor_file(path)
    except FileNotFoundError:
        raise InputError(f"There is no model {str(path)!r}: name the file that training wrote.") from None
    except Exception as error:  # noqa: BLE001 - whatever bytes there are
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"{str(path)!r} is not a model: {_shorten(reason)}. Name the file that training wrote."
        ) from None
    stored_format = content.get("format") if isinstance(content, dict) else None
    if not isinstance(stored_format, str) or not stored_format.startswith(_FORMAT_PREFIX):
        raise InputError(f"{str(path)!r} is not a model: name the file that training wrote.")
    if stored_format != ARTIFACT_FORMAT:
        raise InputError(
            f"{str(path)!r} was written by another version of deniable (its format is "
            f"{_shorten(repr(stored_format))}, and this version reads {ARTIFACT_FORMAT!r}): train it again."
        )
    with reraise_corrupt_file(path):
        artifact = _decode_artifact(content, path)
    if expected_kind is not None and artifact.kind != expected_kind:
        raise InputError(
            f"{str(path)!r} holds another kind of model, {_shorten(repr(artifact.kind))}: name the file of a model of "
            f"kind {expected_kind!r}."
        )
    return artifact


def read_tensor_file(path: Path) -> Any:  # noqa: ANN401 - whatever the file holds
    """Return the tensors, numbers and texts of a file, on the processor; nothing in it is executed.

    torch reads past a changed byte of a tensor, so the file's own checksums are verified first.

    Raises:
        FileNotFoundError: no such file.
        Exception: of many kinds, where the file is of another kind, cut short or damaged.
    """
    with zipfile.ZipFile(path) as archive:
        damaged_member = archive.testzip()
        if damaged_member is not None:
            raise zipfile.BadZipFile(f"the checksum of {damaged_member} is wrong")
        for member in archive.infolist():  # each of several members of one name
            if member.filename.endswith(".pkl"):
                check_pickle(archive.read(member))
    return torch.load(path, map_location="cpu", weights_only=True)


@contextmanager
def reraise_corrupt_file(path: Path | None) -> Iterator[None]:
    """Turn whatever is raised by a part of a model's file that is missing or wrong into one line.

    Args:
        path: of the file; None for an artifact that was not read from one.

    Raises:
        InputError: an error was raised within the context.
    """
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, RuntimeError, ArithmeticError) as error:
        name = "The artifact" if path is None else repr(str(path))
        raise InputError(f"{name} is a damaged model ({_shorten(error)}): train it again.") from None


def load_weights(network: nn.Module, weights: Mapping[str, Tensor], *, assign: bool = False) -> None:
    """Give a network its weights, and put it into evaluation mode.

    Args:
        network: of the right shape.
        weights: by name.
        assign: whether the tensors themselves become the weights, for a network on the device ``meta``.

    Raises:
        RuntimeError: a weight is missing, unknown or of another shape.
        InputError: a weight is not finite.
    """
    network.load_state_dict(weights, assign=assign)
    check_finite_weights(network)
    network.eval()


def check_weight_shapes(build: Callable[[], nn.Module], weights: Mapping[str, Tensor]) -> None:
    """Raise `ValueError` unless weights have the shapes of a network, which is built without memory for them.

    The sizes that a hostile file names may be too large for any.

    Args:
        build: makes the network.
        weights: by name.

    Raises:
        KeyError: a weight is missing.
        ValueError: a weight has another shape.
    """
    with torch.device("meta"):
        network = build()
    for name, expected in network.state_dict().items():
        if weights[name].shape != expected.shape:
            raise ValueError(f"the weight {name!r} has another shape than the network that the file describes")


def check_finite_weights(network: nn.Module) -> None:
    """Raise `InputError` for a network with weights that are not finite."""
    if not all(weights.isfinite().all() for weights in network.state_dict().values()):
        raise InputError("weights that are not finite")


def _decode_artifact(content: dict[str, Any], path: Path) -> Artifact:
    """Return an artifact, its parts of the right types.

    Raises:
        KeyError: a part is missing.
        TypeError: a part is of another type.
        ValueError: a tensor is larger than the file.
    """
    for name, expected_type in (("kind", str), ("configuration", dict), ("weights", dict), ("facts", dict)):
        if not isinstance(content[name], expected_type):
            raise TypeError(f"{name} must be a {expected_type.__name__}, not {type(content[name]).__name__}")
    for name, tensor in content["weights"].items():
        if not isinstance(tensor, Tensor):
            raise TypeError(f"the weight {name!r} must be a tensor, not {type(tensor).__name__}")
    for name in ("configuration", "weights", "facts"):
        _check_tensor_sizes(content[name], name)
    return Artifact(content["kind"], content["configuration"], dict(content["weights"]), content["facts"], path)


def _check_tensor_sizes(value: object, name: object) -> None:
    """Raise `ValueError` for a tensor that is larger than what is stored of it.

    A view may repeat one number, and would take any memory when it is copied or looked at.
    """
    if isinstance(value, Tensor):
        if value.numel() * value.element_size() > value.untyped_storage().nbytes():
            raise ValueError(f"the tensor {name!r} is larger than what is stored of it")
    elif isinstance(value, dict):
        for member_name, member in value.items():
            _check_tensor_sizes(member, member_name)
    elif isinstance(value, list | tuple):
        for member in value:
            _check_tensor_sizes(member, name)


def _to_plain_values(value: Any) -> Any:  # noqa: ANN401 - whatever a configuration or a fact may be
    """Return a value with Python's own numbers in place of numpy's, which `torch.load` would refuse to read back."""
    if isinstance(value, dict):
        return {name: _to_plain_values(item) for name, item in value.items()}
    return value.item() if isinstance(value, np.generic) else value


def _shorten(reason: object) -> str:
    """Return a reason on one line, cut to what a message shows."""
    return shorten_text(str(reason), _MAX_SHOWN)
