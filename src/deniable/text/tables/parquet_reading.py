"""Parquet files that may be damaged: opened and read so that what is wrong is an error that callers expect."""

import contextlib
from collections.abc import Iterator
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from deniable.core.contents import PARQUET, START_BYTES, describe_content
from deniable.core.errors import InputError


@contextlib.contextmanager
def translate_runtime_errors() -> Iterator[None]:
    """Raise `pa.ArrowInvalid` in place of the errors of a damaged file for which Arrow has no class."""
    try:
        yield
    except RuntimeError as error:
        raise pa.ArrowInvalid(str(error)) from None


def open_file(stream: BinaryIO, name: str, *, int96_unit: str | None = None) -> pq.ParquetFile:
    """Return a parquet file, ready to be read.

    Args:
        stream: of the file.
        name: of the table, for messages.
        int96_unit: unit of the timestamps that are stored as INT96; None for nanoseconds.

    Raises:
        InputError: its row groups have other numbers of rows than it says: to read one could take all the memory.
        pa.ArrowException, OSError: it is not a parquet file.
    """
    content = describe_content(stream.read(START_BYTES))
    stream.seek(0)
    if content is not None and content[0] != PARQUET:
        raise InputError(f"{name} cannot be read as parquet: it holds {content[0]}. {content[1].capitalize()}.")
    with translate_runtime_errors():
        file = pq.ParquetFile(pa.PythonFile(stream, mode="r"), coerce_int96_timestamp_unit=int96_unit)
        row_counts = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
    if sum(row_counts) != file.metadata.num_rows or min(row_counts, default=0) < 0:
        raise InputError(
            f"{name} cannot be read as parquet: it is damaged, since its row groups have {sum(row_counts):,} "
            f"rows, and it says that it has {file.metadata.num_rows:,}."
        )
    return file


def read_group(file: pq.ParquetFile, group: int, columns: list[str] | None = None) -> pa.Table:
    """Return a row group, or some of its columns.

    Raises:
        pa.ArrowException, OSError: it is damaged.
    """
    with translate_runtime_errors():
        return file.read_row_group(group, columns=columns)
