"""Retained share: what training on private texts keeps of a classifier's advantage over a blind guess."""

import dataclasses

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray
from deniable.measure.intervals import DEFAULT_CONFIDENCE, Estimate
from deniable.measure.labels import BooleanMask, ClassCodes

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


def compare_with_blind_guess(
    original_hits: BooleanMask,
    private_hits: BooleanMask,
    codes: ClassCodes,
    class_weights: npt.ArrayLike,
    confidence: float = DEFAULT_CONFIDENCE,
) -> ScoreComparison:
    """Return a score of two classifiers on the same rows, and what the second retains of the first.

    The intervals are over the tested rows of each class, whose numbers are given; see `deniable.measure.utility`.

    Args:
        original_hits: (n,) whether the classifier trained on originals was right.
        private_hits: (n,) whether the one trained on private texts was.
        codes: (n,) classes, from 0 to K - 1; each has a row.
        class_weights: (K,) weight of each class's recall, with sum 1: its share of the rows for accuracy, 1 / K for
            balanced accuracy.
        confidence: of the intervals.
    """
    from scipy import stats

    weights = np.asarray(class_weights, dtype=np.float64)
    critical_value = float(stats.norm.ppf((1 + confidence) / 2))
    scores, covariance = _estimate_scores(original_hits, private_hits, codes, weights)
    distances_below = _estimate_distances_below(original_hits, private_hits, codes, weights, critical_value)
    blind = float(weights.max())
    gains = scores - blind

    def build_estimate(value: float, variance: float, low: float, high: float) -> Estimate:
        half_width = critical_value * float(np.sqrt(max(variance, 0.0)))
        ends = max(value - half_width, low), min(value + half_width, high)
        return Estimate(value, *ends, confidence, len(codes), _BY_CLASS)

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
        _estimate_ratio(gains, covariance, critical_value, confidence, len(codes)) if original_gain.low > 0 else None,
    )


def _estimate_scores(
    original_hits: BooleanMask, private_hits: BooleanMask, codes: ClassCodes, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the scores on originals and on private texts (2,), and their covariance (2, 2) given the classes."""
    hits = np.stack([original_hits, private_hits]).astype(np.float64)
    counts = np.bincount(codes, minlength=len(weights)).astype(np.float64)
    hit_counts = np.stack([np.bincount(codes, row, minlength=len(weights)) for row in hits])
    both_counts = np.bincount(codes, hits[0] * hits[1], minlength=len(weights))
    padded_counts = counts + 4 * _ADDED_ROWS
    shares = (hit_counts + 2 * _ADDED_ROWS) / padded_counts
    both_shares = (both_counts + _ADDED_ROWS) / padded_counts
    scales = weights**2 / padded_counts
    variances = (scales * shares * (1 - shares)).sum(axis=1)
    cross = float((scales * (both_shares - shares[0] * shares[1])).sum())
    scores: FloatArray = (hit_counts / counts) @ weights
    return scores, np.array([[variances[0], cross], [cross, variances[1]]])


def _estimate_distances_below(
    original_hits: BooleanMask,
    private_hits: BooleanMask,
    codes: ClassCodes,
    weights: FloatArray,
    critical_value: float,
) -> FloatArray:
    """Return how far the lower ends of the two scores are below them (2,).

    In a class of few rows a lucky guess has too small a variance, and a blind guess would be called better than itself
    in up to a quarter of the tables with a class of two. The distance of each class is therefore that to Wilson's lower
    end where this is farther, and distances add as the roots of variances do (Zou and Donner 2008, Statistics in
    Medicine 27, 1693-1702).
    """
    counts = np.bincount(codes, minlength=len(weights)).astype(np.float64)
    hit_counts = np.stack([np.bincount(codes[hits], minlength=len(weights)) for hits in (original_hits, private_hits)])
    recalls, padded_shares = hit_counts / counts, (hit_counts + 2 * _ADDED_ROWS) / (counts + 4 * _ADDED_ROWS)
    normal_squares = critical_value**2 * padded_shares * (1 - padded_shares) / (counts + 4 * _ADDED_ROWS)
    doubt = critical_value**2 / counts
    roots = np.sqrt(doubt * recalls * (1 - recalls) + doubt**2 / 4)
    wilson_distances = recalls - (recalls + doubt / 2 - roots) / (1 + doubt)
    squares = weights**2 * np.maximum(normal_squares, wilson_distances**2)
    distances: FloatArray = np.sqrt(squares.sum(axis=1))
    return distances


def _estimate_ratio(
    gains: FloatArray, covariance: FloatArray, critical_value: float, confidence: float, count: int
) -> Estimate:
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
        confidence,
        count,
        _FIELLER,
    )
