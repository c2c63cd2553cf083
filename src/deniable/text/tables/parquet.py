"""Parquet, row group by row group; schema, row groups and compression are kept.

What a file says about a released column beside its type is dropped, also where pandas and Spark say it: pandas, for
one, notes how many distinct texts a category had. What it says of the rest is kept, and named. Where columns are left
out, what the file says of itself goes too, but for what pandas and Spark say of the other columns.
"""

import contextlib
import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from deniable.core.errors import InputError
from deniable.text.tables.arrow import (
    extract_rows,
    is_text_type,
    note_copied_rows,
    read_texts,
    release_texts,
    widen_dictionary_indices,
)
from deniable.text.tables.copied_columns import CopiedColumns
from deniable.text.tables.layout import (
    RECORD_OVERHEAD,
    CellMaker,
    CopiedContent,
    NewColumns,
    TableLayout,
    batch_records,
    format_share,
)
from deniable.text.tables.parquet_reading import read_group, translate_runtime_errors
from deniable.text.tables.physical_types import choose_type_options, open_parquet
from deniable.text.tables.rows import RowReleaser, TextRow, measure_texts

_PANDAS = b"pandas"
_SPARK = b"org.apache.spark.sql.parquet.row.metadata"
_FIELD_ID = b"PARQUET:field_id"


def release_parquet_table(
    stream: BinaryIO, sink: BinaryIO, layout: TableLayout, release_rows: RowReleaser
) -> CopiedContent:
    """Copy a parquet file with its texts released anew; return what was copied unchanged.

    Raises:
        InputError: not a parquet file, a missing column, or a column that holds no text.
    """
    with _translate_errors(layout):
        file = open_parquet(stream, layout)
        schema = file.schema_arrow
        _check_text_columns(schema, layout)
        for column in layout.columns:
            schema = widen_dictionary_indices(schema, column)
        kept_indices = [place for place, name in enumerate(schema.names) if not layout.is_dropped(name)]
        schema = _drop_text_metadata(_select_fields(schema, kept_indices), layout)
        options, changed_columns = choose_type_options(file, schema, kept_indices)
        copied = CopiedColumns(layout)
        copied.names += schema.names
        _rewrite_groups(
            file,
            sink,
            schema,
            lambda tables: _release_groups(tables, kept_indices, schema, release_rows, copied),
            options,
        )
    # A writer that cuts groups by bytes shows with their sizes how long the private texts are together.
    group_sizes = ("sizes of its row groups",) if file.num_row_groups > 1 else ()
    return copied.describe((*_list_metadata_names(schema), *group_sizes), changed_columns)


def extend_parquet_table(
    stream: BinaryIO, sink: BinaryIO, layout: TableLayout, new_columns: NewColumns, make_cells: CellMaker
) -> None:
    """Copy a parquet file with columns added behind its own: texts as strings, shares as doubles.

    Schema, row groups, compression and values stay. What pandas and Spark say of the columns names the new ones too:
    Spark reads no others.

    Raises:
        InputError: not a parquet file, a missing column, one that is to be added and exists, or a column that holds no
            text.
    """
    with _translate_errors(layout):
        file = open_parquet(stream, layout)
        schema = file.schema_arrow
        _check_text_columns(schema, layout)
        layout.check_new_columns(schema.names, new_columns)
        new_fields = [
            pa.field(name, pa.string() if kind is str else pa.float64()) for name, kind in new_columns.items()
        ]
        options, _ = choose_type_options(file, schema, list(range(len(schema))))
        schema = _describe_new_columns(pa.schema([*schema, *new_fields], schema.metadata), new_columns)
        _rewrite_groups(
            file,
            sink,
            schema,
            lambda tables: (_extend_group(table, schema, layout, make_cells) for table in tables),
            options,
            dict.fromkeys(new_columns, layout.columns[0]),
        )


@contextlib.contextmanager
def _translate_errors(layout: TableLayout) -> Iterator[None]:
    """Raise `InputError` in place of what a damaged file raises."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # of a disk; those of damaged files have no number
            raise
        reason = " ".join(str(error).split()).rstrip(".: ")
        raise InputError(f"{layout.name} cannot be read as parquet: {reason}.") from None


def _check_text_columns(schema: pa.Schema, layout: TableLayout) -> None:
    """Raise `InputError` where a column is missing, or one of texts holds anything else but nulls."""
    layout.check_columns(schema.names)
    for column in layout.columns:
        data_type = schema.field(column).type
        if not is_text_type(data_type) and not pa.types.is_null(data_type):
            raise InputError(
                f"The column {column!r} of {layout.name} holds {data_type}, not text: convert it to strings."
            )


def _rewrite_groups(
    file: pq.ParquetFile,
    sink: BinaryIO,
    schema: pa.Schema,
    rewrite_groups: Callable[[Iterator[pa.Table]], Iterator[pa.Table]],
    options: Mapping[str, bool],
    model_columns: Mapping[str, str] | None = None,
) -> None:
    """Write the row groups of a file anew, each as one group.

    Args:
        file: to read.
        sink: to write to.
        schema: of what is written.
        rewrite_groups: yields what becomes of each group.
        options: of the writer, see `choose_type_options`.
        model_columns: for each new column the one that it is compressed like.
    """
    groups = iter(range(file.num_row_groups))
    # The first group is read before its metadata: those of a damaged file can crash the reader.
    first_group = [read_group(file, group) for group in itertools.islice(groups, 1)]
    with translate_runtime_errors():
        compression = _get_compression(file)
    if isinstance(compression, dict):
        compression |= {name: compression[model] for name, model in (model_columns or {}).items()}
    with pq.ParquetWriter(pa.PythonFile(sink, mode="w"), schema, compression=compression, **options) as writer:
        for new_table in rewrite_groups(itertools.chain(first_group, (read_group(file, group) for group in groups))):
            writer.write_table(new_table, row_group_size=max(1, len(new_table)))


def _select_fields(schema: pa.Schema, indices: list[int]) -> pa.Schema:
    """Return the schema with some of its columns."""
    return pa.schema([schema.field(index) for index in indices], schema.metadata)


def _drop_text_metadata(schema: pa.Schema, layout: TableLayout) -> pa.Schema:
    """Return the schema without what it says of the released columns beside their types."""
    for column in layout.columns:
        field_index = schema.get_field_index(column)
        field = schema.field(field_index)
        field_id = {key: value for key, value in (field.metadata or {}).items() if key == _FIELD_ID}
        schema = schema.set(field_index, field.with_metadata(field_id or None))
    if layout.is_selection:
        # Others may describe columns that are left out (a schema of Avro, features of a data set), in unknown forms.
        metadata = {key: value for key, value in (schema.metadata or {}).items() if key in (_PANDAS, _SPARK)}
        schema = schema.with_metadata(metadata or None)
    return _edit_descriptions(
        schema, {_PANDAS: lambda said: _clean_pandas(said, layout), _SPARK: lambda said: _clean_spark(said, layout)}
    )


def _edit_descriptions(schema: pa.Schema, edits: dict[bytes, Callable[[dict[str, Any]], dict[str, Any]]]) -> pa.Schema:
    """Return the schema with what pandas and Spark say of it edited."""
    metadata = dict(schema.metadata or {})
    for key, edit in edits.items():
        description = metadata.pop(key, None)
        if description is not None:
            # What cannot be read cannot be edited, and is left out.
            with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
                metadata[key] = json.dumps(edit(json.loads(description))).encode()
    return schema.with_metadata(metadata or None)


def _describe_new_columns(schema: pa.Schema, new_columns: NewColumns) -> pa.Schema:
    """Return the schema with the new columns in what pandas and Spark say of it."""
    pandas_columns: list[dict[str, Any]] = [
        {"name": name, "field_name": name, "metadata": None}
        | (
            {"pandas_type": "unicode", "numpy_type": "object"}
            if kind is str
            else {"pandas_type": "float64", "numpy_type": "float64"}
        )
        for name, kind in new_columns.items()
    ]
    spark_fields: list[dict[str, Any]] = [
        {"name": name, "type": "string" if kind is str else "double", "nullable": True, "metadata": {}}
        for name, kind in new_columns.items()
    ]
    return _edit_descriptions(
        schema,
        {
            _PANDAS: lambda said: {**said, "columns": [*said["columns"], *pandas_columns]},
            _SPARK: lambda said: {**said, "fields": [*said["fields"], *spark_fields]},
        },
    )


def _clean_pandas(description: dict[str, Any], layout: TableLayout) -> dict[str, Any]:
    """Return pandas' description of a table: of released columns only that they are texts, of dropped ones nothing."""
    columns = [
        {"name": name, "field_name": name, "pandas_type": "unicode", "numpy_type": "object", "metadata": None}
        if (name := column.get("field_name") or column["name"]) in layout.columns
        else column
        for column in description["columns"]
        if not layout.is_dropped(column.get("field_name") or column["name"])
    ]
    if not layout.is_selection:
        return {**description, "columns": columns}
    # An index is named by its column; one that is a range stands in the description itself, with its values.
    index_columns = [
        entry
        for entry in description.get("index_columns", [])
        if isinstance(entry, str) and not layout.is_dropped(entry)
    ]
    known_parts: dict[str, Any] = {
        name: description[name] for name in ("column_indexes", "pandas_version", "creator") if name in description
    }
    return {"index_columns": index_columns, **known_parts, "columns": columns}


def _clean_spark(description: dict[str, Any], layout: TableLayout) -> dict[str, Any]:
    """Return Spark's description of a table: of released columns only their types, of dropped ones nothing."""
    fields = [
        {**field, "metadata": {}} if field["name"] in layout.columns else field
        for field in description["fields"]
        if not layout.is_dropped(field["name"])
    ]
    return {**description, "fields": fields}


def _list_metadata_names(schema: pa.Schema) -> Iterator[str]:
    """Yield the names of what a schema says beside names and types."""
    for key in sorted(schema.metadata or {}):
        yield repr(key.decode("utf-8", "replace"))
    for field in schema:
        if _has_metadata(field):
            yield f"of the column {field.name!r}"


def _has_metadata(field: pa.Field) -> bool:
    """Say whether a field, or one nested in it, says anything of itself beside name and type."""
    data_type = field.type
    nested_fields = (
        [data_type.field(field_index) for field_index in range(data_type.num_fields)]
        if pa.types.is_nested(data_type)
        else []
    )
    return bool(set(field.metadata or {}) - {_FIELD_ID}) or any(map(_has_metadata, nested_fields))


def _get_compression(file: pq.ParquetFile) -> Any:  # noqa: ANN401 - one codec, or one per column
    """Return the compression of every column of the first row group."""
    if not file.num_row_groups:
        return "snappy"
    group = file.metadata.row_group(0)
    column_chunks = [group.column(index) for index in range(group.num_columns)]
    codec_of_path = {chunk.path_in_schema: chunk.compression.lower() for chunk in column_chunks}
    return {path: "none" if codec == "uncompressed" else codec for path, codec in codec_of_path.items()}


def _extend_group(table: pa.Table, schema: pa.Schema, layout: TableLayout, make_cells: CellMaker) -> pa.Table:
    """Return a group with its new columns."""
    rows = extract_rows([table], layout)
    new_rows = [cells for window in batch_records(rows, _count_characters) for cells in make_cells(window)]
    for number, field in enumerate(list(schema)[len(table.schema) :]):
        values = [_convert_new_cell(cells[number]) for cells in new_rows]
        table = table.append_column(field, pa.array(values, type=field.type))
    return table


def _convert_new_cell(cell: str | float | None) -> str | float | None:
    """Return a new cell as the file holds it: shares of six digits, lone surrogates as escapes."""
    if isinstance(cell, str):
        return cell.encode("utf-8", "backslashreplace").decode()
    return None if cell is None else float(format_share(cell))


def _release_groups(
    groups: Iterator[pa.Table],
    kept_indices: list[int],
    schema: pa.Schema,
    release_rows: RowReleaser,
    copied: CopiedColumns,
) -> Iterator[pa.Table]:
    """Yield the columns of each group that are released, with new texts; small groups are released together."""
    layout = copied.layout
    for window in batch_records(groups, lambda table: _count_bytes(table, layout)):
        # Ids also of a column that is left out: whose records they are.
        new_columns, is_released = release_texts(extract_rows(window, layout), schema, layout, release_rows)
        first_row = first_text = 0
        for group in window:
            table = group.select(kept_indices)
            if is_released is not None:
                table = table.filter(pa.array(is_released[first_row : first_row + len(group)]))
            for name, column in new_columns.items():
                place = table.schema.get_field_index(name)
                table = table.set_column(place, schema.field(name), column.slice(first_text, len(table)))
            first_row += len(group)
            first_text += len(table)
            note_copied_rows(table, copied)
            yield table


def _count_bytes(table: pa.Table, layout: TableLayout) -> int:
    """Return what the rows of a group count in a window, but for the overhead of one."""
    sizes = [int(measure_texts(read_texts(table, column, layout)).clip(0).sum()) for column in layout.columns]
    return sum(sizes) + (len(table) - 1) * RECORD_OVERHEAD


def _count_characters(row: TextRow) -> int:
    return sum(len(text or "") for _, text in row.cells)
