"""The statements of the paper beside the results, and the findings."""

import math
from collections.abc import Callable

from deniable.published.truncated_gumbel.mechanism import compute_min_epsilon
from deniable.studies.gumbel.curves import HALF, TITLES, at_half, points
from deniable.studies.gumbel.vocabularies import published_bound
from deniable.studies.study import Comparison, Data

PAPER = {"IMDB": (48_210, 0.2208, 4.67, 20.0), "NLI": (11_673, 0.2263, 4.52, 17.5)}
"""The paper's |W|, Delta0, first ln epsilon of Table 2 and largest S_w; its NLI is SNLI."""
_PUBLISHED_SHARE = 0.367
_NEARLY = 0.9
"""Share of the runs that counts as nearly all of them."""
_NEAR = 2.5
"""How far a largest S_w read off a figure may lie from ours."""


def _both(data: Data, say: Callable[[str], str]) -> str:
    """Return what is to be said of each vocabulary."""
    return "; ".join(f"{name}: {say(name)}" for name in (facts["vocabulary"] for facts in data["vocabularies"]))


def _halves(data: Data) -> str:
    """Return S_w at half of the runs for every vocabulary and mechanism where it is known."""

    def say(name: str) -> str:
        found = ((title, at_half(data, name, mechanism)) for mechanism, title in TITLES.items())
        return ", ".join(f"{title} {value:.3g}" for title, value in found if value is not None)

    return _both(data, say)


def _gumbel(data: Data) -> list[Data]:
    return [p for p in data["points"] if p["mechanism"] == "truncated-gumbel"]


def table(data: Data) -> tuple[Comparison, ...]:
    """Return the paper's statements and ours."""
    return (
        _sizes(data), _laplace(data), _largest(data), _insensitive(data), _narrower(data),
        _kept(data), _bounds(data), _theorem(data),
    )  # fmt: skip


def _sizes(data: Data) -> Comparison:
    def say(facts: Data) -> str:
        nearest = " and ".join(facts["nearest words"])
        return (
            f"{facts['vocabulary']}: {facts['words']:,} words, Delta0 = {facts['Delta0']:.4f} ({nearest}), "
            f"Delta = {facts['Delta']:.2f}"
        )

    return Comparison(
        "Vocabularies of 48,210 (IMDB) and 11,673 words (SNLI) with GloVe, 300 dimensions; Delta0 = .2208 and .2263 "
        "(Appendix A).",
        f"{'; '.join(map(say, data['vocabularies']))}. Other words: the file of vectors holds 33,860 frequent ones, "
        "without the rare spellings that lie closest together in GloVe; MultiNLI stands in for most of SNLI's training "
        "set.",
        "does not agree",
    )


def _laplace(data: Data) -> Comparison:
    def say(name: str) -> str:
        found = points(data, name, "multivariate-laplace")
        first, last = found[0], found[-1]
        return (
            f"S_w from {first['S']['mean']:.0f} to {last['S']['mean']:.0f}, N_w from {first['N']['mean']:.1f} to "
            f"{last['N']['mean']:.0f} (epsilon {first['epsilon']:g} to {last['epsilon']:g})"
        )

    curves = [points(data, facts["vocabulary"], "multivariate-laplace") for facts in data["vocabularies"]]
    opposite = all(c[0]["N"]["mean"] < c[-1]["N"]["mean"] and c[0]["S"]["mean"] > c[-1]["S"]["mean"] for c in curves)
    whole = all(c[0]["S"]["mean"] > _NEARLY * data["runs"] and c[-1]["largest S"] == 1 for c in curves)
    return Comparison(
        "Multivariate Laplace: S_w decreases from 1,000 to 0, N_w shows the opposite trend (Section 6.5, Figures 1a, "
        "1b).",
        f"{_both(data, say)}. The word itself counts among the outputs here, which makes the last 0 a 1; and a few "
        "words lie near the noise of all others, so that the runs repeat them even at epsilon 1.",
        ("agrees" if whole else "agrees in part") if opposite else "does not agree",
    )


def _largest(data: Data) -> Comparison:
    def most(name: str) -> float:
        return max(float(p["S"]["mean"]) for p in points(data, name, "truncated-gumbel"))

    def say(name: str) -> str:
        largest = max(p["largest S"] for p in points(data, name, "truncated-gumbel"))
        return f"mean S_w at most {most(name):.1f}, largest S_w of any word {largest}"

    near = all(
        abs(most(facts["vocabulary"]) - PAPER[facts["vocabulary"]][3]) <= _NEAR for facts in data["vocabularies"]
    )
    return Comparison(
        "Truncated Gumbel: the maximum amount of distinct substitutions one word can have is around 20 on IMDB and "
        "17.5 on SNLI (Section 6.5).",
        f"{_both(data, say)}, the word itself included. As means; it is no maximum, since any word is an output of any "
        "other, with k = n.",
        "agrees in part" if near else "does not agree",
    )


def _insensitive(data: Data) -> Comparison:
    def ends(name: str) -> tuple[Data, Data]:
        first, *others = points(data, name, "truncated-gumbel")
        return first, [p for p in (first, *others) if abs(p["N"]["mean"] - first["N"]["mean"]) < 0.1 * data["runs"]][-1]

    def say(name: str) -> str:
        first, still = ends(name)
        laplace = points(data, name, "multivariate-laplace")
        return (
            f"N_w goes from {first['N']['mean']:.0f} to {still['N']['mean']:.0f} between epsilon "
            f"{first['epsilon']:.3g} and {still['epsilon']:.3g}, under multivariate Laplace from "
            f"{laplace[0]['N']['mean']:.0f} to {laplace[-1]['N']['mean']:.0f} between "
            f"{laplace[0]['epsilon']:g} and {laplace[-1]['epsilon']:g}"
        )

    pairs = [ends(facts["vocabulary"]) for facts in data["vocabularies"]]
    return Comparison(
        "A minor increase or decrease in epsilon does not influence the substitutions of truncated Gumbel, hence the "
        "logarithm (Section 6.5).",
        f"{_both(data, say)}. It is the natural logarithm: exp(4.67) is the paper's bound of 106.7 on IMDB.",
        "agrees" if all(still["epsilon"] > 2 * first["epsilon"] for first, still in pairs) else "does not agree",
    )


def _narrower(data: Data) -> Comparison:
    narrower = all(
        (at_half(data, facts["vocabulary"], "truncated-gumbel") or math.inf)
        < (at_half(data, facts["vocabulary"], "multivariate-laplace") or 0.0)
        for facts in data["vocabularies"]
    )
    return Comparison(
        "At the same N_w, multivariate Laplace has a much broader range of substitutions than truncated Gumbel "
        "(Section 6.5, Figure 2).",
        f"Mean S_w at N_w = {HALF * data['runs']:.0f}, interpolated: {_halves(data)}.",
        "agrees" if narrower else "does not agree",
    )


def _kept(data: Data) -> Comparison:
    first = {
        facts["vocabulary"]: points(data, facts["vocabulary"], "truncated-gumbel")[0] for facts in data["vocabularies"]
    }
    lowest = [p["least share kept"] for p in first.values() if p["least share kept"] is not None]
    return Comparison(
        "Truncated Gumbel keeps a word with probability at least 36.7 %, however close the next one (Appendix C).",
        "At the least epsilon, "
        + _both(data, lambda name: f"mean N_w {first[name]['N']['mean']:.0f} of {data['runs']:,}")
        + (f", least expected share of any word {100 * min(lowest):.1f} %" if lowest else "")
        + ". The proof asks the word to beat one neighbour; it has to beat all k - 1.",
        "does not agree" if lowest and min(lowest) < _PUBLISHED_SHARE else "agrees",
    )


def _bounds(data: Data) -> Comparison:
    def theirs(name: str) -> str:
        count, separation, log, _ = PAPER[name]
        return (
            f"{published_bound(count, separation):.1f} against {compute_min_epsilon(count, separation):.1f} "
            f"(their first epsilon {math.exp(log):.1f})"
        )

    ours = "; ".join(
        f"{facts['vocabulary']} {facts['least epsilon as published']:.1f} against {facts['least epsilon']:.1f}"
        for facts in data["vocabularies"]
    )
    return Comparison(
        "The mechanism is defined for epsilon above 2 (1 + ln n) / Delta0: 106.73 on IMDB, 91.604 on SNLI "
        "(Appendix A).",
        f"The scale b is positive only above (5 + 2 ln n) / Delta0. For the paper's numbers: "
        f"{'; '.join(f'{name} {theirs(name)}' for name in PAPER)}: the first columns of Table 2 stand for a scale that "
        f"is negative or undefined. Here: {ours}.",
        "does not agree",
    )


def _theorem(data: Data) -> Comparison:
    def say(name: str) -> str:
        broken = [p for p in points(data, name, "truncated-gumbel") if p["claim"] == "refuted"]
        if not broken:
            return "no violation found"
        worst = max(broken, key=lambda p: p["spent"] / p["epsilon"])
        return (
            f"refuted at {len(broken)} points, up to epsilon {broken[-1]['epsilon']:.4g}; where {worst['epsilon']:.4g} "
            "is claimed, at least "
            f"{worst['spent']:.4g} is spent"
        )

    refuted = any(p["claim"] == "refuted" for p in _gumbel(data))
    return Comparison(
        "Truncated Gumbel is epsilon-metric-DP for every epsilon that it is defined for (Theorem 1).",
        f"{_both(data, say)}. For a word to win, all words nearer to the input must lose: the probability falls "
        "exponentially with their number, not with the distance alone.",
        "does not agree" if refuted else "agrees in part",
    )


def findings(data: Data) -> tuple[str, ...]:
    """Return the lines to read first."""
    broken = [p for p in _gumbel(data) if p["claim"] == "refuted"]
    lines = [
        f"mean number of outputs S_w where a word stays in half of the runs: {_halves(data)}",
        f"truncated Gumbel's claim is refuted at {len(broken)} of {len(_gumbel(data))} points, all of them near the "
        "least epsilon" if broken else f"truncated Gumbel's claim is not refuted at any of {len(_gumbel(data))} points",
    ]  # fmt: skip
    lines += [
        f"{facts['vocabulary']}: {facts['words']:,} words, Delta0 = {facts['Delta0']:.4f}, least epsilon "
        f"{facts['least epsilon']:.4g} ({facts['least epsilon as published']:.4g} as published)"
        for facts in data["vocabularies"]
    ]
    return tuple(lines)
