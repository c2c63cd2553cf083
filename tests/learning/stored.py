"""What the file of a model holds, taken apart and put together again with whatever in it."""

import io
import json
import warnings
import zipfile
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch


def read_stored(content: bytes) -> dict[str, Any]:
    """Return kind, format, configuration, facts and weights, as tensors, of the bytes of a model's file."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        held = json.loads(archive.read("model.json"))
        names = [name for name in archive.namelist() if name != "model.json"]
        weights = {name.removesuffix(".npy"): np.load(io.BytesIO(archive.read(name))) for name in names}
    return {**held, "weights": {name: torch.from_numpy(array) for name, array in weights.items()}}


def write_stored(held: Any, **options: Any) -> bytes:
    """Return the bytes of a file that holds this, whether or not a model can; other weights than tensors are empty."""
    weights = held.get("weights") if isinstance(held, dict) else None
    described = {name: value for name, value in held.items() if name != "weights"} if weights is not None else held
    members = {"model.json": json.dumps(described, default=str).encode()}
    for name, weight in weights.items() if isinstance(weights, dict) else ():
        array = io.BytesIO()
        if isinstance(weight, torch.Tensor):
            np.save(array, weight.numpy())
        members[f"{name}.npy"] = array.getvalue()
    return write_members(members.items(), **options)


def write_members(members: Iterable[tuple[str, bytes]], **options: Any) -> bytes:
    """Return the bytes of a zip file of pairs of a name and a content."""
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", **options) as archive:
        warnings.simplefilter("ignore")  # of zipfile, about names that are there twice
        for name, content in members:
            archive.writestr(name, content)
    return buffer.getvalue()
