"""How well scores tell members from non-members: the curve, its area and its low end, with intervals over records."""

import dataclasses

import numpy as np
import numpy.typing as npt
from scipy import special, stats
from sklearn.metrics import roc_curve

from deniable.errors import InputError, bad_parameter
from deniable.measure.estimate import CONFIDENCE, Estimate, clustered_share, share

Array = npt.NDArray[np.float64]
Groups = npt.NDArray[np.int64]

RATES = (0.001, 0.01)
"""The false positive rates at which an attack is judged, as Carlini et al. (2022) ask."""

_POINTS = 200
"""Most points of a curve that is kept."""

_NO_SPREAD = 1e-24
"""Variances below this are rounding."""


@dataclasses.dataclass(frozen=True)
class Membership:
    """How well an attack tells the records that a model was trained on from those that it never saw.

    Attributes:
        attack: its name.
        auc: the chance that a member scores higher than a non-member, ties counting one half; 0.5 is a blind guess.
        tpr: false positive rate -> share of the members found at it. Where there are too few non-members to see
            that rate, the share found without any false positive, and the estimate's method says so.
        false_positive_rates: at most 200 points of the curve, from 0 to 1.
        true_positive_rates: of the same points.
        members: scores of members.
        others: scores of non-members.
        records: distinct records behind both.
    """

    attack: str
    auc: Estimate
    tpr: dict[float, Estimate]
    false_positive_rates: tuple[float, ...]
    true_positive_rates: tuple[float, ...]
    members: int
    others: int
    records: int


def roc(
    in_scores: npt.ArrayLike,
    out_scores: npt.ArrayLike,
    confidence: float = CONFIDENCE,
    groups: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    attack: str = "scores",
) -> Membership:
    """Return how well scores tell members from others, where a higher score says "member".

    The area's interval is DeLong's (1988) on the logit scale; with ``groups`` its form for clusters by Obuchowski
    (1997). Where the scores leave no spread to estimate from, as with a perfect attack, it is Clopper and Pearson's
    over as many disjoint pairs of a member and another as the records give.

    Args:
        in_scores: (m,) of records that the model was trained on.
        out_scores: (n,) of records that it was not trained on.
        confidence: of the intervals.
        groups: (m,) and (n,) the record behind each score, where several models were attacked: scores of one
            record are then one observation. None if every score is of its own record.
        attack: name to be kept.

    Raises:
        InputError: no scores on one side, a score that is not finite, groups of another length, or a confidence
            outside (0, 1).
    """
    inner, outer = _scores(in_scores, "in_scores"), _scores(out_scores, "out_scores")
    if not 0 < confidence < 1:
        raise bad_parameter("roc", "confidence", "a float in (0, 1)", confidence)
    in_groups, out_groups = _records(len(inner), len(outer), groups)
    rates = {rate: _found_at(rate, inner, outer, in_groups, out_groups, confidence) for rate in RATES}
    false_positives, true_positives = _curve(inner, outer)
    return Membership(
        attack=attack,
        auc=_area(inner, outer, in_groups, out_groups, confidence),
        tpr=rates,
        false_positive_rates=tuple(false_positives.tolist()),
        true_positive_rates=tuple(true_positives.tolist()),
        members=len(inner),
        others=len(outer),
        records=len(np.union1d(in_groups, out_groups)),
    )


def _scores(given: npt.ArrayLike, name: str) -> Array:
    """Return scores (n,) that can be ranked."""
    scores = np.asarray(given, dtype=np.float64)
    if scores.ndim != 1 or not len(scores) or not np.isfinite(scores).all():
        raise InputError(
            f"The scores {name!r} must be one row of finite numbers. Got shape {scores.shape} with "
            f"{int((~np.isfinite(scores)).sum())} not finite: give at least 1 score of each side."
        )
    return scores


def _records(members: int, others: int, groups: tuple[npt.ArrayLike, npt.ArrayLike] | None) -> tuple[Groups, Groups]:
    """Return the record behind each score, numbered from 0 on."""
    if groups is None:
        return np.arange(members), np.arange(members, members + others)
    sides = [np.asarray(side).ravel() for side in groups]
    if [len(side) for side in sides] != [members, others]:
        raise InputError(
            f"The groups must name one record for each score, {members} and {others}. "
            f"Got {' and '.join(str(len(side)) for side in sides)}."
        )
    numbers = np.unique(np.concatenate(sides), return_inverse=True)[1].astype(np.int64)
    return numbers[:members], numbers[members:]


def _area(inner: Array, outer: Array, in_groups: Groups, out_groups: Groups, confidence: float) -> Estimate:
    """Return the area under the curve; the variance is that of Obuchowski (1997), DeLong's for groups of one."""
    members, others = len(inner), len(outer)
    ranks = stats.rankdata(np.concatenate([inner, outer]))
    # The share of the other side that each score beats: DeLong's placements, found from mid-ranks (Sun and Xu 2014).
    of_members = (ranks[:members] - stats.rankdata(inner)) / others
    of_others = 1 - (ranks[members:] - stats.rankdata(outer)) / members
    area = float(of_members.mean())
    records = int(max(in_groups.max(), out_groups.max())) + 1
    in_sums = np.bincount(in_groups, of_members - area, records) / members
    out_sums = np.bincount(out_groups, of_others - area, records) / others
    in_records, out_records = len(np.unique(in_groups)), len(np.unique(out_groups))
    if in_records > 1 and out_records > 1:
        variance = float(
            in_records / (in_records - 1) * (in_sums**2).sum()
            + out_records / (out_records - 1) * (out_sums**2).sum()
            + 2 * records / (records - 1) * (in_sums * out_sums).sum()
        )
        if variance > _NO_SPREAD:
            method = "DeLong" if records == members + others else "Obuchowski over records"
            half = stats.norm.ppf((1 + confidence) / 2) * np.sqrt(variance) / (area * (1 - area))
            low, high = special.expit(special.logit(area) + np.array([-half, half]))
            return Estimate(area, float(low), float(high), confidence, records, method)
    pairs = max(min(in_records, out_records, records // 2), 1)
    ends = share(round(area * pairs), pairs, confidence)
    return Estimate(
        area, min(ends.low, area), max(ends.high, area), confidence, pairs, "Clopper-Pearson over disjoint pairs"
    )


def _found_at(
    rate: float, inner: Array, outer: Array, in_groups: Groups, out_groups: Groups, confidence: float
) -> Estimate:
    """Return the share of members above the threshold that lets at most this share of the others pass."""
    others = len(np.unique(out_groups))
    # 1e-9: 0.001 * 1,000 must allow one false positive whatever the rounding.
    seen = others * rate >= 1 - 1e-9
    allowed = int(rate * len(outer) + 1e-9) if seen else 0
    threshold = np.partition(outer, len(outer) - 1 - allowed)[len(outer) - 1 - allowed]
    hits = inner > threshold
    tries = np.bincount(in_groups)
    if (tries <= 1).all():
        found = share(int(hits.sum()), len(hits), confidence)
    else:
        found = clustered_share(np.bincount(in_groups, hits), tries, confidence)
    place = "given the threshold"
    if not seen:
        place = f"at zero false positives, as {others} non-members cannot show a rate of {rate:g}"
    return dataclasses.replace(found, method=f"{found.method}, {place}")


def _curve(inner: Array, outer: Array) -> tuple[Array, Array]:
    """Return false and true positive rates at no more than `_POINTS` thresholds, dense at low rates."""
    truth = np.repeat([1, 0], [len(inner), len(outer)])
    false_positives, true_positives, _ = roc_curve(truth, np.concatenate([inner, outer]))
    if len(false_positives) > _POINTS:
        half = _POINTS // 2 - 1
        wanted = np.concatenate([np.geomspace(1 / len(outer), 1, half), np.linspace(0, 1, half)])
        kept = np.searchsorted(false_positives, wanted, side="right") - 1
        kept = np.unique(np.concatenate([[0], kept, [len(false_positives) - 1]]))
        false_positives, true_positives = false_positives[kept], true_positives[kept]
    return false_positives, true_positives
