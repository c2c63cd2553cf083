"""The lines to read first, and the table of everything."""

from deniable.studies.study import Data
from deniable.studies.substituted.plan import (
    IBP,
    LAPLACE,
    NORMAL,
    SETS,
    TITLES,
    Measure,
    Plan,
    augmented,
    axis,
)
from deniable.studies.substituted.series import Found, found, known, own, points, smoothed
from deniable.studies.substituted.words import ATTACKED, missing, orders, told

_ALONE = {NORMAL: "normal training", IBP: "IBP", augmented(SETS): "augmented by the sets"}


def findings(plan: Plan, data: Data) -> tuple[str, ...]:
    """Return the lines to read first, each with the name of the data set."""
    lines = (
        *_unattacked(plan, data),
        *_sets(data),
        *_thinned(data),
        *_ahead(data),
        *_epsilons(data),
        *_smoothed(data),
        *_reading(plan, data),
    )
    return tuple(f"{plan.name}: {line}" for line in lines)


def _unattacked(plan: Plan, data: Data) -> list[str]:
    """Return accuracy without attack, ours and published."""
    published = {NORMAL: plan.normal, IBP: plan.certified_training}
    shown = [
        f"{title} {held.percent}" + (f", {published[model]:.2f} % published" if model in published else "")
        for model, title in _ALONE.items()
        if (held := found(data, model, "clean")) is not None
    ]
    return [f"without attack {'; '.join(shown)}"] if shown else []


def _sets(data: Data) -> list[str]:
    """Return what attacks by the sets leave, and what is proved of all choices of them."""
    shown = []
    for model, title in _ALONE.items():
        held = [found(data, model, measure, SETS) for measure in ("genetic", "greedy", "certified")]
        if all(held):
            genetic, greedy, sure = (one.percent for one in held if one is not None)
            shown.append(f"{title} {genetic} under the genetic attack, {greedy} under the greedy one, {sure} proved")
    if not shown:
        return []
    return [f"words from the sets: {'; '.join(shown)}. What is proved covers choices of these sets and no other change"]


def _thinned(data: Data) -> list[str]:
    """Return what the number of substitutes costs the certified model, and how many of those listed the space knows."""
    places = sorted({p["at"] for p in data["points"] if p["measure"] == "certified" and p["at"] is not None})
    held = {f"{100 * at:g} %": found(data, IBP, "certified", SETS, at) for at in places}
    held["all"] = found(data, IBP, "certified", SETS)
    shown = ", ".join(f"{one.percent} with {kept}" for kept, one in held.items() if one is not None)
    if not places:
        return []
    facts = data["facts"]
    known, listed = facts["substitutes of the test words"], facts["substitutes listed for the test words"]
    words = facts["test words"]
    said = (
        f"proved of IBP where only a share of the substitutes is kept, at random: {shown}. For a word of the test "
        f"texts the file lists {listed / words:.2f} substitutes, and the space knows {known / words:.2f} of them"
    )
    return [said]


def _ahead(data: Data) -> list[str]:
    """Return where augmented training is ahead of IBP."""
    measures: tuple[Measure, ...] = ("clean", "genetic")
    lines = []
    for mechanism, title in TITLES.items():
        parts = [
            f"{told(found_orders)} {ATTACKED[measure]}"
            for measure in measures
            if (found_orders := orders(data, mechanism, measure))
        ]
        if parts:
            lines.append(
                f"augmented by {title}, by {axis(mechanism)}, compared with IBP: {'; '.join(parts)} (exact test, 95 %)"
            )
    return lines


def _epsilons(data: Data) -> list[str]:
    """Return what is known of the epsilon of each mechanism."""
    lines = []
    for mechanism, title in TITLES.items():
        shown = []
        for point in points(data, mechanism):
            facts = known(data, point)
            if facts["below"]:
                shown.append(f"{point.at:g} is {missing(data, point)}")
            else:
                shown.append(f"{point.at:g}: {facts['claim']}, {facts['spent is']} {facts['spent']:.4g}")
        if shown:
            lines.append(f"epsilon spent by {title}, by {axis(mechanism)} claimed: {'; '.join(shown)}")
    return lines


def _smoothed(data: Data) -> list[str]:
    """Return what smoothing certifies."""
    lines = []
    for mechanism in TITLES:
        for point in points(data, mechanism):
            far, changed = smoothed(data, point, "distance"), smoothed(data, point, "changes")
            if not far or not changed:
                continue
            standing = next(
                p["standing"] for p in data["smoothed"] if (p["mechanism"], p["at"]) == (mechanism, point.at)
            )
            by_distance = ", ".join(f"{held.percent} at {size:g}" for size, held in far.items() if size <= 1)
            by_changes = ", ".join(f"{held.percent} for {size:g}" for size, held in changes_told(changed))
            lines.append(
                f"smoothed by {point.title} ({standing}, {far[0.0].count} texts): certified {by_distance} of total "
                f"distance; {by_changes} words changed within the sets"
            )
    return lines


def changes_told(changed: dict[float, Found]) -> list[tuple[float, Found]]:
    """Return the certified accuracy for one word, and for as many as the largest number looked at."""
    return [(size, held) for size, held in changed.items() if size in {1, max(changed)}]


def _reading(plan: Plan, data: Data) -> list[str]:
    """Return what to know when reading the numbers."""
    schedule, facts = data["schedule"], data["facts"]
    said = (
        f"schedule: {data['schedule name']}, {facts['training texts']:,} texts learned from, {facts['test texts']:,} "
        f"attacked (the paper {plan.tested:,}); {schedule['ibp_epochs']} epochs of IBP, {schedule['normal_epochs']} of "
        f"normal training, {schedule['augmented_epochs']} over texts and {schedule['copies']} copies of each; genetic "
        f"attack of {schedule['population']} texts in {schedule['generations']} generations; one training of each model"
    )
    lines = [said]
    if points(data, LAPLACE):
        lines.append(
            f"copies and attacks by multivariate Laplace draw from at most {schedule['pool']} draws of each word, made "
            "once, others for attacks than for copies"
        )
    return [*lines, *([plan.note] if plan.note else [])]


def details(plan: Plan, data: Data) -> str:
    """Return every model and its accuracies, and what the texts were, as tables."""
    facts = data["facts"]
    lines = [
        f"{plan.name}: {facts['training texts']:,} training texts ({facts['training texts are']}), "
        f"{facts['training texts left out']:,} left out without a known word; {facts['test texts']:,} test texts, "
        f"{facts['test texts left out']:,} left out. {facts['words of the space']:,} words of {facts['space']}, "
        f"{facts['words with substitutes']:,} with substitutes in {facts['sets']}"
        + "".join(f"; {note}" for note in facts["about the sets"])
        + ".",
        "",
        "| model | without attack | proved for the sets | genetic, sets | greedy, sets | training, s |",
        "|---|---|---|---|---|---|",
    ]
    for training in data["trainings"]:
        model = training["model"]
        held = [found(data, model, "clean")]
        held += [found(data, model, measure, SETS) for measure in ("certified", "genetic", "greedy")]
        cells = ["" if one is None else one.percent for one in held]
        lines.append(f"| {' | '.join([model, *cells])} | {training['seconds']:,.0f} |")
    lines += [
        "",
        "| attacked by | epsilon claimed | spent | normal | IBP | augmented by it |",
        "|---|---|---|---|---|---|",
    ]
    for mechanism in TITLES:
        for point in points(data, mechanism):
            about = known(data, point)
            if about["below"]:
                lines.append(f"| {point.title} | {about['epsilon']:.4g} | {missing(data, point)} | | | |")
                continue
            held = [found(data, model, "genetic", mechanism, point.at) for model in (NORMAL, IBP)]
            held.append(own(data, point, "genetic"))
            cells = ["" if one is None else one.percent for one in held]
            spent = f"{about['spent is']} {about['spent']:.4g}, {about['claim']}"
            lines.append(f"| {point.title} | {about['epsilon']:.4g} | {spent} | {' | '.join(cells)} |")
    return "\n".join(lines)
