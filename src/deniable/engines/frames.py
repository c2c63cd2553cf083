"""pandas and polars: the texts of a data frame, privatized in the frame, at once or when a lazy frame is evaluated."""

import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from deniable.core.errors import InputError
from deniable.engines.tallies import RecordSet, digest_id
from deniable.engines.tasks import ReleasedTable, check_repeatable, describe_copied, make_folder, make_layout
from deniable.text.batches import Tally, read_batch_texts
from deniable.text.columns import is_polars, read_cells, require_identities
from deniable.text.release import Release
from deniable.text.row_release import RowPrivatizer
from deniable.text.tables.copied_columns import MAX_JUDGED_ROWS
from deniable.text.tables.layout import CopiedContent, TableLayout
from deniable.text.tables.rows import TextRows, list_texts, make_column

if TYPE_CHECKING:
    import polars as pl

FrameT = TypeVar("FrameT")


def privatize_dataframe(
    df: FrameT,
    release: Release,
    *,
    text: str | Sequence[str],
    id: str | None = None,
    fresh: bool = False,
) -> ReleasedTable[FrameT]:
    """Return a data frame of pandas or polars with its texts privatized.

    Order, index, nulls and all other columns stay; so do the types of texts, but a category becomes plain text, since
    its categories are the private texts. ``attrs`` of pandas do not come out.

    Args:
        df: n rows; it stays as it is.
        release: how texts are released.
        text: name of the column of texts, or names of several.
        id: name of the column of record ids, texts or whole numbers, unique; in pandas, where no column has the name,
            of a level of the index. Needed with a key.
        fresh: True for a release without a key, which draws new noise in each call.

    Raises:
        InputError: the release does not suit, a column is missing or holds no texts, or ids are missing or repeated.
    """
    is_pandas = _is_of(df, "pandas", "DataFrame")
    if not is_pandas and not _is_of(df, "polars", "DataFrame"):
        raise InputError(
            "privatize_dataframe takes a DataFrame of pandas or polars; a LazyFrame is for privatize_lazyframe. Got "
            f"one {type(df).__name__}."
        )
    layout = make_layout("the DataFrame", text, id)
    check_repeatable("A data frame", release, has_ids=id is not None, fresh=fresh, is_pickled=False)
    frame: Any = df
    levels = dict(_list_levels(frame, layout)) if is_pandas else {}
    layout.check_columns([name for name in (*frame.columns, *levels) if isinstance(name, str)])
    ids = None if id is None else frame[id] if id in frame.columns else levels[id]
    private, tally, _ = _privatize(frame, layout, release, ids)
    head = private.head(MAX_JUDGED_ROWS)
    judged = [(name, cells[:MAX_JUDGED_ROWS]) for name, cells in levels.items()]
    judged += [(str(name), cells) for name, cells in (head if is_pandas else head.to_dict()).items()]
    copied = (*levels, *map(str, layout.list_other_columns(frame.columns)))
    return ReleasedTable(private, tally, release, describe_copied(layout, copied, judged))


def privatize_lazyframe(
    lf: "pl.LazyFrame",
    release: Release,
    *,
    text: str | Sequence[str],
    id: str,
    tallies: str | os.PathLike[str] | None = None,
) -> "pl.LazyFrame":
    """Return a lazy frame of polars whose texts are privatized whenever it is evaluated.

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
        InputError: the release does not suit, or a column is missing. In an evaluation: a column holds no texts, or
            ids are missing or repeated.
    """
    if not _is_of(lf, "polars", "LazyFrame"):
        raise InputError(f"privatize_lazyframe takes a polars LazyFrame. Got one {type(lf).__name__}.")
    import polars as pl

    layout = make_layout("the LazyFrame", text, id)
    check_repeatable("polars", release, has_ids=id is not None, fresh=False, is_pickled=False)
    folder, schema = make_folder(layout, tallies), lf.collect_schema()
    layout.check_columns(list(schema))

    def privatize(df: "pl.DataFrame") -> "pl.DataFrame":
        private, tally, records = _privatize(df, layout, release, df[id])
        if folder is not None:
            folder.create(release, layout.columns, records, CopiedContent(layout.list_other_columns(df.columns)))
            folder.commit(records, tally)
        return private  # type: ignore[no-any-return]

    private: pl.LazyFrame = lf.map_batches(
        privatize,
        # A filter or slice that is moved before this place would let repeated ids pass, or count other records.
        predicate_pushdown=False,
        projection_pushdown=False,
        slice_pushdown=False,
        schema={**schema, **dict.fromkeys(layout.columns, pl.String())},
    )
    return private


def rebuild_column(container: Any, cells: Sequence[Any], new_texts: Sequence[str | None]) -> Any:  # noqa: ANN401 - any
    """Return new texts in a container like the one that they came in, and the nulls that it had.

    Args:
        container: what `deniable.text.columns.read_cells` took.
        cells: (n,) what it gave.
        new_texts: (n,) None for each null.
    """
    texts = [cell if text is None else text for cell, text in zip(cells, new_texts, strict=True)]
    if isinstance(container, np.ndarray):
        return np.array(texts, dtype=object).reshape(container.shape)
    is_frame = hasattr(container, "columns")
    if is_polars(container):
        # What comes out is of the type String, also for a category, whose categories are private texts.
        series = container.to_series() if is_frame else container
        private = type(series)(series.name, texts, dtype=str)
        return private.to_frame() if is_frame else private
    if not hasattr(container, "iloc"):
        return texts
    series = container.iloc[:, 0] if is_frame else container
    # A type of texts stays. A category would keep every private text in its list of categories: it becomes plain.
    kind = getattr(series, "dtype", None)
    kind = getattr(getattr(kind, "categories", None), "dtype", kind)
    options = {"dtype": kind} if getattr(kind, "type", None) in (str, np.object_) else {}
    private = type(series)(texts, index=series.index, name=series.name, **options)
    return private.to_frame().set_axis(container.columns, axis=1) if is_frame else private


def _is_of(value: object, package: str, name: str) -> bool:
    """Return whether a value is of a class of a package, which whoever has such a value has imported."""
    module = sys.modules.get(package)
    return module is not None and isinstance(value, getattr(module, name))


def _list_levels(df: Any, layout: TableLayout) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - of pandas
    """Yield name and cells of each level of the index that is more than a count of the rows.

    Raises:
        InputError: a level is called like a column of texts.
    """
    import pandas as pd

    is_numbered = [*df.index.names] == [None] and df.index.equals(pd.RangeIndex(len(df)))
    for place, name in enumerate([] if is_numbered else df.index.names):
        if name in layout.columns:
            raise InputError(
                f"A level of the index of the DataFrame is called {name!r}, like a column of texts, and would be "
                "released unchanged: make it a column with df.reset_index(), drop it, or rename it."
            )
        is_unnamed = name is None or name in df.columns
        yield "the index" if is_unnamed else str(name), df.index.get_level_values(place)


def _privatize(
    df: Any,  # noqa: ANN401 - of pandas or polars
    layout: TableLayout,
    release: Release,
    ids: Any,  # noqa: ANN401 - a series or a level of an index
) -> tuple[Any, Tally, RecordSet]:
    """Return a frame with its texts privatized, their counts, and which records it has, where ids name them."""
    record_ids = None if ids is None else require_identities(f"The id column {layout.id_column!r}", ids)
    cells = {name: read_cells(layout.name, df[name]) for name in layout.columns}
    texts: dict[str, Any] = {}
    for name, column in cells.items():
        try:
            texts[name] = make_column(read_batch_texts(column))
        except InputError as error:
            raise InputError(f"The column {name!r} of {layout.name}: {error}") from None
    privatizer = RowPrivatizer(layout, release)
    private = privatizer(TextRows(texts, record_ids)).columns
    new_columns = {name: rebuild_column(df[name], cells[name], list_texts(private[name])) for name in cells}
    if is_polars(df):
        df = df.with_columns(list(new_columns.values()))
    else:
        df = df.copy()
        df.attrs = {}
        for name, column in new_columns.items():
            df[name] = column
    return df, privatizer.tally, RecordSet.of_digests(map(digest_id, record_ids or []))
