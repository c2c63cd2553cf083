"""DuckDB: the texts of a relation, privatized into a new table, some rows at a time.

A function of SQL sees a few rows at a time, and cannot know whether ids are unique. So the entry is a function over a
whole relation: it reads all ids first, and lets DuckDB create the table with a function that exists for this one
statement.
"""

import secrets
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deniable.core.errors import InputError, import_extra
from deniable.engines.released import ReleasedTable, describe_copied
from deniable.engines.tasks import (
    check_id_kind,
    check_repeatable,
    check_text_kind,
    list_ids,
    make_layout,
    privatize_batch,
    refuse_repeated_ids,
)
from deniable.text.batches import Tally
from deniable.text.release import Release
from deniable.text.row_release import SeenIds
from deniable.text.tables.arrow import list_head
from deniable.text.tables.copied_columns import MAX_JUDGED_ROWS
from deniable.text.tables.layout import TableLayout

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

_SIGNED_TYPES = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_FRACTION_TYPES = {"FLOAT", "DOUBLE", "DECIMAL"}
_ID_TYPES = {"VARCHAR", "ENUM", *_SIGNED_TYPES, *(f"U{name}" for name in _SIGNED_TYPES), *_FRACTION_TYPES}
_ID_ROWS = 100_000
"""Ids that are read at a time."""


def privatize_relation(
    connection: "DuckDBPyConnection",
    relation: "DuckDBPyRelation | str",
    release: Release,
    *,
    text: str | Sequence[str],
    id: str | None = None,
    fresh: bool = False,
    into: str | None = None,
) -> "ReleasedTable[DuckDBPyRelation]":
    """Return a relation over a new table: a private one with its texts privatized.

    DuckDB reads and writes the tables some rows at a time, so that neither needs to fit into memory. Order, nulls and
    all other columns stay. A column of texts comes out as VARCHAR, also where it was an ENUM, whose values are the
    private texts. The table appears whole or not at all.

    Args:
        connection: to the database.
        relation: of this connection, or the SQL of a query. It is run several times, and should give the same rows.
        release: how texts are released.
        text: name of the column of texts, or names of several.
        id: name of the column of record ids, texts or whole numbers, unique; needed with a key.
        fresh: True for a release without a key, which draws new noise in each call.
        into: name of the new table, in SQL; by default a temporary table, which ends with the connection.

    Raises:
        InputError: the release does not suit, a column is missing or holds no texts, two columns have one name for
            DuckDB, or ids are missing or repeated.
        duckdb.Error: DuckDB cannot run the query, or there is a table of that name.
    """
    duckdb = import_extra("duckdb", "privatize_relation", None)
    if connection is not duckdb and not isinstance(connection, duckdb.DuckDBPyConnection):
        raise InputError(f"privatize_relation takes a DuckDB connection first. Got one {type(connection).__name__}.")
    if isinstance(relation, str):
        relation = connection.sql(relation)
    if not isinstance(relation, duckdb.DuckDBPyRelation):
        raise InputError(
            f"privatize_relation takes a DuckDB relation, or the SQL of a query. Got one {type(relation).__name__}."
        )
    layout = make_layout("the relation", text, id)
    check_repeatable("DuckDB", release, has_ids=id is not None, fresh=fresh, is_pickled=False)
    _check_columns(layout, relation)
    _check_ids(layout, relation)
    function = _TextFunction(layout, release)
    # Nothing else has this name, also where two tables are made at once.
    table_name = _quote(f"deniable_{secrets.token_hex(8)}") if into is None else into
    target = f"TEMP TABLE {table_name}" if into is None else f"TABLE {table_name}"
    _create_table(connection, relation, function, f"CREATE {target} AS")
    try:
        private = connection.sql(f"FROM {table_name}")
    except duckdb.CatalogException:  # a cursor knows the function, and not the temporary tables of its connection
        relation.query(table_name, f"DROP TABLE {table_name}")
        raise _make_connection_error() from None
    try:
        # The relation may have given other rows than when its ids were checked.
        function.check_rows(_check_ids(layout, private))
    except InputError:
        connection.execute(f"DROP TABLE {table_name}")
        raise
    copied = layout.list_other_columns(relation.columns)
    content = describe_copied(layout, copied, list_head(private.limit(MAX_JUDGED_ROWS).to_arrow_table()))
    return ReleasedTable(private, function.tally, release, copied, content)


class _TextFunction:
    """What DuckDB calls with some rows, in one thread or another: their texts and ids in, their new texts out.

    Attributes:
        layout: where the texts stand.
        tally: counts over all rows so far.
        error: what went wrong, which DuckDB tells in words of its own.
    """

    def __init__(self, layout: TableLayout, release: Release) -> None:
        self.layout, self.tally = layout, Tally()
        self.error: InputError | None = None
        self._release, self._lock = release, threading.Lock()

    def __call__(self, rows: Any) -> pa.StructArray:  # noqa: ANN401 - an array of Arrow, or one in chunks
        """Return the new texts of rows; a row is one value of several parts."""
        array = rows.combine_chunks() if isinstance(rows, pa.ChunkedArray) else rows
        batch = pa.RecordBatch.from_arrays(array.flatten(), names=self.layout.read_columns)
        with self._lock:
            try:
                new_batch, tally = privatize_batch(batch, self.layout, self._release)
            except InputError as error:
                self.error = error
                raise
            self.tally += tally
        new_texts = [new_batch.column(name).cast(pa.string()) for name in self.layout.columns]
        return pa.StructArray.from_arrays(new_texts, names=_name_parts(new_texts))

    def check_rows(self, count: int) -> None:
        """Raise `InputError` unless DuckDB called the function once for each row of the table that it made."""
        if self.tally.records != count:
            raise InputError(
                f"DuckDB drew {self.tally.records:,} rows for a table of {count:,}, so that the counts are wrong: "
                "store the rows of the query in a table, and give that."
            )


def _create_table(
    connection: "DuckDBPyConnection", relation: "DuckDBPyRelation", function: _TextFunction, statement: str
) -> None:
    """Create the private table.

    Args:
        connection: knows the function while the table is created.
        relation: the private rows.
        function: gives the new texts.
        statement: that creates the table, up to its query.

    Raises:
        InputError: the function failed, or the relation is of another connection.
    """
    columns, arguments = function.layout.columns, _list_arguments(function.layout, relation)
    name = f"deniable_{secrets.token_hex(8)}"
    connection.create_function(
        name,
        function,
        [connection.struct_type(dict(zip(_name_parts(arguments), (kind for _, kind in arguments), strict=True)))],
        connection.struct_type(dict.fromkeys(_name_parts(columns), "VARCHAR")),
        type="arrow",
        null_handling="special",
        side_effects=True,  # so that it is called once for each row
    )
    parts = zip(_name_parts(arguments), arguments, strict=True)
    row = ", ".join(f"{part} := {expression}" for part, (expression, _) in parts)
    new_parts = zip(_name_parts(columns), columns, strict=True)
    new_texts = ", ".join(f"{name}.{part} AS {_quote(column)}" for part, column in new_parts)
    try:
        drawn = relation.project(f"*, {name}(struct_pack({row})) AS {name}")
        drawn.project(f"* EXCLUDE ({name}) REPLACE ({new_texts})").query(name, f"{statement} FROM {name}")
    except Exception as error:
        if function.error is not None:
            raise function.error from None
        if f"Function with name {name}" in str(error):
            raise _make_connection_error() from None
        raise
    finally:
        connection.remove_function(name)


def _make_connection_error() -> InputError:
    """Return the error of a relation that another connection made."""
    return InputError("The relation is of another connection than the one that is given: give the one that made it.")


def _list_arguments(layout: TableLayout, relation: "DuckDBPyRelation") -> list[tuple[str, str]]:
    """Return each column that is read as SQL and its type: text, but for ids in a type that may hold fractions."""
    kinds = dict(zip(relation.columns, map(str, relation.types), strict=True))
    arguments = []
    for column in layout.read_columns:
        has_fractions = column == layout.id_column and kinds[column].partition("(")[0] in _FRACTION_TYPES
        kind = kinds[column] if has_fractions else "VARCHAR"
        arguments.append((f"CAST({_quote(column)} AS {kind})", kind))
    return arguments


def _name_parts(columns: Sequence[object]) -> list[str]:
    """Return names that SQL takes unquoted, one for each column."""
    return [f"part{place}" for place in range(len(columns))]


def _check_columns(layout: TableLayout, relation: "DuckDBPyRelation") -> None:
    """Raise `InputError` unless a relation has the columns of a layout, of types that hold texts and ids.

    DuckDB does not tell capitals from small letters in names, so that one of two columns would pass for the other.
    """
    layout.check_columns(relation.columns)
    first_names: dict[str, str] = {}
    for name in relation.columns:
        first_name = first_names.setdefault(name.casefold(), name)
        if first_name != name or relation.columns.count(name) > 1:
            raise InputError(f"DuckDB takes the columns {first_name!r} and {name!r} for one: rename one of them.")
    # What stands in brackets goes: of an ENUM it is all its values, which may be private texts.
    kinds = {name: str(kind).partition("(")[0] for name, kind in zip(relation.columns, relation.types, strict=True)}
    for column in layout.columns:
        check_text_kind(layout, column, kinds[column], is_text=kinds[column] in ("VARCHAR", "ENUM"))
    if layout.id_column is not None:
        kind = kinds[layout.id_column]
        check_id_kind(layout, kind, is_id=kind in _ID_TYPES)


def _check_ids(layout: TableLayout, relation: "DuckDBPyRelation") -> int:
    """Return the number of rows of a relation; raise `InputError` where an id is missing or repeated."""
    if layout.id_column is None:
        ((count,),) = relation.aggregate("count(*)").fetchall()
        return int(count)
    (expression, _), seen_ids, count = _list_arguments(layout, relation)[-1], SeenIds(), 0
    ids = relation.project(f"{expression} AS id")
    read_batches = ids.to_arrow_reader if hasattr(ids, "to_arrow_reader") else ids.fetch_record_batch
    for batch in read_batches(_ID_ROWS):
        repeat = seen_ids.add(list_ids(layout, batch.column(0)))
        if repeat is not None:
            refuse_repeated_ids(layout, f"rows {repeat[0] + 1:,} and {repeat[1] + 1:,} have one id")
        count += len(batch)
    return count


def _quote(name: str) -> str:
    """Return a name as SQL writes it, whatever its characters."""
    return '"' + name.replace('"', '""') + '"'
