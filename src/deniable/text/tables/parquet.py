"""Parquet, some thousand rows at a time; schema, row groups and compression are kept.

What a file says about a released column beside its type is dropped, also where pandas and Spark say it: pandas, for
one, notes how many distinct texts a category had. What it says of the rest is kept, and named; what Spark says of all
columns goes, since Spark reads the schema without it. Where columns are left out, all that the file says of itself
goes.
"""

import contextlib
import functools
import itertools
import json
import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from deniable.core.errors import InputError
from deniable.core.identity import count_float_bits
from deniable.text.tables import arrow
from deniable.text.tables.base import Table, TextColumns
from deniable.text.tables.copied_columns import MAX_JUDGED_ROWS
from deniable.text.tables.layout import (
    RECORD_OVERHEAD,
    CopiedContent,
    NewCells,
    TableLayout,
    batch_records,
    check_new_columns,
    format_share,
)
from deniable.text.tables.rows import ReleasedRows, TextRows

_PANDAS = b"pandas"
_SPARK = b"org.apache.spark.sql.parquet.row.metadata"
_FIELD_ID = b"PARQUET:field_id"
_BATCH_ROWS = 512
"""Rows that are read at a time, at most."""
_BUFFER_BYTES = 1 << 20
"""Bytes of a column that are read at a time, about."""

Piece = tuple[int, pa.Table]
"""Rows of one row group, and its number."""


class ParquetTable(Table[Piece, list[Piece]]):
    """A file of row groups, of which small ones are released together and large ones in parts.

    New columns are texts as strings and shares as doubles.

    Raises:
        InputError: not a parquet file, one that contradicts itself, or a column to release holds no texts.
    """

    def open(self, stream: BinaryIO) -> None:
        """Read the schema."""
        layout = self.layout
        self._file = _open_file(stream, layout.name)
        schema = self._file.schema_arrow
        layout.check_columns(schema.names)
        check_new_columns(layout.name, schema.names, self.new_columns)
        self._kept_indices = [place for place, name in enumerate(schema.names) if not layout.is_dropped(name)]
        self.copied.names += [schema.names[place] for place in self._kept_indices]

    def list_windows(self) -> Iterator[tuple[list[Piece], TextRows]]:
        """Yield what is released together, and its rows; ids and persons also of dropped columns."""
        layout, schema = self.layout, self._file.schema_arrow
        for column in layout.columns:
            data_type = schema.field(column).type
            if not arrow.is_text_type(data_type) and not pa.types.is_null(data_type):
                raise InputError(
                    f"The column {column!r} of {layout.name} holds {data_type}, not text: convert it to strings."
                )

        def measure(piece: Piece) -> int:
            return int(piece[1].select(layout.columns).nbytes) + (len(piece[1]) - 1) * RECORD_OVERHEAD

        for pieces in batch_records(self._read_pieces(), measure):
            read = pa.concat_tables([table.select(layout.read_columns) for _, table in pieces])
            yield pieces, arrow.extract_rows(read, layout)

    def _read_pieces(self) -> Iterator[Piece]:
        with _translate_runtime_errors():
            for group in range(self._file.num_row_groups):
                for batch in self._file.iter_batches(_BATCH_ROWS, row_groups=[group]):
                    yield group, pa.Table.from_batches([batch])
                if not self._file.metadata.row_group(group).num_rows:
                    yield group, self._file.schema_arrow.empty_table()

    @functools.cached_property
    def _schema(self) -> pa.Schema:
        """What is written."""
        schema = arrow.widen_dictionary_indices(self._file.schema_arrow, self.layout)
        fields = [schema.field(place) for place in self._kept_indices]
        metadata = {key: value for key, value in (schema.metadata or {}).items() if key != _SPARK}
        if not self.new_columns:
            return _drop_text_metadata(pa.schema(fields, metadata), self.layout)
        kinds = [pa.string() if kind is str else pa.float64() for kind in self.new_columns.values()]
        return pa.schema([*fields, *map(pa.field, self.new_columns, kinds)], metadata or None)

    def render(self, pieces: list[Piece], released: ReleasedRows) -> list[Piece]:
        """Return the columns that are released, with new texts."""
        schema, rendered, first_row, first_text = self._schema, [], 0, 0
        columns = {
            name: arrow.convert_texts(texts, schema.field(name).type) for name, texts in released.columns.items()
        }
        for group, private in pieces:
            table, is_released = private.select(self._kept_indices), released.is_released[first_row:][: len(private)]
            if not is_released.all():
                table = table.filter(pa.array(is_released))
            for name, texts in columns.items():
                place = table.schema.get_field_index(name)
                table = table.set_column(place, schema.field(name), texts.slice(first_text, len(table)))
            first_row += len(private)
            first_text += len(table)
            if self.copied.needs_rows:
                self.copied.add_head(arrow.list_head(table))
            rendered.append((group, table))
        return rendered

    def extend(self, pieces: list[Piece], new_cells: Sequence[NewCells]) -> list[Piece]:
        """Return pieces with new columns: shares of six digits, lone surrogates as escapes."""
        cells, extended = iter(new_cells), []
        for group, private in pieces:
            table, rows = private, list(itertools.islice(cells, len(private)))
            for number, field in enumerate(list(self._schema)[-len(self.new_columns) :]):
                values = [_convert_new_cell(row[number]) for row in rows]
                table = table.append_column(field, pa.array(values, type=field.type))
            extended.append((group, table))
        return extended

    def save(self, sink: BinaryIO, outputs: Iterable[list[Piece]]) -> None:
        """Write the groups, each as one."""
        pieces = itertools.chain.from_iterable(outputs)
        # The first rows are read before the metadata of their group: those of a damaged file can crash the reader.
        first_piece = list(itertools.islice(pieces, 1))
        with _translate_runtime_errors():
            compression = self._find_compression()
        leaves = map(self._file.schema.column, range(len(self._file.schema)))
        has_int96 = any(leaf.physical_type == "INT96" for leaf in leaves)  # Spark reads other times as another type
        with pq.ParquetWriter(
            pa.PythonFile(sink, mode="w"),
            self._schema,
            compression=compression,
            use_deprecated_int96_timestamps=has_int96,
        ) as out:
            for _, parts in itertools.groupby(itertools.chain(first_piece, pieces), key=operator.itemgetter(0)):
                table = pa.concat_tables([part for _, part in parts]).unify_dictionaries()
                out.write_table(table, row_group_size=max(1, len(table)))

    def _find_compression(self) -> str | dict[str, str]:
        """Return the codec of every column of the first row group; new columns have that of the texts."""
        if not self._file.num_row_groups:
            return "snappy"
        group = self._file.metadata.row_group(0)
        chunks = [group.column(index) for index in range(group.num_columns)]
        codecs = {chunk.path_in_schema: chunk.compression.lower().replace("uncompressed", "none") for chunk in chunks}
        return codecs | dict.fromkeys(self.new_columns, codecs.get(self.layout.columns[0], "snappy"))

    def describe(self) -> CopiedContent:
        """Return what was copied, with what the file says of itself."""
        # A writer that cuts groups by bytes shows with their sizes how long the private texts are together.
        sizes = ("sizes of its row groups",) if self._file.num_row_groups > 1 else ()
        return self.copied.describe((*_list_metadata_names(self._schema), *sizes))

    def read_columns(self) -> TextColumns:
        """Return columns, in which numbers are texts."""
        with _translate_runtime_errors():
            table = self._file.read(columns=self.layout.read_columns)
            for batch in itertools.islice(self._file.iter_batches(MAX_JUDGED_ROWS), 1):
                self.copied.add_head(arrow.list_head(pa.Table.from_batches([batch])))
        columns: TextColumns = {}
        for column in self.layout.read_columns:
            bits = count_float_bits(table.schema.field(column).type)
            columns[column] = [
                self.convert_cell(value, column, bits) for value in arrow.list_values(table, column, self.layout)
            ]
        return columns


@contextlib.contextmanager
def _translate_runtime_errors() -> Iterator[None]:
    """Raise `pa.ArrowInvalid` in place of the errors of a damaged file for which Arrow has no class."""
    try:
        yield
    except RuntimeError as error:
        raise pa.ArrowInvalid(str(error)) from None


def _open_file(stream: BinaryIO, name: str) -> pq.ParquetFile:
    """Return a parquet file whose timestamps keep their values: INT96 reaches further than nanoseconds do.

    Raises:
        InputError: its row groups have other numbers of rows than it says: to read one could take all the memory; or a
            time of INT96 has fractions of microseconds.
        pa.ArrowException, OSError: it is not a parquet file.
    """
    with _translate_runtime_errors():
        file = pq.ParquetFile(pa.PythonFile(stream, mode="r"), buffer_size=_BUFFER_BYTES, pre_buffer=False)
        row_counts = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
        if sum(row_counts) != file.metadata.num_rows or min(row_counts, default=0) < 0:
            raise InputError(
                f"{name} cannot be read as parquet: it is damaged, since its row groups have {sum(row_counts):,} "
                f"rows, and it says that it has {file.metadata.num_rows:,}."
            )
        leaves = [file.schema.column(place) for place in range(len(file.schema))]
        paths = [leaf.path for leaf in leaves if leaf.physical_type == "INT96"]
        if not paths:
            return file
        coarse_file = pq.ParquetFile(pa.PythonFile(stream, mode="r"), coerce_int96_timestamp_unit="us")
        for group in range(file.num_row_groups):
            fine, coarse = (one.read_row_group(group, columns=paths) for one in (file, coarse_file))
            # A time that nanoseconds cannot hold has become another one, and so it does here.
            if not coarse.cast(fine.schema, safe=False).equals(fine):
                raise InputError(
                    f"{name} has INT96 times with fractions of microseconds in {', '.join(map(repr, paths))}: write "
                    "them as TIMESTAMP, or leave the columns out."
                )
    return coarse_file


def _drop_text_metadata(schema: pa.Schema, layout: TableLayout) -> pa.Schema:
    """Return the schema without what it says of the released columns beside their types."""
    for column in layout.columns:
        field_index = schema.get_field_index(column)
        field = schema.field(field_index)
        field_id = {key: value for key, value in (field.metadata or {}).items() if key == _FIELD_ID}
        schema = schema.set(field_index, field.with_metadata(field_id or None))
    # What others say may describe columns that are left out (a schema of Avro, features of a data set), in any form.
    metadata = {} if layout.is_selection else dict(schema.metadata or {})
    if (described := metadata.pop(_PANDAS, None)) is not None:
        # What cannot be read cannot be edited, and is left out. Columns that are not described are read all the same.
        with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
            description = json.loads(described)
            columns = [
                one for one in description["columns"] if (one.get("field_name") or one["name"]) not in layout.columns
            ]
            metadata[_PANDAS] = json.dumps({**description, "columns": columns}).encode()
    return schema.with_metadata(metadata or None)


def _list_metadata_names(schema: pa.Schema) -> Iterator[str]:
    """Yield the names of what a schema says beside names and types."""
    for key in sorted(schema.metadata or {}):
        yield repr(key.decode("utf-8", "replace"))
    for field in schema:
        if _has_metadata(field):
            yield f"of the column {field.name!r}"


def _has_metadata(field: pa.Field) -> bool:
    """Return whether a field, or one nested in it, says anything of itself beside name and type."""
    data_type = field.type
    count = data_type.num_fields if pa.types.is_nested(data_type) else 0
    return bool(set(field.metadata or {}) - {_FIELD_ID}) or any(_has_metadata(data_type.field(n)) for n in range(count))


def _convert_new_cell(cell: str | float | None) -> str | float | None:
    if isinstance(cell, str):
        return cell.encode("utf-8", "backslashreplace").decode()
    return None if cell is None else float(format_share(cell))
