"""The statements of the paper beside the results."""

from collections.abc import Iterable

from deniable.studies.adversarial.plan import (
    ATTACKS,
    CURVES,
    DPAL,
    MEAN,
    OURS,
    OWN_NOISE,
    Drops,
    Gains,
    Place,
    Plan,
    Point,
)
from deniable.studies.adversarial.series import HALF, At, proved, reach, run_of, series, value_at
from deniable.studies.study import Comparison, Data, Outcome

_NEAR = 5.0
"""Points of accuracy within which a number of the paper's text and ours count as the same."""
_CHANCE = 0.1
"""Accuracy of a blind guess among ten classes: what a model without more loses under attack says nothing."""
_AXIS = {"budget": "epsilon", "size": "mu_a", "certified": "mu_a"}


def table(plan: Plan, data: Data) -> tuple[Comparison, ...]:
    """Return the paper's statements and ours, those that the sizes of the run reach."""
    rows = [
        _privacy(plan, data),
        *(_levels(plan, data, place) for place in plan.figures),
        *(_gains(plan, data, gains) for gains in plan.gains),
        *(_drops(plan, data, drops) for drops in plan.drops),
        _level(plan, data),
        _certificates(plan, data),
    ]
    return tuple(row for row in rows if row is not None)


def _outcome(right: Iterable[bool]) -> Outcome:
    """Say of checks whether all, some or none of them hold."""
    found = list(right)
    return "agrees" if all(found) else "agrees in part" if any(found) else "does not agree"


def _privacy(plan: Plan, data: Data) -> Comparison:
    run = run_of(data, DPAL, plan.tight)
    standing = "not trained" if run is None else f"{run['privacy']} ({run['why']})"
    others = "; ".join(
        f"{curve.title}: {other['privacy']}"
        for name, curve in CURVES.items()
        if name not in {DPAL, OWN_NOISE} and (other := run_of(data, name, plan.tight)) is not None
    )
    return Comparison(
        "DPAL preserves differential privacy of the training data with the total budget eps_t (Theorem 4).",
        f"DPAL's claim: {standing}. The others: {others}.",
        "agrees" if run is not None and run["privacy"] == "proved" else "does not agree",
    )


def _measured(plan: Plan, data: Data, point: Point) -> At | None:
    """Return our mean over the attacks of a point of the paper."""
    if len(point.attacks) == len(ATTACKS):
        return value_at(series(plan, data, point.place, point.curve, MEAN), point.at)
    found = [value_at(series(plan, data, point.place, point.curve, attack), point.at) for attack in point.attacks]
    known = [at for at in found if at is not None]
    if not known:
        return None
    # The same images under each attack: the mean of the ends is an interval too, a little wide.
    low, middle, high = (sum(getattr(at, part) for at in known) / len(known) for part in ("low", "value", "high"))
    return At(point.at, middle, low, high)


def _levels(plan: Plan, data: Data, place: Place) -> Comparison | None:
    """Return the numbers of one figure that the text gives."""
    pairs = [(point, _measured(plan, data, point)) for point in plan.points if point.place == place]
    known = [(point, at) for point, at in pairs if at is not None]
    if not known:
        return None
    theirs = "; ".join(f"{_named(point)} {point.value:g} %" for point, _ in known)
    ours = "; ".join(f"{_named(point)} {at.percent}" for point, at in known)
    silent = ""
    if place == "budget":
        alone = [(point.at, value_at(series(plan, data, place, OWN_NOISE, MEAN), point.at)) for point, _ in known
                 if point.curve == DPAL]  # fmt: skip
        silent = ". DPAL with its own training noise only: " + "; ".join(
            f"{at.percent} at {x:g}" for x, at in alone if at is not None
        )
    return Comparison(
        f"{plan.figures[place]}, means over the attacks: {theirs}.",
        f"{ours}{silent}.",
        _outcome(abs(100 * at.value - point.value) <= _NEAR for point, at in known),
    )


def _named(point: Point) -> str:
    attacks = "" if len(point.attacks) == len(ATTACKS) else f" ({', '.join(ATTACKS[one] for one in point.attacks)})"
    return f"{CURVES[point.curve].title} at {_AXIS[point.place]} {point.at:g}{attacks}"


def _gains(plan: Plan, data: Data, gains: Gains) -> Comparison:
    """Compare DPAL with the baselines in every case of a figure: one attack at one place of the axis."""
    theirs = ", ".join(f"{CURVES[name].title} by {points:g}" for name, points in gains.over.items())
    shown, ahead, halfway = [], [], []
    for name, points in gains.over.items():
        gaps = _gaps(plan, data, gains.place, DPAL, name)
        alone = _gaps(plan, data, gains.place, OWN_NOISE, name)
        if gaps:
            ahead += [gap > 0 for gap in gaps]
            halfway.append(_mean(gaps) >= points / 2)
            silent = f" ({_mean(alone):+.1f} with its own training noise only)" if alone else ""
            shown.append(
                f"{CURVES[name].title}: {_mean(gaps):+.1f} points on average{silent}, ahead in "
                f"{sum(gap > 0 for gap in gaps)} of {len(gaps)} cases"
            )
    ours = _gaps(plan, data, gains.place, OURS, DPAL)
    return Comparison(
        f"{plan.figures[gains.place]}: DPAL is ahead of the baselines in all cases; on average, of {theirs} points.",
        f"DPAL, Algorithm 1, less {'; '.join(shown)}. Ours less DPAL: {_mean(ours):+.1f} points on average.",
        # Ahead on average by half of what is said, or more, is a part of ahead in all cases.
        _outcome([all(ahead) and all(halfway), any(halfway)]),
    )


def _gaps(plan: Plan, data: Data, place: Place, first: str, second: str) -> list[float]:
    """Return by how many points one curve lies above another, in every case of a figure."""
    gaps = []
    for attack in ATTACKS:
        theirs = series(plan, data, place, second, attack)
        for ours in series(plan, data, place, first, attack):
            other = value_at(theirs, ours.x)
            if other is not None:
                gaps.append(100 * (ours.value - other.value))
    return gaps


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _drops(plan: Plan, data: Data, drops: Drops) -> Comparison | None:
    """Compare what is lost from the least attack to the largest, those of the paper or the nearest measured."""
    sizes = data["schedule"]["attack_sizes"]
    start, end = (min(sizes, key=lambda size: abs(size - wanted)) for wanted in (drops.start, drops.end))
    shown, near = [], []
    for name in (*drops.lost, OWN_NOISE, OURS):
        found = series(plan, data, drops.place, name, MEAN)
        first, last = value_at(found, start), value_at(found, end)
        if first is None or last is None:
            continue
        lost = 100 * (first.value - last.value)
        shown.append(f"{CURVES[name].title} {lost:.1f} (from {100 * first.value:.1f} %)")
        if name in drops.lost:
            near.append(first.low > _CHANCE and abs(lost - drops.lost[name]) <= _NEAR)
    theirs = ", ".join(f"{CURVES[name].title} {lost:g}" for name, lost in drops.lost.items())
    return Comparison(
        f"{plan.figures[drops.place]}: points lost from mu_a = {drops.start:g} to {drops.end:g}, on average over the "
        f"attacks: {theirs}.",
        f"From {start:g} to {end:g}: {', '.join(shown)}.",
        _outcome(near),
    )


def _level(plan: Plan, data: Data) -> Comparison | None:
    """Compare DPAL's mean over the attack sizes."""
    if plan.level is None:
        return None

    def level(name: str) -> float:
        return 100 * _mean([at.value for at in series(plan, data, "size", name, MEAN)])

    others = "; ".join(f"{CURVES[name].title} {level(name):.1f} %" for name in (OWN_NOISE, OURS))
    return Comparison(
        f"DPAL has {plan.level:g} % under attack on average at a budget of {plan.tight:g}, which is still low.",
        f"{level(DPAL):.1f} % on average over attacks and the sizes of {plan.figures['size']}. {others}.",
        _outcome([abs(level(DPAL) - plan.level) <= _NEAR]),
    )


def _certificates(plan: Plan, data: Data) -> Comparison:
    """Say what is proved at the paper's sizes, and up to which size half of the images are proved right."""
    least = min(data["schedule"]["attack_sizes"])
    names = [name for name, curve in CURVES.items() if "certified" in curve.figures and proved(data, name)]
    at_least = {name: value_at(proved(data, name), least) for name in names}
    shown = "; ".join(f"{CURVES[name].title} {at.percent}" for name, at in at_least.items() if at is not None)
    half = "; ".join(f"{CURVES[name].title} {reach(proved(data, name))}" for name in names)
    dpal = run_of(data, DPAL, plan.certified_at)
    return Comparison(
        f"Certified accuracy ({plan.figures['certified']}) counts images that no l_inf attack of the size changes.",
        f"DPAL's certificate is {'unknown' if dpal is None else dpal['certificate']}; the l2 sizes of the others are "
        f"compared there with l_inf attacks. Proved against every l_inf attack of size {least:g}, by smoothing: "
        f"{shown}. Largest size at which half of the images are proved right: {half}.",
        _outcome(at is not None and at.value >= HALF for at in at_least.values()),
    )
