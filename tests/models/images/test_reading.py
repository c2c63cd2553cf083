"""Images of every kind of file: equal content is one data set, and what has no known kind is refused."""

import dataclasses

import numpy as np
import pytest
import torch

from deniable.core.errors import InputError
from deniable.models.images.reading import read_images
from tests.models.images import image_files


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


def test_the_fingerprint_tells_every_change(tmp_path):
    """One pixel, one label, the order, the shape or the name of a class changes it; reading again does not."""
    data = image_files.arrays(6, 6)
    pixel, label = data["x_test"].copy(), data["y_train"].copy()
    pixel[-1, -1, -1] ^= 1
    label[[0, 1]] = label[[1, 0]]
    changes = [
        {},
        {"x_test": pixel},
        {"y_train": label},
        {name: data[name][::-1] for name in ("x_train", "y_train")},
        {name: data[name].reshape(-1, 4, 9) for name in ("x_train", "x_test")},
        {name: data[name] + 1 for name in ("y_train", "y_test")},
    ]
    prints = [read_images(image_files.npz(tmp_path / "a.npz", **{**data, **change})).fingerprint for change in changes]
    assert len(set(prints)) == len(changes)
    assert prints[0] == read_images(image_files.npz(tmp_path / "b.npz", **data)).fingerprint
    assert len(prints[0]) == 32


def test_a_data_set_is_frozen(tmp_path):
    """What was fingerprinted cannot be exchanged."""
    read = read_images(image_files.npz(tmp_path / "a.npz"))
    with pytest.raises(dataclasses.FrozenInstanceError):
        read.name = "other"


def test_what_is_no_data_set_is_refused(tmp_path):
    """Nothing there, an unknown ending, an empty folder, and a device: each message starts with the path."""
    (tmp_path / "a.csv").write_text("1,2")
    (tmp_path / "empty").mkdir()
    for path, message in (
        (tmp_path / "none.npz", "no such file or folder"),
        (tmp_path / "a.csv", r"ending is of no kind.*\.npz with x_train"),
        (tmp_path / "empty", "folder holds no data set"),
        ("/dev/null", "neither a file nor a folder"),
        ("a\0b", "no such file"),
    ):
        with pytest.raises(InputError, match=message) as refused:
            read_images(path)
        assert str(refused.value).startswith(repr(str(path)))
        assert "\n" not in str(refused.value)
