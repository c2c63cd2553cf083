"""The files of a folder, .zip or .tar archive that holds train/<class>/ and test/<class>/, one after the other."""

import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple, Self

from deniable.errors import InputError
from deniable.robust.images.damage import decoding

PARTS = ("train", "test")
ENDINGS = (".png", ".jpg", ".jpeg")
LARGEST = 1 << 26
"""Bytes of the largest file that is read as an image."""


class Member(NamedTuple):
    """An image file: its part of the data set, its class, its own name, and its bytes."""

    part: str
    label: str
    file: str
    data: bytes

    @property
    def path(self) -> str:
        """What messages call the file."""
        return f"{self.part}/{self.label}/{self.file}"


def in_folder(folder: Path) -> Iterator[Member]:
    """Yield the image files of a folder."""
    labels = [label for part in PARTS if (folder / part).is_dir() for label in (folder / part).iterdir()]
    for label in labels:  # iterdir fails where it may not look; glob would leave such a class out
        for path in label.iterdir() if label.is_dir() else [label]:
            name = path.relative_to(folder).as_posix()
            place = _place(name)
            if place is not None:
                if not path.is_file():
                    raise InputError(f"{name!r} is no file: remove it.")
                _check_size(name, path.stat().st_size)
                yield Member(*place, path.read_bytes())


def in_zip(path: Path) -> Iterator[Member]:
    """Yield the image files of a .zip archive."""
    with decoding("it", "a whole .zip archive"), zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            place = None if info.is_dir() else _place(info.filename)
            with archive.open(info) as stream:  # compares the name with the one beside the file, so that none gets lost
                if place is not None:
                    _check_size(info.filename, info.file_size)
                    yield Member(*place, stream.read())


def in_tar(path: Path) -> Iterator[Member]:
    """Yield the image files of a .tar archive, in the order in which a compressed one must be read."""
    with decoding("it", "a whole .tar archive"), tarfile.open(path, "r|*", tarinfo=_Header) as archive:
        for header in archive:
            place = None if header.isdir() else _place(header.name)
            if place is not None:
                stream = archive.extractfile(header) if header.isreg() else None
                if stream is None:
                    raise InputError(f"{header.name!r} is a link or device: put the image itself into the archive.")
                _check_size(header.name, header.size)
                yield Member(*place, stream.read())


class _Header(tarfile.TarInfo):
    """A header that fails where it is damaged or missing: tarfile would take either for the archive's end."""

    @classmethod
    def fromtarfile(cls, tarfile_: tarfile.TarFile, /) -> Self:
        try:
            return super().fromtarfile(tarfile_)
        except tarfile.HeaderError as error:
            if isinstance(error, tarfile.EOFHeaderError):  # type: ignore[attr-defined] # the end that is marked
                raise
            raise tarfile.ReadError(f"damaged or cut off, {error}") from None


def _place(path: str) -> tuple[str, str, str] | None:
    """Return part, class and name of an image file; None for hidden files, and those outside train and test.

    Raises:
        InputError: a file of train or test that lies elsewhere than in a class, or is no .png or .jpg.
    """
    parts = PurePosixPath(path).parts
    start = next((number for number, part in enumerate(parts) if part in PARTS), len(parts))
    inside = parts[start:]
    if not inside or any(part.startswith(".") for part in inside) or "__MACOSX" in parts:
        return None
    if len(inside) != 3:  # noqa: PLR2004 - part, class, file
        raise InputError(f"the file {path!r} does not lie at {inside[0]}/<class>/<image>: move or remove it.")
    if not parts[-1].lower().endswith(ENDINGS):
        raise InputError(f"the file {path!r} is no .png, .jpg or .jpeg: convert or remove it.")
    return inside[0], inside[1], inside[2]


def _check_size(path: str, size: int) -> None:
    if size > LARGEST:
        raise InputError(f"the file {path!r} has {size} bytes, more than an image of {LARGEST}: remove it.")
