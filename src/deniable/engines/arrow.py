"""Hugging Face datasets and DuckDB: texts privatized as batches of Arrow, some rows at a time.

A whole table has one `RowPrivatizer`, which refuses an id that was there before; then nothing comes out.
"""

import secrets
import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from deniable.core.errors import InputError, make_parameter_error
from deniable.engines.tasks import (
    ReleasedTable,
    check_repeatable,
    check_schema,
    check_text_kind,
    describe_copied,
    make_layout,
    privatize_batch,
)
from deniable.text.release import Release
from deniable.text.row_release import RowPrivatizer
from deniable.text.tables.arrow import list_head
from deniable.text.tables.copied_columns import MAX_JUDGED_ROWS
from deniable.text.tables.layout import TableLayout

if TYPE_CHECKING:
    from datasets import Dataset
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

DatasetT = TypeVar("DatasetT")
_BATCH_ROWS = 10_000


def privatize_dataset(
    dataset: DatasetT,
    release: Release,
    *,
    text: str | Sequence[str],
    id: str | None = None,
    fresh: bool = False,
) -> ReleasedTable[DatasetT]:
    """Return a dataset of Hugging Face with its texts privatized.

    Order, splits, nulls, all other columns and the features stay. Of what a dataset says of itself (description, sizes,
    checksums, ...) nothing else comes out: it describes the private one. A dataset that has cache files gets a further
    one with the private texts in each call.

    Args:
        dataset: one split, or a dict of splits.
        release: how texts are released.
        text: name of the column of texts, or names of several.
        id: name of the column of record ids, texts or whole numbers, unique over all splits; needed with a key.
        fresh: True for a release without a key, which draws new noise in each call.

    Raises:
        InputError: the release does not suit, the dataset is streamed, a column is missing or holds no texts, or ids
            are missing or repeated.
    """
    datasets = sys.modules.get("datasets")  # which whoever has a dataset has imported
    if datasets is None or not isinstance(dataset, datasets.Dataset | datasets.DatasetDict):
        raise InputError(
            "privatize_dataset takes a Dataset or a DatasetDict, loaded without streaming=True: a stream is read anew "
            f"in every epoch, and its ids cannot be compared. Got one {type(dataset).__name__}."
        )
    layout = make_layout("the dataset", text, id)
    check_repeatable("datasets", release, has_ids=id is not None, fresh=fresh, is_pickled=False)
    splits: dict[str, Dataset] = dict(dataset) if isinstance(dataset, datasets.DatasetDict) else {"": dataset}
    for split in splits.values():
        check_schema(layout, split.features.arrow_schema)
    privatizer = RowPrivatizer(layout, release)
    private = {name: _privatize_split(split, layout, privatizer) for name, split in splits.items()}
    copied = layout.list_other_columns(dict.fromkeys(name for split in private.values() for name in split.column_names))
    heads = [list_head(split.with_format("arrow")[:MAX_JUDGED_ROWS]) for split in private.values() if len(split)]
    table = type(dataset)(private) if isinstance(dataset, datasets.DatasetDict) else private[""]
    return ReleasedTable(table, privatizer.tally, release, describe_copied(layout, copied, *heads))


def _privatize_split(dataset: "Dataset", layout: TableLayout, privatizer: RowPrivatizer) -> "Dataset":
    """Return a split with its texts privatized, which says nothing of the private one."""
    from datasets import DatasetInfo

    def privatize(rows: pa.Table) -> pa.Table:
        batches = rows.combine_chunks().to_batches()
        return pa.Table.from_batches([privatize_batch(batch, layout, privatizer) for batch in batches])

    private = dataset.with_format("arrow").map(
        privatize,
        batched=True,
        batch_size=_BATCH_ROWS,
        features=dataset.features,
        load_from_cache_file=False,
        # By default the name of what comes out is a hash of the private data, by which a guess could be checked.
        new_fingerprint=secrets.token_hex(16),
        desc="Privatize",
    )
    vars(private.info).update(vars(DatasetInfo(features=private.features)))
    shown = dataset.format
    return private.with_format(shown["type"], shown["columns"], shown["output_all_columns"], **shown["format_kwargs"])


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
    """Return a relation over a new table of DuckDB: a private one with its texts privatized.

    DuckDB reads and writes the tables some rows at a time, so that neither needs to fit into memory. Order, nulls and
    all other columns stay. A column of texts comes out as VARCHAR, also where it was an ENUM, whose values are the
    private texts. The table appears whole or not at all.

    A function of SQL sees a few rows at a time, and could not know whether ids are unique. So the entry is a function
    over a whole relation, which lets DuckDB create the table with a function that exists for this one statement.

    Args:
        connection: to the database.
        relation: of this connection, or the SQL of a query.
        release: how texts are released.
        text: name of the column of texts, or names of several.
        id: name of the column of record ids, texts or whole numbers, unique; needed with a key.
        fresh: True for a release without a key, which draws new noise in each call.
        into: name of the new table, in SQL; by default a temporary table, which ends with the connection.

    Raises:
        InputError: the release does not suit, a column is missing or holds no texts, two columns have one name for
            DuckDB, or ids are missing or repeated.
        duckdb.Error: DuckDB cannot run the query, the relation is of another connection, or there is a table of that
            name.
    """
    if isinstance(relation, str):
        relation = connection.sql(relation)
    if not hasattr(relation, "project"):
        expected = "a relation of DuckDB, or the SQL of a query"
        raise make_parameter_error("privatize_relation", "relation", expected, type(relation))
    layout = make_layout("the relation", text, id)
    check_repeatable("DuckDB", release, has_ids=id is not None, fresh=fresh, is_pickled=False)
    _check_relation(layout, relation)
    privatizer = RowPrivatizer(layout, release)
    lock, errors = threading.Lock(), list[InputError]()

    def draw(rows: Any) -> pa.StructArray:  # noqa: ANN401 - an array of Arrow, or one in chunks
        """Return the new texts of rows, of which DuckDB gives some at a time, in one thread or another."""
        array = rows.combine_chunks() if isinstance(rows, pa.ChunkedArray) else rows
        batch = pa.RecordBatch.from_arrays(array.flatten(), names=layout.read_columns)
        with lock:
            try:
                private = privatize_batch(batch, layout, privatizer)
            except InputError as error:  # which DuckDB says in words of its own
                errors.append(error)
                raise
        columns = [private.column(name).cast(pa.string()) for name in layout.columns]
        return pa.StructArray.from_arrays(columns, names=[parts[name] for name in layout.columns])

    # Nothing else has this name, also where two tables are made at once.
    function = f"deniable_{secrets.token_hex(8)}"
    table = f"{function}_rows" if into is None else into
    kinds = dict(zip(relation.columns, relation.types, strict=True))
    parts = {column: f"part{place}" for place, column in enumerate(layout.read_columns)}  # which SQL takes unquoted
    row = ", ".join(f"{part} := {_quote(column)}" for column, part in parts.items())
    new_texts = ", ".join(f"{function}.{parts[column]} AS {_quote(column)}" for column in layout.columns)
    connection.create_function(
        function,
        draw,
        [connection.struct_type({part: kinds[column] for column, part in parts.items()})],
        connection.struct_type({parts[column]: "VARCHAR" for column in layout.columns}),
        type="arrow",
        null_handling="special",
        side_effects=True,  # so that it is called once for each row
    )
    try:
        drawn = relation.project(f"*, {function}(struct_pack({row})) AS {function}")
        drawn.project(f"* EXCLUDE ({function}) REPLACE ({new_texts})").query(
            function, f"CREATE {'TEMP ' if into is None else ''}TABLE {table} AS FROM {function}"
        )
    except Exception:
        if errors:
            raise errors[0] from None
        raise
    finally:
        connection.remove_function(function)
    private = connection.sql(f"FROM {table}")
    copied = layout.list_other_columns(relation.columns)
    content = describe_copied(layout, copied, list_head(private.limit(MAX_JUDGED_ROWS).to_arrow_table()))
    return ReleasedTable(private, privatizer.tally, release, content)


def _check_relation(layout: TableLayout, relation: "DuckDBPyRelation") -> None:
    """Raise `InputError` unless a relation has the columns of a layout, of types that hold texts and ids.

    DuckDB does not tell capitals from small letters in names, so that one of two columns would pass for the other.
    """
    layout.check_columns(relation.columns)
    first_names: dict[str, str] = {}
    for name in relation.columns:
        first_name = first_names.setdefault(name.casefold(), name)
        if first_name != name or relation.columns.count(name) > 1:
            raise InputError(f"DuckDB takes the columns {first_name!r} and {name!r} for one: rename one of them.")
    for column in layout.columns:
        # What stands in brackets goes: of an ENUM it is all its values, which may be private texts.
        kind = str(relation.types[relation.columns.index(column)]).partition("(")[0]
        check_text_kind(layout, column, kind, is_text=kind in ("VARCHAR", "ENUM"))
    check_schema(layout, relation.limit(0).to_arrow_table().schema)


def _quote(name: str) -> str:
    """Return a name as SQL writes it, whatever its characters."""
    return '"' + name.replace('"', '""') + '"'
