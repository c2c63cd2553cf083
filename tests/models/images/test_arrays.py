"""Images in numpy archives: shapes, ranges and labels that are read, and those that are refused by name."""

import gzip
import io
import struct
import zipfile

import numpy as np
import pytest
import torch

from deniable.core.errors import InputError
from deniable.models.images.reading import read_images
from tests.models.images import image_files
from tests.models.images.image_files import TEST, TRAIN, arrays, assert_refused, idx, idx_bytes, npz

LABELS, IMAGES = "train-labels-idx1-ubyte", "train-images-idx3-ubyte"
BOTH = ("x_train", "x_test")


def _floats(low=0.0, kind=np.float64):
    """Return the pixels of `arrays` as floats in [low, 1]."""
    return {name: (arrays()[name] / 255 * (1 - low) + low).astype(kind) for name in BOTH}


def _with(name, at, value, held=None):
    """Return an array with one entry changed."""
    array = (held or arrays())[name].copy()
    array[at] = value
    return {name: array}


@pytest.mark.parametrize(
    ("shape", "channels"), [((6, 5), 1), ((6, 5, 1), 1), ((6, 5, 3), 3), ((1, 6, 5), 1), ((3, 6, 5), 3)]
)
def test_channels_are_found(tmp_path, shape, channels):
    """The axis of size 1 or 3 is moved behind the images, and no axis means grey."""
    data = arrays(*shape)
    read = read_images(npz(tmp_path / "a.npz", **data))
    assert read.train.pixels.shape == (TRAIN, channels, 6, 5)
    moved = np.moveaxis(data["x_test"], -1, 1) if shape[-1] in {1, 3} else data["x_test"]
    np.testing.assert_array_equal(read.test.pixels.numpy().ravel(), moved.astype(np.float32).ravel() / 255)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, ">f4"])
def test_floats_are_read_in_the_declared_range(tmp_path, kind):
    """Floats are pixels in [0, 1], or shares of the declared range, whatever values occur."""
    plain = read_images(npz(tmp_path / "a.npz", **_floats(kind=kind)))
    assert plain.note == "x_train and x_test are floats in [0, 1]"
    np.testing.assert_array_equal(plain.train.pixels[:, 0].numpy(), _floats(kind=kind)["x_train"].astype(np.float32))
    signed = {name: np.abs(held) for name, held in _floats(-1.0, kind).items()}
    read = read_images(npz(tmp_path / "b.npz", **signed), pixel_range=(-1, 1))
    assert read.note == "x_train and x_test are floats in [-1, 1], as declared"
    np.testing.assert_allclose(
        read.test.pixels[:, 0].numpy(), (signed["x_test"].astype(np.float32) + 1) / 2, rtol=2e-7, atol=0
    )
    assert read.test.pixels.min() >= 0.5


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("limits", [(0.1, 0.3), (-0.7, 1e4), (0.0, 1.0)])
def test_the_ends_of_a_range_are_black_and_white(tmp_path, kind, limits):
    """The ends of a range, as the type rounds them, become 0 and 1 exactly, and nothing lies beyond."""
    x = {name: np.resize(np.array(limits, dtype=kind), arrays()[name].shape) for name in BOTH}
    pixels = read_images(npz(tmp_path / "a.npz", **x), pixel_range=limits).train.pixels
    assert set(pixels.flatten().tolist()) == {0.0, 1.0}


def test_one_pixel_changes_no_other_image(tmp_path):
    """A pixel below 0 rescales nobody: it is refused by row and value, and in a declared range moves itself alone."""
    floats = _floats()
    path = npz(tmp_path / "a.npz", **{**floats, **_with("x_train", (2, 3, 1), -0.004, floats)})
    with pytest.raises(
        InputError, match=r"x_train\[2, 3, 1\] is -0.004: pixels must lie in \[0, 1\], .*--pixel-range=-1,1"
    ):
        read_images(path)
    with pytest.raises(
        InputError, match=r"x_train\[2, 3, 1\] is -0.004: .* \[-0.001, 1\], as declared by --pixel-range"
    ):
        read_images(path, pixel_range=(-0.001, 1))
    one = read_images(path, pixel_range=(-1, 1)).train.pixels
    other = read_images(npz(tmp_path / "b.npz", **floats), pixel_range=(-1, 1)).train.pixels
    assert np.argwhere((one != other).numpy()).tolist() == [[2, 0, 3, 1]]


def test_a_declared_range_of_bytes(tmp_path):
    """Bytes of 0 and 1 are black and white where that is declared, and 0 to 255 declared is the default."""
    bits = {name: arrays()[name] % 2 for name in BOTH}
    read = read_images(npz(tmp_path / "a.npz", **bits), pixel_range=(0, 1))
    np.testing.assert_array_equal(read.train.pixels[:, 0].numpy(), bits["x_train"])
    usual, declared = (
        read_images(npz(tmp_path / "b.npz"), pixel_range=given).train.pixels for given in (None, (0, 255))
    )
    assert torch.equal(usual, declared)


def test_a_range_beyond_the_type(tmp_path):
    """A range that the type of the pixels cannot hold is refused."""
    path = npz(tmp_path / "a.npz", **_floats(kind=np.float32))
    with pytest.raises(InputError, match="float32, which cannot represent the declared range"):
        read_images(path, pixel_range=(0, 1e300))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y_test": None}, "no array 'y_test'.*Its arrays: 'x_train', 'y_train', 'x_test'"),
        ({"x_train": np.array([{}], dtype=object)}, "x_train cannot be read"),
        ({"x_train": np.zeros((TRAIN, 30), np.uint8)}, r"x_train has the shape \(9, 30\), flat.*reshape"),
        ({"x_test": np.uint8(3)}, r"x_test has the shape \(\)"),
        ({"x_test": np.zeros((TEST, 2, 2, 3, 3), np.uint8)}, r"x_test has the shape"),
        ({name: arrays(3, 5, 1)[name] for name in BOTH}, "the second and the last axis could both be"),
        ({name: arrays(6, 5, 4)[name] for name in BOTH}, "neither the second nor the last axis"),
        ({"x_test": arrays(5, 6)["x_test"]}, "of x_train are 1 channels of 6 x 5 pixels but those of x_test"),
        ({"x_test": arrays(6, 5, 3)["x_test"]}, "make them of one size"),
        ({"x_train": arrays()["x_train"][1:]}, "x_train has 8 images but y_train has 9 labels"),
        ({"x_test": np.zeros((0, 6, 5), np.uint8), "y_test": np.zeros(0, int)}, "x_test has no images"),
        ({"x_train": np.zeros((TRAIN, 0, 5), np.uint8)}, "x_train has no images"),
        ({**_floats(), **_with("x_test", (1, 2, 3), np.nan, _floats())}, r"x_test\[1, 2, 3\] is nan.*replace it"),
        ({**_floats(), **_with("x_train", (8, 5, 4), -np.inf, _floats())}, r"x_train\[8, 5, 4\] is -inf"),
        ({**_floats(), **_with("x_train", (0, 0, 1), 1.001, _floats())}, r"x_train\[0, 0, 1\] is 1.001.*\[0, 1\]"),
        (
            {**_floats(-1.0), **_with("x_test", (0, 0, 0), -1.5, _floats())},
            r"x_train\[.*\] is -.*pixels must lie in \[0, 1\], the range unless another",
        ),
        (
            {name: arrays()[name].astype(np.float32) for name in BOTH},
            "declare the range of all pixels when training, for example",
        ),
        ({name: arrays()[name].astype(np.int64) for name in BOTH}, "x_train is of type int64: save pixels as uint8"),
        ({name: arrays()[name] % 2 for name in BOTH}, "0 and 1 only, where 255 is white"),
        ({"x_test": _floats()["x_test"]}, "x_train is of type uint8 and x_test of float64"),
        ({"x_test": np.full((TEST, 6, 5), "a")}, "x_test is of type <U1"),
        (_with("y_test", 2, -1), r"y_test\[2\] is -1"),
        ({"y_train": arrays()["y_train"].astype(np.uint64) + np.uint64(2**63)}, r"y_train\[0\] is 9223372036854775808"),
        ({"y_train": arrays()["y_train"] / 1.0}, "y_train is of type float64"),
        ({"y_train": np.array(["ant"] * TRAIN)}, "y_train is of type <U3"),
        ({"y_train": arrays()["y_train"] == 1}, "y_train is of type bool"),
        ({"y_train": np.eye(3, dtype=int)[arrays()["y_train"]]}, r"one-hot.*y_train.argmax\(1\)"),
        ({"y_train": np.zeros((TRAIN, 1, 1), int)}, r"labels must have the shape \(n,\)"),
        ({"y_train": np.int64(3)}, "x_train has 9 images but y_train has 1 labels"),
        ({"y_train": np.full(TRAIN, 7)}, "y_train holds the one class 7"),
        (_with("y_test", 0, 5), "y_test holds the class 5, which y_train does not: it has 0, 1, 2"),
    ],
)
def test_unfit_arrays_are_named(tmp_path, changes, message):
    """Each unfit array is refused by one line with its name and, where one value is wrong, value and index."""
    path = npz(tmp_path / "a.npz", **changes)
    with pytest.raises(InputError, match=message) as refused:
        read_images(path)
    assert str(refused.value).startswith(f"{str(path)!r}: ")
    assert "\n" not in str(refused.value)


def test_a_single_array_is_no_archive(tmp_path):
    """A file of np.save under the name of an archive is refused with how to save one."""
    with (tmp_path / "a.npz").open("wb") as stream:
        np.save(stream, arrays()["x_train"])
    with pytest.raises(InputError, match=r"single array.*np\.savez"):
        read_images(tmp_path / "a.npz")


def test_members_that_are_no_arrays_are_named(tmp_path):
    """A file of other bytes under the name of an array is refused."""
    path = npz(tmp_path / "a.npz", y_test=None)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("y_test.npy", b"0 1 2 0")
    with pytest.raises(InputError, match=r"y_test\.npy is not an array of numpy"):
        read_images(path)


def test_headers_that_claim_too_much_are_refused(tmp_path):
    """An array of 2^60 bytes by its header is not allocated."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|u1", "fortran_order": False, "shape": (2**20,) * 3})
    path = npz(tmp_path / "a.npz", x_train=None)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("x_train.npy", header.getvalue())
    with pytest.raises(InputError, match="x_train cannot be read"):
        read_images(path)


def test_pixels_are_not_shared_between_readings(tmp_path):
    """Changing one data set's pixels in place leaves another reading as it was."""
    path = image_files.npz(tmp_path / "a.npz")
    first = read_images(path)
    first.train.pixels.zero_()
    assert not torch.equal(read_images(path).train.pixels, first.train.pixels)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        (LABELS, None, f"no file '{LABELS}'"),
        ("t10k-images-idx3-ubyte", None, "no file 't10k-images-idx3-ubyte'"),
        (LABELS, b"", f"{LABELS}.* is empty"),
        (IMAGES, b"\0\0", f"{IMAGES}.* cannot be read as an IDX file"),
        (IMAGES, idx_bytes(arrays()["x_train"])[:-1], f"{IMAGES}.* holds less than the 270 bytes"),
        (IMAGES, idx_bytes(arrays()["x_train"]) + b"x", f"{IMAGES}.* holds more than the 270 bytes"),
        (IMAGES, idx_bytes(arrays()["x_train"], magic=0x0D03), f"{IMAGES}.* starts with 3331: .* starts with 2051"),
        (IMAGES, struct.pack(">4I", 0x803, *[2**32 - 1] * 3), f"{IMAGES}.* holds less than the 792281624"),
        (IMAGES, idx_bytes(arrays()["x_train"][:5]), f"{IMAGES}.* has 5 images but {LABELS}.* has 9 labels"),
        (IMAGES, idx_bytes(arrays()["x_train"][:, 1:]), "1 channels of 5 x 5 pixels but"),
        (LABELS, idx_bytes(np.full(9, 3)), f"{LABELS}.* holds the one class 3"),
        (LABELS, idx_bytes(np.arange(9) % 2), "t10k-labels.* holds the class 2, which"),
    ],
)
def test_unfit_idx_files_are_named(tmp_path, packed, file, content, message):
    """Each missing or damaged IDX file is refused by its name, and no header makes memory be allocated."""
    place = idx(tmp_path / "idx", packed=packed)
    path = place / (f"{file}.gz" if packed else file)
    path.unlink()
    if content is not None:
        path.write_bytes(gzip.compress(content) if packed else content)
    assert_refused(place, message)


def test_archives_and_files_that_expand(tmp_path):
    """Images of eighty megabytes in a hundred kilobytes are refused before they are read."""
    black = np.zeros((100_000, 28, 28), dtype=np.uint8)
    np.savez_compressed(tmp_path / "a.npz", x_train=black, y_train=np.zeros(1), x_test=black[:1], y_test=np.zeros(1))
    with pytest.raises(InputError, match=r"expand to 78,.*: write such arrays without compression"):
        read_images(tmp_path / "a.npz")
    data = {"x_train": black, "y_train": np.zeros(len(black)), "x_test": black[:1], "y_test": np.zeros(1)}
    folder = idx(tmp_path / "idx", data, packed=True)
    with pytest.raises(InputError, match="holds less than the 78400000 bytes that its header states"):
        read_images(folder)
