"""Image files in folders and archives, and IDX files: what does not fit is refused by its name."""

import gzip
import io
import struct
import sys
import tarfile

import numpy as np
import pytest
from PIL import Image

from deniable.core.errors import InputError
from deniable.models.images.reading import read_images
from tests.models.images import image_files
from tests.models.images.image_files import arrays, encoded, files, idx, idx_bytes


def _mode(mode):
    """Return a .png of the usual size in a mode of Pillow."""
    stream = io.BytesIO()
    Image.new(mode, (5, 6)).save(stream, format="PNG")
    return stream.getvalue()


GREY = encoded(np.zeros((6, 5), np.uint8))
WRITERS = {
    "folder": lambda place, held: image_files.folder(place / "images", held),
    "zip": lambda place, held: image_files.zipped(place / "a.zip", held),
    "tar": lambda place, held: image_files.tar(place / "a.tar", held, "w"),
}


def _refused(path, message):
    with pytest.raises(InputError, match=message) as refused:
        read_images(path)
    assert str(refused.value).startswith(f"{str(path)!r}: ")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("kind", WRITERS)
def test_classes_are_the_sorted_names_of_folders(tmp_path, kind):
    """Labels follow the names' order, .jpg of any case is read, hidden files and other folders are not."""
    picture = np.full((6, 5, 3), 200, np.uint8)
    names = ("train/10/a.PNG", "train/2/b.JPG", "train/zoé/c.jpeg", "test/2/d.png")
    held = {name: encoded(picture, "PNG" if name.lower().endswith("png") else "JPEG") for name in names}
    hidden = ("train/2/.DS_Store", "__MACOSX/train/2/._b.JPG", "train/.cache/x.png", "notes/a.txt")
    read = read_images(WRITERS[kind](tmp_path, {**held, **dict.fromkeys(hidden, b"x")}))
    assert read.classes == ("10", "2", "zoé")
    assert read.train.labels.tolist() == [0, 1, 2]
    assert read.test.labels.tolist() == [1]
    assert read.train.pixels.shape == (3, 3, 6, 5)
    assert (read.train.pixels * 255 - 200).abs().max() <= 2
    assert read.note == "images of the mode RGB of 5 x 6 pixels, uint8, divided by 255"


@pytest.mark.parametrize("kind", WRITERS)
def test_declared_classes_and_range(tmp_path, kind):
    """Declared classes need not occur, an undeclared one is named, and a pixel outside the range by its file."""
    place = WRITERS[kind](tmp_path, {**files(), "train/ant/dark.png": GREY})
    read = read_images(place, classes=("dog", "cat", "bee", "ant"), pixel_range=(-255, 255))
    assert read.classes == ("dog", "cat", "bee", "ant")
    assert set(read.train.labels.tolist()) == {1, 2, 3}
    assert 0.5 == read.train.pixels.min() < read.train.pixels.max() <= 1
    assert read.note.endswith("uint8 in [-255, 255], as declared")
    with pytest.raises(InputError, match="train/ holds the class 'bee', which is not declared"):
        read_images(place, classes=("ant", "cat"))
    with pytest.raises(InputError, match=r"train/ant/000.png\[0, 0, 0\] is \d+: pixels must lie in \[0, 1\]"):
        read_images(place, pixel_range=(0, 1))


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train/bee/x.png": encoded(np.zeros((6, 6), np.uint8))}, "'train/bee/x.png' is L of 6 x 6 pixels but"),
        ({"train/bee/x.png": encoded(np.zeros((6, 5, 3), np.uint8))}, "'train/bee/x.png' is RGB of 5 x 6 .* alike"),
        ({"train/bee/x.png": _mode("RGBA")}, "'train/bee/x.png' is of the mode RGBA: convert"),
        ({"train/bee/x.png": _mode("P")}, "is of the mode P"),
        ({"train/bee/x.png": GREY[:-30]}, "'train/bee/x.png' cannot be read as a .png or .jpg image"),
        ({"train/bee/x.jpg": b""}, "'train/bee/x.jpg' cannot be read"),
        ({"train/bee/x.jpg": b"GIF89a"}, "'train/bee/x.jpg' cannot be read"),
        ({"train/bee/x.gif": GREY}, "'train/bee/x.gif' is no .png"),
        ({"train/x.png": GREY}, "'train/x.png' is not at train/<class>/<image>"),
        ({"test/dog/x.png": GREY}, "class 'dog', which train/ does not"),
    ],
)
def test_unfit_images_are_named(tmp_path, kind, changes, message):
    """An image that is damaged, unlike the others or out of place is refused by its path in the folder or archive."""
    _refused(WRITERS[kind](tmp_path, {**files(), **changes}), message)


@pytest.mark.parametrize("kind", WRITERS)
def test_missing_parts_and_single_classes_are_named(tmp_path, kind):
    """No test set, no training set, and one class only, are refused."""
    held = files()
    for number, (kept, message) in enumerate((
        ("train/", "no image at test/<class>/"),
        ("test/", "no image at train/<class>/"),
        ("/ant/", "train/ holds the one class"),
    )):  # fmt: skip
        place = tmp_path / str(number)
        place.mkdir()
        _refused(WRITERS[kind](place, {name: held[name] for name in held if kept in f"/{name}"}), message)


def test_archives_hold_no_links_twins_or_giants(tmp_path):
    """A link, two files at one place, and a file too large to be an image are refused before they are read."""
    path = image_files.tar(tmp_path / "link.tar", files(), "w")
    with tarfile.open(path, "a") as archive:
        link = tarfile.TarInfo("train/ant/link.png")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    _refused(path, "'train/ant/link.png' is a link")
    twins = {**files(), "a/test/ant/000.png": GREY}
    _refused(image_files.tar(tmp_path / "twin.tar", twins, "w"), "two files test/ant/000.png")
    giant = tarfile.TarInfo("train/ant/giant.png")
    giant.size = 1 << 40
    (tmp_path / "giant.tar").write_bytes(giant.tobuf())
    _refused(tmp_path / "giant.tar", "1099511627776 bytes, more than an image")


def test_folders_hold_no_folders_for_images(tmp_path):
    """A folder under the name of an image is refused, and a class that is a link to a folder is read."""
    place = image_files.folder(tmp_path / "images", files())
    (place / "train" / "ant").rename(tmp_path / "ants")
    (place / "train" / "ant").symlink_to(tmp_path / "ants")
    assert len(read_images(place).train) == image_files.TRAIN
    (place / "train" / "bee" / "x.png").mkdir()
    _refused(place, "'train/bee/x.png' is no file")


def test_a_missing_pillow_is_named(tmp_path, monkeypatch):
    """Without pillow the message says what to install."""
    place = image_files.folder(tmp_path / "images", files())
    monkeypatch.setitem(sys.modules, "PIL", None)
    _refused(place, r"needs pillow.*install deniable\[train\]")


LABELS, IMAGES = "train-labels-idx1-ubyte", "train-images-idx3-ubyte"


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
    _refused(place, message)
