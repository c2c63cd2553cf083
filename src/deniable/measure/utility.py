"""Utility: the accuracy that a classifier loses when it is trained on private texts instead of the original ones."""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from deniable.core.errors import InputError
from deniable.core.intervals import Estimate, estimate_paired_difference
from deniable.measure.classifiers import TextClassifier, build_classifier
from deniable.measure.labels import (
    BooleanMask,
    ClassCodes,
    FoldRunner,
    TrainTestSplit,
    check_versions,
    estimate_accuracy,
    run_folds,
    stratified_folds,
)


@dataclasses.dataclass(frozen=True)
class UtilityResult:
    """Accuracy of a classifier on original texts that it was not trained on.

    The intervals are over the tested rows, given the trained classifiers. They do not cover that other training
    rows, or other noise, would have given other classifiers, nor that classifiers of different folds have most of
    their training rows in common.

    Attributes:
        original: accuracy after training on original texts.
        private: accuracy after training on private texts.
        lost: original less private, row by row on the same tested rows.
        majority: share of the most frequent class, the accuracy of always predicting it.
        classifier: its name.
        folds: number of folds.
        rows: number of tested rows.
    """

    original: Estimate
    private: Estimate
    lost: Estimate
    majority: float
    classifier: str
    folds: int
    rows: int


def measure_utility(
    texts: Sequence[str],
    private_versions: Mapping[str, Sequence[str]],
    codes: npt.ArrayLike,
    *,
    classifier: str = "tfidf",
    folds: int = 5,
    seed: int = 0,
) -> dict[str, UtilityResult]:
    """Return the accuracy lost by training on private versions of a table, in cross-validation.

    A classifier is trained on all folds but one, in the original or in a private version, and tested on the
    original texts of the fold left out (Carvalho et al. 2021, Figure 1, do so with one split). The folds are the same
    for all versions, and the classifiers of the original are trained once for all of them.

    Args:
        texts: n original texts.
        private_versions: name -> n private texts, in the order of the rows.
        codes: (n,) class numbers, from 0 on; see `deniable.measure.labels.encode_labels`.
        classifier: a name from `deniable.measure.classifiers.CLASSIFIERS`.
        folds: number of folds.
        seed: public; folds and classifiers follow from it.

    Returns:
        name -> result, for each private version.

    Raises:
        InputError: unknown classifier, columns that do not match, fewer rows than folds, or a class with one row.
    """
    class_codes = _check_codes(texts, private_versions, codes)
    counts = np.bincount(class_codes)
    if (counts == 1).any():
        lone_row = int(np.flatnonzero((counts == 1)[class_codes])[0])
        raise InputError(
            f"Every class needs at least 2 rows. Got {(counts == 1).sum()} with only 1, such as that of row "
            f"{lone_row + 1}: leave such rows out, or merge their classes."
        )
    splits = stratified_folds(class_codes, folds, seed, texts)
    make_classifier = functools.partial(build_classifier, classifier, seed)
    make_classifier()  # refuses an unknown name before anything is trained
    (original_hits,), *private_hits = run_folds(
        [
            _build_fold_runner(make_classifier, column, texts, class_codes)
            for column in (texts, *private_versions.values())
        ],
        splits,
    )
    original_accuracy, majority_share = estimate_accuracy(original_hits), float(counts.max() / len(class_codes))
    return {
        name: UtilityResult(
            original_accuracy,
            estimate_accuracy(hits),
            estimate_paired_difference(original_hits, hits),
            majority_share,
            classifier,
            folds,
            len(original_hits),
        )
        for name, (hits,) in zip(private_versions, private_hits, strict=True)
    }


def _build_fold_runner(
    make_classifier: Callable[[], TextClassifier],
    train_texts: Sequence[str],
    test_texts: Sequence[str],
    codes: ClassCodes,
) -> FoldRunner:
    """Return the runner that trains on one version of the table and tests on another."""
    classes = int(codes.max()) + 1

    def run_fold(split: TrainTestSplit) -> list[BooleanMask]:
        model = make_classifier().fit([train_texts[row] for row in split.train], codes[split.train], classes)
        predicted_codes = model.probabilities([test_texts[row] for row in split.test]).argmax(axis=1)
        return [predicted_codes == codes[split.test]]

    return run_fold


def _check_codes(
    texts: Sequence[str], private_versions: Mapping[str, Sequence[str]], codes: npt.ArrayLike
) -> ClassCodes:
    """Return the classes as an array; raise `InputError` where the columns do not match."""
    class_codes = np.asarray(codes)
    if class_codes.ndim != 1 or (class_codes.size and (class_codes.dtype.kind not in "iu" or class_codes.min() < 0)):
        raise InputError("The classes must be whole numbers from 0 on, one for each text: encode_labels() makes them.")
    check_versions(texts, private_versions, len(class_codes))
    return class_codes.astype(np.int64)
