"""Parquet, row group by row group; schema, metadata, row groups and compression are kept."""

import itertools
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from deniable.errors import InputError
from deniable.text.tables.layout import Layout, Release, Row, windows


def rewrite(stream: BinaryIO, sink: BinaryIO, layout: Layout, release: Release) -> list[str]:
    """Copy a parquet file with its texts released anew; return the columns copied unchanged.

    Raises:
        InputError: not a parquet file, a missing column, or a column that holds no text.
    """
    try:
        file = pq.ParquetFile(pa.PythonFile(stream, mode="r"))
        schema = file.schema_arrow
        layout.check(schema.names)
        for column in layout.columns:
            if not _is_text(schema.field(column).type):
                raise InputError(
                    f"The column {column!r} of {layout.name} holds {schema.field(column).type}, "
                    "not text: convert it to strings."
                )
            schema = _with_room(schema, column)
        groups = iter(range(file.num_row_groups))
        # The first group is read before its metadata: those of a damaged file can crash the reader.
        first = [file.read_row_group(group) for group in itertools.islice(groups, 1)]
        with pq.ParquetWriter(pa.PythonFile(sink, mode="w"), schema, compression=_codecs(file)) as writer:
            for table in itertools.chain(first, map(file.read_row_group, groups)):
                released = _released(table, schema, layout, release)
                writer.write_table(released, row_group_size=max(1, len(released)))
    except (pa.ArrowException, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise InputError(f"{layout.name} cannot be read as parquet: {reason}.") from None
    return layout.others(schema.names)


def _with_room(schema: pa.Schema, column: str) -> pa.Schema:
    """Return the schema with 32-bit indices in a dictionary column: new texts may be more than the old."""
    at = schema.get_field_index(column)
    field = schema.field(at)
    if not pa.types.is_dictionary(field.type):
        return schema
    return schema.set(at, field.with_type(pa.dictionary(pa.int32(), field.type.value_type, field.type.ordered)))


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _is_text(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _codecs(file: pq.ParquetFile) -> Any:  # noqa: ANN401 - one codec, or one per column
    """Return the compression of every column of the first row group."""
    if not file.num_row_groups:
        return "snappy"
    group = file.metadata.row_group(0)
    chunks = [group.column(index) for index in range(group.num_columns)]
    codecs = {chunk.path_in_schema: chunk.compression.lower() for chunk in chunks}
    return {path: "none" if codec == "uncompressed" else codec for path, codec in codecs.items()}


def _released(table: pa.Table, schema: pa.Schema, layout: Layout, release: Release) -> pa.Table:
    texts = [table.column(column).to_pylist() for column in layout.columns]
    ids: list[Any] = [None] * len(table)
    if layout.id_column is not None:
        ids = table.column(layout.id_column).to_pylist()
        if None in ids:
            raise InputError(f"The id column {layout.id_column!r} of {layout.name} holds a null: give every row an id.")
    rows = [
        Row(None if record_id is None else str(record_id), list(zip(layout.columns, cells, strict=True)))
        for record_id, cells in zip(ids, zip(*texts, strict=True), strict=True)
    ]
    released = [cells for window in windows(rows, _size) for cells in release(window)]
    for number, column in enumerate(layout.columns):
        field = schema.field(column)
        new: Any = pa.array([cells[number] for cells in released], type=pa.string())
        if pa.types.is_dictionary(field.type):
            new = new.dictionary_encode()
        table = table.set_column(table.schema.get_field_index(column), field, new.cast(field.type))
    return table


def _size(row: Row) -> int:
    return sum(len(text or "") for _, text in row.cells)
