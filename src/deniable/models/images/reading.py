"""Reading a data set of images: the format follows from the path."""

import os
import warnings
from collections.abc import Sequence
from pathlib import Path

from deniable.core.errors import InputError
from deniable.models.images.arrays import is_idx_prefix, read_idx, read_npz
from deniable.models.images.dataset import DataDeclaration, ImageDataset, PixelRange
from deniable.models.images.folders import SPLITS, iterate_folder, iterate_tar, iterate_zip, read_image_files

_TAR_SUFFIXES = (".tar", ".tar.xz", ".txz", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2")
_SUPPORTED_FORMATS = (
    "a .npz with x_train, y_train, x_test and y_test; a folder, .zip or .tar(.xz, .gz, .bz2) with train/<class>/ "
    "and test/<class>/ of .png or .jpg; or a folder with train-images-idx3-ubyte and its three companions"
)


def read_images(
    path: str | os.PathLike[str], *, pixel_range: PixelRange | None = None, classes: Sequence[str] | None = None
) -> ImageDataset:
    """Return the data set of a .npz, of a folder or archive of image files, or of four IDX files.

    Args:
        path: a file or folder, or what the names of four IDX files start with.
        pixel_range: values of black and white, never inferred from pixels; None for (0, 255) of uint8 and (0, 1) of
            floats.
        classes: names of the classes, which need not all occur; None for those of the training images. A model's
            outputs are its classes, so that those of private images are not protected.

    Raises:
        InputError: the file cannot be read or holds no valid images and labels; the message starts with its path and
            names the array or file within, the value, and the fix.
    """
    declaration = DataDeclaration(pixel_range, None if classes is None else tuple(classes))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # decoders warn about bytes that they read anyway or then refuse
            return _read_dataset(Path(path), os.fspath(path), declaration)
    except InputError as error:
        raise InputError(f"{os.fspath(path)!r}: {error}") from None
    except MemoryError:
        raise InputError(f"{os.fspath(path)!r}: it does not fit into memory: give fewer or smaller images.") from None
    except (OSError, ValueError) as error:  # ValueError of a path with a null byte
        file_name, reason = getattr(error, "filename", None), getattr(error, "strerror", None)
        raise InputError(f"{os.fspath(path)!r}: {file_name or 'it'} cannot be read: {reason or error}.") from None


def _read_dataset(path: Path, text: str, declaration: DataDeclaration) -> ImageDataset:
    if path.is_dir():
        prefix = os.path.join(text, "")  # noqa: PTH118 - a Path drops the slash that makes it a prefix
        if is_idx_prefix(prefix):
            return read_idx(prefix, path.resolve().name, declaration)
        if any((path / split).is_dir() for split in SPLITS):
            return read_image_files(iterate_folder(path), path.resolve().name, declaration)
        raise InputError(f"the folder holds no data set of a known format. Give {_SUPPORTED_FORMATS}.")
    if not path.exists():
        if is_idx_prefix(text):
            return read_idx(text, path.name, declaration)
        raise InputError("there is no such file or folder: check the path.")
    name = path.name.lower()
    if not path.is_file():
        raise InputError(f"it is neither a file nor a folder. Give {_SUPPORTED_FORMATS}.")
    if name.endswith(".npz"):
        return read_npz(path, declaration)
    if name.endswith(".zip"):
        return read_image_files(iterate_zip(path), path.name, declaration)
    if name.endswith(_TAR_SUFFIXES):
        return read_image_files(iterate_tar(path), path.name, declaration)
    raise InputError(f"its suffix is unknown. Give {_SUPPORTED_FORMATS}.")
