"""The file of a trained model: kind, configuration, weights and facts, written and read by one codec.

Each kind of model says how it becomes an `Artifact` (its method ``to_artifact``) and how it is rebuilt from one (a
function of its room, all of them by kind in `deniable.registry.models`). The file is a zip file without compression:
``model.json``, and one ``.npy`` array for each weight. It holds data, and no conclusions: what is claimed or proved of
a model is computed from its network, its noise and its configuration.
"""

import dataclasses
import io
import json
import math
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from deniable.core.archives import open_archive, read_array, read_member
from deniable.core.errors import InputError, shorten_text
from deniable.core.files import open_outputs
from deniable.core.strict_json import MAX_INTEGER, JsonLimits, parse_strict_json

ARTIFACT_FORMAT = "deniable-artifact/2"
_FORMAT_PREFIX = "deniable-"
_DESCRIPTION = "model.json"
_LIMITS = JsonLimits(size=1 << 25, depth=20, members=1_000_000, name_length=10_000)
_MAX_ARRAYS = 10_000
_WEIGHT_TYPES = {"float32", "float64", "int64"}
_DATE = (1980, 1, 1, 0, 0, 0)
"""Of every member, so that the bytes of a file follow from its model."""
_OLD_MEMBER = b"/data.pkl"
"""In the first member's name of files that earlier versions wrote."""
_MAX_SHOWN = 200
"""Characters of a reason, a kind or a format that a message shows."""


@dataclasses.dataclass(frozen=True)
class Artifact:
    """A trained model as a file holds it: tensors, numbers and texts only.

    Attributes:
        kind: what it is a model of, such as ``image model``.
        configuration: everything that the model is rebuilt from beside its weights, as JSON holds it.
        weights: of the network, by name.
        facts: about the training run, as JSON holds them; they go into the model card. Of a file that was read they are
            what it states, and nothing can check them.
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
    """Return the content of a model's file.

    Raises:
        InputError: the model has more words or weights than a file holds.
    """
    artifact = model.to_artifact()
    description = {
        "format": ARTIFACT_FORMAT,
        "kind": artifact.kind,
        "configuration": _to_plain_values(artifact.configuration),
        "facts": _to_plain_values(artifact.facts),
        "weights": list(artifact.weights),
    }
    contents = {_DESCRIPTION: json.dumps(description, allow_nan=False).encode()}
    try:
        parse_strict_json(contents[_DESCRIPTION], _LIMITS)
    except ValueError as error:
        raise InputError(f"The model cannot be stored, its description {error}: train it on fewer words.") from None
    for number, weight in enumerate(artifact.weights.values()):
        array = io.BytesIO()
        np.save(array, np.ascontiguousarray(weight.detach().cpu().numpy()).reshape(weight.shape), allow_pickle=False)
        contents[_name_member(number)] = array.getvalue()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in contents.items():
            archive.writestr(zipfile.ZipInfo(name, _DATE), content)
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
        content = _read_content(path)
    except FileNotFoundError:
        raise InputError(f"There is no model {str(path)!r}: name the file that training wrote.") from None
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever bytes there are
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"{str(path)!r} is not a model: {_shorten(reason)}. Name the file that training wrote."
        ) from None
    with reraise_corrupt_file(path):
        artifact = _decode_artifact(content, path)
    if expected_kind is not None and artifact.kind != expected_kind:
        raise InputError(
            f"{str(path)!r} holds another kind of model, {_shorten(repr(artifact.kind))}: name the file of a model of "
            f"kind {expected_kind!r}."
        )
    return artifact


def _read_content(path: Path) -> dict[str, Any]:
    """Return what a file describes, its weights as tensors by their names.

    Raises:
        InputError: it is of another version.
        Exception: of many kinds, where the file is not a model, cut short or damaged.
    """
    with path.open("rb") as stream:
        if _OLD_MEMBER in stream.read(200):
            raise _make_version_error(path, "that of an earlier version")
    with open_archive(path) as archive:
        members = archive.infolist()
        if len(members) > _MAX_ARRAYS or any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise zipfile.BadZipFile("its members are too many, or compressed")
        if archive.getinfo(_DESCRIPTION).file_size > _LIMITS.size:
            raise ValueError(f"{_DESCRIPTION} has more than {_LIMITS.size:,} bytes")
        try:
            content = parse_strict_json(read_member(archive, _DESCRIPTION), _LIMITS)
        except ValueError as error:
            raise ValueError(f"{_DESCRIPTION} {error}") from None
        stored_format = content.get("format") if isinstance(content, dict) else None
        if not isinstance(stored_format, str) or not stored_format.startswith(_FORMAT_PREFIX):
            raise ValueError(f"{_DESCRIPTION} names no format")
        if stored_format != ARTIFACT_FORMAT:
            raise _make_version_error(path, _shorten(repr(stored_format)))
        names = content.get("weights")
        if isinstance(names, list):  # else a part of another type
            if len(names) != len(members) - 1 or not all(isinstance(name, str) for name in names):
                raise ValueError("its arrays are not those that it lists")
            arrays = [read_array(archive, _name_member(number)) for number in range(len(names))]
            if {str(array.dtype) for array in arrays} - _WEIGHT_TYPES or len({*names}) < len(names):
                raise ValueError("its arrays have types or names that no model's have")
            content["weights"] = dict(zip(names, map(torch.from_numpy, arrays), strict=True))
    described: dict[str, Any] = content
    return described


def _name_member(number: int) -> str:
    return f"{number}.npy"


def _make_version_error(path: Path, stored_format: str) -> InputError:
    return InputError(
        f"{str(path)!r} was written by another version of deniable (its format is {stored_format}, and this version "
        f"reads {ARTIFACT_FORMAT!r}): train it again with this version."
    )


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
    """
    for name, expected_type in (("kind", str), ("configuration", dict), ("weights", dict), ("facts", dict)):
        if not isinstance(content[name], expected_type):
            raise TypeError(f"{name} must be a {expected_type.__name__}, not {type(content[name]).__name__}")
    return Artifact(content["kind"], content["configuration"], content["weights"], content["facts"], path)


def _to_plain_values(value: Any) -> Any:  # noqa: ANN401 - whatever a configuration or a fact may be
    """Return a value as `parse_strict_json` returns it: numbers of numpy as Python's, and those it refuses as text."""
    if isinstance(value, dict):
        return {name: _to_plain_values(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_to_plain_values(item) for item in value]
    number = value.item() if isinstance(value, np.generic) else value
    is_odd = (isinstance(number, float) and not math.isfinite(number)) or (
        isinstance(number, int) and abs(number) > MAX_INTEGER
    )
    return str(number) if is_odd else number


def _shorten(reason: object) -> str:
    """Return a reason on one line, cut to what a message shows."""
    return shorten_text(str(reason), _MAX_SHOWN)
