"""What comes in files of others: archives that expand or lie, JSON by the letter, and content that is no text."""

import bz2
import gzip
import io
import json
import lzma
import struct
import zipfile

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy
from pyarrow import orc, parquet

from deniable.core.archives import (
    MAX_INTEGER,
    JsonLimits,
    limit_expansion,
    limit_reader,
    open_archive,
    parse_strict_json,
    read_array,
    read_member,
)
from deniable.text.tables.copied_columns import START_BYTES, describe_content, find_marked_encoding, guess_wide_encoding
from tests.refusals import refuses

ARRAYS = {
    "words": np.array(["a", "日本"]),
    "bytes": np.array(b"one\ntwo"),
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


@settings(max_examples=20)
@given(st_numpy.arrays(st_numpy.scalar_dtypes(), st_numpy.array_shapes(min_dims=0, min_side=0)))
def test_arrays_of_any_shape(tmp_path_factory, array):
    """Numbers come back bit for bit; dates and complex numbers are refused."""
    path = tmp_path_factory.getbasetemp() / "any.npz"
    np.savez(path, array=array)
    with open_archive(path) as archive:
        if array.dtype.kind in "biufSU":
            assert read_array(archive, "array.npy").tobytes() == np.ascontiguousarray(array).tobytes()
            return
        with refuses("array", ValueError):
            read_array(archive, "array.npy")


def test_bombs(tmp_path):
    """A file that would expand to two hundred times its size is refused before it is opened.

    Where its directory says less the rest of a member is not read, and its checksum is wrong; a stream ends likewise.
    """
    path = tmp_path / "a.npz"
    np.savez_compressed(path, vectors=np.zeros(1 << 24))
    with refuses("134,", zipfile.BadZipFile), open_archive(path):
        pass
    assert limit_expansion(path.stat().st_size) < 1 << 27
    content = path.read_bytes()
    place = content.index(b"PK\1\2") + 24
    path.write_bytes(content[:place] + struct.pack("<L", 1_000) + content[place + 4 :])
    with open_archive(path) as archive:
        with pytest.raises((ValueError, zipfile.BadZipFile)):
            read_array(archive, "vectors.npy")
        with refuses("CRC", zipfile.BadZipFile):
            read_member(archive, "vectors.npy")
    assert limit_reader(io.BytesIO(b"a\nb"), 3).readlines() == [b"a\n", b"b"]
    with refuses("more", EOFError):
        limit_reader(io.BytesIO(bytes((1 << 20) + 1)), 10).read()


@pytest.mark.parametrize("count", [1 << 30, 4, 2, 0])
def test_headers_of_another_size(tmp_path, count):
    """An array whose header says more or fewer bytes than follow is refused before it takes any memory."""
    member = io.BytesIO()
    np.lib.format.write_array_header_1_0(member, {"descr": "<f8", "fortran_order": False, "shape": (count,)})
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as file:
        file.writestr("a.npy", member.getvalue() + bytes(24))
    with open_archive(tmp_path / "a.npz") as archive, refuses(f"{8 * count:,}", ValueError):
        read_array(archive, "a.npy")


def test_what_is_not_a_zip_file(tmp_path):
    """Other bytes, however few, are told in one line."""
    for content in (b"", b"PK", b"PK\5\6" + b"\0" * 17, b"x" * 100):
        (tmp_path / "a.npz").write_bytes(content)
        with refuses("zip", zipfile.BadZipFile), open_archive(tmp_path / "a.npz"):
            pass


LIMITS = JsonLimits(size=10_000, depth=4, members=100, name_length=5)
NUMBERS = st.integers(-MAX_INTEGER, MAX_INTEGER) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(st.none() | st.booleans() | NUMBERS | st.text(), lambda inner: st.lists(inner, max_size=3))


@settings(max_examples=20)
@given(VALUES)
def test_json_that_python_writes(value):
    """Every value that json writes is read as itself, up to the limits."""
    limits = JsonLimits(size=1 << 20, depth=100, members=10_000)
    assert parse_strict_json(json.dumps(value).encode(), limits) == value
    for content in (b"[]", b"3", b'"x"', b"null", b"[[[[]]]]", b'{"names": {"b": [1, 2]}}'):
        assert parse_strict_json(content, LIMITS) == json.loads(content)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"[[[[[]]]]]", "more than 4 deep"),
        (b"[" * 10_000, ""),
        (b"[" + b"1," * 100 + b"1]", "more than 100 values"),
        (b'{"a name": 1}', "longer than 5 characters"),
        (b" " * 10_001, "more than 10,000 bytes"),
        (b"[1e400]", "not finite"),
        (b"[-1e400]", "not finite"),
        (b"NaN", "NaN"),
        (b"1" + b"0" * 5_000, "5,001 digits"),
        (b'{"a": 1, "a": 1}', "'a' twice"),
        (b"\xff", "not UTF-8"),
        (b"{1: 2}", "not JSON"),
        (b"", "not JSON"),
    ],
)
def test_json_beyond_them(content, problem):
    """Each is told in one line that continues a sentence."""
    with refuses(problem, ValueError):
        parse_strict_json(content, LIMITS)


def write(writer):
    """Return what a writer writes into a file."""
    sink = io.BytesIO()
    writer(sink)
    return sink.getvalue()


def archive(*names):
    """Return a zip archive of files."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as file:
        for name in names:
            file.writestr(name, "content")
    return sink.getvalue()


PA_TABLE = pa.table({"text": ["the food"] * 9})


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (gzip.compress(b"text", mtime=0), "gzip"),
        (bytes(pa.compress(b"text", codec="zstd", asbytes=True)), "zstandard"),
        (bz2.compress(b"text"), "bzip2"),
        (lzma.compress(b"text"), "xz"),
        (archive("a.csv"), "zip archive"),
        (archive("[Content_Types].xml", "xl/workbook.xml"), "Excel workbook"),
        (archive(), "empty zip archive"),
        (write(lambda sink: parquet.write_table(PA_TABLE, sink)), "parquet"),
        (write(lambda sink: orc.write_table(PA_TABLE, sink)), "ORC"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(99), "Excel or Word"),
        (b"SQLite format 3\x00" + bytes(99), "SQLite"),
    ],
)
def test_what_is_no_text(data, kind):
    """Compressed files, archives, workbooks and tables of other formats are named, each with what to do."""
    found = describe_content(data[:START_BYTES])
    assert found is not None
    assert kind in found[0]
    assert found[1]


@settings(max_examples=30)
@given(
    st.text(st.characters(min_codepoint=9, exclude_categories=["Cs"])),
    st.sampled_from(["", "ORC", "PAR1", "BZh", "PK"]),
)
def test_texts_are_texts(text, start):
    """No text is taken for anything else, whatever letters it begins with."""
    data = (start + text).encode()[:START_BYTES]
    assert describe_content(data) is None
    assert guess_wide_encoding(data) is None


def test_marks():
    """A byte order mark tells the encoding."""
    for encoding in ("utf-8-sig", "utf-16", "utf-32"):
        assert find_marked_encoding("text".encode(encoding)).startswith(encoding[:5])
    assert find_marked_encoding(b"text") is None
