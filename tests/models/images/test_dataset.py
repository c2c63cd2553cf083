"""Data sets of images: declared ranges and classes, numbered labels, fingerprints."""

import dataclasses

import numpy as np
import pytest

from deniable.core.errors import InputError
from deniable.models.images.reading import read_images
from tests.models.images import image_files
from tests.models.images.image_files import TEST, arrays, npz

BOTH = ("x_train", "x_test")


def test_declared_classes_need_not_occur(tmp_path):
    """Declared classes keep their order, with records or without, and a label outside is named by its row."""
    path = npz(tmp_path / "a.npz")
    read = read_images(path, classes=("2", "1", "0", "9"))
    assert read.classes == ("2", "1", "0", "9")
    assert read.train.labels.tolist() == (2 - arrays()["y_train"]).tolist()
    with pytest.raises(InputError, match=r"y_train\[2\] is 2, which is none of the declared classes 0, 1: declare"):
        read_images(path, classes=("0", "1"))


def test_what_one_record_decides_is_declared(tmp_path):
    """With declared classes, the only record of a class may be any other without a change to the list of classes."""
    labels = np.array([0, 1, 0, 1, 0, 1, 0, 1, 2])
    tested = {"y_test": np.zeros(TEST, int)}
    with_it, without = (
        read_images(npz(tmp_path / "a.npz", y_train=given, **tested), classes=("0", "1", "2"))
        for given in (labels, np.where(labels == 2, 0, labels))
    )
    assert with_it.classes == without.classes == ("0", "1", "2")


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"pixel_range": (1, 0)}, "must be two finite numbers, black and white, .* Got 1 and 0"),
        ({"pixel_range": (0, np.inf)}, "must be two finite numbers"),
        ({"pixel_range": (np.nan, 1)}, "must be two finite numbers"),
        ({"classes": ("a",)}, "What is declared holds the one class a"),
        ({"classes": ()}, "What is declared holds no class"),
        ({"classes": ("a", "b", "a")}, "hold 'a' twice"),
    ],
)
def test_what_cannot_be_declared(tmp_path, declared, message):
    """An empty or infinite range, and fewer than two different classes, are refused with what was given."""
    with pytest.raises(InputError, match=message):
        read_images(npz(tmp_path / "a.npz"), **declared)


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.int64, np.uint64])
def test_labels_with_gaps_are_numbered_in_order(tmp_path, kind):
    """Labels 2, 30 and 100, as a column too, become 0, 1 and 2, and keep their names."""
    names = np.array([2, 30, 100], dtype=kind)
    labels = {"y_train": names[arrays()["y_train"]], "y_test": names[arrays()["y_test"]][:, None]}
    read = read_images(npz(tmp_path / "a.npz", **labels))
    assert read.classes == ("2", "30", "100")
    assert read.train.labels.tolist() == arrays()["y_train"].tolist()
    assert read.test.labels.tolist() == arrays()["y_test"].tolist()


def test_fewer_classes_may_be_tested_than_trained(tmp_path):
    """A test set of one class keeps the numbers of the training set."""
    read = read_images(npz(tmp_path / "a.npz", y_test=np.full(TEST, 2)))
    assert read.test.labels.tolist() == [2] * TEST
    assert len(read.classes) == 3


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
