"""The statements of the TEM paper beside the results, and the findings."""

from deniable.studies.study import Comparison, Data, Outcome

_MADLIB, _TEM, _AUTO = "multivariate-laplace", "tem", "auto"
_HEADLINE = 2.0
_CLOSE = 0.03
"""Difference of two accuracies or areas up to which they are said to agree."""
_ROUNDED = 0.01
"""Difference of two areas that two decimals hardly show."""
_MEANS_NOTHING = 4.0
"""Epsilon from which on the paper calls the formal level of privacy not significant."""


def point(data: Data, name: str, epsilon: float | None) -> Data:
    """Return what came of one mechanism at one epsilon."""
    found: Data = next(p for p in data["points"] if (p["mechanism"], p["epsilon"]) == (name, epsilon))
    return found


def interval(found: Data, digits: int = 1) -> str:
    """Return a share in percent with its interval over trials."""
    return f"{100 * found['mean']:.{digits}f} % ({100 * found['low']:.{digits}f} to {100 * found['high']:.{digits}f})"


def area(found: Data) -> str:
    """Return an AUC with its interval over trials."""
    return f"{found['mean']:.3f} ({found['low']:.3f} to {found['high']:.3f})"


def _near(found: float, said: float) -> Outcome:
    return "agrees" if abs(found - said) <= _CLOSE else "does not agree"


def table(data: Data) -> tuple[Comparison, ...]:
    """Return the paper's statements and ours."""
    baseline = next(p for p in data["points"] if p["epsilon"] is None)
    madlib, tem = (point(data, name, _HEADLINE) for name in (_MADLIB, _TEM))
    epsilons = sorted({p["epsilon"] for p in data["points"] if p["epsilon"] is not None})
    gains = {
        e: point(data, _TEM, e)["accuracy"]["mean"] - point(data, _MADLIB, e)["accuracy"]["mean"] for e in epsilons
    }
    ahead = [
        e for e in epsilons if point(data, _TEM, e)["accuracy"]["low"] > point(data, _MADLIB, e)["accuracy"]["high"]
    ]
    late = [e for e in epsilons if e >= _MEANS_NOTHING]
    less = [e for e in late if point(data, _MADLIB, e)["AUC"]["mean"] < point(data, _TEM, e)["AUC"]["mean"]]
    return (
        Comparison(
            "The baseline, trained on original text, is near 88 % (Figure 1a).",
            f"{interval(baseline['accuracy'])}; AUC {area(baseline['AUC'])}.",
            _near(baseline["accuracy"]["mean"], 0.88),
        ),
        Comparison(
            "At epsilon 2 Madlib has an average accuracy of 52 %.",
            f"{interval(madlib['accuracy'])}; {100 * madlib['words kept']:.2g} % of words are kept.",
            _near(madlib["accuracy"]["mean"], 0.52),
        ),
        Comparison(
            "At epsilon 2 TEM has an average accuracy of 75 %.",
            f"{interval(tem['accuracy'])}; {100 * tem['words kept']:.2g} % of words are kept.",
            _near(tem["accuracy"]["mean"], 0.75),
        ),
        Comparison(
            "At epsilon 2 the attack has an AUC of 0.50 against both.",
            f"Madlib {area(madlib['AUC'])}, TEM {area(tem['AUC'])}; with private records "
            f"{area(madlib['AUC, private records'])} and {area(tem['AUC, private records'])}.",
            "agrees" if max(abs(p["AUC"]["mean"] - 0.5) for p in (madlib, tem)) <= _ROUNDED else "does not agree",
        ),
        Comparison(
            "At the same epsilon TEM outperforms Madlib significantly (Figure 1a).",
            f"TEM is ahead, by intervals that do not touch, at {len(ahead)} of {len(epsilons)}, by "
            f"{100 * max(gains.values()):.1f} points at most.",
            "agrees" if len(ahead) == len(epsilons) else "agrees in part" if ahead else "does not agree",
        ),
        Comparison(
            "From epsilon 4 on Madlib still has some empirical privacy: its AUC is below TEM's (Figure 1b).",
            f"It is below at {len(less)} of {len(late)} such epsilons.",
            "agrees" if late and len(less) == len(late) else "agrees in part" if less else "does not agree",
        ),
    )


def findings(data: Data) -> tuple[str, ...]:
    """Return the few lines to read first."""
    tem, best = point(data, _TEM, _HEADLINE), point(data, _AUTO, _HEADLINE)
    private = [p for p in data["points"] if p["epsilon"] is not None]
    worst = max(private, key=lambda p: p["AUC, private records"]["mean"])
    seen = max(private, key=lambda p: p["AUC"]["mean"])
    proven = " and ".join(
        f"{p['called']} {interval(p['accuracy'])} at a proven epsilon of {p['proven epsilon']:.3g}" for p in (tem, best)
    )
    guessed = " and ".join(f"{100 * p['attacker']['value']:.1f} % after {p['called']}" for p in (tem, best))
    told = (
        f"With original records the AUC of the attack on private models is at most {area(seen['AUC'])} "
        f"({seen['mechanism']}, epsilon {seen['epsilon']:g})."
    )
    most = (
        f"With their private records it reaches {area(worst['AUC, private records'])} ({worst['mechanism']}, epsilon "
        f"{worst['epsilon']:g})."
    )
    return (
        f"At a claimed epsilon of {_HEADLINE:g}: {proven}.",
        f"There the best guesser names {guessed} of the words.",
        f"{told} {most}",
    )


def details(data: Data) -> str:
    """Return every point as a markdown table."""
    lines = [
        "| mechanism | epsilon | proven | attacker | kept | accuracy | AUC | AUC, private |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for found in sorted(data["points"], key=lambda p: (p["mechanism"], p["epsilon"] or 0.0)):
        cells = [found["mechanism"], "", "", "", "", interval(found["accuracy"]), area(found["AUC"]), ""]
        if found["epsilon"] is not None:
            shares = (found["attacker"]["value"], found["words kept"])
            cells[1:5] = [
                f"{found['epsilon']:g}",
                f"{found['proven epsilon']:.4g}",
                *(f"{100 * s:.1f} %" for s in shares),
            ]
            cells[-1] = area(found["AUC, private records"])
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
