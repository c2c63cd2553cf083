"""Images in a numpy archive."""

from pathlib import Path

import numpy as np

from deniable.errors import InputError
from deniable.robust.images.damage import reraise_decoder_errors
from deniable.robust.images.dataset import ImageDataset, SplitArrays, assemble_dataset
from deniable.robust.images.declared import DataDeclaration
from deniable.robust.images.pixels import move_channels_first, scale_both_splits

NPZ_ARRAYS = ("x_train", "y_train", "x_test", "y_test")


def read_npz(path: Path, declaration: DataDeclaration) -> ImageDataset:
    """Return the images of an archive with the arrays x_train, y_train, x_test and y_test.

    Pixels are uint8 or floats in the declared range; see `deniable.robust.images.pixels` for their shapes and
    `deniable.robust.images.labels` for the labels. Nothing in the file is unpickled.

    Raises:
        InputError: the archive is damaged, lacks an array, or holds values that are no images or labels.
    """
    expected = ", ".join(NPZ_ARRAYS)
    with reraise_decoder_errors("it", "a .npz archive"), path.open("rb") as stream:
        archive = np.load(stream, allow_pickle=False)  # given a path, it leaves open what it cannot read
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise InputError(f"it is a single array, no .npz archive: save {expected} by np.savez.")
        missing = [name for name in NPZ_ARRAYS if name not in archive.files]
        if missing:
            available = ", ".join(map(repr, archive.files[:20])) or "none"
            raise InputError(f"it has no array {missing[0]!r}: save {expected}. Its arrays: {available}.")
        arrays = {}
        for name in NPZ_ARRAYS:
            with reraise_decoder_errors(name, "an array of numbers"):
                arrays[name] = archive[name]
                if not isinstance(arrays[name], np.ndarray):  # numpy gives the bytes of what is no .npy
                    raise InputError(f"{name} is no array of numpy: save {expected} by np.savez.")
    named_pixels = ("x_train", arrays["x_train"]), ("x_test", arrays["x_test"])
    x_train, x_test, note = scale_both_splits(*named_pixels, declaration.pixel_range)
    return assemble_dataset(
        path.name,
        SplitArrays("x_train", "y_train", move_channels_first("x_train", x_train), arrays["y_train"]),
        SplitArrays("x_test", "y_test", move_channels_first("x_test", x_test), arrays["y_test"]),
        note,
        declaration,
    )
