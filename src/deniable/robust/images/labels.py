"""Labels of images: whole numbers, each standing for a class that is trained on."""

from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.errors import InputError
from deniable.robust.images.declared import check_classes

LabelNumbers = npt.NDArray[np.int64]
RawLabels = npt.NDArray[Any]
NamedLabels = tuple[str, RawLabels]
_MAX_LISTED = 8
"""Labels that a message lists."""


def number_labels(
    train: NamedLabels, test: NamedLabels, declared_classes: tuple[str, ...] | None
) -> tuple[LabelNumbers, LabelNumbers, tuple[str, ...]]:
    """Return both parts' labels as 0 to K - 1, and the name of each class: its label in the file.

    Args:
        train: name and labels (n,) or (n, 1), which must be integers of at least 0.
        test: the same of the other part.
        declared_classes: names of the classes in their order, which need not all occur; None for the labels of ``train``,
            numbered in their order, with gaps or without.

    Raises:
        InputError: labels of another form, one class only, a label that is not declared, or classes to test on that are
            not trained on.
    """
    y_train, y_test = _parse_integer_labels(*train), _parse_integer_labels(*test)
    if declared_classes is not None:
        return (
            _number_declared_labels(train[0], y_train, declared_classes),
            _number_declared_labels(test[0], y_test, declared_classes),
            declared_classes,
        )
    train_classes = np.unique(y_train)
    names = tuple(str(label) for label in train_classes)
    check_classes(train[0], names)
    unknown_classes = np.setdiff1d(y_test, train_classes)
    if len(unknown_classes):
        raise InputError(
            f"{test[0]} holds the class {unknown_classes[0]}, which {train[0]} does not: "
            f"it has {_list_names(names)}. Test on classes that are trained on."
        )
    return np.searchsorted(train_classes, y_train), np.searchsorted(train_classes, y_test), names


def _number_declared_labels(name: str, y: LabelNumbers, declared_classes: tuple[str, ...]) -> LabelNumbers:
    """Return the places of labels among the declared classes."""
    class_numbers = {label: number for number, label in enumerate(declared_classes)}
    distinct_labels, inverse = np.unique(y, return_inverse=True)
    codes = np.array([class_numbers.get(str(label), -1) for label in distinct_labels], dtype=np.int64)[inverse]
    undeclared_rows = np.flatnonzero(codes < 0)
    if len(undeclared_rows):
        raise InputError(
            f"{name}[{undeclared_rows[0]}] is {y[undeclared_rows[0]]}, which is none of the declared classes {_list_names(declared_classes)}: "
            "declare it too, or leave the image out."
        )
    return codes


def _parse_integer_labels(name: str, y: RawLabels) -> LabelNumbers:
    if y.ndim == 2 and y.shape[1] > 1:  # noqa: PLR2004 - (n, K)
        raise InputError(f"{name} has the shape {y.shape}, one-hot it seems: save {name}.argmax(1) instead.")
    if y.ndim != 1 and (y.ndim != 2 or y.shape[1] != 1):  # noqa: PLR2004 - (n, 1)
        raise InputError(f"{name} has the shape {y.shape}: labels must have the shape (n,).")
    if y.dtype.kind not in "iu":
        raise InputError(f"{name} is of type {y.dtype}: save the labels as integers, such as int64, from 0 upwards.")
    y = y.reshape(-1)
    invalid_rows = np.flatnonzero((y < 0) | (y > np.iinfo(np.int64).max))
    if len(invalid_rows):
        raise InputError(f"{name}[{invalid_rows[0]}] is {y[invalid_rows[0]]}: labels must be integers from 0 upwards.")
    return y.astype(np.int64)


def _list_names(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:_MAX_LISTED])
    return shown if len(names) <= _MAX_LISTED else f"{shown} and {len(names) - _MAX_LISTED} more"
