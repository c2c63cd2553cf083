"""Utility: what a classifier still learns when it is trained on private texts instead of the original ones."""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError
from deniable.measure.classifiers import TextClassifier, build_classifier
from deniable.measure.intervals import DEFAULT_CONFIDENCE, Estimate, estimate_paired_difference
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

_BY_CLASS = "normal, by class, half a row added to each outcome"
_WIDER = "normal or of Wilson's distances, the wider, by class, half a row added to each outcome"
_FIELLER = "Fieller, by class, half a row added to each outcome"
_ADDED_ROWS = 0.5
"""Rows added to each of the four outcomes of a class where variances are estimated (Agresti and Min 2005, Statistics in
Medicine 24, 729-740), so that a class that is always predicted rightly keeps an interval."""


@dataclasses.dataclass(frozen=True)
class ScoreComparison:
    """A score of two classifiers, trained on original and on private texts, beside that of a blind guess.

    A score is a weighted mean of the classes' recalls; a blind guess predicts the class with the largest weight.

    Attributes:
        blind: score of a blind guess.
        original: score after training on original texts.
        private: score after training on private texts.
        lost: original less private.
        original_gain: original less blind.
        private_gain: private less blind.
        retained: private gain divided by original gain. 1: nothing is lost; 0: a blind guess does as well. None where
            the classifier trained on the originals is not better than a blind guess itself.
    """

    blind: float
    original: Estimate
    private: Estimate
    lost: Estimate
    original_gain: Estimate
    private_gain: Estimate
    retained: Estimate | None

    @property
    def is_judgeable(self) -> bool:
        """Whether the classifier trained on the originals is better than a blind guess, as its interval says."""
        return self.original_gain.low > 0

    @property
    def is_better_than_blind(self) -> bool:
        """Whether the classifier trained on private texts is better than a blind guess, as its interval says."""
        return self.private_gain.low > 0


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
    class_codes = np.asarray(codes)
    if class_codes.ndim != 1 or (class_codes.size and (class_codes.dtype.kind not in "iu" or class_codes.min() < 0)):
        raise InputError("The classes must be whole numbers from 0 on, one for each text: encode_labels() makes them.")
    check_versions(texts, private_versions, len(class_codes))
    class_codes = class_codes.astype(np.int64)
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
    columns = (texts, *private_versions.values())
    runners = [build_fold_runner(make_classifier, column, texts, class_codes) for column in columns]
    (original_hits,), *private_hits = run_folds(runners, splits)
    tested_codes = np.unique(class_codes, return_inverse=True)[1][np.concatenate([split.test for split in splits])]
    return {
        name: compare_classifiers(original_hits, hits, tested_codes, classifier, folds)
        for name, (hits,) in zip(private_versions, private_hits, strict=True)
    }


def compare_classifiers(
    original_hits: BooleanMask, private_hits: BooleanMask, codes: ClassCodes, classifier: str, folds: int
) -> UtilityResult:
    """Return the scores of two classifiers on the same rows, trained on original and on private texts.

    Args:
        original_hits: (n,) whether the first was right.
        private_hits: (n,) whether the second was.
        codes: (n,) classes, from 0 to K - 1; each has a row.
        classifier: its name.
        folds: number of folds.
    """
    accuracy = dataclasses.replace(
        compare_with_blind_guess(original_hits, private_hits, codes, np.bincount(codes) / len(codes)),
        # Exact for each, and Tango's for their difference.
        original=estimate_accuracy(original_hits),
        private=estimate_accuracy(private_hits),
        lost=estimate_paired_difference(original_hits, private_hits),
    )
    balanced_accuracy = compare_balanced_accuracies(original_hits, private_hits, codes)
    return UtilityResult(accuracy, balanced_accuracy, classifier, folds, len(codes), int(codes.max()) + 1)


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


def compare_with_blind_guess(
    original_hits: BooleanMask,
    private_hits: BooleanMask,
    codes: ClassCodes,
    class_weights: npt.ArrayLike,
) -> ScoreComparison:
    """Return a score of two classifiers on the same rows, and what the second retains of the first.

    The intervals are over the tested rows of each class, whose numbers are given; see `deniable.measure.utility`.

    Args:
        original_hits: (n,) whether the classifier trained on originals was right.
        private_hits: (n,) whether the one trained on private texts was.
        codes: (n,) classes, from 0 to K - 1; each has a row.
        class_weights: (K,) weight of each class's recall, with sum 1: its share of the rows for accuracy, 1 / K for
            balanced accuracy.
    """
    from scipy import special

    weights = np.asarray(class_weights, dtype=np.float64)
    critical_value = float(special.ndtri((1 + DEFAULT_CONFIDENCE) / 2))
    scores, covariance, distances_below = _estimate_scores(original_hits, private_hits, codes, weights, critical_value)
    blind = float(weights.max())
    gains = scores - blind

    def build_estimate(value: float, variance: float, low: float, high: float) -> Estimate:
        half_width = critical_value * float(np.sqrt(max(variance, 0.0)))
        ends = max(value - half_width, low), min(value + half_width, high)
        return Estimate(value, *ends, DEFAULT_CONFIDENCE, len(codes), _BY_CLASS)

    original_score, private_score = (
        build_estimate(float(scores[place]), covariance[place, place], 0.0, 1.0) for place in (0, 1)
    )
    original_gain, private_gain = (
        dataclasses.replace(
            build_estimate(float(gains[place]), covariance[place, place], -blind, 1 - blind),
            low=max(float(gains[place] - distances_below[place]), -blind),
            method=_WIDER,
        )
        for place in (0, 1)
    )
    lost_variance = float(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    return ScoreComparison(
        blind,
        original_score,
        private_score,
        build_estimate(float(scores[0] - scores[1]), lost_variance, -1.0, 1.0),
        original_gain,
        private_gain,
        _estimate_ratio(gains, covariance, critical_value, len(codes)) if original_gain.low > 0 else None,
    )


def _estimate_scores(
    original_hits: BooleanMask,
    private_hits: BooleanMask,
    codes: ClassCodes,
    weights: FloatArray,
    critical_value: float,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return two scores (2,), their covariance (2, 2) given the classes, and how far below their lower ends are (2,).

    In a class of few rows a lucky guess has too small a variance, and a blind guess would be called better than itself
    in up to a quarter of the tables with a class of two. The distance of each class is therefore that to Wilson's lower
    end where this is farther, and distances add as the roots of variances do (Zou and Donner 2008, Statistics in
    Medicine 27, 1693-1702).
    """
    hits = np.stack([original_hits, private_hits]).astype(np.float64)
    counts = np.bincount(codes, minlength=len(weights)).astype(np.float64)
    hit_counts = np.stack([np.bincount(codes, row, minlength=len(weights)) for row in hits])
    both_counts = np.bincount(codes, hits[0] * hits[1], minlength=len(weights))
    recalls, padded_counts = hit_counts / counts, counts + 4 * _ADDED_ROWS
    shares, both_shares = (hit_counts + 2 * _ADDED_ROWS) / padded_counts, (both_counts + _ADDED_ROWS) / padded_counts
    variances = shares * (1 - shares) / padded_counts
    cross = float((weights**2 * (both_shares - shares[0] * shares[1]) / padded_counts).sum())
    covariance = np.full((2, 2), cross)
    np.fill_diagonal(covariance, variances @ weights**2)
    doubt = critical_value**2 / counts
    roots = np.sqrt(doubt * recalls * (1 - recalls) + doubt**2 / 4)
    wilson_distances = recalls - (recalls + doubt / 2 - roots) / (1 + doubt)
    squares = np.maximum(critical_value**2 * variances, wilson_distances**2)
    return recalls @ weights, covariance, np.sqrt(squares @ weights**2)


def _estimate_ratio(gains: FloatArray, covariance: FloatArray, critical_value: float, count: int) -> Estimate:
    """Return the second gain divided by the first with Fieller's interval; the first is above 0 beyond its error."""
    square = critical_value**2
    leading = gains[0] ** 2 - square * covariance[0, 0]
    middle = gains[0] * gains[1] - square * covariance[0, 1]
    constant = gains[1] ** 2 - square * covariance[1, 1]
    root = float(np.sqrt(max(middle**2 - leading * constant, 0.0)))
    return Estimate(
        float(gains[1] / gains[0]),
        float((middle - root) / leading),
        float((middle + root) / leading),
        DEFAULT_CONFIDENCE,
        count,
        _FIELLER,
    )
