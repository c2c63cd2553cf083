"""The ROC curve of membership scores, its area and its low end, with intervals over records."""

import dataclasses

import numpy as np
import numpy.typing as npt
from scipy import special

from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError, import_extra, make_parameter_error
from deniable.measure.intervals import DEFAULT_CONFIDENCE, Estimate, estimate_clustered_share, estimate_share

RecordNumbers = npt.NDArray[np.int64]

JUDGED_FALSE_POSITIVE_RATES = (0.001, 0.01)
"""The false positive rates at which an attack is judged, as Carlini et al. (2022) ask."""

_MAX_POINTS = 200
"""Maximum number of points of a curve that are kept."""

_NEGLIGIBLE_VARIANCE = 1e-24
"""Variances below this are rounding errors."""


@dataclasses.dataclass(frozen=True)
class MembershipResult:
    """How well an attack tells the records that a model was trained on from other records.

    Attributes:
        attack: name of the attack.
        auc: area under the curve, the probability that a member scores higher than a non-member, ties counting one
            half; 0.5 is a blind guess.
        tpr: false positive rate -> true positive rate, the share of members found at it. With too few non-members
            to measure that rate, the share found without any false positive, and the estimate's method says so.
        false_positive_rates: at most 200 points of the curve, from 0 to 1.
        true_positive_rates: the other coordinate of the same points.
        members: number of scores of members.
        others: number of scores of non-members.
        records: number of distinct records behind both.
    """

    attack: str
    auc: Estimate
    tpr: dict[float, Estimate]
    false_positive_rates: tuple[float, ...]
    true_positive_rates: tuple[float, ...]
    members: int
    others: int
    records: int


def compute_roc(
    in_scores: npt.ArrayLike,
    out_scores: npt.ArrayLike,
    confidence: float = DEFAULT_CONFIDENCE,
    groups: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    attack: str = "scores",
) -> MembershipResult:
    """Return how well scores tell members from non-members, where a higher score says "member".

    The area's interval is that of DeLong et al. 1988 on the logit scale; with ``groups`` that of Obuchowski 1997 for
    clusters. Where the scores have no variance to estimate from, as with a perfect attack, it is Clopper and
    Pearson's over as many disjoint pairs of a member and a non-member as the records give.

    Args:
        in_scores: (m,) scores of records that the model was trained on.
        out_scores: (n,) scores of records that it was not trained on.
        confidence: confidence of the intervals.
        groups: (m,) and (n,) the record behind each score, where several models were attacked: scores of one
            record are then one observation. None if every score is of its own record.
        attack: name of the attack, for the result.

    Raises:
        InputError: no scores on one side, a score that is not finite, groups of another length, or a confidence
            outside (0, 1); or scikit-learn is not installed.
    """
    member_scores, nonmember_scores = _check_scores(in_scores, "in_scores"), _check_scores(out_scores, "out_scores")
    if not 0 < confidence < 1:
        raise make_parameter_error("compute_roc", "confidence", "a float in (0, 1)", confidence)
    member_records, nonmember_records = _number_records(len(member_scores), len(nonmember_scores), groups)
    tpr_estimates = {
        rate: _estimate_tpr(rate, member_scores, nonmember_scores, member_records, nonmember_records, confidence)
        for rate in JUDGED_FALSE_POSITIVE_RATES
    }
    false_positives, true_positives = _compute_curve(member_scores, nonmember_scores)
    return MembershipResult(
        attack=attack,
        auc=_estimate_area(member_scores, nonmember_scores, member_records, nonmember_records, confidence),
        tpr=tpr_estimates,
        false_positive_rates=tuple(false_positives.tolist()),
        true_positive_rates=tuple(true_positives.tolist()),
        members=len(member_scores),
        others=len(nonmember_scores),
        records=len(np.union1d(member_records, nonmember_records)),
    )


def _check_scores(scores_like: npt.ArrayLike, name: str) -> FloatArray:
    """Return scores (n,) that can be ranked."""
    scores = np.asarray(scores_like, dtype=np.float64)
    if scores.ndim != 1 or not len(scores) or not np.isfinite(scores).all():
        raise InputError(
            f"The {name!r} must be a one-dimensional array of finite numbers. Got shape {scores.shape} with "
            f"{int((~np.isfinite(scores)).sum())} not finite: give at least 1 score of each side."
        )
    return scores


def _number_records(
    members: int, others: int, groups: tuple[npt.ArrayLike, npt.ArrayLike] | None
) -> tuple[RecordNumbers, RecordNumbers]:
    """Return the record behind each score, numbered from 0 on."""
    if groups is None:
        return np.arange(members), np.arange(members, members + others)
    sides = [np.asarray(side).ravel() for side in groups]
    if [len(side) for side in sides] != [members, others]:
        raise InputError(
            f"The groups must name one record for each score, {members} and {others}. "
            f"Got {' and '.join(str(len(side)) for side in sides)}."
        )
    record_numbers = np.unique(np.concatenate(sides), return_inverse=True)[1].astype(np.int64)
    return record_numbers[:members], record_numbers[members:]


def _compute_mid_ranks(scores: FloatArray) -> FloatArray:
    """Return the rank of each score (n,), from 1, equal ones sharing the mean of theirs."""
    _, numbers, counts = np.unique(scores, return_inverse=True, return_counts=True)
    mid_ranks: FloatArray = (np.cumsum(counts) - (counts - 1) / 2)[numbers]
    return mid_ranks


def _estimate_area(
    member_scores: FloatArray,
    nonmember_scores: FloatArray,
    member_records: RecordNumbers,
    nonmember_records: RecordNumbers,
    confidence: float,
) -> Estimate:
    """Return the area under the curve; the variance is that of Obuchowski (1997), DeLong's for groups of one."""
    members, others = len(member_scores), len(nonmember_scores)
    ranks = _compute_mid_ranks(np.concatenate([member_scores, nonmember_scores]))
    # DeLong's placements, the share of the other side that each score beats, computed from mid-ranks (Sun and Xu 2014).
    member_placements = (ranks[:members] - _compute_mid_ranks(member_scores)) / others
    nonmember_placements = 1 - (ranks[members:] - _compute_mid_ranks(nonmember_scores)) / members
    area = float(member_placements.mean())
    records = int(max(member_records.max(), nonmember_records.max())) + 1
    member_sums = np.bincount(member_records, member_placements - area, records) / members
    nonmember_sums = np.bincount(nonmember_records, nonmember_placements - area, records) / others
    member_record_count, nonmember_record_count = len(np.unique(member_records)), len(np.unique(nonmember_records))
    if member_record_count > 1 and nonmember_record_count > 1:
        variance = float(
            member_record_count / (member_record_count - 1) * (member_sums**2).sum()
            + nonmember_record_count / (nonmember_record_count - 1) * (nonmember_sums**2).sum()
            + 2 * records / (records - 1) * (member_sums * nonmember_sums).sum()
        )
        if variance > _NEGLIGIBLE_VARIANCE:
            method = "DeLong" if records == members + others else "Obuchowski over records"
            half_width = special.ndtri((1 + confidence) / 2) * np.sqrt(variance) / (area * (1 - area))
            low, high = special.expit(special.logit(area) + np.array([-half_width, half_width]))
            return Estimate(area, float(low), float(high), confidence, records, method)
    pairs = max(min(member_record_count, nonmember_record_count, records // 2), 1)
    interval = estimate_share(round(area * pairs), pairs, confidence)
    return Estimate(
        area,
        min(interval.low, area),
        max(interval.high, area),
        confidence,
        pairs,
        "Clopper-Pearson over disjoint pairs",
    )


def _estimate_tpr(
    rate: float,
    member_scores: FloatArray,
    nonmember_scores: FloatArray,
    member_records: RecordNumbers,
    nonmember_records: RecordNumbers,
    confidence: float,
) -> Estimate:
    """Return the share of members above the threshold that at most this share of the non-members exceeds."""
    nonmember_record_count = len(np.unique(nonmember_records))
    # 1e-9: 0.001 * 1,000 must allow one false positive whatever the rounding.
    is_rate_measurable = nonmember_record_count * rate >= 1 - 1e-9
    allowed_false_positives = int(rate * len(nonmember_scores) + 1e-9) if is_rate_measurable else 0
    threshold = np.partition(nonmember_scores, len(nonmember_scores) - 1 - allowed_false_positives)[
        len(nonmember_scores) - 1 - allowed_false_positives
    ]
    hits = member_scores > threshold
    scores_per_record = np.bincount(member_records)
    if (scores_per_record <= 1).all():
        estimate = estimate_share(int(hits.sum()), len(hits), confidence)
    else:
        estimate = estimate_clustered_share(np.bincount(member_records, hits), scores_per_record, confidence)
    condition = "given the threshold"
    if not is_rate_measurable:
        condition = f"at zero false positives, as {nonmember_record_count} non-members cannot show a rate of {rate:g}"
    return dataclasses.replace(estimate, method=f"{estimate.method}, {condition}")


def _compute_curve(member_scores: FloatArray, nonmember_scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return false and true positive rates at no more than `_MAX_POINTS` thresholds, dense at low rates."""
    truth = np.repeat([1, 0], [len(member_scores), len(nonmember_scores)])
    metrics = import_extra("sklearn.metrics", "An ROC curve", "measure")
    false_positives, true_positives, _ = metrics.roc_curve(truth, np.concatenate([member_scores, nonmember_scores]))
    if len(false_positives) > _MAX_POINTS:
        half_points = _MAX_POINTS // 2 - 1
        wanted_rates = np.concatenate(
            [np.geomspace(1 / len(nonmember_scores), 1, half_points), np.linspace(0, 1, half_points)]
        )
        point_indices = np.searchsorted(false_positives, wanted_rates, side="right") - 1
        point_indices = np.unique(np.concatenate([[0], point_indices, [len(false_positives) - 1]]))
        false_positives, true_positives = false_positives[point_indices], true_positives[point_indices]
    return false_positives, true_positives
