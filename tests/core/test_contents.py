"""Files that hold something else than text are known by their first bytes, and texts never are."""

import bz2
import gzip
import io
import lzma
import zipfile

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import orc, parquet

from deniable.core.contents import START_BYTES, describe_content, find_marked_encoding, guess_wide_encoding

TABLE = pa.table({"text": ["the food"] * 9})


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


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (gzip.compress(b"text"), "gzip data"),
        (bytes(pa.compress(b"text", codec="zstd", asbytes=True)), "zstandard data"),
        (bz2.compress(b"text"), "bzip2 data"),
        (lzma.compress(b"text"), "xz data"),
        (archive("a.csv"), "a zip archive"),
        (archive("[Content_Types].xml", "xl/workbook.xml"), "an Excel workbook"),
        (archive(), "an empty zip archive"),
        (write(lambda sink: parquet.write_table(TABLE, sink)), "parquet"),
        (write(lambda sink: orc.write_table(TABLE, sink)), "an ORC file"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(99), "an old Excel or Word file"),
        (b"SQLite format 3\x00" + bytes(99), "a SQLite database"),
    ],
)
def test_what_is_no_text(data, kind):
    """Compressed files, archives, workbooks and tables of other formats are named, each with what to do."""
    found = describe_content(data[:START_BYTES])
    assert found is not None
    assert found[0] == kind
    assert found[1]


@given(
    st.text(st.characters(min_codepoint=9, exclude_categories=["Cs"])),
    st.sampled_from(["", "ORC", "PAR1", "BZh", "PK"]),
)
def test_texts_are_texts(text, start):
    """No text is taken for anything else, whatever letters it begins with."""
    data = (start + text).encode()[:START_BYTES]
    assert describe_content(data) is None
    assert guess_wide_encoding(data) is None


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_marks(encoding):
    """A byte order mark tells the encoding."""
    found = find_marked_encoding("text".encode(encoding))
    assert found is not None
    assert found.startswith(encoding[:5])
    assert find_marked_encoding(b"text") is None
