"""Images as .png and .jpg files in a folder, .zip or .tar archive, one folder for each class."""

import io
import itertools
import tarfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from deniable.core.archives import check_member_count
from deniable.core.errors import InputError
from deniable.models.images.arrays import describe_range, reraise_decoder_errors, scale_pixels
from deniable.models.images.dataset import (
    DataDeclaration,
    ImageDataset,
    PixelRange,
    SplitArrays,
    assemble_dataset,
    check_classes,
)

SPLITS = ("train", "test")
IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg")
MAX_IMAGE_BYTES = 1 << 26
"""Bytes of the largest file that is read as an image."""
PixelArray = npt.NDArray[np.uint8]
_CHANNELS_OF_MODE = {"L": 1, "RGB": 3}


class ImageFile(NamedTuple):
    """An image file: its split, its class, its own name, and its bytes."""

    split: str
    label: str
    file: str
    data: bytes

    @property
    def path(self) -> str:
        """How messages refer to the file."""
        return f"{self.split}/{self.label}/{self.file}"


def iterate_folder(folder: Path) -> Iterator[ImageFile]:
    """Yield the image files of a folder."""
    labels = [label for split in SPLITS if (folder / split).is_dir() for label in (folder / split).iterdir()]
    for label in labels:  # iterdir raises without permission to read; glob would skip such a class
        for path in label.iterdir() if label.is_dir() else [label]:
            name = path.relative_to(folder).as_posix()
            location = _parse_member_path(name)
            if location is not None:
                if not path.is_file():
                    raise InputError(f"{name!r} is not a regular file: remove it.")
                _check_file_size(name, path.stat().st_size)
                yield ImageFile(*location, path.read_bytes())


def iterate_zip(path: Path) -> Iterator[ImageFile]:
    """Yield the image files of a .zip archive."""
    with (
        reraise_decoder_errors("it", "a whole .zip archive"),
        path.open("rb") as stream,
        zipfile.ZipFile(stream) as archive,
    ):
        check_member_count(archive, stream)
        for info in archive.infolist():
            location = None if info.is_dir() else _parse_member_path(info.filename)
            with archive.open(info) as member:  # compares the name with that of the file's own header
                if location is not None:
                    _check_file_size(info.filename, info.file_size)
                    yield ImageFile(*location, member.read())


def iterate_tar(path: Path) -> Iterator[ImageFile]:
    """Yield the image files of a .tar archive, in the order in which a compressed one must be read."""
    with (
        reraise_decoder_errors("it", "a whole .tar archive"),
        tarfile.open(path, "r|*", tarinfo=_StrictTarHeader) as archive,
    ):
        for header in archive:
            location = None if header.isdir() else _parse_member_path(header.name)
            if location is not None:
                stream = archive.extractfile(header) if header.isreg() else None
                if stream is None:
                    raise InputError(f"{header.name!r} is a link or device: put the image itself into the archive.")
                _check_file_size(header.name, header.size)
                yield ImageFile(*location, stream.read())


class _StrictTarHeader(tarfile.TarInfo):
    """A header that raises if it is damaged or missing: tarfile would take either for the end of the archive."""

    @classmethod
    def fromtarfile(cls, tarfile_: tarfile.TarFile, /) -> Self:
        try:
            return super().fromtarfile(tarfile_)
        except tarfile.HeaderError as error:
            if isinstance(error, tarfile.EOFHeaderError):  # type: ignore[attr-defined] # the proper end
                raise
            raise tarfile.ReadError(f"damaged or truncated, {error}") from None


def _parse_member_path(path: str) -> tuple[str, str, str] | None:
    """Return split, class and name of an image file; None for hidden files, and those outside train and test.

    Raises:
        InputError: a file of train or test that is not in the folder of a class, or is no .png or .jpg.
    """
    parts = PurePosixPath(path).parts
    start = next((number for number, part in enumerate(parts) if part in SPLITS), len(parts))
    relative_parts = parts[start:]
    if not relative_parts or any(part.startswith(".") for part in relative_parts) or "__MACOSX" in parts:
        return None
    if len(relative_parts) != 3:  # noqa: PLR2004 - split, class, file
        raise InputError(f"the file {path!r} is not at {relative_parts[0]}/<class>/<image>: move or remove it.")
    if not parts[-1].lower().endswith(IMAGE_SUFFIXES):
        raise InputError(f"the file {path!r} is no .png, .jpg or .jpeg: convert or remove it.")
    return relative_parts[0], relative_parts[1], relative_parts[2]


def _check_file_size(path: str, size: int) -> None:
    if size > MAX_IMAGE_BYTES:
        raise InputError(f"the file {path!r} has {size} bytes, more than the maximum of {MAX_IMAGE_BYTES}: remove it.")


def read_image_files(members: Iterable[ImageFile], name: str, declaration: DataDeclaration) -> ImageDataset:
    """Return the images of train/<class>/ and test/<class>/, in the order of class and file name.

    The classes are the declared ones, or the sorted names of the folders. Images are decoded one by one, so that memory
    holds the pixels only.

    Raises:
        InputError: an image is damaged, or of another size or mode than the first; a split or class is missing.
    """
    pictures: dict[str, list[tuple[str, str, PixelArray]]] = {split: [] for split in SPLITS}
    first: tuple[str, str] | None = None
    for member in members:
        picture, form = _decode_image(member)
        if first is None:
            first = member.path, form
        elif form != first[1]:
            raise InputError(
                f"{member.path!r} is {form} but {first[0]!r} is {first[1]}: give all images one size and mode."
            )
        pictures[member.split].append((member.label, member.file, picture))
    for split in SPLITS:
        if not pictures[split]:
            raise InputError(f"it has no image at {split}/<class>/<image>.png or .jpg: add some.")
        pictures[split].sort(key=lambda item: item[:2])
        for first_item, second_item in itertools.pairwise(pictures[split]):
            if first_item[:2] == second_item[:2]:
                raise InputError(f"it holds two files {split}/{first_item[0]}/{first_item[1]}: remove one.")
    classes = _list_classes(pictures, declaration.classes)
    train, test = (_assemble_split(split, pictures.pop(split), classes, declaration.pixel_range) for split in SPLITS)
    range_text = describe_range("uint8", declaration.pixel_range)
    return assemble_dataset(
        name, train, test, f"images of the mode {first and first[1]}, {range_text}", declaration, classes
    )


def _list_classes(
    pictures: Mapping[str, list[tuple[str, str, PixelArray]]], declared_classes: tuple[str, ...] | None
) -> tuple[str, ...]:
    """Return the names of the classes."""
    train_labels, test_labels = ({label for label, _, _ in pictures[split]} for split in SPLITS)
    if declared_classes is not None:
        for split, labels in zip(SPLITS, (train_labels, test_labels), strict=True):
            for label in sorted(labels.difference(declared_classes)):
                raise InputError(
                    f"{split}/ holds the class {label!r}, which is not declared: declare it, or remove it."
                )
        return declared_classes
    classes = tuple(sorted(train_labels))
    check_classes("train/", classes)
    for label in sorted(test_labels.difference(classes)):
        raise InputError(f"test/ holds the class {label!r}, which train/ does not: remove it, or add it to train/.")
    return classes


def _assemble_split(
    split: str, pictures: list[tuple[str, str, PixelArray]], classes: tuple[str, ...], pixel_range: PixelRange | None
) -> SplitArrays:
    class_numbers = {label: number for number, label in enumerate(classes)}
    labels = np.array([class_numbers[label] for label, _, _ in pictures], dtype=np.int64)
    pixels = np.stack([scale_pixels(f"{split}/{label}/{file}", x, pixel_range) for label, file, x in pictures])
    return SplitArrays(f"{split}/", f"{split}/", np.ascontiguousarray(np.moveaxis(pixels, 3, 1)), labels)


def _decode_image(member: ImageFile) -> tuple[PixelArray, str]:
    """Return the pixels (h, w, channels) of an image, and its mode and size in words."""
    pillow = _import_pillow()
    file_text, stream = f"the file {member.path!r}", io.BytesIO(member.data)
    with (
        reraise_decoder_errors(file_text, "a .png or .jpg image"),
        pillow.open(stream, formats=("PNG", "JPEG")) as image,
    ):
        mode, (width, height) = image.mode, image.size
        if mode not in _CHANNELS_OF_MODE:
            raise InputError(f"{file_text} is of the mode {mode}: convert it to grey (L) or RGB.")
        pixels = np.asarray(image)
    return pixels.reshape(height, width, _CHANNELS_OF_MODE[mode]), f"{mode} of {width} x {height} pixels"


def _import_pillow() -> Any:  # noqa: ANN401 - a module
    try:
        from PIL import Image
    except ImportError:
        raise InputError("Reading .png and .jpg needs pillow, which is missing: install deniable[train].") from None
    return Image
