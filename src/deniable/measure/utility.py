"""Utility: what a classifier still learns when it is trained on private texts instead of the original ones."""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from deniable.core.errors import InputError
from deniable.measure.classifiers import TextClassifier, build_classifier
from deniable.measure.intervals import estimate_paired_difference
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
from deniable.measure.retention import ScoreComparison, compare_with_blind_guess


@dataclasses.dataclass(frozen=True)
class UtilityResult:
    """Scores of a classifier on original texts that it was not trained on.

    The intervals are over the tested rows, given the trained classifiers. They do not cover that other training
    rows, or other noise, would have given other classifiers, nor that classifiers of different folds have most of
    their training rows in common.

    Attributes:
        accuracy: share of rows whose class is predicted; a blind guess always predicts the most frequent class.
        balanced_accuracy: mean over the classes of that share, so that a rare class counts as much as a frequent one;
            a blind guess scores 1 / classes.
        classifier: its name.
        folds: number of folds.
        rows: number of tested rows.
        classes: number of classes.
    """

    accuracy: ScoreComparison
    balanced_accuracy: ScoreComparison
    classifier: str
    folds: int
    rows: int
    classes: int


def measure_utility(
    texts: Sequence[str],
    private_versions: Mapping[str, Sequence[str]],
    codes: npt.ArrayLike,
    *,
    classifier: str = "tfidf",
    folds: int = 5,
    seed: int = 0,
) -> dict[str, UtilityResult]:
    """Return what is lost and retained by training on private versions of a table, in cross-validation.

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
            build_fold_runner(make_classifier, column, texts, class_codes)
            for column in (texts, *private_versions.values())
        ],
        splits,
    )
    tested_codes = np.unique(class_codes, return_inverse=True)[1][np.concatenate([split.test for split in splits])]
    return {
        name: UtilityResult(
            _compare_accuracies(original_hits, hits, tested_codes),
            compare_balanced_accuracies(original_hits, hits, tested_codes),
            classifier,
            folds,
            len(original_hits),
            int(tested_codes.max()) + 1,
        )
        for name, (hits,) in zip(private_versions, private_hits, strict=True)
    }


def _compare_accuracies(original_hits: BooleanMask, private_hits: BooleanMask, codes: ClassCodes) -> ScoreComparison:
    """Return the accuracies, with the exact interval of each and Tango's of their difference."""
    comparison = compare_with_blind_guess(original_hits, private_hits, codes, np.bincount(codes) / len(codes))
    return dataclasses.replace(
        comparison,
        original=estimate_accuracy(original_hits),
        private=estimate_accuracy(private_hits),
        lost=estimate_paired_difference(original_hits, private_hits),
    )


def compare_balanced_accuracies(
    original_hits: BooleanMask, private_hits: BooleanMask, codes: ClassCodes
) -> ScoreComparison:
    """Return the balanced accuracies of two classifiers, trained on original and on private texts.

    Args:
        original_hits: (n,) whether the first was right.
        private_hits: (n,) whether the second was.
        codes: (n,) classes, from 0 to K - 1; each has a row.
    """
    classes = int(codes.max()) + 1
    return compare_with_blind_guess(original_hits, private_hits, codes, np.full(classes, 1 / classes))


def build_fold_runner(
    make_classifier: Callable[[], TextClassifier],
    train_texts: Sequence[str],
    test_texts: Sequence[str],
    codes: ClassCodes,
) -> FoldRunner:
    """Return the runner that trains on one version of the table and tests on another.

    Args:
        make_classifier: returns an untrained classifier.
        train_texts: n texts to train on.
        test_texts: n texts to test on, in the order of the same rows.
        codes: (n,) classes, from 0 on.
    """
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
