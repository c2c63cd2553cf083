"""Rows dealt into folds, and which of them a classifier names rightly that has not seen them."""

import dataclasses
import itertools
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from deniable.errors import InputError, bad_parameter
from deniable.measure.labels import Codes
from deniable.parallel import each

Rows = npt.NDArray[np.int64]
Hits = npt.NDArray[np.bool_]


@dataclasses.dataclass(frozen=True)
class Split:
    """Row numbers to learn from, and row numbers to test on."""

    train: Rows
    test: Rows


Trial = Callable[[Split], list[Hits]]
"""Learns from the rows of a split once and names the tested ones, as they stand in one or more versions of the
table: for each version (tested rows,) whether it was right."""


def deal(codes: Codes, folds: int, seed: int, texts: Sequence[str] | None = None) -> list[Split]:
    """Return one split a fold, each class dealt out evenly over the folds, and equal texts into one.

    Unlike scikit-learn's stratified folds it takes classes with fewer rows than folds: those are spread over as
    many folds as they have rows.

    Args:
        codes: (n,) classes.
        folds: how many, from 2 to n.
        seed: public; the order of the rows within a class follows from it.
        texts: (n,) what is learned; rows with equal texts are dealt out together, so that none is tested by who
            has learned it. None where all differ.

    Raises:
        InputError: fewer than 2 folds, or fewer different rows than folds.
    """
    if isinstance(folds, bool) or not isinstance(folds, int) or folds < 2:  # noqa: PLR2004 - one fold trains on nothing
        raise bad_parameter("the measure", "folds", "an integer from 2 on", folds)
    # Empty texts teach nothing, and are not held together.
    alike: dict[object, int] = {}
    names = range(len(codes)) if texts is None else [text or row for row, text in enumerate(texts)]
    kind = np.array([alike.setdefault(name, len(alike)) for name in names], dtype=np.int64)
    firsts = np.unique(kind, return_index=True)[1]
    if len(firsts) < folds:
        rows = "rows that differ" if len(firsts) < len(codes) else "rows"
        raise InputError(
            f"{folds} folds need at least {folds} {rows}. Got {len(firsts)}: give more rows or fewer folds."
        )
    order = np.random.default_rng(seed).permutation(len(firsts))
    order = order[np.argsort(codes[firsts][order], kind="stable")]
    dealt = np.empty(len(firsts), dtype=np.int64)
    dealt[order] = np.arange(len(firsts)) % folds
    fold = dealt[kind]
    return [Split(np.flatnonzero(fold != number), np.flatnonzero(fold == number)) for number in range(folds)]


def pooled(trials: Sequence[Trial], splits: Sequence[Split]) -> list[list[Hits]]:
    """Return, for each trial and each version that it reads, the outcomes of all splits one after the other."""
    found = each(lambda job: job[0](job[1]), list(itertools.product(trials, splits)))
    runs = [found[at : at + len(splits)] for at in range(0, len(found), len(splits))]
    return [[np.concatenate(parts) for parts in zip(*run, strict=True)] for run in runs]


def check_texts(texts: Sequence[str], privates: Mapping[str, Sequence[str]], labels: int) -> None:
    """Raise `InputError` unless all versions of a table have a text in every row, and there is a label for each.

    Args:
        texts: n texts.
        privates: name -> n private texts, in the order of the rows.
        labels: how many labels were given.
    """
    if labels != len(texts):
        raise InputError(f"{len(texts)} texts need as many labels. Got {labels}: give one for each text, in order.")
    for name, column in {"original": texts, **privates}.items():
        if len(column) != len(texts):
            raise InputError(
                f"{len(texts)} texts need as many private ones. Got {len(column)} of {name!r}: give one for each text."
            )
        for row, text in enumerate(column):
            if not isinstance(text, str):
                raise InputError(f"The {name!r} texts have none in row {row + 1}: leave that row out everywhere.")
