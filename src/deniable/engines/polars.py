"""polars: the texts of a frame, privatized in the frame, at once or when a lazy frame is evaluated."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from deniable.core.errors import InputError, import_extra
from deniable.engines.released import ReleasedTable, describe_copied
from deniable.engines.tallies import RecordSet, make_folder
from deniable.engines.tasks import (
    check_id_kind,
    check_repeatable,
    check_text_kind,
    check_unique_ids,
    make_layout,
    privatize_batch,
)
from deniable.text.batches import Tally
from deniable.text.release import Release
from deniable.text.tables.copied_columns import MAX_JUDGED_ROWS
from deniable.text.tables.layout import CopiedContent, TableLayout

if TYPE_CHECKING:
    import polars as pl


def privatize_dataframe(
    df: "pl.DataFrame",
    release: Release,
    *,
    text: str | Sequence[str],
    id: str | None = None,
    fresh: bool = False,
) -> "ReleasedTable[pl.DataFrame]":
    """Return a data frame with its texts privatized.

    Order, nulls and all other columns stay. A column of texts comes out as String, also where it was Categorical or
    Enum, since its categories are the private texts.

    Args:
        df: n rows; it stays as it is.
        release: how texts are released.
        text: name of the column of texts, or names of several.
        id: name of the column of record ids, texts or whole numbers, unique; needed with a key.
        fresh: True for a release without a key, which draws new noise in each call.

    Raises:
        InputError: the release does not suit, a column is missing or holds no texts, or ids are missing or repeated.
    """
    polars = import_extra("polars", "privatize_dataframe", None)
    if isinstance(df, polars.LazyFrame):
        raise InputError("privatize_dataframe takes a DataFrame. Got one LazyFrame: use privatize_lazyframe.")
    if not isinstance(df, polars.DataFrame):
        raise InputError(f"privatize_dataframe takes a polars DataFrame. Got one {type(df).__name__}.")
    layout = make_layout("the DataFrame", text, id)
    check_repeatable("polars", release, has_ids=id is not None, fresh=fresh, is_pickled=False)
    private, tally, _ = _privatize(df, layout, release)
    copied = layout.list_other_columns(df.columns)
    content = describe_copied(layout, copied, [*private.head(MAX_JUDGED_ROWS).to_dict(as_series=False).items()])
    return ReleasedTable(private, tally, release, copied, content)


def privatize_lazyframe(
    lf: "pl.LazyFrame",
    release: Release,
    *,
    text: str | Sequence[str],
    id: str,
    tallies: str | os.PathLike[str] | None = None,
) -> "pl.LazyFrame":
    """Return a lazy frame whose texts are privatized whenever it is evaluated.

    Each evaluation gives the same private texts, so the release needs a key. At this place of the query all rows are
    in memory together, and their ids are checked before the first draw; no later filter or slice moves before it.

    Args:
        lf: any query.
        release: how texts are released, with a key.
        text: name of the column of texts, or names of several.
        id: name of the column of record ids, texts or whole numbers, unique.
        tallies: folder for the counts, of which `deniable.engines.tallies.make_certificate` makes the certificate after
            the evaluation; for the owner only. None counts nothing.

    Raises:
        InputError: the release does not suit, or a column is missing or holds no texts. In an evaluation: ids are
            missing or repeated.
    """
    polars = import_extra("polars", "privatize_lazyframe", None)
    if not isinstance(lf, polars.LazyFrame):
        raise InputError(f"privatize_lazyframe takes a polars LazyFrame. Got one {type(lf).__name__}.")
    layout = make_layout("the LazyFrame", text, id)
    if isinstance(release, Release) and release.key is None:
        raise InputError(
            "A lazy frame may be evaluated several times, and without a key each draws new noise for the same text, "
            'which spends epsilon again: give the Release a key, key="env:NAME" or "file:PATH", or collect() the frame '
            "and use privatize_dataframe."
        )
    check_repeatable("polars", release, has_ids=id is not None, fresh=False, is_pickled=False)
    folder = make_folder(tallies)
    schema = lf.collect_schema()
    _check_columns(layout, schema)

    def privatize(df: "pl.DataFrame") -> "pl.DataFrame":
        private, tally, records = _privatize(df, layout, release)
        if folder is not None:
            folder.create(release, layout.columns, records, CopiedContent(layout.list_other_columns(df.columns)))
            folder.commit(records, tally)
        return private

    private: pl.LazyFrame = lf.map_batches(
        privatize,
        # A filter or slice that is moved before this place would let repeated ids pass, or count other records.
        predicate_pushdown=False,
        projection_pushdown=False,
        slice_pushdown=False,
        schema={**schema, **dict.fromkeys(layout.columns, polars.String())},
    )
    return private


def _privatize(df: "pl.DataFrame", layout: TableLayout, release: Release) -> "tuple[pl.DataFrame, Tally, RecordSet]":
    """Return a frame with its texts privatized, their counts, and which records it has, where ids name them."""
    import polars as pl

    _check_columns(layout, df.schema)
    # Columns are taken one by one: an expression would read "*", or "^a.*$", as a pattern of names.
    columns = [_read_column(df.get_column(name)) for name in layout.read_columns]
    # Arrow gets names from polars as texts of C, which hold no zeros: numbers are names meanwhile.
    read = pl.DataFrame([column.alias(str(place)) for place, column in enumerate(columns)])
    batches = read.to_arrow().rename_columns(layout.read_columns).combine_chunks().to_batches()
    records = RecordSet()
    if layout.id_column is not None:
        records = check_unique_ids(layout, [batch[layout.id_column] for batch in batches])
    tally, new_columns = Tally(), [df.get_column(name) for name in layout.columns]
    for batch in batches:  # one, or none where there are no rows
        new_batch, tally = privatize_batch(batch, layout, release)
        new_columns = [pl.Series(name, pl.from_arrow(new_batch.column(name))) for name in layout.columns]
    return df.with_columns([column.cast(pl.String) for column in new_columns]), tally, records


def _read_column(column: "pl.Series") -> "pl.Series":
    """Return texts or ids as Arrow holds them, which has no integers of 128 bits; floats stay, to be judged."""
    import polars as pl

    return column if column.dtype.is_float() or column.dtype.is_decimal() else column.cast(pl.String)


def _check_columns(layout: TableLayout, schema: "pl.Schema") -> None:
    """Raise `InputError` unless a frame has the columns of a layout, of types that hold texts and ids."""
    import polars as pl

    layout.check_columns(list(schema))
    for column in layout.columns:
        kind = schema[column]
        check_text_kind(layout, column, str(kind), is_text=isinstance(kind, pl.String | pl.Categorical | pl.Enum))
    if layout.id_column is not None:
        kind = schema[layout.id_column]
        is_id = isinstance(kind, pl.String | pl.Categorical | pl.Enum) or kind.is_numeric()
        check_id_kind(layout, str(kind), is_id=is_id)
