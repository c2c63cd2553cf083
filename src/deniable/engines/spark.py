"""Texts of a Spark DataFrame, privatized where they are: `DataFrame.mapInArrow` over a `Release`."""

import functools
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from deniable.core.errors import InputError, import_extra, make_parameter_error
from deniable.engines.tallies import RecordSet, TallyFolder, digest_id
from deniable.engines.tasks import (
    check_repeatable,
    check_schema,
    make_folder,
    make_layout,
    privatize_batches,
    refuse_repeated_ids,
    unpack_release,
)
from deniable.text.release import Release
from deniable.text.tables.arrow import list_identities
from deniable.text.tables.layout import CopiedContent, TableLayout

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def privatize_dataframe(
    df: "DataFrame",
    release: Release,
    *,
    text: str | Sequence[str],
    id: str | None = None,
    fresh: bool = False,
    tallies: str | os.PathLike[str] | None = None,
) -> "DataFrame":
    """Return a DataFrame whose texts are privatized when it is read or written.

    The new texts are those of ``deniable privatize`` on the same table, however it is cut into partitions and however
    often a task runs. Names, types and order of columns stay; null and empty texts stay; what Spark says of columns
    beside that is left out. All ids are read at once, to see that no two are equal; texts are not.

    Args:
        df: of a classic session. With a key its plan must be deterministic: ids are read more than once.
        release: how texts are released; its key is named by a place that every worker can read, ``"env:NAME"`` or
            ``"file:PATH"``.
        text: name of the column of texts, or of several.
        id: name of the column of record ids, texts or whole numbers; needed with a key, and with ``tallies``.
        fresh: draw new noise whenever a task runs, for a release without a key. Write the result once: each time that
            it is read spends epsilon again.
        tallies: a new folder that all workers can write to, for the counts of `merge_tallies` and `make_certificate`.

    Raises:
        InputError: columns, ids or the release cannot be used, or pyspark is missing. What a worker cannot use (its
            key, for one) is an error of Spark when the DataFrame is read.
    """
    classic = import_extra("pyspark.sql.classic.dataframe", "privatize_dataframe", "spark")
    if not isinstance(df, classic.DataFrame):
        expected = "a DataFrame of a classic Spark session (a remote one does not show its plan)"
        raise make_parameter_error("privatize_dataframe", "df", expected, type(df))
    if df.isStreaming:
        raise InputError(
            "A stream has no end, so that nobody can see whether its ids are unique: privatize each of its batches, "
            "with foreachBatch."
        )
    layout = make_layout("the DataFrame", text, id)
    check_repeatable("Spark", release, has_ids=id is not None, fresh=fresh)
    layout.check_columns(df.columns)
    arrow = import_extra("pyspark.sql.pandas.types", "privatize_dataframe", "spark")
    check_schema(layout, arrow.to_arrow_schema([field for field in df.schema if field.name in layout.read_columns]))
    folder = make_folder(layout, tallies, is_fresh=fresh)
    if id is not None:
        if not df._jdf.queryExecution().analyzed().deterministic():  # noqa: SLF001 - there is no public way to ask
            raise InputError(
                "Spark says that this DataFrame may differ when it is read again (rand, uuid, "
                "monotonically_increasing_id): write it to files first, and privatize what is read from them."
            )
        records = _count_records(df, layout)
        if folder is not None:
            copied = CopiedContent(layout.list_other_columns(df.columns), ("which of its rows stand in one part",))
            folder.create(release, layout.columns, records, copied)
    types = import_extra("pyspark.sql.types", "privatize_dataframe", "spark")
    schema = types.StructType([types.StructField(field.name, field.dataType, field.nullable) for field in df.schema])
    # Spark's own pickle also takes mechanisms whose class workers cannot import.
    packed = import_extra("pyspark.cloudpickle", "privatize_dataframe", "spark").dumps(release)
    privatize = functools.partial(_privatize_partition, packed, layout, folder, df.columns)
    return _number_columns(df).mapInArrow(privatize, schema)


def _privatize_partition(
    release: bytes,
    layout: TableLayout,
    tallies: TallyFolder | None,
    names: list[str],
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a partition with new texts, under their own names of columns."""
    named = (batch.rename_columns(names) for batch in batches)
    yield from privatize_batches(named, layout, unpack_release(release), tallies=tallies)


def _read_identities(layout: TableLayout, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the identities of batches of one column, and what is wrong with a batch that has others."""
    column = str(layout.id_column)
    for batch in batches:
        identities: list[str | None] = [None] * len(batch)
        problem = None
        try:
            identities = list_identities(pa.table([batch.column(0)], names=[column]), column, layout)
        except InputError as error:
            problem = str(error)
        columns = [pa.array(identities, pa.string()), pa.array([problem] * len(batch), pa.string())]
        yield pa.RecordBatch.from_arrays(columns, names=["id", "problem"])


def _sum_digests(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the numbers of records and rows, the sum of digests, and what is wrong, of batches of distinct ids."""
    for batch in batches:
        ids = [record_id for record_id in batch.column("id").to_pylist() if record_id is not None]
        records = RecordSet.of_digests(map(digest_id, ids))
        problem = next((line for line in batch.column("problem").to_pylist() if line is not None), None)
        rows = sum(batch.column("rows").to_pylist())
        part = {"rows": rows, "nameless": len(batch) - len(ids), "records": records.count}
        yield pa.RecordBatch.from_pylist([{**part, "digest": f"{records.digest:x}", "problem": problem}])


def _count_records(df: "DataFrame", layout: TableLayout) -> RecordSet:
    """Return the records of a DataFrame, by one job of Spark over its ids.

    Raises:
        InputError: an id is missing, repeated, or none.
    """
    functions = import_extra("pyspark.sql.functions", "privatize_dataframe", "spark")
    column = _number_columns(df).select(f"c{df.columns.index(str(layout.id_column))}")
    ids = column.mapInArrow(functools.partial(_read_identities, layout), "id string, problem string")
    per_id = ids.groupBy("id").agg(functions.count("*").alias("rows"), functions.max("problem").alias("problem"))
    parts = per_id.select("id", "rows", "problem").mapInArrow(
        _sum_digests, "rows long, nameless long, records long, digest string, problem string"
    )
    records, rows = RecordSet(), 0
    for part in parts.collect():
        if part.problem is not None:
            raise InputError(part.problem)
        if part.nameless:
            layout.require_ids([None])
        records += RecordSet(part.records, int(part.digest, 16))
        rows += part.rows
    if records.count < rows:
        refuse_repeated_ids(layout, f"rows that repeat an id: {rows - records.count:,}")
    return records


def _number_columns(df: "DataFrame") -> "DataFrame":
    """Return a DataFrame with numbers for the names of its columns, which Spark would parse: dots, quotes, capitals."""
    return df.toDF(*(f"c{number}" for number in range(len(df.columns))))
