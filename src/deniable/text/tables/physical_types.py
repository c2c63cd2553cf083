"""Physical types of parquet that Arrow's types do not tell: timestamps as INT96, decimals as INT32 or INT64.

The writer stores all timestamps of a file alike, and all short decimals: where a file has both kinds, equal values of
some columns are stored in another way, and these columns are named.
"""

import io
import itertools
from collections.abc import Mapping, Sequence
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from deniable.core.arrays import IntArray
from deniable.core.errors import InputError
from deniable.text.tables.layout import TableLayout
from deniable.text.tables.parquet_reading import open_file, read_group

_NANOSECONDS = 1000
"""Nanoseconds of a microsecond."""
_MAX_MICROSECONDS = (2**63 - 1) // _NANOSECONDS
_OPTION_NAMES = ("use_deprecated_int96_timestamps", "store_decimal_as_integer")


def open_parquet(stream: BinaryIO, layout: TableLayout) -> pq.ParquetFile:
    """Open a parquet file so that its timestamps keep their values: INT96 reaches further than nanoseconds do.

    Raises:
        InputError: a column has both times out of the range of nanoseconds and fractions of microseconds, or the file
            contradicts itself.
        pa.ArrowException, OSError: it is not a parquet file.
    """
    file = open_file(stream, layout.name)
    names = [
        name
        for name, leaves in zip(file.schema_arrow.names, _list_types(file, file.schema_arrow), strict=True)
        if "INT96" in leaves
    ]
    if not names:
        return file
    coarse_file = open_file(stream, layout.name, int96_unit="us")
    are_fine = are_coarse = True
    for group, name in itertools.product(range(file.num_row_groups), names):
        fine, coarse = (_list_times(read_group(one, group, [name]).column(0)) for one in (file, coarse_file))
        are_fine = are_fine and bool((np.abs(coarse) <= _MAX_MICROSECONDS).all())
        # Where nanoseconds overflow, both sides do so alike.
        are_coarse = are_coarse and bool((fine == _NANOSECONDS * coarse).all())
    if are_fine:
        return file
    if are_coarse:
        return coarse_file
    raise InputError(
        f"{layout.name} has INT96 times out of the range of nanoseconds, before 1677 or after 2262, beside "
        f"fractions of microseconds, in {', '.join(map(repr, names))}: write them as TIMESTAMP, or leave the "
        "columns out."
    )


def choose_type_options(
    file: pq.ParquetFile, schema: pa.Schema, kept_indices: Sequence[int]
) -> tuple[dict[str, bool], tuple[str, ...]]:
    """Return the options of the writer under which the fewest columns are stored as another physical type.

    Args:
        file: that is read.
        schema: that is written, of k columns.
        kept_indices: (k,) their numbers in the file.

    Returns:
        The options, and the names of the columns that are stored otherwise all the same.
    """
    types = _list_types(file, file.schema_arrow)
    old_types = [types[index] for index in kept_indices]
    choices: list[tuple[dict[str, bool], tuple[str, ...]]] = []
    for flags in itertools.product([False, True], repeat=len(_OPTION_NAMES)):
        options = dict(zip(_OPTION_NAMES, flags, strict=True))
        changed = [
            name
            for name, old, new in zip(schema.names, old_types, _predict_types(schema, options), strict=True)
            if old != new
        ]
        choices.append((options, tuple(changed)))
    return min(choices, key=lambda choice: len(choice[1]))


def _predict_types(schema: pa.Schema, options: Mapping[str, bool]) -> list[list[str]]:
    """Return the physical types that the writer gives the leaves of each column."""
    sink = io.BytesIO()
    pq.ParquetWriter(sink, schema, **options).close()
    return _list_types(pq.ParquetFile(io.BytesIO(sink.getvalue())), schema)


def _list_types(file: pq.ParquetFile, schema: pa.Schema) -> list[list[str]]:
    """Return the physical types of the leaves of each column of a file."""
    types = (file.schema.column(leaf).physical_type for leaf in range(file.metadata.num_columns))
    return [list(itertools.islice(types, _count_leaves(field.type))) for field in schema]


def _count_leaves(data_type: pa.DataType) -> int:
    """Return how many columns of values parquet has for a type."""
    if isinstance(data_type, pa.BaseExtensionType):
        return _count_leaves(data_type.storage_type)
    if not pa.types.is_nested(data_type):
        return 1
    return sum(_count_leaves(data_type.field(index).type) for index in range(data_type.num_fields))


def _list_times(column: pa.ChunkedArray) -> IntArray:
    """Return the timestamps in a column, those in its lists and structs too, as integers in their units; 0 for null."""
    times = [np.zeros(0, dtype=np.int64)]
    arrays: list[pa.Array] = list(column.chunks)
    while arrays:
        array = arrays.pop()
        if pa.types.is_timestamp(array.type):
            times.append(pc.fill_null(array.cast(pa.int64()), 0).to_numpy(zero_copy_only=False))
        elif pa.types.is_map(array.type):
            arrays += [array.keys, array.items]
        elif pa.types.is_nested(array.type):
            parts = array.flatten()
            arrays += parts if isinstance(parts, list) else [parts]
    return np.concatenate(times)
