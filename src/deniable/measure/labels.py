"""Labels of texts as class numbers, and folds: classifiers are trained on some rows and tested on the others."""

import dataclasses
import itertools
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from deniable.core.errors import InputError, check_count
from deniable.core.parallel import parallel_map
from deniable.measure.intervals import Estimate, estimate_share

ClassCodes = npt.NDArray[np.int64]
RowNumbers = npt.NDArray[np.int64]
BooleanMask = npt.NDArray[np.bool_]


@dataclasses.dataclass(frozen=True)
class ClassLabels:
    """The classes of n texts.

    Attributes:
        codes: (n,) class numbers, from 0 on; -1 for a row without a label.
        names: the names of the classes, sorted; class number i is ``names[i]``.
    """

    codes: ClassCodes
    names: tuple[str, ...]

    @property
    def labelled_rows(self) -> ClassCodes:
        """Rows with a label."""
        return np.flatnonzero(self.codes >= 0).astype(np.int64)

    @property
    def unlabelled_rows(self) -> ClassCodes:
        """Rows without a label."""
        return np.flatnonzero(self.codes < 0).astype(np.int64)

    @property
    def lone_rows(self) -> ClassCodes:
        """Rows whose class no other row has: nothing can be both learned and tested of it."""
        row_counts = np.bincount(self.codes[self.labelled_rows], minlength=len(self.names))
        return np.flatnonzero((self.codes >= 0) & (row_counts[self.codes] == 1)).astype(np.int64)


def encode_labels(column: Sequence[str | None], name: str = "label") -> ClassLabels:
    """Return a column of labels as class numbers; a row whose label is None or blank has none.

    Args:
        column: (n,) one label per text.
        name: name of the column, for messages.

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
    """Return whether a cell of a table is empty: null, the empty text, or white space alone."""
    return cell is None or not str(cell).strip()


@dataclasses.dataclass(frozen=True)
class TrainTestSplit:
    """Row numbers to train on, and row numbers to test on."""

    train: RowNumbers
    test: RowNumbers


FoldRunner = Callable[[TrainTestSplit], list[BooleanMask]]
"""Trains a classifier on the training rows of a split and predicts the classes of its test rows, in one or more
versions of the table: for each version (tested rows,) whether the prediction was right."""


def stratified_folds(
    codes: ClassCodes, folds: int, seed: int, texts: Sequence[str] | None = None
) -> list[TrainTestSplit]:
    """Return one split for each fold: every class is spread evenly over the folds, equal texts share a fold.

    Unlike scikit-learn's stratified folds these accept classes with fewer rows than folds: such a class is spread
    over as many folds as it has rows.

    Args:
        codes: (n,) classes.
        folds: number of folds, from 2 to n.
        seed: public; the order of the rows within a class follows from it.
        texts: (n,) the texts; rows with equal texts fall in one fold, so that no classifier is tested on a text that
            it was trained on. None where all texts differ.

    Raises:
        InputError: fewer than 2 folds, or fewer different rows than folds.
    """
    check_count("the measure", "folds", folds, minimum=2)
    # Empty texts teach nothing, and need not share a fold.
    group_numbers: dict[object, int] = {}
    keys = range(len(codes)) if texts is None else [text or row for row, text in enumerate(texts)]
    group_of_row = np.array([group_numbers.setdefault(key, len(group_numbers)) for key in keys], dtype=np.int64)
    first_rows = np.unique(group_of_row, return_index=True)[1]
    if len(first_rows) < folds:
        noun = "rows that differ" if len(first_rows) < len(codes) else "rows"
        raise InputError(f"{folds} folds need at least {folds} {noun}. Got {len(first_rows)}: give more rows.")
    order = np.random.default_rng(seed).permutation(len(first_rows))
    order = order[np.argsort(codes[first_rows][order], kind="stable")]
    fold_of_group = np.empty(len(first_rows), dtype=np.int64)
    fold_of_group[order] = np.arange(len(first_rows)) % folds
    fold_of_row = fold_of_group[group_of_row]
    return [
        TrainTestSplit(np.flatnonzero(fold_of_row != fold_number), np.flatnonzero(fold_of_row == fold_number))
        for fold_number in range(folds)
    ]


def run_folds(runners: Sequence[FoldRunner], splits: Sequence[TrainTestSplit]) -> list[list[BooleanMask]]:
    """Return, for each runner and each version that it tests, whether the predictions of all splits were right.

    Returns:
        for each runner, for each of its versions, (rows tested in all splits,), split after split.
    """
    outcomes = parallel_map(lambda job: job[0](job[1]), list(itertools.product(runners, splits)))
    runs = [outcomes[start : start + len(splits)] for start in range(0, len(outcomes), len(splits))]
    return [[np.concatenate(parts) for parts in zip(*run, strict=True)] for run in runs]


def check_versions(texts: Sequence[str], private_versions: Mapping[str, Sequence[str]], label_count: int) -> None:
    """Check that all versions of a table have a text in every row, and that there is a label for each.

    Args:
        texts: n texts.
        private_versions: name -> n private texts, in the order of the rows.
        label_count: number of labels.

    Raises:
        InputError: they do not match, or a text is missing.
    """
    if label_count != len(texts):
        raise InputError(
            f"{len(texts)} texts need as many labels. Got {label_count}: give one for each text, in order."
        )
    for name, column in {"original": texts, **private_versions}.items():
        if len(column) != len(texts):
            raise InputError(
                f"{len(texts)} texts need as many private texts. Got {len(column)} of {name!r}: give one for each text."
            )
        for row, text in enumerate(column):
            if not isinstance(text, str):
                raise InputError(f"Row {row + 1} of the {name!r} texts is missing: leave that row out of all columns.")


def estimate_accuracy(hits: BooleanMask) -> Estimate:
    """Return the share of rows (n,) whose class was predicted rightly, with its interval over rows."""
    return estimate_share(int(hits.sum()), len(hits))
