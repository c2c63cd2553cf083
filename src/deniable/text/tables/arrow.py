"""Text columns of tables in Arrow's memory: read, and written back as the type that they had."""

from typing import Any

import pyarrow as pa

from deniable.core.errors import InputError
from deniable.core.identity import count_float_bits, make_identity
from deniable.text.tables.copied_columns import MAX_JUDGED_ROWS
from deniable.text.tables.layout import TableLayout
from deniable.text.tables.rows import TextRows


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


def is_text_type(data_type: pa.DataType) -> bool:
    """Return whether a column of a type holds texts, as they are or in a dictionary."""
    if pa.types.is_dictionary(data_type):
        return is_text_type(data_type.value_type)
    return bool(
        pa.types.is_string(data_type) or pa.types.is_large_string(data_type) or pa.types.is_string_view(data_type)
    )


def list_head(table: pa.Table) -> list[tuple[str, list[Any]]]:
    """Return name and cells of each column of the first rows of a table, as many as columns are judged by.

    Bytes are the text that they are; where one cell is none, and where bytes are parts of a value, there are nulls.
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
    try:
        if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
            column = column.cast(pa.large_string())
        elif _holds_bytes(column.type):
            return [None] * len(column)
        values: list[Any] = column.to_pylist()
    except (ValueError, OverflowError, pa.ArrowException):
        return [None] * len(column)
    return values


def widen_dictionary_indices(schema: pa.Schema, layout: TableLayout) -> pa.Schema:
    """Return a schema with 32-bit indices in text columns that are dictionaries: new texts may be more than the old."""
    for column in layout.columns:
        index = schema.get_field_index(column)
        kind = schema.field(index).type
        if pa.types.is_dictionary(kind):
            wide = pa.dictionary(pa.int32(), kind.value_type, kind.ordered)
            schema = schema.set(index, schema.field(index).with_type(wide))
    return schema


def extract_rows(table: pa.Table, layout: TableLayout) -> TextRows:
    """Return the ids and the texts of a table.

    Raises:
        InputError: a row without an id, or an id or a person that names nobody, see `deniable.core.identity`.
        UnicodeDecodeError, pa.ArrowInvalid: texts or ids are not UTF-8.
    """
    ids, persons = (
        None if column is None else list_identities(table, column, layout)
        for column in (layout.id_column, layout.person_column)
    )
    columns = {column: read_texts(table, column) for column in layout.columns}
    return TextRows(columns, None if ids is None else layout.require_ids(ids), persons)


def read_texts(table: pa.Table, column: str) -> pa.LargeStringArray:
    """Return a column of texts.

    Raises:
        pa.ArrowInvalid: it is not UTF-8.
    """
    texts = table.column(column).cast(pa.large_string()).combine_chunks()
    texts.validate(full=True)
    return texts


def convert_texts(texts: pa.ChunkedArray, data_type: pa.DataType) -> pa.ChunkedArray:
    """Return new texts as their column has them."""
    if pa.types.is_null(data_type):
        return pa.nulls(len(texts))
    return (texts.dictionary_encode() if pa.types.is_dictionary(data_type) else texts).cast(data_type)
