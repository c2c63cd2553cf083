"""What the papers lead one to expect beside what comes out, and the findings."""

from collections.abc import Callable

import numpy as np

from deniable.studies.study import Comparison, Data, Outcome
from deniable.studies.utility.bench import BASELINE, LAPLACE
from deniable.studies.utility.words import interval

_EPSILONS = (1.5, 2.0, 2.5, 3.0)
_CLAIMS = (2.0, 4.0, 6.0)
_SUCCESSES = (0.2, 0.4, 0.6, 0.8)
_ALIKE = 0.02
"""Difference of two accuracies up to which mechanisms are said to be alike."""


_AXES: dict[str, Callable[[Data], float]] = {
    "claim": lambda p: float(p["epsilon"]),
    "epsilon": lambda p: float(p["proven epsilon"]),
    "success": lambda p: float(p["attacker"]["value"]),
}


def at(data: Data, name: str, axis: str, where: float) -> float | None:
    """Return the accuracy after a mechanism at a claimed or proven epsilon or a success, by straight lines.

    None outside its points.
    """
    points = [p for p in data["points"] if p["mechanism"] == name and (axis != "epsilon" or p["status"] == "proved")]
    pairs = sorted((_AXES[axis](p), p["accuracy"]["mean"]) for p in points)
    if not pairs or not pairs[0][0] <= where <= pairs[-1][0]:
        return None
    found, accuracies = np.array(pairs).T
    return float(np.interp(where, found, accuracies))


def _compared(
    data: Data, one: str, other: str, axis: str, places: tuple[float, ...]
) -> list[tuple[float, float, float]]:
    """Return (place, accuracy after one, accuracy after the other) wherever both are known."""
    found = [(place, at(data, one, axis, place), at(data, other, axis, place)) for place in places]
    return [(place, x, y) for place, x, y in found if x is not None and y is not None]


def _listed(found: list[tuple[float, float, float]], unit: str) -> str:
    if not found:
        return "no point at which both are known"
    shown = [f"{100 * x:.1f} against {100 * y:.1f} % at {_place(place, unit)}" for place, x, y in found]
    return "; ".join(shown)


def _place(place: float, unit: str) -> str:
    return f"{100 * place:.0f} % named" if unit == "success" else f"epsilon {place:g}"


def _ahead(found: list[tuple[float, float, float]]) -> Outcome:
    wins = sum(x > y + _ALIKE for _, x, y in found)
    return "agrees" if found and wins == len(found) else "agrees in part" if wins else "does not agree"


def _alike(found: list[tuple[float, float, float]]) -> Outcome:
    close = sum(abs(x - y) <= _ALIKE for _, x, y in found)
    return "agrees" if found and close == len(found) else "agrees in part" if close else "does not agree"


def table(data: Data) -> tuple[Comparison, ...]:
    """Return the statements and ours; the first of two mechanisms is the one that a statement prefers."""
    tem_claim = _compared(data, "tem", LAPLACE, "claim", _CLAIMS)
    tem_guess = _compared(data, "tem", LAPLACE, "success", _SUCCESSES)
    gumbel = _compared(data, "truncated-gumbel", LAPLACE, "success", _SUCCESSES)
    claimed = _compared(data, "calibrated", "tem", "claim", _EPSILONS)
    proven = _compared(data, "calibrated", "tem", "epsilon", _EPSILONS)
    tight = _compared(data, "tight", "calibrated", "epsilon", _EPSILONS)
    level = _compared(data, "tight", "calibrated", "success", _SUCCESSES)
    return (
        Comparison(
            "At the same epsilon TEM gives more utility than multivariate Laplace (TEM paper, Figure 1a).",
            f"{_listed(tem_claim, 'claim')}.",
            _ahead(tem_claim),
        ),
        Comparison(
            "TEM adds less noise where words are dense, and so gives better utility (TEM paper, 4.1).",
            f"At the same attacker's success: {_listed(tem_guess, 'success')}.",
            _ahead(tem_guess),
        ),
        Comparison(
            "Truncated Gumbel preserves meaning better than multivariate Laplace (Xu et al., contributions).",
            f"At the same attacker's success: {_listed(gumbel, 'success')}.",
            _ahead(gumbel),
        ),
        Comparison(
            "Expected here: at the epsilon of each mechanism's own theorem calibrated gives more than TEM.",
            f"{_listed(claimed, 'epsilon')}.",
            _ahead(claimed),
        ),
        Comparison(
            "Expected here: at the epsilon that is computed the two, one family of laws, are alike within 2 points.",
            f"{_listed(proven, 'epsilon')}.",
            _alike(proven),
        ),
        Comparison(
            "Expected here: at the epsilon that is computed tight gives more than calibrated.",
            f"{_listed(tight, 'epsilon')}.",
            _ahead(tight),
        ),
        Comparison(
            "Expected here: at the same attacker's success tight and calibrated are alike, within 2 points.",
            f"{_listed(level, 'success')}.",
            _alike(level),
        ),
    )


def findings(data: Data) -> tuple[str, ...]:
    """Return the few lines to read first."""
    baseline = next(p for p in data["points"] if p["mechanism"] == BASELINE)["accuracy"]["mean"]
    lines = [f"Trained on the original text the classifier is right on {100 * baseline:.1f} %."]
    for axis, places in (("epsilon", _EPSILONS), ("success", _SUCCESSES)):
        for place in places:
            known = {
                name: at(data, name, axis, place)
                for name in dict.fromkeys(p["mechanism"] for p in data["points"])
                if name != BASELINE
            }
            shown = ", ".join(f"{name} {100 * value:.1f} %" for name, value in known.items() if value is not None)
            if shown:
                lines.append(f"At {_where(place, axis)}, by straight lines between points: {shown}.")
    return tuple(lines)


def _where(place: float, axis: str) -> str:
    return f"an attacker's success of {100 * place:.0f} %" if axis == "success" else f"a proven epsilon of {place:g}"


def details(data: Data) -> str:
    """Return every point as a markdown table."""
    lines = ["| mechanism | claimed epsilon | spent | attacker | kept | accuracy |", "|---|---|---|---|---|---|"]
    for found in data["points"]:
        cells = [found["mechanism"], "", "", "", "", interval(found["accuracy"])]
        if found["epsilon"] is not None:
            shares = (found["attacker"]["value"], found["words kept"])
            cells[1:5] = [f"{found['epsilon']:g}", _spent(found), *(f"{100 * s:.1f} %" for s in shares)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _spent(found: Data) -> str:
    """Return what is known of the epsilon that a mechanism spends in truth."""
    if found["status"] == "proved":
        return f"{found['proven epsilon']:.4g}"
    return f"at least {found['at least']:.4g}, {found['status']}"
