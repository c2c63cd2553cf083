"""One column of new texts in the container of the private ones."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from deniable.text.columns import is_polars


def rebuild_column(container: Any, cells: Sequence[Any], new_texts: Sequence[str | None]) -> Any:  # noqa: ANN401 - any
    """New texts in a container like the one that they came in, and the nulls that it had.

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
