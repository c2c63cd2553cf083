"""Images as .png and .jpg files in a folder or archive, one folder for each class."""

import io
import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.errors import InputError
from deniable.robust.images.damage import decoding
from deniable.robust.images.dataset import Dataset, Part, assemble
from deniable.robust.images.declared import Declared, Range, check_classes
from deniable.robust.images.members import PARTS, Member
from deniable.robust.images.pixels import scale, told_range

Picture = npt.NDArray[np.uint8]
_MODES = {"L": 1, "RGB": 3}


def read_members(members: Iterable[Member], name: str, declared: Declared) -> Dataset:
    """Return the images of train/<class>/ and test/<class>/, in the order of class and file name.

    The classes are the declared ones, or the folders' names, sorted. Images are decoded as they come, so that the
    memory needed is that of the pixels.

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
    classes = _classes(found, declared.classes)
    train, test = (_part(part, found.pop(part), classes, declared.pixel_range) for part in PARTS)
    read = told_range("uint8", declared.pixel_range)
    return assemble(name, train, test, f"images of the mode {first and first[1]}, {read}", declared, classes)


def _classes(found: Mapping[str, list[tuple[str, str, Picture]]], declared: tuple[str, ...] | None) -> tuple[str, ...]:
    """Return the names of the classes."""
    trained, tested = ({label for label, _, _ in found[part]} for part in PARTS)
    if declared is not None:
        for part, labels in zip(PARTS, (trained, tested), strict=True):
            for label in sorted(labels.difference(declared)):
                raise InputError(f"{part}/ holds the class {label!r}, which is not declared: declare it, or remove it.")
        return declared
    classes = tuple(sorted(trained))
    check_classes("train/", classes)
    for label in sorted(tested.difference(classes)):
        raise InputError(f"test/ holds the class {label!r}, which train/ does not: test on classes of train/.")
    return classes


def _part(
    part: str, found: list[tuple[str, str, Picture]], classes: tuple[str, ...], pixel_range: Range | None
) -> Part:
    numbers = {label: number for number, label in enumerate(classes)}
    labels = np.array([numbers[label] for label, _, _ in found], dtype=np.int64)
    pictures = np.stack([scale(f"{part}/{label}/{file}", x, pixel_range) for label, file, x in found])
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
