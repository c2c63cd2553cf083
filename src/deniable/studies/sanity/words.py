"""The statements of the paper beside the results, and the findings."""

import math

from deniable.studies.sanity.check import chances, deviation
from deniable.studies.sanity.subjects import SUBJECTS
from deniable.studies.study import Comparison, Data

THEIRS: dict[str, dict[int, float]] = {
    "laplace": {1: 0.8325, 2: 0.8999, 8: 0.3653, 32: 0.1570, 64: 0.1075, 128: 0.0744},
    "adept-unclipped": {1: 0.8320, 2: 1.6617, 8: 2.5792, 32: 5.1198, 64: 8.0558, 128: math.inf},
}
"""Estimates at epsilon = 1 in the results file of the code that the paper refers to, to four places."""
_MILLIONS = {1: 10, 2: 10, 8: 10, 32: 1, 64: 1, 128: 1}
"""Their repeats in millions: above n = 16 that code keeps the last of ten runs of a million."""
_FAR = 4.0


def points(data: Data, name: str, epsilon: float | None = None) -> list[Data]:
    """Return the points of one mechanism, at one epsilon or all."""
    return [p for p in data["points"] if p["mechanism"] == name and epsilon in {None, p["epsilon"]}]


def _long(data: Data, name: str) -> list[Data]:
    """Return the points with n > 1: with one coordinate both ADePTs are correct."""
    return [p for p in points(data, name) if p["n"] > 1]


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _infinite(found: list[Data], field: str) -> str:
    return f"{sum(math.isinf(p[field]) for p in found)} of {len(found)}"


def _refuted(found: list[Data]) -> str:
    return f"{sum(p['audit'] == 'refuted' for p in found)} of {len(found)}"


def _flagged(found: list[Data]) -> str:
    return f"{sum(p['published estimate'] > p['epsilon'] for p in found)} of {len(found)}"


def _seen(found: list[Data]) -> str:
    return f"{sum(p['its limit'] > p['epsilon'] for p in found)} of {len(found)}"


def table(data: Data) -> tuple[Comparison, ...]:
    """Return the paper's statements and ours."""
    copy, random, laplace = points(data, "copy"), points(data, "random"), points(data, "laplace")
    stand_in, adept = points(data, "adept-unclipped"), _long(data, "adept")
    redraw, zero = points(data, "dptext-redraw"), points(data, "dptext-zero")
    theirs, finite = deviations(), [p for p in data["points"] if math.isfinite(p["truth"])]
    spent = [p["its limit"] / p["epsilon"] for p in laplace]
    broken = _long(data, "adept-unclipped") + adept
    return (
        Comparison(
            "Copying has no privacy (Figure 1, left).",
            f"Published estimate infinite at {_infinite(copy, 'published estimate')} dimensions; our bound at least "
            f"{min(p['lower bound'] for p in copy):.2f} with {copy[0]['samples']:,} samples.",
            "agrees",
        ),
        Comparison(
            "Outputs drawn whatever the input have no loss (Figure 1, left).",
            f"Published estimate up to {max(p['published estimate'] for p in random):.4f}, true loss 0, our bound up "
            f"to {max(p['lower bound'] for p in random):.4f}. Of the bounds at all {len(finite)} points with a finite "
            f"loss, {sum(p['lower bound'] > p['truth'] for p in finite)} exceed it; at 95 % confidence 1 in 20 may.",
            "agrees",
        ),
        Comparison(
            "Laplace: all empirical losses are bounded by epsilon (Section 5).",
            f"{_flagged(laplace)} estimates exceed epsilon. In the limit they reach {_percent(max(spent))} of epsilon "
            f"at best and {_percent(min(spent))} at worst, while the true loss is epsilon at every n: that says little "
            f"of the mechanism. Our audit refutes {_refuted(laplace)}.",
            "agrees in part" if any(p["published estimate"] > p["epsilon"] for p in laplace) else "agrees",
        ),
        Comparison(
            "ADePT: the loss explodes with the dimension (Section 5, Figure 1).",
            f"That ADePT is x + Lap(1/epsilon), never clipped: true loss epsilon n, estimates up to infinite, "
            f"{_flagged(stand_in)} above epsilon. ADePT as its authors published it clips to a ball: true loss "
            f"epsilon sqrt(n); for n > 1 {_flagged(adept)} estimates are above epsilon, {_seen(adept)} with infinitely "
            f"many repeats.",
            "agrees in part",
        ),
        Comparison(
            "DPText has infinite loss, regardless of the dimension (Theorem 3.2, Section 5).",
            f"True by theorem at every point. Estimates infinite at {_infinite(zero, 'published estimate')} points "
            f"where missing noise is taken as 0, but at {_infinite(redraw, 'published estimate')} where it is drawn "
            f'again (at small epsilon and large n the guess "it was x" is never made). Our audit refutes '
            f"{_refuted(zero)} and {_refuted(redraw)}.",
            "agrees in part",
        ),
        Comparison(
            "10 million repeats give very precise estimates even for small epsilon (Section 4).",
            f"Precise, but with no interval: a correct mechanism whose event is tight, 0.5 (x + noise), is accused in "
            f"{_accused(data, 'half-sum')} of runs, however many repeats. Our audit at 95 % refutes {_audited(data)}.",
            "agrees in part",
        ),
        Comparison(
            "The check detects a mechanism that violates privacy with a fair degree of certainty (Section 4).",
            _blindness(data),
            "agrees in part",
        ),
        Comparison(
            "The numbers themselves: none in the text, but in the results of the code it refers to.",
            f"At epsilon = 1 their {len(theirs)} finite estimates for Laplace and ADePT lie within "
            f'{max(map(abs, theirs)):.1f} standard deviations of our limits, with a tie as "it was x" and, above n = '
            f"16, one million repeats.",
            "agrees" if max(map(abs, theirs)) < _FAR else "does not agree",
        ),
        Comparison(
            "A general check, for any mechanism on real vectors (Section 4).",
            f"Of the {len(broken)} points of both ADePTs with n > 1, all of them broken, the published check sees "
            f"{_seen(broken)} even in the limit, our audit refutes {_refuted(broken)} with "
            f"{min(p['samples'] for p in broken):,} to {max(p['samples'] for p in broken):,} samples.",
            "agrees in part",
        ),
    )


def _accused(data: Data, name: str) -> str:
    shares = [row["flagged"] for row in data["accused"] if row["mechanism"] == name]
    return f"{100 * min(shares):.0f} to {100 * max(shares):.0f} %"


def _audited(data: Data) -> str:
    return ", ".join(f"{row['refuted']} of {row['audits']} audits of {row['mechanism']}" for row in data["audited"])


def _blindness(data: Data) -> str:
    """Return what both say of Laplace noise that spends twice its claim."""
    unseen = [row for row in data["blind"] if row["limit of the published estimate"] <= 1]
    refuted = ", ".join(str(row["n"]) for row in data["blind"] if row["audit"] == "refuted")
    limits = ", ".join(f"{row['limit of the published estimate']:.2f} at n = {row['n']}" for row in data["blind"])
    text = f"Laplace noise that spends 2 where 1 is claimed: the estimate tends to {limits}"
    if unseen:
        text += f"; from n = {unseen[0]['n']} on no number of repeats shows it"
    return f"{text}. Our audit refutes it at n = {refuted or 'none'}."


def deviations() -> list[float]:
    """Return how far their finite estimates lie from our limits, in standard deviations of their own repeats."""
    laws = {subject.name: subject.coordinate for subject in SUBJECTS}
    found = []
    for name, estimates in THEIRS.items():
        for n, theirs in estimates.items():
            one, other = chances(laws[name](1.0, n), n)
            if math.isfinite(theirs):
                found.append((theirs - math.log(other / one)) / deviation(one, other, _MILLIONS[n] * 10**6))
    return found


def findings(data: Data) -> tuple[str, ...]:
    """Return the lines to read first."""
    adept, redraw = _long(data, "adept"), points(data, "dptext-redraw")
    accused = (
        f"published check: accuses a correct mechanism in {_accused(data, 'half-sum')} of runs where its event is "
        f"tight; our audit refuted {_audited(data)}"
    )
    clipped = (
        f"ADePT as published (l2 clip), n > 1: above epsilon at {_seen(adept)} points even with infinitely many "
        f"repeats; our audit refutes {_refuted(adept)}"
    )
    dptext = (
        f"DPText: infinite by theorem; published estimate infinite at {_infinite(redraw, 'published estimate')} points "
        f"where missing noise is drawn again; our audit refutes {_refuted(redraw)}"
    )
    return accused, _blindness(data), clipped, dptext
