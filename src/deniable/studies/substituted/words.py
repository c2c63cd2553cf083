"""The statements of the paper beside the results."""

import math
from collections.abc import Iterable

from deniable.core.guarantees import is_proved
from deniable.published.truncated_gumbel.mechanism import compute_min_epsilon
from deniable.studies.study import Comparison, Data, Outcome
from deniable.studies.substituted.plan import (
    GUMBEL,
    IBP,
    NORMAL,
    TITLES,
    Claim,
    Measure,
    Plan,
    Point,
    Published,
    axis,
)
from deniable.studies.substituted.series import Found, against, compared, found, known, near, own, points

ATTACKED: dict[Measure, str] = {"clean": "without attack", "genetic": "under the genetic attack by its draws"}


def table(plan: Plan, data: Data) -> tuple[Comparison, ...]:
    """Return the paper's statements and ours, those that the sizes of the run reach."""
    rows = [
        _alone(plan, data, NORMAL, plan.normal, "Normal training"),
        _alone(plan, data, IBP, plan.certified_training, "Certified training (IBP)"),
        *(_levels(plan, data, published, model, measure) for published in plan.tables for model, measure in _ROWS),
        *(_claim(plan, data, claim) for claim in plan.claims),
        _least(plan, data),
        _theorem(plan, data),
    ]
    return tuple(row for row in rows if row is not None)


_ROWS: tuple[tuple[str, Measure], ...] = (("augmented", "clean"), (IBP, "genetic"), ("augmented", "genetic"))


def outcome(right: Iterable[bool]) -> Outcome:
    """Say of checks whether all, some or none of them hold."""
    checks = list(right)
    return "agrees" if all(checks) else "agrees in part" if any(checks) else "does not agree"


def _alone(plan: Plan, data: Data, model: str, percent: float, title: str) -> Comparison | None:
    """Compare the accuracy of one model without attack."""
    measured = found(data, model, "clean")
    if measured is None:
        return None
    return Comparison(
        f"{plan.name}: {title} has {percent:.2f} % without attack.",
        f"{measured.percent}.",
        outcome([near(measured, percent, plan.tested)]),
    )


def _levels(plan: Plan, data: Data, published: Published, model: str, measure: Measure) -> Comparison | None:
    """Compare one row of a table, at the epsilons of this run."""
    row = published.of(model, measure)
    theirs, ours, checks = [], [], []
    for point in points(data, published.mechanism):
        if point.at not in row:
            continue
        theirs.append(f"{point.at:g}: {row[point.at]:.2f} %")
        measured = against(data, IBP, point, measure) if model == IBP else own(data, point, measure)
        if measured is None:
            ours.append(f"{point.at:g}: {missing(data, point)}")
        else:
            ours.append(f"{point.at:g}: {measured.percent}")
            checks.append(near(measured, row[point.at], plan.tested))
    if not checks:
        return None
    title = "IBP" if model == IBP else "augmented training"
    return Comparison(
        f"{plan.name}, {published.title}, {TITLES[published.mechanism]}, {title} {ATTACKED[measure]}, by "
        f"{axis(published.mechanism)}: {'; '.join(theirs)}.",
        f"{'; '.join(ours)}.",
        outcome(checks),
    )


def missing(data: Data, point: Point) -> str:
    """Return why there is no model of a point."""
    facts = known(data, point)
    return f"below the least epsilon of the mechanism, {facts['least']:.4g}" if facts["below"] else "not measured"


def orders(data: Data, mechanism: str, measure: Measure) -> dict[Point, str]:
    """Return for each point whether augmented training is ahead of IBP."""
    pairs: dict[Point, tuple[Found | None, Found | None]] = {
        point: (own(data, point, measure), against(data, IBP, point, measure)) for point in points(data, mechanism)
    }
    return {
        point: compared(first, second)
        for point, (first, second) in pairs.items()
        if first is not None and second is not None
    }


def told(found_orders: dict[Point, str]) -> str:
    """Return at which places augmented training is ahead, behind, and neither for sure."""
    parts = []
    for order in ("ahead", "behind", "undecided"):
        places = [f"{point.at:g}" for point, what in found_orders.items() if what == order]
        if places:
            parts.append(f"{order} at {', '.join(places)}")
    return ", ".join(parts)


def _claim(plan: Plan, data: Data, claim: Claim) -> Comparison | None:
    """Check at the paper's epsilons of this run where augmented training is ahead of IBP."""
    grid = {at for published in plan.tables if published.mechanism == claim.mechanism for at in published.at}
    measured = {p: order for p, order in orders(data, claim.mechanism, claim.measure).items() if p.at in grid}
    ahead = [order for point, order in measured.items() if point.at > claim.above]
    others = [order for point, order in measured.items() if claim.only and point.at <= claim.above]
    if not ahead + others:
        return None
    kept = [order == "ahead" for order in ahead] + [order != "ahead" for order in others]
    # What is undecided speaks neither for the paper nor against it.
    against_it = "behind" in ahead or "ahead" in others
    result: Outcome = "agrees" if all(kept) else "agrees in part" if any(kept) or not against_it else "does not agree"
    return Comparison(
        f"{plan.name}, {TITLES[claim.mechanism]}: {claim.quote}",
        f"{ATTACKED[claim.measure].capitalize()}, augmented training is, by {axis(claim.mechanism)}, {told(measured)} "
        "(exact test on the texts that only one of the two has right, 95 %).",
        result,
    )


def _least(plan: Plan, data: Data) -> Comparison | None:
    """Say whether the paper's first epsilon is above the least one, in its space and in ours."""
    looked = points(data, GUMBEL)
    firsts = [published.at[0] for published in plan.tables if published.mechanism == GUMBEL]
    if not looked or not firsts:
        return None
    theirs, ours = compute_min_epsilon(plan.words, plan.separation), known(data, looked[0])["least"]
    first = math.exp(firsts[0])
    side = "above" if first > ours else "below"
    return Comparison(
        f"{plan.name}, Table 2: log epsilon = {firsts[0]:g} is slightly larger than the lower bound.",
        f"The scale of truncated Gumbel is positive only above (5 + 2 ln n) / Delta0, which is {theirs:.4g} (log "
        f"{math.log(theirs):.2f}) for the paper's n = {plan.words:,} and Delta0 = {plan.separation:g}. In the space of "
        f"this run it is {ours:.4g} (log {math.log(ours):.2f}), and {first:.4g} lies {side} it.",
        outcome([first > theirs]),
    )


def _theorem(plan: Plan, data: Data) -> Comparison | None:
    """Say what becomes of truncated Gumbel's guarantee."""
    looked = [known(data, point) for point in points(data, GUMBEL)]
    claims = [facts for facts in looked if not facts["below"]]
    if not claims:
        return None
    shown = "; ".join(
        f"log epsilon {facts['at']:g}: {facts['claim']}, {facts['spent is']} {facts['spent']:.4g} spent where "
        f"{facts['epsilon']:.4g} is claimed"
        for facts in claims
    )
    standings = {facts["claim"] for facts in claims}
    agrees: Outcome = "agrees" if all(map(is_proved, standings)) else "agrees in part"
    return Comparison(
        f"{plan.name}, truncated Gumbel is epsilon-metric-DP for every epsilon that it is defined for (Theorem 1).",
        f"{shown}.",
        "does not agree" if "refuted" in standings else agrees,
    )
