"""Image files in folders and archives, and IDX files: what does not fit is refused by its name."""

import io
import sys
import tarfile

import numpy as np
import pytest
from PIL import Image

from deniable.core.errors import InputError
from deniable.models.images.reading import read_images
from tests.models.images import image_files
from tests.models.images.image_files import assert_refused, encoded, files


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
        (
            {"train/bee/x.png": encoded(np.zeros((6, 5, 3), np.uint8))},
            "'train/bee/x.png' is RGB of 5 x 6 .* one size and mode",
        ),
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
    assert_refused(WRITERS[kind](tmp_path, {**files(), **changes}), message)


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
        assert_refused(WRITERS[kind](place, {name: held[name] for name in held if kept in f"/{name}"}), message)


def test_archives_hold_no_links_twins_or_giants(tmp_path):
    """A link, two files at one place, and a file too large to be an image are refused before they are read."""
    path = image_files.tar(tmp_path / "link.tar", files(), "w")
    with tarfile.open(path, "a") as archive:
        link = tarfile.TarInfo("train/ant/link.png")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    assert_refused(path, "'train/ant/link.png' is a link")
    twins = {**files(), "a/test/ant/000.png": GREY}
    assert_refused(image_files.tar(tmp_path / "twin.tar", twins, "w"), "two files test/ant/000.png")
    giant = tarfile.TarInfo("train/ant/giant.png")
    giant.size = 1 << 40
    (tmp_path / "giant.tar").write_bytes(giant.tobuf())
    assert_refused(tmp_path / "giant.tar", "1099511627776 bytes, more than the maximum")


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
    assert_refused(place, r"needs pillow.*install deniable\[train\]")
