"""Images in numpy archives: shapes, ranges, classes, labels and fingerprints; and what is refused."""

import io
import zipfile

import numpy as np
import pytest
import torch

import deniable as dn
from tests.models.images.image_files import TEST, TRAIN, arrays, assert_refused, npz
from tests.refusals import refuses

BOTH = ("x_train", "x_test")
deep = pytest.mark.deep
read = dn.images.read_images


def floats(low=0.0, kind=np.float64):
    """Return the pixels of `arrays` as floats in [low, 1]."""
    return {name: (arrays()[name] / 255 * (1 - low) + low).astype(kind) for name in BOTH}


def changed(name, at, value, held=None):
    """Return arrays with one entry of one of them changed."""
    held = held or arrays()
    array = held[name].copy()
    array[at] = value
    return {**held, name: array}


@pytest.mark.parametrize(
    ("shape", "channels"),
    [((6, 5), 1), ((6, 5, 3), 3), ((3, 6, 5), 3), *(pytest.param(s, 1, marks=deep) for s in [(6, 5, 1), (1, 6, 5)])],
)
def test_channels_are_found(tmp_path, shape, channels):
    """The axis of size 1 or 3 is moved behind the images, and no axis means grey."""
    data = arrays(*shape)
    found = read(npz(tmp_path / "a.npz", **data))
    assert found.train.pixels.shape == (TRAIN, channels, 6, 5)
    moved = np.moveaxis(data["x_test"], -1, 1) if shape[-1] in {1, 3} else data["x_test"]
    np.testing.assert_array_equal(found.test.pixels.numpy().ravel(), moved.astype(np.float32).ravel() / 255)


@pytest.mark.parametrize("kind", [np.float32, *(pytest.param(kind, marks=deep) for kind in (np.float16, ">f4", float))])
def test_floats_are_read_in_the_declared_range(tmp_path, kind):
    """Floats are pixels in [0, 1], or shares of the declared range; its ends as the type rounds them are 0 and 1."""
    plain = read(npz(tmp_path / "a.npz", **floats(kind=kind)))
    assert "[0, 1]" in plain.note
    np.testing.assert_array_equal(plain.train.pixels[:, 0].numpy(), floats(kind=kind)["x_train"].astype(np.float32))
    signed = {name: np.abs(held) for name, held in floats(-1.0, kind).items()}
    found = read(npz(tmp_path / "b.npz", **signed), pixel_range=(-1, 1))
    assert "[-1, 1]" in found.note
    expected = (signed["x_test"].astype(np.float32) + 1) / 2
    np.testing.assert_allclose(found.test.pixels[:, 0].numpy(), expected, rtol=2e-7, atol=0)
    for limits in ((0.1, 0.3), (-0.7, 1e4), (0.0, 1.0)):
        x = {name: np.resize(np.array(limits, dtype=kind), arrays()[name].shape) for name in BOTH}
        ends = read(npz(tmp_path / "c.npz", **x), pixel_range=limits).train.pixels
        assert set(ends.flatten().tolist()) == {0.0, 1.0}


def test_one_pixel_changes_no_other_image(tmp_path):
    """A pixel below 0 rescales nobody: it is refused by row and value, and in a declared range moves itself alone."""
    path = npz(tmp_path / "a.npz", **changed("x_train", (2, 3, 1), -0.004, {**arrays(), **floats()}))
    for limits in (None, (-0.001, 1)):
        assert_refused(path, "x_train[2, 3, 1] is -0.004", pixel_range=limits)
    one = read(path, pixel_range=(-1, 1)).train.pixels
    other = read(npz(tmp_path / "b.npz", **floats()), pixel_range=(-1, 1)).train.pixels
    assert np.argwhere((one != other).numpy()).tolist() == [[2, 0, 3, 1]]


def test_a_declared_range_of_bytes(tmp_path):
    """Bytes of 0 and 1 are black and white where that is declared, and 0 to 255 declared is the default."""
    bits = {name: arrays()[name] % 2 for name in BOTH}
    found = read(npz(tmp_path / "a.npz", **bits), pixel_range=(0, 1))
    np.testing.assert_array_equal(found.train.pixels[:, 0].numpy(), bits["x_train"])
    usual, declared = (read(npz(tmp_path / "b.npz"), pixel_range=given).train.pixels for given in (None, (0, 255)))
    assert torch.equal(usual, declared)


LAYOUTS = [
    ({"y_test": None}, "y_test"),
    ({"x_train": np.array([{}], dtype=object)}, "x_train"),
    ({"x_train": np.zeros((TRAIN, 30), np.uint8)}, "(9, 30)"),
    ({"x_test": np.uint8(3)}, "()"),
    ({"x_test": np.zeros((TEST, 2, 2, 3, 3), np.uint8)}, "x_test"),
    ({name: arrays(3, 5, 1)[name] for name in BOTH}, "the second and the last axis"),
    ({name: arrays(6, 5, 4)[name] for name in BOTH}, "neither"),
    ({"x_test": arrays(5, 6)["x_test"]}, "6 x 5"),
    ({"x_test": arrays(6, 5, 3)["x_test"]}, "the same size"),
    ({"x_train": arrays()["x_train"][1:]}, "8 images"),
    ({"x_test": np.zeros((0, 6, 5), np.uint8), "y_test": np.zeros(0, int)}, "x_test"),
    ({"x_train": np.zeros((TRAIN, 0, 5), np.uint8)}, "x_train"),
    ({"x_test": np.full((TEST, 6, 5), "a")}, "<U1"),
]
PIXELS = [
    (changed("x_test", (1, 2, 3), np.nan, floats()), "x_test[1, 2, 3] is nan"),
    (changed("x_train", (8, 5, 4), -np.inf, floats()), "x_train[8, 5, 4] is -inf"),
    (changed("x_train", (0, 0, 1), 1.001, floats()), "x_train[0, 0, 1] is 1.001"),
    ({name: arrays()[name].astype(np.float32) for name in BOTH}, "declare the range"),
    ({name: arrays()[name].astype(np.int64) for name in BOTH}, "int64"),
    ({name: arrays()[name] % 2 for name in BOTH}, "only 0 and 1"),
    ({"x_test": floats()["x_test"]}, "float64"),
]
NAMES = [
    (changed("y_test", 2, -1), "y_test[2] is -1"),
    ({"y_train": arrays()["y_train"].astype(np.uint64) + np.uint64(2**63)}, "y_train[0] is 9223372036854775808"),
    ({"y_train": arrays()["y_train"] / 1.0}, "float64"),
    ({"y_train": np.array(["ant"] * TRAIN)}, "<U3"),
    ({"y_train": arrays()["y_train"] == 1}, "bool"),
    ({"y_train": np.eye(3, dtype=int)[arrays()["y_train"]]}, "one-hot"),
    ({"y_train": np.zeros((TRAIN, 1, 1), int)}, "(n,)"),
    ({"y_train": np.int64(3)}, "y_train has the shape ()"),
    ({"y_train": np.full(TRAIN, 7)}, "only the class 7"),
    (changed("y_test", 0, 5), "y_test[0] is 5"),
]


@pytest.mark.parametrize(
    ("changes", "value"), [*LAYOUTS, *PIXELS, *NAMES], ids=lambda held: held if isinstance(held, str) else ""
)
def test_unfit_arrays_are_named(tmp_path, changes, value):
    """Each unfit array is refused by one line with its name and, where one value is wrong, value and index."""
    assert_refused(npz(tmp_path / "a.npz", **changes), value)


def test_other_files_under_the_name_of_an_archive(tmp_path):
    """A file of np.save, bytes that are no array, headers that claim 2^60 bytes, and a range beyond the type."""
    with (tmp_path / "single.npz").open("wb") as stream:
        np.save(stream, arrays()["x_train"])
    assert_refused(tmp_path / "single.npz", "one array")
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|u1", "fortran_order": False, "shape": (2**20,) * 3})
    for name, content in (("y_test", b"0 1 2 0"), ("x_train", header.getvalue())):
        path = npz(tmp_path / "b.npz", **{name: None})
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr(f"{name}.npy", content)
        assert_refused(path, name)
    assert_refused(npz(tmp_path / "a.npz", **floats(kind=np.float32)), "float32", pixel_range=(0, 1e300))


def test_archives_that_expand(tmp_path):
    """Images of eighty megabytes in a hundred kilobytes are refused before they are read."""
    black = np.zeros((100_000, 28, 28), dtype=np.uint8)
    data = {"x_train": black, "y_train": np.zeros(len(black)), "x_test": black[:1], "y_test": np.zeros(1)}
    np.savez_compressed(tmp_path / "a.npz", **data)
    assert_refused(tmp_path / "a.npz", "expand to 7")


def test_declared_classes_need_not_occur(tmp_path):
    """Declared classes keep their order, with records or without, and a label outside is named by its row."""
    path = npz(tmp_path / "a.npz")
    found = read(path, classes=("2", "1", "0", "9"))
    assert found.classes == ("2", "1", "0", "9")
    assert found.train.labels.tolist() == (2 - arrays()["y_train"]).tolist()
    assert_refused(path, "y_train[2] is 2", classes=("0", "1"))


def test_what_one_record_decides_is_declared(tmp_path):
    """With declared classes, the only record of a class may be any other without a change to the list of classes."""
    labels = np.array([0, 1, 0, 1, 0, 1, 0, 1, 2])
    given = ({"y_train": some, "y_test": np.zeros(TEST, int)} for some in (labels, np.where(labels == 2, 0, labels)))
    for arrays_of in given:
        assert read(npz(tmp_path / "a.npz", **arrays_of), classes=("0", "1", "2")).classes == ("0", "1", "2")


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        ({"pixel_range": (1, 0)}, "1 and 0"),
        ({"pixel_range": (0, np.inf)}, "inf"),
        ({"pixel_range": (np.nan, 1)}, "nan"),
        ({"classes": ("a",)}, "only the class a"),
        ({"classes": ()}, "no class"),
        ({"classes": ("a", "b", "a")}, "'a' twice"),
    ],
)
def test_what_cannot_be_declared(tmp_path, declared, value):
    """An empty or infinite range, and fewer than two different classes, are refused with what was given."""
    with refuses(value):
        read(npz(tmp_path / "a.npz"), **declared)


@pytest.mark.parametrize(
    "kind", [np.uint8, *(pytest.param(kind, marks=deep) for kind in (np.int8, np.int64, np.uint64))]
)
def test_labels_with_gaps_are_numbered_in_order(tmp_path, kind):
    """Labels 2, 30 and 100, as a column too, become 0, 1 and 2, and keep their names; not all need be tested."""
    names = np.array([2, 30, 100], dtype=kind)
    labels = {"y_train": names[arrays()["y_train"]], "y_test": names[arrays()["y_test"]][:, None]}
    found = read(npz(tmp_path / "a.npz", **labels))
    assert found.classes == ("2", "30", "100")
    assert found.train.labels.tolist() == arrays()["y_train"].tolist()
    assert found.test.labels.tolist() == arrays()["y_test"].tolist()
    fewer = read(npz(tmp_path / "b.npz", y_test=np.full(TEST, 2)))
    assert (fewer.test.labels.tolist(), len(fewer.classes)) == ([2] * TEST, 3)


def test_the_fingerprint_tells_every_change(tmp_path):
    """One pixel, one label, the order, the shape or the name of a class changes it; reading again does not."""
    data = arrays(6, 6)
    pixel, label = data["x_test"].copy(), data["y_train"].copy()
    pixel[-1, -1, -1] ^= 1
    label[[0, 1]] = label[[1, 0]]
    changes = [
        {},
        {"x_test": pixel},
        {"y_train": label},
        {name: data[name][::-1] for name in ("x_train", "y_train")},
        {name: data[name].reshape(-1, 4, 9) for name in BOTH},
        {name: data[name] + 1 for name in ("y_train", "y_test")},
    ]
    prints = [read(npz(tmp_path / "a.npz", **{**data, **change})).fingerprint for change in changes]
    assert len(set(prints)) == len(changes)
    assert prints[0] == read(npz(tmp_path / "b.npz", **data)).fingerprint
    assert len(prints[0]) == 32


def test_pixels_are_not_shared_between_readings(tmp_path):
    """Changing one data set's pixels in place leaves another reading as it was."""
    path = npz(tmp_path / "a.npz")
    first = read(path)
    first.train.pixels.zero_()
    assert not torch.equal(read(path).train.pixels, first.train.pixels)
