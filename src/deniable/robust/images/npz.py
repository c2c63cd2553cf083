"""Images in a numpy archive."""

from pathlib import Path

import numpy as np

from deniable.errors import InputError
from deniable.robust.images.damage import decoding
from deniable.robust.images.dataset import Dataset, Part, assemble
from deniable.robust.images.declared import Declared
from deniable.robust.images.pixels import channels_first, scale_pixels

ARRAYS = ("x_train", "y_train", "x_test", "y_test")


def read_npz(path: Path, declared: Declared) -> Dataset:
    """Return the images of an archive with the arrays x_train, y_train, x_test and y_test.

    Pixels are uint8 or floats in the declared range; see `deniable.robust.images.pixels` for their shapes and
    `deniable.robust.images.labels` for the labels. Nothing in the file is unpickled.

    Raises:
        InputError: the archive is damaged, lacks an array, or holds values that are no images or labels.
    """
    wanted = ", ".join(ARRAYS)
    with decoding("it", "a .npz archive"), path.open("rb") as stream:
        archive = np.load(stream, allow_pickle=False)  # given a path, it leaves open what it cannot read
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise InputError(f"it is a single array, no .npz archive: save {wanted} by np.savez.")
        missing = [name for name in ARRAYS if name not in archive.files]
        if missing:
            held = ", ".join(map(repr, archive.files[:20])) or "none"
            raise InputError(f"it has no array {missing[0]!r}: save {wanted}. Its arrays: {held}.")
        arrays = {}
        for name in ARRAYS:
            with decoding(name, "an array of numbers"):
                arrays[name] = archive[name]
                if not isinstance(arrays[name], np.ndarray):  # numpy gives the bytes of what is no .npy
                    raise InputError(f"{name} is no array of numpy: save {wanted} by np.savez.")
    halves = ("x_train", arrays["x_train"]), ("x_test", arrays["x_test"])
    x_train, x_test, note = scale_pixels(*halves, declared.pixel_range)
    return assemble(
        path.name,
        Part("x_train", "y_train", channels_first("x_train", x_train), arrays["y_train"]),
        Part("x_test", "y_test", channels_first("x_test", x_test), arrays["y_test"]),
        note,
        declared,
    )
