"""The lines to read first, and the table of everything."""

from deniable.studies.adversarial.plan import (
    CLIPPED,
    CURVES,
    DPAL,
    MEAN,
    MENDED,
    OURS,
    OWN_NOISE,
    REPLACE_ONE,
    Place,
    Plan,
)
from deniable.studies.adversarial.series import At, proved, reach, run_of, series, unattacked, value_at
from deniable.studies.study import Data


def findings(plan: Plan, data: Data) -> tuple[str, ...]:
    """Return the lines to read first."""
    return (*_tight(plan, data), *_clipping(plan, data), *_certified(plan, data), *_reading(plan, data))


def _tight(plan: Plan, data: Data) -> tuple[str, ...]:
    """Return ours beside DPAL, run and published, at the tight budget."""

    def at(name: str) -> At | None:
        return value_at(series(plan, data, "budget", name, MEAN), plan.tight)

    ours, theirs, alone = at(OURS), at(DPAL), at(OWN_NOISE)
    run, claim = run_of(data, OURS, plan.tight), run_of(data, DPAL, plan.tight)
    published = [p.value for p in plan.points if (p.place, p.curve, p.at) == ("budget", DPAL, plan.tight)]
    if ours is None or theirs is None or alone is None or run is None or claim is None:
        return ()
    claimed = f"; {published[0]:g} % published" if published else ""
    other = run["epsilon, replace one"]
    converted = f", {other:.3g} for replacing one" if other is not None else ""
    first = (
        f"{plan.name}, attack of size {plan.attacked_at:g}, mean of four: ours {ours.percent} at epsilon "
        f"{run['epsilon']:.3g}, {run['privacy']} (one record made empty{converted})"
    )
    second = (
        f"DPAL at a claim of {plan.tight:g}, {claim['privacy']}: {theirs.percent} by its verified inference, "
        f"{alone.percent} with its own training noise only{claimed}"
    )
    return first, second


def _clipping(plan: Plan, data: Data) -> tuple[str, ...]:
    """Return what changes when the public code's noise is mended."""
    lines = []
    budgets = data["schedule"]["budgets"]
    for budget in dict.fromkeys((budgets[0], budgets[-1])):
        run = run_of(data, CLIPPED, budget)
        pairs = [
            [value_at(found, budget) for found in (unattacked(data, name), series(plan, data, "budget", name, MEAN))]
            for name in (CLIPPED, MENDED)
        ]
        (clean, hit), (mended, mended_hit) = pairs
        if run is None or clean is None or hit is None or mended is None or mended_hit is None:
            continue
        lines.append(
            f"DP-SGD that clips the batch mean, claim {budget:g}: {clean.percent} without attack, {hit.percent} under "
            f"it, but {run['privacy']} (epsilon at least {run['epsilon at least']:.3g}); clipped by example, "
            f"{mended.percent} and {mended_hit.percent}"
        )
    return tuple(lines)


def _certified(plan: Plan, data: Data) -> tuple[str, ...]:
    sizes = data["schedule"]["attack_sizes"]
    counted = series(plan, data, "certified", DPAL, MEAN)
    least, most = value_at(counted, min(sizes)), value_at(counted, max(sizes))
    run = run_of(data, DPAL, plan.certified_at)
    lines = []
    if least is not None and most is not None and run is not None:
        lines.append(
            f"certified as the paper counts, epsilon {plan.certified_at:g}: DPAL {least.percent} at {min(sizes):g} and "
            f"{most.percent} at {max(sizes):g}, by a certificate that is {run['certificate']}"
        )
    shown = "; ".join(
        f"{curve.title} {found[0].percent} at size 0, half of the images up to {reach(found)}"
        for name, curve in CURVES.items()
        if (found := proved(data, name))
    )
    return (*lines, f"proved against every l_inf attack: {shown}")


def _reading(plan: Plan, data: Data) -> tuple[str, ...]:
    """Return what to know when reading the numbers."""
    claimed = " and ".join(CURVES[name].title.split(",")[0] for name in CURVES if name in REPLACE_ONE)
    schedule = data["schedule"]
    steps = (
        f"schedule: {data['schedule name']}, {schedule['dpal_steps']} steps of DPAL with "
        f"{schedule['dpal_attack_steps']} steps of attack inside, {schedule['private_steps']} of DP-SGD (the paper "
        f"does not say how many), MadryEtAl with {schedule['pgd_steps']} steps; one training of each model, intervals "
        f"over {schedule['images']} images, {schedule['certified_images']} for {plan.figures['certified']}"
    )
    neighbours = (
        f"{claimed} claim their epsilon for replacing one record, DP-SGD and what is built on it for adding or "
        "removing one; the table has both for the latter"
    )
    return neighbours, steps


def details(plan: Plan, data: Data) -> str:
    """Return every model and its accuracies, as a table."""
    sizes = data["schedule"]["attack_sizes"]
    head = ["curve", "epsilon claimed", "neighbours", "epsilon, replace one", "delta", "privacy", "without attack"]
    lines = [
        "| " + " | ".join([*head, f"mean of four, {plan.attacked_at:g}"]) + " |",
        "|" + "---|" * (len(head) + 1),
    ]
    for name, curve in CURVES.items():
        for clean in unattacked(data, name):
            run = run_of(data, name, clean.x)
            hit = value_at(series(plan, data, "budget", name, MEAN), clean.x)
            if run is not None and hit is not None:
                cells = [
                    curve.title, f"{clean.x:g}", run["adjacency"], _number(run["epsilon, replace one"]),
                    _number(run["delta"]), run["privacy"], clean.percent, hit.percent,
                ]  # fmt: skip
                lines.append("| " + " | ".join(cells) + " |")
    places: tuple[tuple[Place, str], ...] = (("size", plan.figures["size"]), ("certified", plan.figures["certified"]))
    for place, title in places:
        lines += ["", f"{title}, mean of four attacks, by attack size:", ""]
        lines += ["| curve | " + " | ".join(f"{size:g}" for size in sizes) + " |", "|" + "---|" * (len(sizes) + 1)]
        for name, curve in CURVES.items():
            found = series(plan, data, place, name, MEAN)
            if found:
                lines.append(f"| {curve.title} | " + " | ".join(at.percent for at in found) + " |")
    return "\n".join(lines)


def _number(value: float | None) -> str:
    return "" if not value else f"{value:.3g}"
