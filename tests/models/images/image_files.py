"""Small data sets of images in both kinds of file."""

import io

import numpy as np
import pytest
from PIL import Image

import deniable as dn

TRAIN, TEST = 9, 4


def arrays(*shape, seed=0, classes=3):
    """Return the four arrays of a data set of uint8 images of a shape, all classes in both parts."""
    rng = np.random.default_rng(seed)
    shape = shape or (6, 5)
    return {
        "x_train": rng.integers(256, size=(TRAIN, *shape), dtype=np.uint8),
        "y_train": np.arange(TRAIN) % classes,
        "x_test": rng.integers(256, size=(TEST, *shape), dtype=np.uint8),
        "y_test": np.arange(TEST) % classes,
    }


def npz(path, **changes):
    """Write an archive of `arrays`, some of them changed, or left out where None; return its path."""
    held = {**arrays(), **changes}
    np.savez(path, **{name: array for name, array in held.items() if array is not None})
    return path


def encoded(picture, form="PNG"):
    """Return an image file's bytes."""
    stream = io.BytesIO()
    Image.fromarray(picture).save(stream, format=form)
    return stream.getvalue()


def files(data=None, names=("ant", "bee", "cat")):
    """Return the image files of a data set, by their paths."""
    data = data or arrays()
    return {
        f"{part}/{names[label]}/{number:03}.png": encoded(picture)
        for part in ("train", "test")
        for number, (picture, label) in enumerate(zip(data[f"x_{part}"], data[f"y_{part}"], strict=True))
    }


def folder(place, held):
    """Write files to a folder; return it."""
    for name, content in held.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content)
    return place


def assert_refused(path, value, **declared):
    """Expect that a data set is refused by one line with its path and a value."""
    with pytest.raises(dn.InputError) as told:
        dn.images.read_images(path, **declared)
    line = str(told.value)
    assert line.startswith(f"{str(path)!r}: ")
    assert "\n" not in line
    assert value in line
