"""Text columns of tables in Arrow's memory: read, released anew, and written back as the type that they had."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deniable.core.arrays import BoolArray
from deniable.core.errors import InputError
from deniable.core.identity import count_float_bits, make_identity
from deniable.text.tables.copied_columns import MAX_CELL_BYTES, MAX_JUDGED_ROWS, CopiedColumns
from deniable.text.tables.layout import TableLayout, batch_records
from deniable.text.tables.rows import RowColumn, RowReleaser, TextRows, measure_texts


def list_values(table: pa.Table, column: str, layout: TableLayout) -> list[Any]:
    """Return the values of a column.

    Raises:
        InputError: Python has no such value, as of a time out of its range.
        UnicodeDecodeError: it is text that is not UTF-8.
    """
    try:
        values: list[Any] = table.column(column).to_pylist()
    except UnicodeDecodeError:
        raise
    except (ValueError, OverflowError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise InputError(
            f"The column {column!r} of {layout.name} cannot be read: {reason}. Convert it to strings."
        ) from None
    return values


def list_identities(table: pa.Table, column: str, layout: TableLayout) -> list[str | None]:
    """Return the identities in a column of persons or record ids, None for each null or blank value.

    Raises:
        InputError: a value names nobody, see `deniable.core.identity`, or cannot be read.
    """
    bits, values = count_float_bits(table.schema.field(column).type), list_values(table, column, layout)
    try:
        return [make_identity(value, bits) for value in values]
    except InputError as error:
        raise InputError(f"The column {column!r} of {layout.name}: {error}") from None


def is_identity_type(data_type: pa.DataType) -> bool:
    """Return whether a column of a type may name persons or records."""
    if pa.types.is_dictionary(data_type):
        return is_identity_type(data_type.value_type)
    is_number = pa.types.is_integer(data_type) or pa.types.is_floating(data_type) or pa.types.is_decimal(data_type)
    return is_number or is_text_type(data_type)


def note_copied_rows(table: pa.Table, copied: CopiedColumns) -> None:
    """Take note of the rows of a released table, where columns are judged by further rows."""
    if not copied.needs_rows:
        return
    head = list_head(table)
    names = [name for name, _ in head]
    for row in zip(*(cells for _, cells in head), strict=True):
        if copied.needs_rows:
            copied.add_row(zip(names, row, strict=True))


def list_head(table: pa.Table) -> list[tuple[str, list[Any]]]:
    """Return name and cells of each column of the first rows of a table, as many as columns are judged by.

    Of bytes the cells hold as many as are judged; what has bytes in its parts is nulls.
    """
    head = table.slice(0, MAX_JUDGED_ROWS)
    return [(name, _list_known_values(column)) for name, column in zip(head.column_names, head.columns, strict=True)]


def _holds_bytes(data_type: pa.DataType) -> bool:
    """Return whether a type is of bytes, such as images, or has such parts."""
    kinds = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    parts = [data_type.field(place).type for place in range(data_type.num_fields)] if data_type.num_fields else []
    return any(is_kind(data_type) for is_kind in kinds) or any(map(_holds_bytes, parts))


def _list_known_values(column: pa.ChunkedArray) -> list[Any]:
    """Return the values of a column, nulls where Python has no such values, as of a time out of its range."""
    if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
        column = pc.binary_slice(column, 0, MAX_CELL_BYTES)
    elif _holds_bytes(column.type):
        return [None] * len(column)
    try:
        values: list[Any] = column.to_pylist()
    except (ValueError, OverflowError, pa.ArrowException):
        return [None] * len(column)
    return values


def is_text_type(data_type: pa.DataType) -> bool:
    """Return whether a column of a type holds texts, as they are or in a dictionary."""
    if pa.types.is_dictionary(data_type):
        return is_text_type(data_type.value_type)
    return bool(
        pa.types.is_string(data_type) or pa.types.is_large_string(data_type) or pa.types.is_string_view(data_type)
    )


def widen_dictionary_indices(schema: pa.Schema, column: str) -> pa.Schema:
    """Return the schema with 32-bit indices in a dictionary column: new texts may be more than the old."""
    field_index = schema.get_field_index(column)
    field = schema.field(field_index)
    if not pa.types.is_dictionary(field.type):
        return schema
    return schema.set(
        field_index, field.with_type(pa.dictionary(pa.int32(), field.type.value_type, field.type.ordered))
    )


def extract_rows(tables: list[pa.Table], layout: TableLayout) -> TextRows:
    """Return the ids and the texts of groups.

    Raises:
        InputError: a row without an id, or an id or a person that names nobody, see `deniable.core.identity`.
    """
    table = pa.concat_tables([group.select(layout.read_columns) for group in tables])
    ids, persons = (
        None if column is None else list_identities(table, column, layout)
        for column in (layout.id_column, layout.person_column)
    )
    record_ids = None if ids is None else layout.require_ids(ids)
    columns = {column: read_texts(table, column, layout) for column in layout.columns}
    return TextRows(len(table), columns, record_ids, persons)


def read_texts(table: pa.Table, column: str, layout: TableLayout) -> pa.LargeStringArray:
    """Return a column of texts.

    Raises:
        UnicodeDecodeError: it is not UTF-8.
    """
    texts = table.column(column).cast(pa.large_string()).combine_chunks()
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        list_values(table, column, layout)
        raise
    return texts


def release_texts(
    rows: TextRows, schema: pa.Schema, layout: TableLayout, release_rows: RowReleaser
) -> tuple[dict[str, pa.ChunkedArray], BoolArray | None]:
    """Return the columns of texts anew, a window after the other, and which rows are released; None for all."""
    sizes = np.sum([measure_texts(column).clip(0) for column in rows.columns.values()], axis=0)
    windows = [(window[0], window[-1] + 1) for window in batch_records(range(len(rows)), lambda row: int(sizes[row]))]
    released = [release_rows(rows.select(*window)) for window in windows]
    columns = {
        column: pa.chunked_array(
            [_convert_texts(part.columns[column], schema.field(column).type) for part in released],
            type=schema.field(column).type,
        )
        for column in layout.columns
    }
    if all(part.is_released is None for part in released):
        return columns, None
    masks = [part.list_released(last - first) for part, (first, last) in zip(released, windows, strict=True)]
    return columns, np.concatenate(masks).astype(bool)


def _convert_texts(column: RowColumn, data_type: pa.DataType) -> pa.Array:
    """Return new texts as their column has them."""
    if pa.types.is_null(data_type):
        return pa.nulls(len(column))
    texts = pa.array(column, type=pa.large_string()) if isinstance(column, list) else column
    if pa.types.is_dictionary(data_type):
        return texts.dictionary_encode().cast(data_type)
    return texts.cast(data_type)
