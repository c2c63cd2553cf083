"""Images as .png and .jpg files in a folder or archive, one folder for each class."""

import io
import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.errors import InputError
from deniable.robust.images.damage import decoding
from deniable.robust.images.dataset import Dataset, Part, assemble
from deniable.robust.images.members import PARTS, Member

Picture = npt.NDArray[np.uint8]
_MODES = {"L": 1, "RGB": 3}


def read_members(members: Iterable[Member], name: str) -> Dataset:
    """Return the images of train/<class>/ and test/<class>/, in the order of class and file name.

    The classes are the folders' names, sorted. Images are decoded as they come, so that the memory needed is
    that of the pixels.

    Raises:
        InputError: an image is damaged, or of another size or mode than the first; a part or class is missing.
    """
    found: dict[str, list[tuple[str, str, Picture]]] = {part: [] for part in PARTS}
    first: tuple[str, str] | None = None
    for member in members:
        picture, kind = _decoded(member)
        if first is None:
            first = member.path, kind
        elif kind != first[1]:
            raise InputError(f"{member.path!r} is {kind} but {first[0]!r} is {first[1]}: make all images alike.")
        found[member.part].append((member.label, member.file, picture))
    for part in PARTS:
        if not found[part]:
            raise InputError(f"it has no image at {part}/<class>/<image>.png or .jpg: put some there.")
        found[part].sort(key=lambda item: item[:2])
        for one, other in itertools.pairwise(found[part]):
            if one[:2] == other[:2]:
                raise InputError(f"it holds two files {part}/{one[0]}/{one[1]}: remove one.")
    classes = tuple(sorted({label for label, _, _ in found["train"]}))
    unknown = sorted({label for label, _, _ in found["test"]}.difference(classes))
    if unknown:
        raise InputError(f"test/ holds the class {unknown[0]!r}, which train/ does not: test on classes of train/.")
    train, test = (_part(part, found.pop(part), classes) for part in PARTS)
    return assemble(name, train, test, f"images of the mode {first and first[1]}, divided by 255", classes)


def _part(part: str, found: list[tuple[str, str, Picture]], classes: tuple[str, ...]) -> Part:
    numbers = {label: number for number, label in enumerate(classes)}
    labels = np.array([numbers[label] for label, _, _ in found], dtype=np.int64)
    pictures = np.stack([picture for _, _, picture in found])
    return Part(f"{part}/", f"{part}/", np.ascontiguousarray(np.moveaxis(pictures, 3, 1)), labels)


def _decoded(member: Member) -> tuple[Picture, str]:
    """Return the pixels (h, w, channels) of an image, and its size and mode in words."""
    pillow = _pillow()
    what, stream = f"the file {member.path!r}", io.BytesIO(member.data)
    with decoding(what, "a .png or .jpg image"), pillow.open(stream, formats=("PNG", "JPEG")) as image:
        mode, (width, height) = image.mode, image.size
        if mode not in _MODES:
            raise InputError(f"{what} is of the mode {mode}: convert it to grey (L) or RGB.")
        pixels = np.asarray(image)
    return pixels.reshape(height, width, _MODES[mode]), f"{mode} of {width} x {height} pixels"


def _pillow() -> Any:  # noqa: ANN401 - a module
    try:
        from PIL import Image  # noqa: PLC0415 - an extra
    except ImportError:
        raise InputError("Reading .png and .jpg needs pillow, which is missing: install deniable[train].") from None
    return Image
