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
        arrays = [np.load(io.BytesIO(archive.read(f"{number}.npy"))) for number in range(len(held["weights"]))]
    return {**held, "weights": dict(zip(held["weights"], map(torch.from_numpy, arrays), strict=True))}


def write_stored(held: Any, **options: Any) -> bytes:
    """Return the bytes of a file that holds this, whether or not a model can; other weights than tensors are empty."""
    weights = held.get("weights") if isinstance(held, dict) else None
    described = {**held, "weights": list(weights)} if isinstance(weights, dict) else held
    members = {"model.json": json.dumps(described, default=str).encode()}
    for number, weight in enumerate(weights.values() if isinstance(weights, dict) else ()):
        array = io.BytesIO()
        if isinstance(weight, torch.Tensor):
            np.save(array, weight.numpy())
        members[f"{number}.npy"] = array.getvalue()
    return write_members(members.items(), **options)


def write_members(members: Iterable[tuple[str, bytes]], **options: Any) -> bytes:
    """Return the bytes of a zip file of pairs of a name and a content."""
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", **options) as archive:
        warnings.simplefilter("ignore")  # of zipfile, about names that are there twice
        for name, content in members:
            archive.writestr(name, content)
    return buffer.getvalue()
