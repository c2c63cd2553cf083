"""Images of every kind of file: equal content is one data set; what is damaged or out of place is refused by name."""

import io
import random
import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import deniable as dn
from tests.models.images import image_files
from tests.models.images.image_files import assert_refused, encoded, files

deep = pytest.mark.deep
read_images = dn.images.read_images


def _mode(mode):
    """Return a .png of the usual size in a mode of Pillow."""
    stream = io.BytesIO()
    Image.new(mode, (5, 6)).save(stream, format="PNG")
    return stream.getvalue()


GREY = encoded(np.zeros((6, 5), np.uint8))


def test_classes_are_the_sorted_names_of_folders(tmp_path):
    """Labels follow the names' order, .jpg of any case is read, hidden files and other folders are not."""
    picture = np.full((6, 5, 3), 200, np.uint8)
    names = ("train/10/a.PNG", "train/2/b.JPG", "train/zoé/c.jpeg", "test/2/d.png")
    held = {name: encoded(picture, "PNG" if name.lower().endswith("png") else "JPEG") for name in names}
    hidden = ("train/2/.DS_Store", "__MACOSX/train/2/._b.JPG", "train/.cache/x.png", "notes/a.txt")
    read = read_images(image_files.folder(tmp_path / "images", {**held, **dict.fromkeys(hidden, b"x")}))
    assert read.classes == ("10", "2", "zoé")
    assert read.train.labels.tolist() == [0, 1, 2]
    assert read.test.labels.tolist() == [1]
    assert read.train.pixels.shape == (3, 3, 6, 5)
    assert (read.train.pixels * 255 - 200).abs().max() <= 2
    assert "5 x 6" in read.note


def test_declared_classes_and_range(tmp_path):
    """Declared classes need not occur, an undeclared one is named, and a pixel outside the range by its file."""
    place = image_files.folder(tmp_path / "images", {**files(), "train/ant/dark.png": GREY})
    read = read_images(place, classes=("dog", "cat", "bee", "ant"), pixel_range=(-255, 255))
    assert read.classes == ("dog", "cat", "bee", "ant")
    assert set(read.train.labels.tolist()) == {1, 2, 3}
    assert 0.5 == read.train.pixels.min() < read.train.pixels.max() <= 1
    assert "[-255, 255]" in read.note
    assert_refused(place, "'bee'", classes=("ant", "cat"))
    assert_refused(place, "train/[0, 0, 0, 0] is ", pixel_range=(0, 1))


@pytest.mark.parametrize(
    ("changes", "value"),
    [
        ({"train/bee/x.png": encoded(np.zeros((6, 6), np.uint8))}, "'train/bee/x.png' is L of 6 x 6"),
        ({"train/bee/x.png": encoded(np.zeros((6, 5, 3), np.uint8))}, "'train/bee/x.png' is RGB of 5 x 6"),
        ({"train/bee/x.png": _mode("RGBA")}, "RGBA"),
        ({"train/bee/x.png": _mode("P")}, "mode P"),
        ({"train/bee/x.png": GREY[:-30]}, "'train/bee/x.png'"),
        ({"train/bee/x.jpg": b""}, "'train/bee/x.jpg'"),
        ({"train/bee/x.jpg": b"GIF89a"}, "'train/bee/x.jpg'"),
        ({"train/bee/x.gif": GREY}, "'train/bee/x.gif'"),
        ({"train/x.png": GREY}, "'train/x.png'"),
        ({"test/dog/x.png": GREY}, "'dog'"),
    ],
)
def test_unfit_images_are_named(tmp_path, changes, value):
    """An image that is damaged, unlike the others or out of place is refused by its path in the folder or archive."""
    assert_refused(image_files.folder(tmp_path / "images", {**files(), **changes}), value)


def test_missing_parts_and_single_classes_are_named(tmp_path):
    """No test set, no training set, and one class only, are refused."""
    held = files()
    for number, (kept, value) in enumerate((
        ("train/", "no image at test/<class>/"),
        ("test/", "no image at train/<class>/"),
        ("/ant/", "train/ holds only the class"),
    )):  # fmt: skip
        place = tmp_path / str(number)
        place.mkdir()
        assert_refused(image_files.folder(place, {name: held[name] for name in held if kept in f"/{name}"}), value)


def test_files_too_large_for_images(tmp_path):
    """A file that is too large to be an image is refused before it is read."""
    place = image_files.folder(tmp_path / "images", files())
    with (place / "train" / "ant" / "giant.png").open("wb") as stream:
        stream.truncate(1 << 30)
    assert_refused(place, "1073741824 bytes, more than the maximum")


def test_folders_hold_no_folders_for_images(tmp_path):
    """A folder under the name of an image is refused, and a class that is a link to a folder is read."""
    place = image_files.folder(tmp_path / "images", files())
    (place / "train" / "ant").rename(tmp_path / "ants")
    (place / "train" / "ant").symlink_to(tmp_path / "ants")
    assert len(read_images(place).train) == image_files.TRAIN
    (place / "train" / "bee" / "x.png").mkdir()
    assert_refused(place, "'train/bee/x.png' is not a regular file")


def test_a_missing_pillow_is_named(tmp_path, monkeypatch):
    """Without pillow the message says what to install."""
    place = image_files.folder(tmp_path / "images", files())
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert_refused(place, "deniable[train]")


def _sorted(data):
    """Return a data set in the order in which folders are read: by class, then by name."""
    order = {part: np.argsort(data[f"y_{part}"], kind="stable") for part in ("train", "test")}
    return {name: array[order[name[2:]]] for name, array in data.items()}


@pytest.mark.parametrize("shape", [(6, 5), pytest.param((6, 5, 3), marks=deep)])
def test_equal_content_is_one_data_set_in_both_kinds_of_file(tmp_path, shape):
    """Pixels, labels, names and fingerprint agree between folders and .npz; notes and names do not."""
    data = _sorted(image_files.arrays(*shape))
    paths = {
        "folder": image_files.folder(tmp_path / "folder", image_files.files(data, "012")),
        "npz": image_files.npz(tmp_path / "a.npz", **data),
    }
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
    for path, value in (
        (tmp_path / "none.npz", "no such file or folder"),
        (tmp_path / "a.csv", "suffix"),
        (tmp_path / "empty", "no data set"),
        ("/dev/null", "neither a file nor a folder"),
        ("a\0b", "no such file"),
    ):
        assert_refused(path, value)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return each kind's path to read, the file to damage, and that file's bytes."""
    place = tmp_path_factory.mktemp("damaged")
    archive, folder = image_files.npz(place / "a.npz"), image_files.folder(place / "images", files())
    picture = folder / "train" / "ant" / "000.png"
    return {"npz": (archive, archive, archive.read_bytes()), "folder": (folder, picture, picture.read_bytes())}


def _read(whole, name, content):
    """Return the data set of a file with other bytes, or None where it is refused, as it should be: by one line."""
    path, file, before = whole[name]
    file.write_bytes(content)
    try:
        return read_images(path)
    except dn.InputError as refused:
        error = str(refused)
    finally:
        file.write_bytes(before)
    assert error.startswith(f"{str(path)!r}: ")
    assert "\n" not in error
    return None


def check_damage(whole, name, content):
    """A file with other bytes is refused, or read with all its images."""
    read = _read(whole, name, content)
    assert read is None or (len(read.train), len(read.test)) == (image_files.TRAIN, image_files.TEST)


@pytest.mark.parametrize("name", ["npz", "folder"])
def test_damaged_files_are_refused_or_whole(whole, name):
    """Cut off anywhere, with bytes changed, or without meaning: refused by one line, and never read in part."""
    content, draw = whole[name][2], random.Random(0)
    assert len(_read(whole, name, content).train) == image_files.TRAIN
    for _ in range(6):
        check_damage(whole, name, content[: draw.randrange(len(content))])
        flipped = bytearray(content)
        for _ in range(draw.randint(1, 20)):
            flipped[draw.randrange(len(content))] = draw.randrange(256)
        check_damage(whole, name, bytes(flipped))
        assert _read(whole, name, content[: draw.randrange(60)] + draw.randbytes(100)) is None


@deep
@pytest.mark.parametrize("name", ["npz", "folder"])
@settings(max_examples=200)
@given(share=st.floats(0, 1, exclude_max=True), seed=st.integers(0, 2**32), flips=st.integers(0, 20))
def test_files_damaged_often(whole, name, share, seed, flips):
    """The same for many cuts and changes."""
    draw, content = random.Random(seed), bytearray(whole[name][2])
    for _ in range(flips):
        content[draw.randrange(len(content))] = draw.randrange(256)
    check_damage(whole, name, bytes(content if flips else content[: int(len(content) * share)]))
