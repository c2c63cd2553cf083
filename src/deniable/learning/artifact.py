"""The file of a trained model: kind, configuration, weights and facts, written and read by one codec.

Each kind of model says how it becomes an `Artifact` (its method ``to_artifact``) and how it is rebuilt from one (a
function of its room, all of them by kind in `deniable.registry`). The file is a zip file without compression:
``model.json``, and one ``.npy`` array for each weight, under its name. It holds data, and no conclusions: what is
claimed or proved of a model is computed from its network, its noise and its configuration.
"""

import dataclasses
import io
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from deniable.core.archives import MAX_INTEGER, JsonLimits, open_archive, parse_strict_json, read_array, read_member
from deniable.core.errors import InputError, shorten_text
from deniable.core.files import open_outputs

ARTIFACT_FORMAT = "deniable-artifact/3"
_DESCRIPTION = "model.json"
_LIMITS = JsonLimits(size=1 << 25, depth=20, members=1_000_000, name_length=10_000)
_WEIGHT_TYPES = {"float32", "float64", "int64"}


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
    fields = {"format": ARTIFACT_FORMAT, "kind": artifact.kind}
    described = {**fields, "configuration": artifact.configuration, "facts": artifact.facts}
    # Numbers of numpy become Python's, and what the reader refuses, such as seeds of many digits, becomes text.
    encoded = json.dumps(described, default=np.generic.item)
    parse_integer = lambda digits: int(digits) if abs(int(digits)) <= MAX_INTEGER else digits  # noqa: E731
    plain = json.loads(encoded, parse_constant=str, parse_int=parse_integer)
    description = json.dumps(plain).encode()
    try:
        parse_strict_json(description, _LIMITS)
    except ValueError as error:
        raise InputError(f"The model cannot be stored, its description {error}: train it on fewer words.") from None
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {name: weight.detach().cpu().numpy() for name, weight in artifact.weights.items()}
    np.savez(buffer, **arrays)
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr(zipfile.ZipInfo(_DESCRIPTION), description)  # of one date, as numpy's members
    return buffer.getvalue()


def save_model(model: StoredModel, path: Path, *, force: bool = False) -> None:
    """Write a model, whole or not at all.

    Raises:
        InputError: the file exists and ``force`` is not set, or it cannot be written.
    """
    with open_outputs(str(path), force=force) as (stream,):
        stream.write(serialize_model(model))


def read_artifact(path: str | Path, expected_kind: str | None = None) -> Artifact:
    """Return what the file of a model holds; nothing in it is executed, and it may come from anybody.

    Args:
        path: of the file.
        expected_kind: the kind of model that is needed; None for any.

    Raises:
        InputError: no such file, it is not a model, it is damaged, or it is of another version or another kind.
    """
    path = Path(path)
    with reraise_corrupt_file(path), open_archive(path) as archive:
        content = parse_strict_json(read_member(archive, _DESCRIPTION), _LIMITS)
        if content["format"] != ARTIFACT_FORMAT:
            raise ValueError(f"its format is {content['format']!r}, and this version reads {ARTIFACT_FORMAT!r}")
        for name, expected_type in (("kind", str), ("configuration", dict), ("facts", dict)):
            if not isinstance(content[name], expected_type):
                raise TypeError(f"{name} must be a {expected_type.__name__}, not {type(content[name]).__name__}")
        names = [name for name in archive.namelist() if name != _DESCRIPTION]
        arrays = {name.removesuffix(".npy"): read_array(archive, name) for name in names}
        if len(arrays) < len(names):
            raise ValueError("two of its weights have one name")
        if {str(array.dtype) for array in arrays.values()} - _WEIGHT_TYPES:
            raise TypeError(f"its weights have other types than {', '.join(sorted(_WEIGHT_TYPES))}")
        weights = {name: torch.from_numpy(array) for name, array in arrays.items()}
    artifact = Artifact(content["kind"], content["configuration"], weights, content["facts"], path)
    if expected_kind is not None and artifact.kind != expected_kind:
        raise InputError(
            f"{str(path)!r} holds a model of the kind {shorten_text(repr(artifact.kind))}: name the file of a "
            f"model of the kind {expected_kind!r}."
        )
    return artifact


@contextmanager
def reraise_corrupt_file(path: Path | None) -> Iterator[None]:
    """Turn whatever is raised by a model's file, or a part of it that is missing or wrong, into one line.

    Args:
        path: of the file; None for an artifact that was not read from one.

    Raises:
        InputError: an error was raised within the context.
    """
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever bytes there are
        name = "The artifact" if path is None else repr(str(path))
        reason = shorten_text(str(getattr(error, "strerror", None) or error))
        raise InputError(
            f"{name} cannot be read as a model of this version: {reason.rstrip('.')}. Name the file that training "
            "wrote, or train it again."
        ) from None


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
    if not all(tensor.isfinite().all() for tensor in network.state_dict().values()):
        raise InputError("weights that are not finite")
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
            raise ValueError(f"the weight {name!r} does not have its shape in the network that the file describes")
