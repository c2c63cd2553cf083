"""One column of texts in the container that it came in: a list, an array, a series or a data frame.

pandas and polars are not imported: their objects are told by what they can do, so that other libraries of their kind
serve too.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

from deniable.core.errors import InputError
from deniable.core.identity import count_float_bits, is_null, make_identity

_MAX_LISTED_COLUMNS = 5
"""Columns that an error names."""
_MAX_WHOLE_FLOAT = 2**53
"""Below it floats tell every integer from the next."""


@dataclasses.dataclass(frozen=True)
class TextColumn:
    """One column of texts.

    Attributes:
        cells: as they came.
        name: of the column; None where it has none, or one that is no text.
        rebuild: takes as many cells, and returns them in a container like the column's.
    """

    cells: Sequence[Any]
    name: str | None
    rebuild: Callable[[list[Any]], Any]


def format_cell(cell: object) -> str:
    """Return a value of a typed table as a csv would show it, so that tables of any format name classes alike.

    Whole numbers have no ".0", as those of a column of floats would; true and false are written as in JSON. A text is
    itself, and so a csv's cell stays as it is written.
    """
    if isinstance(cell, (bool, np.bool_)):
        return "true" if cell else "false"
    if not isinstance(cell, (float, np.floating)):
        return str(cell)
    number = float(cell)
    return str(int(number)) if number.is_integer() and abs(number) < _MAX_WHOLE_FLOAT else str(cell)


def format_name(cell: object) -> str | None:
    """Return the name of a class: a cell without white space around; None for a null or blank one."""
    return None if is_null(cell) else format_cell(cell).strip() or None


def read_identities(owner: str, container: Any) -> list[str | None]:  # noqa: ANN401 - any container
    """Return the identities in a column of persons or record ids, None for each null or blank cell.

    Args:
        owner: what the column is, for error messages.
        container: see `read_text_column`.

    Raises:
        InputError: it is no one column, or a cell names nobody, see `deniable.core.identity`.
    """
    cells = read_text_column(owner, container).cells
    kinds = list(container.dtypes) if hasattr(container, "columns") else [getattr(container, "dtype", None)]
    # A category is of the type of its categories. Cells that were taken out do not tell how wide floats were.
    bits = min(count_float_bits(getattr(getattr(one, "categories", None), "dtype", one)) for one in kinds)
    try:
        return [make_identity(cell, bits) for cell in cells]
    except InputError as error:
        raise InputError(f"{owner}: {error}") from None


def require_identities(owner: str, container: Any) -> list[str]:  # noqa: ANN401 - any container
    """Return the identities in a column of persons or record ids, as `read_identities` does.

    Raises:
        InputError: see `read_identities`, or a cell is null or blank.
    """
    identities = read_identities(owner, container)
    named = [identity for identity in identities if identity is not None]
    if len(named) < len(identities):
        raise InputError(
            f"{owner}: there is a null or a blank in row {identities.index(None)}. Name it, or leave the row out."
        )
    return named


def read_text_column(owner: str, container: Any) -> TextColumn:  # noqa: ANN401 - any container
    """Return the one column that a container holds.

    Args:
        owner: who asks, for error messages.
        container: a list or another iterable of texts; an array (n,) or (n, 1); a series or a data frame of one
            column, of pandas or polars.

    Raises:
        InputError: it is no container, or holds several columns.
    """
    if isinstance(container, (str, bytes, Mapping, AbstractSet)) or not isinstance(container, Iterable):
        raise InputError(
            f"{owner} takes a list, an array, a series or a data frame of texts. Got one {type(container).__name__}."
        )
    if isinstance(container, np.ndarray):
        return _read_array(owner, container)
    if type(container).__module__.startswith("polars."):
        return _read_polars(owner, container)
    if hasattr(container, "iloc"):
        return _read_pandas(owner, container)
    return TextColumn(list(container), None, list)


def _read_array(owner: str, array: np.ndarray[Any, Any]) -> TextColumn:
    if array.ndim not in (1, 2):
        raise InputError(f"{owner} takes an array (n,) or (n, 1) of texts. Got the shape {array.shape}.")
    if array.ndim > 1 and array.shape[1] != 1:
        raise _make_columns_error(owner, range(array.shape[1]))

    def rebuild(cells: list[Any]) -> np.ndarray[Any, Any]:
        return np.array(cells, dtype=object).reshape(array.shape)

    return TextColumn(array.ravel().tolist(), None, rebuild)


def _read_pandas(owner: str, frame: Any) -> TextColumn:  # noqa: ANN401 - of any library like pandas
    if not hasattr(frame, "columns"):
        return _read_pandas_series(frame)
    if len(frame.columns) != 1:
        raise _make_columns_error(owner, frame.columns)
    column = _read_pandas_series(frame.iloc[:, 0])

    def rebuild(cells: list[Any]) -> Any:  # noqa: ANN401 - the frame's class
        private_frame = column.rebuild(cells).to_frame()
        private_frame.columns = frame.columns
        return private_frame

    return dataclasses.replace(column, rebuild=rebuild)


def _read_pandas_series(series: Any) -> TextColumn:  # noqa: ANN401 - of any library like pandas
    # A type of texts stays. A category would keep every private text in its list of categories: it becomes plain.
    kind = getattr(series, "dtype", None)
    kind = getattr(getattr(kind, "categories", None), "dtype", kind)
    options = {"dtype": kind} if getattr(kind, "type", None) in (str, np.object_) else {}

    def rebuild(cells: list[Any]) -> Any:  # noqa: ANN401 - the series' class
        return type(series)(cells, index=series.index, name=series.name, **options)

    return TextColumn(list(series), _get_text(series.name), rebuild)


def _read_polars(owner: str, table: Any) -> TextColumn:  # noqa: ANN401 - of polars
    is_frame = hasattr(table, "columns")
    if is_frame and len(table.columns) != 1:
        raise _make_columns_error(owner, table.columns)
    series = table.to_series() if is_frame else table

    # What comes out is of the type String, also for a category, whose categories are private texts.
    def rebuild(cells: list[Any]) -> Any:  # noqa: ANN401 - a class of polars
        private_series = type(series)(series.name, cells, dtype=str)
        return private_series.to_frame() if is_frame else private_series

    return TextColumn(series.to_list(), _get_text(series.name), rebuild)


def _get_text(name: object) -> str | None:
    return name if isinstance(name, str) and name else None


def _make_columns_error(owner: str, columns: Sequence[object]) -> InputError:
    """Return the error for a table that has not one column."""
    names = [repr(name) for name in columns]
    listed = ", ".join(names[:_MAX_LISTED_COLUMNS]) + (", ..." if len(names) > _MAX_LISTED_COLUMNS else "")
    return InputError(
        f"{owner} takes one column of texts. Got {len(names)} ({listed}): choose one, and give each column of texts a "
        f"{owner} of its own."
        if names
        else f"{owner} takes one column of texts. Got none."
    )
