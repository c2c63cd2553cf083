"""One table in, the same table with further columns out."""

from collections.abc import Callable, Collection

from deniable.core.errors import InputError
from deniable.core.files import check_outputs, open_input, open_outputs
from deniable.text.tables import TABLE_EXTENDERS
from deniable.text.tables.layout import CellMaker, NewColumns, TableLayout


def extend_table(
    source: str,
    target: str,
    table_format: str,
    layout: TableLayout,
    new_columns: NewColumns,
    make_cells: CellMaker,
    *,
    input_paths: Collection[str] = (),
    force: bool = False,
    report: Callable[[int], None] = lambda _: None,
) -> None:
    """Write a table with columns added behind its own, whole or not at all; everything that was there stays.

    Args:
        source: path of the table, or ``-``.
        target: path of the new table, or ``-``.
        table_format: a name from `TABLE_EXTENDERS`.
        layout: where the texts stand.
        new_columns: names of the columns, and what they hold.
        make_cells: gives the new cells of rows.
        input_paths: paths of what else the run reads; the output may be none of them.
        force: overwrite an existing output.
        report: called with the number of input bytes of every read.

    Raises:
        InputError: the input or the output cannot be used, or a column to be added exists; nothing is written then.
    """
    check_extensible_format(table_format)
    check_outputs([target], [source, *input_paths], force=force)
    layout.check_text_columns()
    with (
        open_outputs(target, force=force) as (sink,),
        open_input(source, report, seekable=table_format == "parquet") as stream,
    ):
        TABLE_EXTENDERS[table_format](stream, sink, layout, new_columns, make_cells)


def check_extensible_format(table_format: str) -> None:
    """Raise `InputError` for a format without columns."""
    if table_format not in TABLE_EXTENDERS:
        raise InputError(
            f"A {table_format} file has no columns, and none can be added: give {', '.join(TABLE_EXTENDERS)}."
        )
