"""Parquet, row group by row group; schema, row groups and compression are kept.

What a file says about a released column beside its type is dropped, also where pandas and Spark say it: pandas, for
one, notes how many distinct texts a category had. What it says of the rest is kept, and named.
"""

import contextlib
import itertools
import json
from collections.abc import Iterator
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from deniable.errors import InputError
from deniable.text.tables.layout import Copied, Layout, ReleaseRows, Row, windows

_PANDAS = b"pandas"
_SPARK = b"org.apache.spark.sql.parquet.row.metadata"
_NUMBER = b"PARQUET:field_id"


def rewrite(stream: BinaryIO, sink: BinaryIO, layout: Layout, release: ReleaseRows) -> Copied:
    """Copy a parquet file with its texts released anew; return what was copied unchanged.

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
        schema = _without_metadata(schema, layout)
        groups = iter(range(file.num_row_groups))
        # The first group is read before its metadata: those of a damaged file can crash the reader.
        first = [file.read_row_group(group) for group in itertools.islice(groups, 1)]
        with pq.ParquetWriter(pa.PythonFile(sink, mode="w"), schema, compression=_codecs(file)) as writer:
            for table in itertools.chain(first, map(file.read_row_group, groups)):
                released = _released(table, schema, layout, release)
                writer.write_table(released, row_group_size=max(1, len(released)))
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # of a disk; those of damaged files have no number
            raise
        reason = " ".join(str(error).split()).rstrip(".: ")
        raise InputError(f"{layout.name} cannot be read as parquet: {reason}.") from None
    # A writer that cuts groups by bytes shows with their sizes how long the private texts are together.
    cuts = ("sizes of its row groups",) if file.num_row_groups > 1 else ()
    return Copied(layout.others(schema.names), (*_metadata_names(schema), *cuts))


def _with_room(schema: pa.Schema, column: str) -> pa.Schema:
    """Return the schema with 32-bit indices in a dictionary column: new texts may be more than the old."""
    at = schema.get_field_index(column)
    field = schema.field(at)
    if not pa.types.is_dictionary(field.type):
        return schema
    return schema.set(at, field.with_type(pa.dictionary(pa.int32(), field.type.value_type, field.type.ordered)))


def _without_metadata(schema: pa.Schema, layout: Layout) -> pa.Schema:
    """Return the schema without what it says of the released columns beside their types."""
    for column in layout.columns:
        at = schema.get_field_index(column)
        field = schema.field(at)
        number = {key: value for key, value in (field.metadata or {}).items() if key == _NUMBER}
        schema = schema.set(at, field.with_metadata(number or None))
    metadata = dict(schema.metadata or {})
    for key, clean in ((_PANDAS, _clean_pandas), (_SPARK, _clean_spark)):
        described = metadata.pop(key, None)
        if described is not None:
            # What cannot be read cannot be cleaned, and is left out.
            with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
                metadata[key] = json.dumps(clean(json.loads(described), layout)).encode()
    return schema.with_metadata(metadata or None)


def _clean_pandas(described: dict[str, Any], layout: Layout) -> dict[str, Any]:
    """Return pandas' description of a table that says of the released columns only that they are texts."""
    columns = [
        {"name": name, "field_name": name, "pandas_type": "unicode", "numpy_type": "object", "metadata": None}
        if (name := column.get("field_name") or column["name"]) in layout.columns
        else column
        for column in described["columns"]
    ]
    return {**described, "columns": columns}


def _clean_spark(described: dict[str, Any], layout: Layout) -> dict[str, Any]:
    """Return Spark's description of a table without what it says of the released columns beside their types."""
    fields = [{**field, "metadata": {}} if field["name"] in layout.columns else field for field in described["fields"]]
    return {**described, "fields": fields}


def _metadata_names(schema: pa.Schema) -> Iterator[str]:
    """Yield the names of what a schema says beside names and types."""
    for key in sorted(schema.metadata or {}):
        yield repr(key.decode("utf-8", "replace"))
    for field in schema:
        if _has_metadata(field):
            yield f"of the column {field.name!r}"


def _has_metadata(field: pa.Field) -> bool:
    """Say whether a field, or one nested in it, says anything of itself beside name and type."""
    kind = field.type
    inner = [kind.field(at) for at in range(kind.num_fields)] if pa.types.is_nested(kind) else []
    return bool(set(field.metadata or {}) - {_NUMBER}) or any(map(_has_metadata, inner))


def list_values(table: pa.Table, column: str, layout: Layout) -> list[Any]:
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


def _released(table: pa.Table, schema: pa.Schema, layout: Layout, release: ReleaseRows) -> pa.Table:
    texts = [list_values(table, column, layout) for column in layout.columns]
    ids: list[Any] = [None] * len(table)
    if layout.id_column is not None:
        ids = list_values(table, layout.id_column, layout)
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
