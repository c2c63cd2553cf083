"""The cells of one column, whatever container it comes in: a list, an array, a series or a data frame.

pandas and polars are not imported: their objects are told by what they can do, so that other libraries of their kind
serve too.
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

from deniable.core.errors import InputError
from deniable.core.identity import count_float_bits, is_null, make_identity

_MAX_LISTED_COLUMNS = 5
"""Columns that an error names."""
_MAX_WHOLE_FLOAT = 2**53
"""Below it floats tell every integer from the next."""


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
        container: see `read_cells`.

    Raises:
        InputError: it is no one column, or a cell names nobody, see `deniable.core.identity`.
    """
    cells = read_cells(owner, container)
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


def read_cells(owner: str, container: Any) -> list[Any]:  # noqa: ANN401 - any container
    """The cells of the one column that a container holds.

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
    host: Any = container
    if isinstance(host, np.ndarray):
        if host.ndim not in (1, 2):
            raise InputError(f"{owner} takes an array (n,) or (n, 1) of texts. Got the shape {host.shape}.")
        _check_one_column(owner, range(1 if host.ndim == 1 else host.shape[1]))
        return host.ravel().tolist()
    if not is_polars(host) and not hasattr(host, "iloc"):
        return list(host)
    if hasattr(host, "columns"):
        _check_one_column(owner, host.columns)
        host = host.to_series() if is_polars(host) else host.iloc[:, 0]
    return list(host)


def is_polars(container: object) -> bool:
    """Whether a container is one of polars, which need not be installed."""
    return type(container).__module__.startswith("polars.")


def _check_one_column(owner: str, columns: Sequence[object]) -> None:
    if len(columns) == 1:
        return
    names = [repr(name) for name in columns]
    listed = ", ".join(names[:_MAX_LISTED_COLUMNS]) + (", ..." if len(names) > _MAX_LISTED_COLUMNS else "") or "none"
    raise InputError(
        f"{owner} takes one column of texts. Got {len(names)} ({listed}): choose one, and give each column of texts a "
        f"{owner} of its own."
    )
