"""Images of every kind of file: equal content is one data set, and what has no known kind is refused."""

import random

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from deniable.core.errors import InputError
from deniable.models.images.reading import read_images
from tests.models.images import image_files

NAMES = ("a.npz", "a.zip", "a.tar", "a.tar.xz", "a.tgz", "a.tbz2", "idx", "idx.gz")


def _kinds(place, data):
    """Return the paths of one data set in every kind of file whose classes have names of their own."""
    held = image_files.files(data, "012")
    return {
        "folder": image_files.folder(place / "folder", held),
        "zip": image_files.zipped(place / "a.zip", held),
        "tar": image_files.tar(place / "a.tar", dict(reversed(held.items())), "w"),
        "tar.xz": image_files.tar(place / "a.tar.xz", {f"./some/where/{name}": held[name] for name in held}),
        "tgz": image_files.tar(place / "a.tgz", {"README.md": b"hello", **held}, "w:gz"),
    }


def _sorted(data):
    """Return a data set in the order in which folders are read: by class, then by name."""
    order = {part: np.argsort(data[f"y_{part}"], kind="stable") for part in ("train", "test")}
    return {name: array[order[name[2:]]] for name, array in data.items()}


@pytest.mark.parametrize("shape", [(6, 5), (6, 5, 3)])
def test_equal_content_is_one_data_set_in_every_kind_of_file(tmp_path, shape):
    """Pixels, labels, names and fingerprint agree between archives, folders, npz and IDX; notes and names do not."""
    data = _sorted(image_files.arrays(*shape))
    paths = _kinds(tmp_path, data)
    paths["npz"] = image_files.npz(tmp_path / "a.npz", **data)
    if len(shape) == 2:
        paths["idx"] = image_files.idx(tmp_path / "idx", data)
        paths["idx.gz"] = image_files.idx(tmp_path / "packed", data, packed=True)
        paths["kaggle"] = image_files.idx(tmp_path / "kaggle", data, mark=".")
        paths["prefix"] = image_files.idx(tmp_path / "some", data, prefix="fashion-") / "fashion-"
    for kind, path in paths.items():
        read = read_images(path)
        for part, half in (("train", read.train), ("test", read.test)):
            pixels = data[f"x_{part}"].reshape(-1, 6, 5, *shape[2:] or (1,))
            expected = np.moveaxis(pixels, 3, 1).astype(np.float32) / 255
            assert half.pixels.dtype == torch.float32, kind
            assert half.pixels.is_contiguous(), kind
            assert half.labels.dtype == torch.int64, kind
            np.testing.assert_array_equal(half.pixels.numpy(), expected, err_msg=kind)
            np.testing.assert_array_equal(half.labels.numpy(), data[f"y_{part}"], err_msg=kind)
            assert len(half) == len(expected), kind
        assert read.classes == ("0", "1", "2"), kind
        assert read.name == path.name, kind
        assert "divided by 255" in read.note, kind
    assert len({read_images(path).fingerprint for path in paths.values()}) == 1


def test_what_is_no_data_set_is_refused(tmp_path):
    """Nothing there, an unknown ending, an empty folder, and a device: each message starts with the path."""
    (tmp_path / "a.csv").write_text("1,2")
    (tmp_path / "empty").mkdir()
    for path, message in (
        (tmp_path / "none.npz", "no such file or folder"),
        (tmp_path / "a.csv", r"its suffix is unknown.*\.npz with x_train"),
        (tmp_path / "empty", "folder holds no data set"),
        ("/dev/null", "neither a file nor a folder"),
        ("a\0b", "no such file"),
    ):
        with pytest.raises(InputError, match=message) as refused:
            read_images(path)
        assert str(refused.value).startswith(repr(str(path)))
        assert "\n" not in str(refused.value)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("damaged")


@pytest.fixture(scope="module")
def whole(place):
    """Return each kind's path to read, the file to damage, and that file's bytes."""
    held = image_files.files()
    modes = {"a.tar": "w", "a.tar.xz": "w:xz", "a.tgz": "w:gz", "a.tbz2": "w:bz2"}
    paths = {name: image_files.tar(place / name, held, mode) for name, mode in modes.items()}
    paths |= {"a.npz": image_files.npz(place / "a.npz"), "a.zip": image_files.zipped(place / "a.zip", held)}
    files = {name: (path, path, path.read_bytes()) for name, path in paths.items()}
    for name, ending in (("idx", ""), ("idx.gz", ".gz")):
        folder = image_files.idx(place / name, packed=bool(ending))
        file = folder / f"train-images-idx3-ubyte{ending}"
        files[name] = folder, file, file.read_bytes()
    return files


def _read(whole, name, content):
    """Return the data set of a file with other bytes, or None where it is refused, as it should be: by one line."""
    path, file, before = whole[name]
    file.write_bytes(content)
    try:
        return read_images(path)
    except InputError as refused:
        error = str(refused)
    finally:
        file.write_bytes(before)
    assert error.startswith(f"{str(path)!r}: ")
    assert "\n" not in error
    return None


@pytest.mark.parametrize("name", NAMES)
def test_whole_files_are_read(whole, name):
    """The files that the other tests damage are fit."""
    assert len(_read(whole, name, whole[name][2]).train) == image_files.TRAIN


@pytest.mark.parametrize("name", NAMES)
@given(share=st.floats(0, 1, exclude_max=True))
def test_cut_files_are_refused_or_whole(whole, name, share):
    """A file cut off anywhere is refused, or read whole where only padding behind the content is lost."""
    content = whole[name][2]
    read = _read(whole, name, content[: int(len(content) * share)])
    assert read is None or (len(read.train), len(read.test)) == (image_files.TRAIN, image_files.TEST)


@pytest.mark.parametrize("name", NAMES)
@given(seed=st.integers(0, 2**32), flips=st.integers(1, 20))
def test_flipped_bytes_never_lose_an_image(whole, name, seed, flips):
    """With random bytes changed a file is refused, or read with all its images."""
    draw, content = random.Random(seed), bytearray(whole[name][2])
    for _ in range(flips):
        content[draw.randrange(len(content))] = draw.randrange(256)
    read = _read(whole, name, bytes(content))
    assert read is None or (len(read.train), len(read.test)) == (image_files.TRAIN, image_files.TEST)


@pytest.mark.parametrize("name", NAMES)
@given(content=st.binary(max_size=300), start=st.integers(0, 300))
def test_random_bytes_are_refused(whole, name, content, start):
    """Bytes of no meaning, behind the start of a fit file or alone, are refused."""
    assert _read(whole, name, whole[name][2][: start % 60] + content) is None
