"""Labels of images: whole numbers, each standing for a class that is trained on."""

from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.errors import InputError
from deniable.robust.images.declared import check_classes

Labels = npt.NDArray[np.int64]
Array = npt.NDArray[Any]
Named = tuple[str, Array]
_SHOWN = 8
"""Labels that a message lists."""


def number_labels(
    train: Named, test: Named, declared: tuple[str, ...] | None
) -> tuple[Labels, Labels, tuple[str, ...]]:
    """Return both parts' labels as 0 to K - 1, and the name of each class: its label in the file.

    Args:
        train: name and labels (n,) or (n, 1), which must be integers of at least 0.
        test: the same of the other part.
        declared: names of the classes in their order, which need not all occur; None for the labels of ``train``,
            numbered in their order, with gaps or without.

    Raises:
        InputError: labels of another form, one class only, a label that is not declared, or classes to test on that are
            not trained on.
    """
    y_train, y_test = _integers(*train), _integers(*test)
    if declared is not None:
        return _numbered(train[0], y_train, declared), _numbered(test[0], y_test, declared), declared
    known = np.unique(y_train)
    names = tuple(str(label) for label in known)
    check_classes(train[0], names)
    unknown = np.setdiff1d(y_test, known)
    if len(unknown):
        raise InputError(
            f"{test[0]} holds the class {unknown[0]}, which {train[0]} does not: "
            f"it has {_listed(names)}. Test on classes that are trained on."
        )
    return np.searchsorted(known, y_train), np.searchsorted(known, y_test), names


def _numbered(name: str, y: Labels, declared: tuple[str, ...]) -> Labels:
    """Return the places of labels among the declared classes."""
    numbers = {label: number for number, label in enumerate(declared)}
    different, inverse = np.unique(y, return_inverse=True)
    codes = np.array([numbers.get(str(label), -1) for label in different], dtype=np.int64)[inverse]
    wrong = np.flatnonzero(codes < 0)
    if len(wrong):
        raise InputError(
            f"{name}[{wrong[0]}] is {y[wrong[0]]}, which is none of the declared classes {_listed(declared)}: "
            "declare it too, or leave the image out."
        )
    return codes


def _integers(name: str, y: Array) -> Labels:
    if y.ndim == 2 and y.shape[1] > 1:  # noqa: PLR2004 - (n, K)
        raise InputError(f"{name} has the shape {y.shape}, one-hot it seems: save {name}.argmax(1) instead.")
    if y.ndim != 1 and (y.ndim != 2 or y.shape[1] != 1):  # noqa: PLR2004 - (n, 1)
        raise InputError(f"{name} has the shape {y.shape}: labels must have the shape (n,).")
    if y.dtype.kind not in "iu":
        raise InputError(f"{name} is of type {y.dtype}: save the labels as integers, such as int64, from 0 upwards.")
    y = y.reshape(-1)
    wrong = np.flatnonzero((y < 0) | (y > np.iinfo(np.int64).max))
    if len(wrong):
        raise InputError(f"{name}[{wrong[0]}] is {y[wrong[0]]}: labels must be integers from 0 upwards.")
    return y.astype(np.int64)


def _listed(known: tuple[str, ...]) -> str:
    shown = ", ".join(known[:_SHOWN])
    return shown if len(known) <= _SHOWN else f"{shown} and {len(known) - _SHOWN} more"
