"""Damaged files of every kind: one line, whatever the bytes, and never fewer images than were written."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.core.errors import InputError
from deniable.models.images.reading import read_images
from tests.models.images import image_files

NAMES = ("a.npz", "a.zip", "a.tar", "a.tar.xz", "a.tgz", "a.tbz2", "idx", "idx.gz")


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
