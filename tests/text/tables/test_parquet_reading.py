"""Damaged parquet files: whatever Arrow raises is an error that callers expect."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable import InputError
from deniable.text.tables.parquet_reading import open_file, read_group, translate_runtime_errors


def make_file():
    """Return the bytes of a table of three row groups."""
    stream = io.BytesIO()
    pq.write_table(pa.table({"id": range(9), "text": ["a"] * 9}), stream, row_group_size=3)
    return stream.getvalue()


def test_groups_are_read():
    """A sound file gives its row groups, whole or some columns of them."""
    file = open_file(io.BytesIO(make_file()), "t.parquet")
    assert read_group(file, 1).to_pydict() == {"id": [3, 4, 5], "text": ["a"] * 3}
    assert read_group(file, 2, ["id"]).to_pydict() == {"id": [6, 7, 8]}


def test_runtime_errors_are_arrows():
    """An error without a class becomes Arrow's, with its words; others pass."""
    with pytest.raises(pa.ArrowInvalid, match="corrupt"), translate_runtime_errors():
        raise RuntimeError("corrupt")
    with pytest.raises(KeyError), translate_runtime_errors():
        raise KeyError("other")


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" * 10, make_file()[:-9]])
def test_what_is_no_parquet_file(content):
    """No file is opened from the bytes of another, of a part, or of nothing."""
    with pytest.raises((pa.ArrowException, OSError)):
        open_file(io.BytesIO(content), "t.parquet")


def test_a_file_whose_beginning_is_missing():
    """Its end still tells where row groups were; to read one fails as callers expect."""
    file = open_file(io.BytesIO(make_file()[20:]), "t.parquet")
    with pytest.raises((pa.ArrowException, OSError)):
        read_group(file, 0)


class Metadata:
    """Metadata that count other rows than their row groups have."""

    num_rows = 9

    def row_group(self, _number):
        """Return a row group that says that it is huge."""
        return type("Group", (), {"num_rows": 1 << 60})


class HugeFile:
    """A parquet file with such metadata."""

    num_row_groups, metadata = 1, Metadata()

    def __init__(self, *_arguments, **_options):
        pass


def test_rows_that_do_not_add_up(monkeypatch):
    """A row group that is larger than the file is refused before anything is read into memory."""
    monkeypatch.setattr(pq, "ParquetFile", HugeFile)
    with pytest.raises(InputError, match=r"t\.parquet cannot be read as parquet: it is damaged, since its row groups"):
        open_file(io.BytesIO(b""), "t.parquet")
