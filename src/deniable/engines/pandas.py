"""pandas: the texts of a data frame, privatized in the data frame."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from deniable.core.errors import InputError, import_extra
from deniable.engines.columns import rebuild_column
from deniable.engines.released import ReleasedTable, describe_copied
from deniable.engines.tasks import check_repeatable, make_layout
from deniable.text.batches import check_record_ids, read_batch_texts
from deniable.text.columns import read_cells
from deniable.text.release import Release
from deniable.text.row_release import RowPrivatizer
from deniable.text.tables.copied_columns import MAX_JUDGED_ROWS
from deniable.text.tables.layout import TableLayout
from deniable.text.tables.rows import TextRows, list_texts, make_column

if TYPE_CHECKING:
    import pandas as pd


def privatize_dataframe(
    df: "pd.DataFrame",
    release: Release,
    *,
    text: str | Sequence[str],
    id: str | None = None,
    fresh: bool = False,
) -> "ReleasedTable[pd.DataFrame]":
    """Return a data frame with its texts privatized.

    Index, order, nulls and all other columns stay; so do the types of texts, but a category becomes plain text, since
    its categories are the private texts. ``attrs`` do not come out.

    Args:
        df: n rows; it stays as it is.
        release: how texts are released.
        text: name of the column of texts, or names of several.
        id: name of the column of record ids, texts or whole numbers, unique; where no column has the name, of a level
            of the index. Needed with a key.
        fresh: True for a release without a key, which draws new noise in each call.

    Raises:
        InputError: the release does not suit, a column is missing or holds no texts, or ids are missing or repeated.
    """
    pandas = import_extra("pandas", "privatize_dataframe", None)
    if not isinstance(df, pandas.DataFrame):
        raise InputError(f"privatize_dataframe takes a pandas DataFrame. Got one {type(df).__name__}.")
    layout = make_layout("the DataFrame", text, id)
    check_repeatable("pandas", release, has_ids=id is not None, fresh=fresh, is_pickled=False)
    levels = [None if name in df.columns else name for name in df.index.names]
    _check_columns(layout, df.columns, [name for name in levels if name is not None])
    if any(name in layout.columns for name in df.index.names):
        raise InputError(
            "A level of the index of the DataFrame is called like a column of texts, and would come out as it is: drop "
            "it with df.reset_index(drop=True), or rename it."
        )
    # All ids and texts are read before the first draw.
    ids = None if id is None else check_record_ids(df.index.get_level_values(id) if id in levels else df[id], len(df))
    columns = {name: read_cells("privatize_dataframe", df[name]) for name in layout.columns}
    texts = {name: make_column(_read_texts(name, cells)) for name, cells in columns.items()}
    privatizer = RowPrivatizer(layout, release)
    new_texts = privatizer(TextRows(texts, ids)).columns
    private = df.copy()
    for name, cells in columns.items():
        private[name] = rebuild_column(df[name], cells, list_texts(new_texts[name]))
    private.attrs = {}
    is_numbered = [*df.index.names] == [None] and df.index.equals(pandas.RangeIndex(len(df)))
    copied_levels = () if is_numbered else tuple("the index" if name is None else str(name) for name in levels)
    copied = (*copied_levels, *map(str, layout.list_other_columns(df.columns)))
    head = private.head(MAX_JUDGED_ROWS)
    judged = [(name, head.index.get_level_values(place)) for place, name in enumerate(copied_levels)]
    content = describe_copied(layout, copied, [*judged, *((str(name), column) for name, column in head.items())])
    return ReleasedTable(private, privatizer.tally, release, copied, content)


def _check_columns(layout: TableLayout, columns: Sequence[Any], levels: Sequence[Any]) -> None:
    """Raise `InputError` unless a frame has the columns of a layout; a level of the index may hold ids, not texts."""
    layout.check_columns([name for name in (*columns, *levels) if isinstance(name, str)])
    for name in layout.columns:
        if name in levels:
            raise InputError(f"{name!r} is a level of the index of {layout.name}, not a column: use df.reset_index().")


def _read_texts(name: str, cells: Sequence[Any]) -> list[str | None]:
    """Return the texts of a column, None for each null."""
    try:
        return read_batch_texts(cells)
    except InputError as error:
        raise InputError(f"The column {name!r} of the DataFrame: {error}") from None
