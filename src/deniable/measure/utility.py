"""What a classifier loses that learns from private texts instead of the original ones."""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from deniable.core.errors import InputError
from deniable.core.intervals import Estimate, estimate_paired_difference, estimate_share
from deniable.measure.classifiers import CLASSIFIERS, TextClassifier
from deniable.measure.labels import (
    ClassCodes,
    FoldRunner,
    HitMask,
    TrainTestSplit,
    check_versions,
    run_folds,
    stratified_folds,
)


@dataclasses.dataclass(frozen=True)
class UtilityResult:
    """How often the class of an original text is named rightly by a classifier that has not seen the text.

    The intervals are over the tested rows: they say how far another sample of rows could move the shares, with
    the classifiers as they came out. They leave out that other training rows, or other noise, would have given
    other classifiers, and that classifiers of different folds have most of their rows in common.

    Attributes:
        original: share named rightly by classifiers that learned from original texts.
        private: the same after learning from private texts.
        lost: original less private, row by row on the same tested rows.
        majority: share of the most frequent class among the tested rows: what a blind guess gets right.
        classifier: its name.
        folds: 0 where the training and test rows were given.
        rows: tested.
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
    private: Sequence[str],
    codes: npt.ArrayLike,
    *,
    classifier: str = "tfidf",
    folds: int = 5,
    seed: int = 0,
) -> UtilityResult:
    """Return what is lost by learning from one private version of a table; see `measure_utilities`."""
    private_versions = {"private": private}
    return measure_utilities(texts, private_versions, codes, classifier=classifier, folds=folds, seed=seed)["private"]


def measure_utilities(
    texts: Sequence[str],
    private_versions: Mapping[str, Sequence[str]],
    codes: npt.ArrayLike,
    *,
    classifier: str = "tfidf",
    folds: int = 5,
    seed: int = 0,
) -> dict[str, UtilityResult]:
    """Return what is lost by learning from private versions of a table, in cross-validation.

    A classifier learns from all folds but one, as they stand in the original or in a private version, and names
    the classes of that one's original texts (with one split: Carvalho et al. 2021, Figure 1). The folds are the
    same for all versions, and the original is learned once for all of them.

    Args:
        texts: n original texts.
        private_versions: name -> n private texts, in the order of the rows.
        codes: (n,) class numbers, from 0 on; see `deniable.measure.labels.encode_labels`.
        classifier: a name from `deniable.measure.classifiers.CLASSIFIERS`.
        folds: of the cross-validation.
        seed: public; folds and classifiers follow from it.

    Raises:
        InputError: unknown classifier, columns that do not match, fewer rows than folds, or a class with one row.
    """
    class_codes = _check_codes(texts, private_versions, codes)
    counts = np.bincount(class_codes)
    if (counts == 1).any():
        lone_row = int(np.flatnonzero((counts == 1)[class_codes])[0])
        raise InputError(
            f"Every class needs at least 2 rows. {(counts == 1).sum()} have 1, that of row {lone_row + 1} among them: "
            "leave such rows out, or merge their classes."
        )
    splits = stratified_folds(class_codes, folds, seed, texts)
    return _compare_versions(texts, private_versions, class_codes, splits, classifier, seed, folds)


def measure_split_utility(
    train_texts: Sequence[str],
    train_private: Sequence[str],
    train_codes: npt.ArrayLike,
    test_texts: Sequence[str],
    test_codes: npt.ArrayLike,
    *,
    classifier: str = "tfidf",
    seed: int = 0,
) -> UtilityResult:
    """Return what is lost where training and test rows are given; the test texts are original ones.

    Args:
        train_texts: m original texts to learn from.
        train_private: the same m texts, privatized.
        train_codes: (m,) their class numbers.
        test_texts: n original texts to name the classes of.
        test_codes: (n,) their class numbers.
        classifier: see `measure_utilities`.
        seed: see `measure_utilities`.

    Raises:
        InputError: unknown classifier, columns that do not match, or no rows to learn from or to test on.
    """
    private_versions = {"private": train_private}
    checked_train_codes, checked_test_codes = (
        _check_codes(train_texts, private_versions, train_codes),
        _check_codes(test_texts, {}, test_codes),
    )
    if not len(checked_train_codes) or not len(checked_test_codes):
        raise InputError(
            f"There must be rows to learn from and to test on. Got {len(checked_train_codes)} and {len(checked_test_codes)}: give some."
        )
    class_codes = np.concatenate([checked_train_codes, checked_test_codes])
    rows = np.arange(len(class_codes))
    split = TrainTestSplit(rows[: len(checked_train_codes)], rows[len(checked_train_codes) :])
    # Only the training rows of a private version are ever read.
    columns = {name: [*column, *test_texts] for name, column in private_versions.items()}
    return _compare_versions([*train_texts, *test_texts], columns, class_codes, [split], classifier, seed, 0)["private"]


def _build_fold_runner(
    build_classifier: Callable[[], TextClassifier],
    train_texts: Sequence[str],
    test_texts: Sequence[str],
    codes: ClassCodes,
) -> FoldRunner:
    """Return the trial that learns from one version of the table and is tested on another."""
    classes = int(codes.max()) + 1

    def run_fold(split: TrainTestSplit) -> list[HitMask]:
        model = build_classifier().fit([train_texts[row] for row in split.train], codes[split.train], classes)
        predicted_codes = model.probabilities([test_texts[row] for row in split.test]).argmax(axis=1)
        return [predicted_codes == codes[split.test]]

    return run_fold


def _compare_versions(
    texts: Sequence[str],
    private_versions: Mapping[str, Sequence[str]],
    codes: ClassCodes,
    splits: Sequence[TrainTestSplit],
    classifier: str,
    seed: int,
    folds: int,
) -> dict[str, UtilityResult]:
    if classifier not in CLASSIFIERS:
        raise InputError(f"Unknown classifier {classifier!r}. Known: {', '.join(CLASSIFIERS)}.")
    build_classifier = functools.partial(CLASSIFIERS[classifier], seed)
    (original_hits,), *private_hits = run_folds(
        [_build_fold_runner(build_classifier, column, texts, codes) for column in (texts, *private_versions.values())],
        splits,
    )
    tested_codes = codes[np.concatenate([split.test for split in splits])]
    original_accuracy, majority_share = (
        _estimate_accuracy(original_hits),
        float(np.bincount(tested_codes).max() / len(tested_codes)),
    )
    return {
        name: UtilityResult(
            original_accuracy,
            _estimate_accuracy(hits),
            estimate_paired_difference(original_hits, hits),
            majority_share,
            classifier,
            folds,
            len(original_hits),
        )
        for name, (hits,) in zip(private_versions, private_hits, strict=True)
    }


def _estimate_accuracy(hits: HitMask) -> Estimate:
    return estimate_share(int(hits.sum()), len(hits))


def _check_codes(
    texts: Sequence[str], private_versions: Mapping[str, Sequence[str]], codes: npt.ArrayLike
) -> ClassCodes:
    """Return the classes as an array, or say what does not match."""
    class_codes = np.asarray(codes)
    if class_codes.ndim != 1 or (class_codes.size and (class_codes.dtype.kind not in "iu" or class_codes.min() < 0)):
        raise InputError("The classes must be whole numbers from 0 on, one for each text: make them with labels().")
    check_versions(texts, private_versions, len(class_codes))
    return class_codes.astype(np.int64)
