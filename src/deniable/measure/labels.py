"""A column of labels as classes, checked before anything is trained on it."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from deniable.errors import InputError

ClassCodes = npt.NDArray[np.int64]


@dataclasses.dataclass(frozen=True)
class ClassLabels:
    """The classes of n texts.

    Attributes:
        codes: (n,) class numbers, from 0 on; -1 for a row without a label.
        names: of the classes, sorted.
    """

    codes: ClassCodes
    names: tuple[str, ...]

    @property
    def majority_share(self) -> float:
        """Share of the most frequent class: what a blind guess gets right."""
        return float(np.bincount(self.codes[self.labelled_rows]).max() / len(self.labelled_rows))

    @property
    def labelled_rows(self) -> ClassCodes:
        """Rows with a label."""
        return np.flatnonzero(self.codes >= 0).astype(np.int64)

    @property
    def unlabelled_rows(self) -> ClassCodes:
        """Rows without a label."""
        return np.flatnonzero(self.codes < 0).astype(np.int64)


def encode_labels(column: Sequence[str | None], name: str = "label") -> ClassLabels:
    """Return a column as classes; a row whose label is None or blank has none.

    Args:
        column: (n,) one label per text.
        name: of the column, for messages.

    Raises:
        InputError: there are fewer than two classes.
    """
    known_rows = [row for row, label in enumerate(column) if not is_blank(label)]
    names, class_numbers = np.unique(
        np.array([str(column[row]) for row in known_rows], dtype=object), return_inverse=True
    )
    if len(names) < 2:  # noqa: PLR2004 - one class leaves nothing to learn
        reason = "none, since no row has a label" if len(column) else "none, since there are no rows"
        shown = f"only {names[0]!r}" if len(names) else reason
        raise InputError(f"The column {name!r} must hold at least 2 classes. Got {shown}: name another column.")
    codes = np.full(len(column), -1, dtype=np.int64)
    codes[known_rows] = class_numbers
    return ClassLabels(codes, tuple(map(str, names)))


def is_blank(cell: str | None) -> bool:
    """Say whether a cell of a table holds nothing: null, nothing or white space."""
    return cell is None or not str(cell).strip()
