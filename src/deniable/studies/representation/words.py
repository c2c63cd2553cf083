"""The statements of both papers beside the results, and the findings."""

import math

from deniable.studies.representation.plan import FIXED, LEARNED, NOISY, PUBLISHED, SILENT, ZEROED
from deniable.studies.study import Comparison, Data, Outcome

HABERNAL, BEIGI = "Habernal 2022", "Beigi et al. 2019"


def points(data: Data, *ways: str, adversary: bool | None = None) -> list[Data]:
    """Return what came of some ways to make noise, with or without the adversary, or both."""
    return [p for p in data["points"] if p["way"] in ways and adversary in {None, p["adversary"]}]


def interval(found: Data) -> str:
    """Return a share in percent with its interval."""
    return f"{100 * found['value']:.1f} % ({100 * found['low']:.1f} to {100 * found['high']:.1f})"


def worst(point: Data) -> Data:
    """Return what the better of the two attackers of the city names."""
    found: Data = max(point["city"], point["city, law known"], key=lambda one: one["value"])
    return found


def above(found: Data, majority: float) -> bool:
    """Say whether a share is above a blind guess for sure."""
    return bool(found["low"] > majority)


def called(point: Data) -> str:
    """Return a way with its epsilon, learned or fixed."""
    if point["spent"] is None:
        return str(point["way"])
    return f"{point['way']}, epsilon {'learned' if point['way'] in LEARNED else 'fixed'} {point['spent']:.3g}"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _outcome(right: int, of: int) -> Outcome:
    return "agrees" if of and right == of else "agrees in part" if right else "does not agree"


def table(data: Data) -> tuple[Comparison, ...]:
    """Return the statements and what this run says of each."""
    rows = (_draws, _never_below, _infinite, _too_good, _laplace, _learned, _private, _hidden, _useful)
    return tuple(row(data) for row in rows)


def _draws(data: Data) -> Comparison:
    missing, negative = data["draws"]["missing"], data["draws"]["negative"]
    right = [missing["low"] <= 0.5 <= missing["high"], negative == 0]  # noqa: PLR2004 - a half
    return Comparison(
        f"{HABERNAL}, Theorem 3.1: with u from (0, 1) the transform is no inverse distribution function; it gives "
        "positive numbers or NaN only, half of them NaN.",
        f"Of {missing['count']:,} draws {interval(missing)} are NaN, and {negative} are negative.",
        _outcome(sum(right), 2),
    )


def _never_below(data: Data) -> Comparison:
    held = points(data, *LEARNED)
    least = max(p["below"] for p in held)
    zeros = [p["unchanged"] for p in points(data, ZEROED)]
    normal = [p["below"] for p in points(data, FIXED)]
    return Comparison(
        f"{HABERNAL}, Section 3.3: whether NaN is replaced by zero or drawn again, no negative value is obtained.",
        f"Of the coordinates released as published {100 * least:.3g} % lie below their input; corrected, "
        f"{100 * min(normal):.1f} to {100 * max(normal):.1f} %. With zeros {100 * min(zeros):.1f} to "
        f"{100 * max(zeros):.1f} % are the input itself.",
        _outcome(int(least == 0), 1),
    )


def _infinite(data: Data) -> Comparison:
    held = points(data, *LEARNED)
    endless = sum(math.isinf(p["exact"]["epsilon"]) and p["exact"]["status"] == "refuted" for p in held)
    seen = [p for p in held if p["audit"]["status"] == "refuted"]
    found = [p for p in held if p["found, least"] > p["spent"]]
    most = max((p["spent"] for p in [*seen, *found]), default=0.0)
    return Comparison(
        f"{HABERNAL}, Theorem 3.2: DPText is not differentially private, its loss is infinite.",
        f"Infinite by its law for {endless} of {len(held)} trained models. By samples alone, audits of two texts "
        f"refute {len(seen)} of the {len(held)} claims and texts found by their vectors {len(found)}, up to a claim of "
        f"{most:.3g}; samples reach no farther than about the logarithm of their number.",
        _outcome(endless, len(held)),
    )


def _too_good(data: Data) -> Comparison:
    """Compare the task at the least epsilon."""
    majority, least = data["facts"]["majority"]["task"], min(data["sizes"]["epsilons"])
    held = [p for p in points(data, *NOISY, adversary=True) if p["epsilon"] == least]
    told = "; ".join(f"{called(p)}: {interval(p['task'])}" for p in held)
    good = [p for p in held if p["way"] in LEARNED and above(p["task"], majority)]
    mended = [p for p in held if p["way"] == FIXED and not above(p["task"], majority)]
    return Comparison(
        f"{HABERNAL}, Section 1: the downstream results of DPText look too good to be true for such low epsilon.",
        f"{told}; blindly {100 * majority:.1f} %.",
        "does not agree" if not good or not mended else "agrees" if len(good) == len(LEARNED) else "agrees in part",
    )


def _laplace(data: Data) -> Comparison:
    held = points(data, FIXED)
    proved = sum(p["exact"]["status"] == "proved" for p in held)
    beyond = sum(p["audit"]["least"] > p["spent"] or p["found, least"] > p["spent"] for p in held)
    return Comparison(
        f"{HABERNAL}, Section 5: all empirical losses of the Laplace mechanism are bounded by epsilon.",
        f"Corrected, {proved} of {len(held)} claims are proved from the law, and {beyond} are refuted by samples.",
        _outcome(int(proved == len(held)) + int(beyond == 0), 2),
    )


def _learned(data: Data) -> Comparison:
    held = points(data, *LEARNED)
    shares = [p["spent"] / p["epsilon"] for p in held]
    grown = sum(s > data["first"] for s in shares)
    below = sum(s < 1 for s in shares)
    return Comparison(
        f"{BEIGI}: epsilon is learned with the network, below a bound.",
        f"From {100 * data['first']:.0f} % of its bound it goes to {100 * min(shares):.0f} to "
        f"{100 * max(shares):.0f} %, and rises in {grown} of {len(held)} trainings. It is a function of the training "
        "texts, released without noise.",
        _outcome(below, len(held)),
    )


def _private(data: Data) -> Comparison:
    held = points(data, *LEARNED, adversary=True)
    most = max(held, key=lambda p: float(p["found"]["value"]))
    refuted = sum(p["exact"]["status"] == "refuted" for p in held)
    return Comparison(
        f"{BEIGI}, abstract: the representation is differentially private.",
        f"{_capital(called(most))}: who knows encoder and noise finds {interval(most['found'])} of the texts among "
        f"{most['candidates']:,}, where the claim permits {100 * most['found']['permitted']:.3g} %. The claim "
        f"is refuted for {refuted} of {len(held)} models.",
        _outcome(len(held) - refuted, len(held)),
    )


def _hidden(data: Data) -> Comparison:
    majority = data["facts"]["majority"]["city"]
    held = points(data, *LEARNED, adversary=True)
    alone = points(data, SILENT, adversary=True)[0]
    open_ = [p for p in held if above(worst(p), majority)]
    hidden = [p for p in held if p not in open_ and not above(p["city, texts listed"], majority)]
    most = max(held, key=lambda p: float(worst(p)["value"]))
    listed = max(held, key=lambda p: float(p["city, texts listed"]["value"]))
    return Comparison(
        f"{BEIGI}, abstract: the representation does not contain private information.",
        f"An attacker who learns from released vectors names the city better than blindly ({100 * majority:.1f} %) for "
        f"{len(open_)} of {len(held)} models, at most {interval(worst(most))}; without any noise the adversary leaves "
        f"{interval(worst(alone))}. One who lists the texts that it could be names it for "
        f"{interval(listed['city, texts listed'])} ({called(listed)}).",
        _outcome(len(hidden), len(held)),
    )


def _useful(data: Data) -> Comparison:
    majority = data["facts"]["majority"]["task"]
    held = points(data, *LEARNED, adversary=True)
    good = [p for p in held if above(p["task"], majority)]
    silent = points(data, SILENT, adversary=True)[0]
    most = max(held, key=lambda p: float(p["task"]["value"]))
    drowned = [f"{p['spent']:.3g}: {100 * p['task']['value']:.1f} %" for p in points(data, PUBLISHED, adversary=True)]
    return Comparison(
        f"{BEIGI}, abstract: it retains high utility for the given task.",
        f"The task is named better than blindly ({100 * majority:.1f} %) for {len(good)} of {len(held)} models as "
        f"published, at most {interval(most['task'])}; without noise {interval(silent['task'])}. "
        f"{_capital(PUBLISHED)}, by epsilon: {'; '.join(drowned)}.",
        _outcome(len(good), len(held)),
    )
