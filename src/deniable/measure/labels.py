"""A column of labels as classes, checked before anything is trained on it."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from deniable.errors import InputError

Codes = npt.NDArray[np.int64]


@dataclasses.dataclass(frozen=True)
class Labels:
    """The classes of n texts.

    Attributes:
        codes: (n,) class numbers, from 0 on.
        names: of the classes, sorted.
    """

    codes: Codes
    names: tuple[str, ...]

    @property
    def majority(self) -> float:
        """Share of the most frequent class: what a blind guess gets right."""
        return float(np.bincount(self.codes).max() / len(self.codes))


def labels(column: Sequence[str | None], name: str = "label") -> Labels:
    """Return a column as classes.

    Args:
        column: (n,) one label per text.
        name: of the column, for messages.

    Raises:
        InputError: a label is missing, or there are fewer than two classes.
    """
    for row, label in enumerate(column):
        if label is None or not str(label).strip():
            raise InputError(f"The column {name!r} has no label in row {row + 1}: give every row one, or leave it out.")
    names, codes = np.unique(np.array([str(label) for label in column], dtype=object), return_inverse=True)
    if len(names) < 2:  # noqa: PLR2004 - one class leaves nothing to learn
        found = f"only {names[0]!r}" if len(names) else "none, since there are no rows"
        raise InputError(f"The column {name!r} must hold at least 2 classes. Got {found}: name another column.")
    return Labels(codes.astype(np.int64), tuple(map(str, names)))
