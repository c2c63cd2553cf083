"""Texts of a Spark DataFrame, privatized where they are: `DataFrame.mapInArrow` over a `Release`."""

import dataclasses
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deniable.core.errors import InputError, import_extra, make_parameter_error
from deniable.engines.tallies import DIGEST_HEX_DIGITS, RecordSet, TallyFolder, make_folder
from deniable.engines.tasks import (
    check_id_kind,
    check_repeatable,
    check_text_kind,
    make_layout,
    pack_release,
    privatize_batches,
    refuse_repeated_ids,
    require_ids_for_tallies,
    unpack_release,
)
from deniable.text.release import Release
from deniable.text.tables.arrow import list_identities
from deniable.text.tables.layout import CopiedContent, TableLayout

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TABLE = "the DataFrame"
_PIECE_HEX_DIGITS = 15
"""Digits of a digest that Spark holds in one integer of 64 bits."""
_DIVISION = "which of its rows stand in one part"


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
    _check_dataframe(df)
    layout = make_layout(_TABLE, text, id)
    check_repeatable("Spark", release, has_ids=id is not None, fresh=fresh)
    _check_columns(df, layout)
    folder = make_folder(tallies, is_fresh=fresh)
    require_ids_for_tallies(layout, folder)
    if id is not None:
        _check_deterministic(df)
        records = _count_records(df, layout)
        if folder is not None:
            copied = CopiedContent(layout.list_other_columns(df.columns), (_DIVISION,))
            folder.create(release, layout.columns, records, copied)
    types = import_extra("pyspark.sql.types", "privatize_dataframe", "spark")
    schema = types.StructType([types.StructField(field.name, field.dataType, field.nullable) for field in df.schema])
    dump = import_extra("pyspark.cloudpickle", "privatize_dataframe", "spark").dumps
    privatizer = PartitionPrivatizer(pack_release(release, dump), layout, folder, tuple(df.columns))
    return _number_columns(df).mapInArrow(privatizer, schema)


@dataclasses.dataclass(frozen=True)
class PartitionPrivatizer:
    """Privatizes the batches of one partition: what travels to the workers.

    Attributes:
        release: packed, see `pack_release`.
        layout: where the texts stand.
        tallies: where counts are left, if anywhere.
        names: of the columns, which Spark has under other names; None for its own.
    """

    release: bytes
    layout: TableLayout
    tallies: TallyFolder | None = None
    names: tuple[str, ...] | None = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the batches of a partition with new texts, by one thread: Spark runs a task for each processor."""
        release = unpack_release(self.release)
        named = (batch.rename_columns(self.names or batch.schema.names) for batch in batches)
        yield from privatize_batches(named, self.layout, release, tallies=self.tallies, workers=1)


@dataclasses.dataclass(frozen=True)
class IdentityReader:
    """Reads the ids of one partition as identities: what travels to the workers.

    Attributes:
        layout: whose column of ids it is.
    """

    layout: TableLayout

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the identities of batches of one column, and what is wrong with a batch that has others."""
        column = str(self.layout.id_column)
        for batch in batches:
            identities: list[str | None] = [None] * len(batch)
            problem = None
            try:
                identities = list_identities(pa.table([batch.column(0)], names=[column]), column, self.layout)
            except InputError as error:
                problem = str(error)
            columns = [pa.array(identities, pa.string()), pa.array([problem] * len(batch), pa.string())]
            yield pa.RecordBatch.from_arrays(columns, names=["id", "problem"])


def _check_dataframe(df: object) -> None:
    """Raise `InputError` unless a value is a DataFrame whose plan can be looked into, and that is not endless."""
    classic = import_extra("pyspark.sql.classic.dataframe", "privatize_dataframe", "spark")
    if not isinstance(df, classic.DataFrame):
        expected = "a DataFrame of a classic Spark session (a remote one does not show its plan)"
        raise make_parameter_error("privatize_dataframe", "df", expected, type(df))
    if df.isStreaming:
        raise InputError(
            "A stream has no end, so that nobody can see whether its ids are unique: privatize each of its batches, "
            "with foreachBatch."
        )


def _check_columns(df: "DataFrame", layout: TableLayout) -> None:
    """Raise `InputError` unless the DataFrame has the columns of a layout, of types that hold texts and ids."""
    types = import_extra("pyspark.sql.types", "privatize_dataframe", "spark")
    layout.check_columns(df.columns)
    fields = {field.name: field.dataType for field in df.schema}
    for column in layout.columns:
        kind = fields[column]
        check_text_kind(layout, column, kind.simpleString(), is_text=isinstance(kind, types.StringType))
    if layout.id_column is not None:
        kind = fields[layout.id_column]
        check_id_kind(
            layout,
            kind.simpleString(),
            is_id=isinstance(kind, (types.StringType, types.NumericType)),
        )


def _check_deterministic(df: "DataFrame") -> None:
    """Raise `InputError` where Spark knows that a DataFrame may be another one when it is read again."""
    if not _get_plan(df).deterministic():
        raise InputError(
            "Spark says that this DataFrame may differ when it is read again (rand, uuid, "
            "monotonically_increasing_id): write it to files first, and privatize what is read from them."
        )


def _get_plan(df: Any) -> Any:  # noqa: ANN401 - an object of the JVM
    return df._jdf.queryExecution().analyzed()  # noqa: SLF001 - there is no public way to ask


def _count_records(df: "DataFrame", layout: TableLayout) -> RecordSet:
    """Return the records of a DataFrame, by one job of Spark over its ids.

    Raises:
        InputError: an id is missing, repeated, or none.
    """
    functions = import_extra("pyspark.sql.functions", "privatize_dataframe", "spark")
    place = df.columns.index(str(layout.id_column))
    ids = _number_columns(df).select(f"c{place}").mapInArrow(IdentityReader(layout), "id string, problem string")
    per_id = ids.groupBy("id").agg(functions.count("*").alias("rows"), functions.max("problem").alias("problem"))
    digest = functions.sha2(functions.col("id").cast("binary"), 256)
    starts = range(0, DIGEST_HEX_DIGITS, _PIECE_HEX_DIGITS)
    pieces = [
        functions.conv(functions.substring(digest, 1 + start, _PIECE_HEX_DIGITS), 16, 10).cast("decimal(38,0)")
        for start in starts
    ]
    totals = per_id.agg(
        functions.max("problem"),
        functions.sum("rows"),
        functions.count("*"),
        functions.count("id"),
        *map(functions.sum, pieces),
    ).first()
    if totals is None or not totals[1]:
        return RecordSet()
    problem, rows, distinct, known, *sums = totals
    if problem is not None:
        raise InputError(problem)
    if known < distinct:
        layout.require_ids([None])
    if distinct < rows:
        refuse_repeated_ids(layout, f"rows that repeat an id: {rows - distinct:,}")
    return RecordSet(rows, _join_pieces(sums))


def _number_columns(df: "DataFrame") -> "DataFrame":
    """Return a DataFrame with numbers for the names of its columns, which Spark would parse: dots, quotes, capitals."""
    return df.toDF(*(f"c{number}" for number in range(len(df.columns))))


def _join_pieces(sums: Iterable[Any]) -> int:
    """Return the sum of digests from the sums of their pieces, the first piece first."""
    digest = 0
    for piece in sums:
        digest = (digest << (4 * _PIECE_HEX_DIGITS)) + int(piece)
    return digest
