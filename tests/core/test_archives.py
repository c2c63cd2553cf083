"""Zip files of arrays: what numpy writes is read as it was, and what expands or lies is refused at once."""

import io
import struct
import time
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra import numpy as st_numpy

from deniable.core.archives import limit_expansion, limit_reader, open_archive, read_array, read_member

ARRAYS = {
    "words": np.array(["a", "日本"]),
    "bytes": np.array(b"one\ntwo"),
    "vectors": np.arange(6.0).reshape(2, 3),
    "turned": np.asfortranarray(np.arange(6, dtype=np.float16).reshape(2, 3)),
    "single": np.array(3.5),
    "empty": np.zeros((0, 300)),
    "flags": np.array([True, False]),
    "big": np.arange(3, dtype=">i8"),
}


@pytest.mark.parametrize("write", [np.savez, np.savez_compressed])
def test_what_numpy_writes(tmp_path, write):
    """Arrays of every kind are read as numpy reads them, compressed or not."""
    write(tmp_path / "a.npz", **ARRAYS)
    with open_archive(tmp_path / "a.npz") as archive:
        for name, array in ARRAYS.items():
            found = read_array(archive, f"{name}.npy")
            assert (found.dtype, found.shape) == (array.dtype, array.shape)
            np.testing.assert_array_equal(found, array)


@given(st_numpy.arrays(st_numpy.scalar_dtypes(), st_numpy.array_shapes(min_dims=0, min_side=0)))
def test_arrays_of_any_shape(tmp_path_factory, array):
    """Numbers come back bit for bit; dates and complex numbers are refused."""
    path = tmp_path_factory.getbasetemp() / "any.npz"
    np.savez(path, array=array)
    with open_archive(path) as archive:
        if array.dtype.kind in "biufSU":
            assert read_array(archive, "array.npy").tobytes() == np.ascontiguousarray(array).tobytes()
            return
        with pytest.raises(ValueError, match="not an array of numbers or texts"):
            read_array(archive, "array.npy")


def test_a_bomb_is_refused_at_once(tmp_path):
    """A file that would expand to two hundred times its size is refused before it is opened."""
    np.savez_compressed(tmp_path / "a.npz", vectors=np.zeros(1 << 24))
    start = time.perf_counter()
    with pytest.raises(zipfile.BadZipFile, match="expand to 134,"), open_archive(tmp_path / "a.npz"):
        pass
    assert time.perf_counter() - start < 1
    assert limit_expansion((tmp_path / "a.npz").stat().st_size) < 1 << 27


def test_a_directory_that_lies_is_no_way_around(tmp_path):
    """A directory that says less than a member expands to leaves the rest of it unread, and its checksum wrong."""
    np.savez_compressed(tmp_path / "a.npz", vectors=np.zeros(1 << 24))
    content = (tmp_path / "a.npz").read_bytes()
    place = content.index(b"PK\1\2") + 24
    (tmp_path / "a.npz").write_bytes(content[:place] + struct.pack("<L", 1_000) + content[place + 4 :])
    with open_archive(tmp_path / "a.npz") as archive:
        with pytest.raises((ValueError, zipfile.BadZipFile)):
            read_array(archive, "vectors.npy")
        with pytest.raises(zipfile.BadZipFile, match="CRC"):
            read_member(archive, "vectors.npy")


@pytest.mark.parametrize("content", [b"", b"PK", b"PK\5\6" + b"\0" * 17, b"x" * 100])
def test_what_is_not_a_zip_file(tmp_path, content):
    """Other bytes, however few, are told in one line."""
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(zipfile.BadZipFile, match="not a whole zip file"), open_archive(tmp_path / "a.npz"):
        pass


def test_a_limited_stream():
    """A stream is read to its end, or to an error where it expands too far."""
    assert limit_reader(io.BytesIO(b"a\nb"), 3).readlines() == [b"a\n", b"b"]
    with pytest.raises(EOFError, match="expands to more"):
        limit_reader(io.BytesIO(bytes((1 << 20) + 1)), 10).read()
