"""What a type checker knows of `TextPrivatizer`; mypy reads this file, see ``files`` in pyproject.toml."""

from typing import Any, assert_type

import numpy as np
import numpy.typing as npt
import polars as pl

import deniable as dn


class Series:
    """A series or a data frame of a library whose types are known, as pandas' are where pandas-stubs is installed."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows."""
        return (1,)


def check_types(
    privatizer: dn.TextPrivatizer,
    texts: list[str],
    texts_and_nulls: list[str | None],
    array: npt.NDArray[np.str_],
    tables: tuple[Series, pl.Series, pl.DataFrame],
    *,
    space: dn.Space,
) -> None:
    """Fail the type check where the container that comes out is not known to be the one that went in."""
    series, polars_series, frame = tables
    assert_type(privatizer.transform(texts), list[str])
    assert_type(privatizer.transform(texts_and_nulls), list[str | None])
    assert_type(privatizer.transform(text for text in texts), list[str])
    assert_type(privatizer.transform(array), npt.NDArray[np.object_])
    assert_type(privatizer.transform(series), Series)
    assert_type(privatizer.transform(polars_series), pl.Series)
    assert_type(privatizer.transform(frame, record_ids=["a"]), pl.DataFrame)
    assert_type(dn.TEM(space, epsilon=3.0).replace(epsilon=6.0), dn.TEM)
    assert_type(dn.TEM(space, epsilon=3.0).get_params(), dict[str, Any])
    assert_type(dn.mechanism("tem", space, epsilon=3.0), dn.WordMechanism)
