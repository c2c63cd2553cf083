"""The few lines to read first, and every point as a table."""

from deniable.studies.representation.plan import FIXED, LEARNED, SILENT, ZEROED
from deniable.studies.representation.words import above, called, interval, points, worst
from deniable.studies.study import Data

_HEAD = (
    "noise",
    "adversary",
    "bound",
    "epsilon",
    "intent",
    "city, learned",
    "city, law known",
    "city, texts listed",
    "text found",
    "permitted",
    "by law",
    "audit: at least",
    "",
)


def findings(data: Data) -> tuple[str, ...]:
    """Return the few lines to read first."""
    return (_texts(data), _silent(data), _published(data), _corrected(data), _adversary(data), _identified(data))


def _texts(data: Data) -> str:
    facts, majority = data["facts"], data["facts"]["majority"]
    return (
        f"ATIS, {facts['distinct texts']:,} distinct texts: encoders are trained on "
        f"{facts['encoders are trained on']:,} of them, classifiers and attackers on released vectors of "
        f"{facts['classifiers learn from']:,} others, and {facts['tested']:,} are tested. The task is the intent (most "
        f"frequent class {100 * majority['task']:.1f} %), the private attribute the departure city, derived from the "
        f"text ({100 * majority['city']:.1f} %)."
    )


def _silent(data: Data) -> str:
    told = [
        f"{'with' if p['adversary'] else 'without'} the adversary the intent is named for {interval(p['task'])} and "
        f"the city for {interval(worst(p))}"
        for p in points(data, SILENT)
    ]
    return f"Without noise, {' and '.join(told)}."


def _published(data: Data) -> str:
    """Say what the published sampler keeps at the least bound."""
    least = min(data["sizes"]["epsilons"])
    held = [p for p in points(data, *LEARNED, adversary=False) if p["epsilon"] == least]
    told = "; ".join(f"{called(p)}: intent {interval(p['task'])}, city {interval(worst(p))}" for p in held)
    return (
        f"As published and without the adversary, with epsilon at most {least:g}: {told}. The loss of both is infinite."
    )


def _corrected(data: Data) -> str:
    """Say from which epsilon on anything is left by Laplace noise."""
    majority = data["facts"]["majority"]
    told = []
    for name, what in (("task", "the intent"), ("city", "the city")):
        found = [
            p["spent"]
            for p in points(data, FIXED, adversary=False)
            if above(p["task"] if name == "task" else worst(p), majority[name])
        ]
        told.append(f"{what} from epsilon {min(found):g} on" if found else f"{what} at no epsilon tried")
    return (
        f"Corrected and without the adversary, Laplace noise leaves {' and '.join(told)} better named than blindly; "
        f"the representation has {data['sizes']['dimensions']} dimensions."
    )


def _adversary(data: Data) -> str:
    """Say what keeps the city hidden: the game, or the noise."""
    majority = data["facts"]["majority"]["city"]
    zeros = {p["adversary"]: p for p in points(data, ZEROED) if p["epsilon"] == min(data["sizes"]["epsilons"])}
    with_, without = worst(zeros[True]), worst(zeros[False])
    return (
        f"As published with zeros, at the least bound, the better of two attackers names the city for "
        f"{interval(without)} without the adversary and {interval(with_)} with it (blindly {100 * majority:.1f} %). "
        "What the adversary hides it hides without any guarantee."
    )


def _identified(data: Data) -> str:
    least = min(data["sizes"]["epsilons"])
    told = []
    for way in (*LEARNED, FIXED):
        (held,) = (p for p in points(data, way, adversary=True) if p["epsilon"] == least)
        told.append(
            f"{called(held)}: {interval(held['found'])}, where the claim permits "
            f"{100 * held['found']['permitted']:.2g} %, and the city for {interval(held['city, texts listed'])}"
        )
    return (
        "With the adversary, who knows encoder and noise and lists all tested texts finds the one released, by noise: "
        f"{'; '.join(told)}."
    )


def details(data: Data) -> str:
    """Return every point as a markdown table."""
    lines = [
        f"| {' | '.join(_HEAD)} |",
        f"|{'---|' * len(_HEAD)}",
    ]
    for p in data["points"]:
        noisy = p["spent"] is not None
        cells = [
            p["way"],
            "yes" if p["adversary"] else "no",
            f"{p['epsilon']:g}" if noisy else "",
            f"{p['spent']:.4g}" if noisy else "",
            interval(p["task"]),
            interval(p["city"]),
            interval(p["city, law known"]),
            interval(p["city, texts listed"]),
            interval(p["found"]),
            f"{100 * p['found']['permitted']:.3g} %" if noisy else "",
            f"{p['exact']['status']}, {p['exact']['epsilon']:.4g}" if noisy else "",
            f"{p['audit']['least']:.3g}" if noisy else "",
            p["audit"]["status"] if noisy else "",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
