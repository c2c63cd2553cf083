"""The ROC curve of membership scores, its area and its low end, with intervals over records."""

import dataclasses

import numpy as np
import numpy.typing as npt
from scipy import special

from deniable.core.arrays import FloatArray, IntArray
from deniable.core.errors import import_extra
from deniable.measure.intervals import DEFAULT_CONFIDENCE, Estimate, estimate_clustered_share, estimate_share

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
    groups: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    attack: str = "scores",
) -> MembershipResult:
    """Return how well scores tell members from non-members, where a higher score says "member".

    The area's interval is that of DeLong et al. 1988 on the logit scale; with ``groups`` that of Obuchowski 1997 for
    clusters. Where the scores have no variance to estimate from, as with a perfect attack, it is Clopper and
    Pearson's over as many disjoint pairs of a member and a non-member as the records give.

    Args:
        in_scores: (m,) finite scores of records that the model was trained on.
        out_scores: (n,) finite scores of records that it was not trained on.
        groups: (m,) and (n,) the record behind each score, where several models were attacked: scores of one
            record are then one observation. None if every score is of its own record.
        attack: name of the attack, for the result.

    Raises:
        InputError: scikit-learn is not installed.
    """
    member_scores, nonmember_scores = np.asarray(in_scores, np.float64), np.asarray(out_scores, np.float64)
    members, others = len(member_scores), len(nonmember_scores)
    records = np.arange(members + others) if groups is None else np.concatenate(groups)
    numbers = np.unique(records, return_inverse=True)[1].astype(np.int64)
    sides = member_scores, nonmember_scores, numbers[:members], numbers[members:]
    false_positives, true_positives = _compute_curve(member_scores, nonmember_scores)
    return MembershipResult(
        attack=attack,
        auc=_estimate_area(*sides),
        tpr={rate: _estimate_tpr(rate, *sides) for rate in JUDGED_FALSE_POSITIVE_RATES},
        false_positive_rates=tuple(false_positives.tolist()),
        true_positive_rates=tuple(true_positives.tolist()),
        members=members,
        others=others,
        records=int(numbers.max()) + 1,
    )


def _estimate_area(
    member_scores: FloatArray,
    nonmember_scores: FloatArray,
    member_records: IntArray,
    nonmember_records: IntArray,
) -> Estimate:
    """Return the area under the curve; the variance is that of Obuchowski (1997), DeLong's for groups of one."""
    from scipy import stats

    members, others = len(member_scores), len(nonmember_scores)
    ranks = stats.rankdata(np.concatenate([member_scores, nonmember_scores]))
    # DeLong's placements, the share of the other side that each score beats, computed from mid-ranks (Sun and Xu 2014).
    member_placements = (ranks[:members] - stats.rankdata(member_scores)) / others
    nonmember_placements = 1 - (ranks[members:] - stats.rankdata(nonmember_scores)) / members
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
            half_width = special.ndtri((1 + DEFAULT_CONFIDENCE) / 2) * np.sqrt(variance) / (area * (1 - area))
            low, high = special.expit(special.logit(area) + np.array([-half_width, half_width]))
            return Estimate(area, float(low), float(high), DEFAULT_CONFIDENCE, records, method)
    pairs = max(min(member_record_count, nonmember_record_count, records // 2), 1)
    interval = estimate_share(round(area * pairs), pairs)
    method = "Clopper-Pearson over disjoint pairs"
    return Estimate(area, min(interval.low, area), max(interval.high, area), DEFAULT_CONFIDENCE, pairs, method)


def _estimate_tpr(
    rate: float,
    member_scores: FloatArray,
    nonmember_scores: FloatArray,
    member_records: IntArray,
    nonmember_records: IntArray,
) -> Estimate:
    """Return the share of members above the threshold that at most this share of the non-members exceeds."""
    nonmember_record_count = len(np.unique(nonmember_records))
    # 1e-9: 0.001 * 1,000 must allow one false positive whatever the rounding.
    is_rate_measurable = nonmember_record_count * rate >= 1 - 1e-9
    allowed_false_positives = int(rate * len(nonmember_scores) + 1e-9) if is_rate_measurable else 0
    threshold = np.sort(nonmember_scores)[-1 - allowed_false_positives]
    hits = member_scores > threshold
    scores_per_record = np.bincount(member_records)
    if (scores_per_record <= 1).all():
        estimate = estimate_share(int(hits.sum()), len(hits))
    else:
        estimate = estimate_clustered_share(np.bincount(member_records, hits), scores_per_record)
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
