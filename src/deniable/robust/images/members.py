"""The files of a folder, .zip or .tar archive that holds train/<class>/ and test/<class>/, one after the other."""

import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple, Self

from deniable.errors import InputError
from deniable.robust.images.damage import reraise_decoder_errors

SPLITS = ("train", "test")
IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg")
MAX_IMAGE_BYTES = 1 << 26
"""Bytes of the largest file that is read as an image."""


class ImageFile(NamedTuple):
    """An image file: its part of the data set, its class, its own name, and its bytes."""

    split: str
    label: str
    file: str
    data: bytes

    @property
    def path(self) -> str:
        """What messages call the file."""
        return f"{self.split}/{self.label}/{self.file}"


def iterate_folder(folder: Path) -> Iterator[ImageFile]:
    """Yield the image files of a folder."""
    labels = [label for split in SPLITS if (folder / split).is_dir() for label in (folder / split).iterdir()]
    for label in labels:  # iterdir fails where it may not look; glob would leave such a class out
        for path in label.iterdir() if label.is_dir() else [label]:
            name = path.relative_to(folder).as_posix()
            location = _parse_member_path(name)
            if location is not None:
                if not path.is_file():
                    raise InputError(f"{name!r} is no file: remove it.")
                _check_file_size(name, path.stat().st_size)
                yield ImageFile(*location, path.read_bytes())


def iterate_zip(path: Path) -> Iterator[ImageFile]:
    """Yield the image files of a .zip archive."""
    with reraise_decoder_errors("it", "a whole .zip archive"), zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            location = None if info.is_dir() else _parse_member_path(info.filename)
            with archive.open(info) as stream:  # compares the name with the one beside the file, so that none gets lost
                if location is not None:
                    _check_file_size(info.filename, info.file_size)
                    yield ImageFile(*location, stream.read())


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
    """A header that fails where it is damaged or missing: tarfile would take either for the archive's end."""

    @classmethod
    def fromtarfile(cls, tarfile_: tarfile.TarFile, /) -> Self:
        try:
            return super().fromtarfile(tarfile_)
        except tarfile.HeaderError as error:
            if isinstance(error, tarfile.EOFHeaderError):  # type: ignore[attr-defined] # the end that is marked
                raise
            raise tarfile.ReadError(f"damaged or cut off, {error}") from None


def _parse_member_path(path: str) -> tuple[str, str, str] | None:
    """Return part, class and name of an image file; None for hidden files, and those outside train and test.

    Raises:
        InputError: a file of train or test that lies elsewhere than in a class, or is no .png or .jpg.
    """
    parts = PurePosixPath(path).parts
    start = next((number for number, part in enumerate(parts) if part in SPLITS), len(parts))
    relative_parts = parts[start:]
    if not relative_parts or any(part.startswith(".") for part in relative_parts) or "__MACOSX" in parts:
        return None
    if len(relative_parts) != 3:  # noqa: PLR2004 - part, class, file
        raise InputError(f"the file {path!r} does not lie at {relative_parts[0]}/<class>/<image>: move or remove it.")
    if not parts[-1].lower().endswith(IMAGE_SUFFIXES):
        raise InputError(f"the file {path!r} is no .png, .jpg or .jpeg: convert or remove it.")
    return relative_parts[0], relative_parts[1], relative_parts[2]


def _check_file_size(path: str, size: int) -> None:
    if size > MAX_IMAGE_BYTES:
        raise InputError(f"the file {path!r} has {size} bytes, more than an image of {MAX_IMAGE_BYTES}: remove it.")
