"""The statements of the papers beside the results."""

import math

from deniable.studies.rewriting.plan import L1, PUBLISHED, TITLES, TRUE
from deniable.studies.rewriting.series import audit, cells, distance, percent, plain, refutations, top
from deniable.studies.study import Comparison, Data, Outcome

_NEARLY_ALL, _HALF = 0.99, 0.5
_SMALL = 32
"""The encoder's dimension that the paper calls very small."""
_FACTOR = 6
_SMALL_CLAIM = 10.0
"""An epsilon up to which a claim says something of a corpus of some thousand texts."""


def table(data: Data) -> tuple[Comparison, ...]:
    """Return the papers' statements and ours, those that the sizes of the run reach."""
    rows = [
        _sensitivity(data),
        _factor(data),
        _shares(data),
        _claim(data),
        _ranking(data),
        _proposals(data),
        _growth(data),
        _remedies(data),
        _promising(data),
    ]
    return tuple(row for row in rows if row is not None)


def outcome(*right: bool) -> Outcome:
    """Say of checks whether all, some or none of them hold."""
    return "agrees" if all(right) else "agrees in part" if any(right) else "does not agree"


def _sensitivity(data: Data) -> Comparison | None:
    grown = next((found for found in data["grown"] if found["n"] == data["sizes"]["latent"]), None)
    if grown is None:
        return None
    n = grown["n"]
    return Comparison(
        "The sensitivity of the clip is 2C sqrt(n), not 2C (Habernal 2021, Theorem 5.1).",
        f"At n = {n} the exact loss over all vectors is {grown['exact']:.4g} where {grown['claim']:g} is claimed, "
        f"sqrt({n}) = {math.sqrt(n):.4g} times. Of the texts of ATIS, the two farthest lie {grown['ratio']:.3g} times "
        f"2C apart, and lose as many epsilon.",
        outcome(abs(grown["exact"] / grown["claim"] / math.sqrt(n) - 1) < 1e-6, grown["ratio"] > 1),  # noqa: PLR2004 - of rounding
    )


def _factor(data: Data) -> Comparison | None:
    grown = next((found for found in data["grown"] if found["n"] == _SMALL), None)
    if grown is None:
        return None
    return Comparison(
        "The true sensitivity is higher by at least factor 6 in an optimistic case of a very small encoder's "
        "dimension, 32 (Habernal 2021, abstract and Section 5).",
        f"sqrt(32) = {math.sqrt(_SMALL):.3g} over all vectors: the 6 is rounded up. Of an encoder of ATIS with "
        f"n = 32, the two farthest texts reach {grown['ratio']:.3g}, the median two {grown['median ratio']:.3g}.",
        outcome(math.sqrt(_SMALL) >= _FACTOR, grown["ratio"] > 1),
    )


def _shares(data: Data) -> Comparison | None:
    found = distance(data, PUBLISHED)
    if found is None:
        return None
    share = found["share"]
    return Comparison(
        "The amount of utterances that are not privatized could easily reach 100 % of the entire dataset (Habernal "
        "2021, abstract; Section 6 simulates vectors, since no trained model was there).",
        f"With an encoder trained on ATIS, n = {found['n']}: {found['pairs'] - found['beyond']:,} of all "
        f"{found['pairs']:,} pairs of texts lie within 2C, {100 * share:.5g} % beyond. What these lose is bounded, by "
        f"more than epsilon: the median pair {found['median ratio']:.3g} epsilon.",
        "agrees" if share >= _NEARLY_ALL else "agrees in part" if share >= _HALF else "does not agree",
    )


def _claim(data: Data) -> Comparison | None:
    found = audit(data, PUBLISHED)
    if found is None:
        return None
    claim = data["sizes"]["audited"]
    seen = [row for row in data["audits"] if row["method"] == PUBLISHED]
    shown = "; ".join(f"{_SEEN[row['seen']]}: at least {row['bound']:.3g}, {row['status']}" for row in seen)
    return Comparison(
        "The transformation from a text to a text is epsilon-DP (Krishna et al. 2021, Theorem 1; false: Habernal 2021, "
        "Theorem 3.1).",
        f"Audits at epsilon = {claim:g}, text in, on the two farthest texts of ATIS, {found['samples']:,} releases, "
        f"99.9 %: {shown}. By the law these two lose {found['loss']:.3g}.",
        "does not agree" if any(row["status"] == "refuted" for row in seen) else "agrees in part",
    )


_SEEN = {
    "vector": "from the vectors",
    "likelihood": "from their likelihood under the public model",
    "text": "from the rewritten texts alone",
}


def _ranking(data: Data) -> Comparison | None:
    small = [cell for cell in cells(data, PUBLISHED) if cell["epsilon"] <= _SMALL_CLAIM]
    shown = []
    for cell in small:
        found = top(cell, "vector", 1)
        if found is not None:
            shown.append(f"{cell['epsilon']:g}: {percent(found)}, {plain(100 * found['permitted'])} % permitted")
    if not shown:
        return None
    count = data["models"][0]["candidates"]
    refuted = refutations(data, PUBLISHED)
    others = [name for name in TITLES if name != PUBLISHED and refutations(data, name)]
    places = ", ".join(
        f"{cell['epsilon']:g} (in truth at least {found['least']:.3g}, first {found['first']})"
        for cell, found in refuted
    )
    says = f"It refutes the claim at epsilon {places}." if refuted else "It refutes the claim at no epsilon."
    rest = f" It also refutes {', '.join(TITLES[name] for name in others)}." if others else " It refutes no remedy."
    return Comparison(
        "With the trained auto-encoder and the corpus an attacker can explore the neighbourhood of a released vector "
        "(Habernal 2021, Appendix C, a sketch).",
        f"All {count:,} distinct utterances, ranked by likelihood, the true one named, by epsilon: {'; '.join(shown)}. "
        f"{says}{rest} From epsilon = ln({count - 1:,}) = {math.log(count - 1):.3g} on a claim permits more than half, "
        "and no such attack can refute much.",
        outcome(bool(refuted), not others),
    )


def _proposals(data: Data) -> Comparison | None:
    found = next((row for row in data["proposals"] if row["method"] == PUBLISHED), None)
    if found is None:
        return None
    shown = "; ".join(
        f"{point['epsilon']:g}: {percent(point['exact'])} named, {100 * point['tokens']['value']:.0f} % of the words"
        for point in found["points"]
    )
    last = found["points"][-1]
    return Comparison(
        "A language model of ATIS gives a feasible search space; a similar utterance, more likely to be found, may be "
        "good enough (Habernal 2021, Appendix C).",
        f"For {found['texts']:,} test utterances that the attacker's corpus lacks, a trigram model's proposals hold "
        f"{percent(found['reached'])}. The likeliest of {found['guesses']:,} texts, by epsilon: {shown}. Blind guesses "
        f"hold {100 * found['blind']['value']:.0f} % of the words.",
        outcome(found["reached"]["high"] > _HALF, last["tokens"]["low"] > found["blind"]["high"]),
    )


def _growth(data: Data) -> Comparison | None:
    grown = data["grown"]
    if len(grown) < 2:  # noqa: PLR2004 - nothing to compare
        return None
    shown = "; ".join(f"n = {row['n']}: {row['loss']:.3g}, at least {row['bound']:.3g} by audit" for row in grown)
    losses, bounds = ([row[name] for row in grown] for name in ("loss", "bound"))
    return Comparison(
        "The privacy loss of ADePT explodes for larger dimensions (Habernal 2022, Section 5; there vectors of zeros "
        "and ones, without the clip).",
        f"Behind encoders of ATIS, at epsilon = {grown[0]['claim']:g}, the two farthest texts lose: {shown}. With the "
        "clip the loss of a pair grows with sqrt(n) at most, and most of it lies in events too rare for samples.",
        outcome(sorted(losses) == losses, bounds[-1] > bounds[0]),
    )


def _remedies(data: Data) -> Comparison | None:
    published = {cell["epsilon"]: cell for cell in cells(data, PUBLISHED)}
    pairs, worse = [], []
    for name in (L1, TRUE):
        for cell in cells(data, name):
            if cell["epsilon"] in published:
                theirs = published[cell["epsilon"]]["bleu"]
                worse.append(cell["bleu"] <= theirs)
                pairs.append(f"{TITLES[name]} at {cell['epsilon']:g}: {cell['bleu']:.1f}, published {theirs:.1f}")
    if not pairs:
        return None
    return Comparison(
        "Remedies are an l1 clip and the correct sensitivity; utility is expected to be worse (Habernal 2021, "
        "Section 7).",
        f"BLEU of rewritten test texts: {'; '.join(pairs)}.",
        outcome(*worse),
    )


def _promising(data: Data) -> Comparison | None:
    small = [cell for cell in cells(data, PUBLISHED) if cell["epsilon"] <= _SMALL_CLAIM]
    if not small:
        return None
    (model,) = data["models"]
    majority = model["most frequent intent"]
    shown = "; ".join(f"{cell['epsilon']:g}: {percent(cell['accuracy'])}" for cell in small)
    return Comparison(
        "ADePT achieves promising results on downstream tasks while providing tight privacy guarantees (Krishna et al. "
        "2021, as Habernal 2021, abstract, reports it).",
        f"Intents of original test texts, learned from rewritten training texts, by epsilon: {shown}; from originals "
        f"{percent(model['originals']['accuracy'])}, always the most frequent one {percent(majority)}.",
        outcome(any(cell["accuracy"]["low"] > majority["high"] for cell in small), audit_holds(data)),
    )


def audit_holds(data: Data) -> bool:
    """Return whether no audit refutes the published claim."""
    return not any(row["status"] == "refuted" for row in data["audits"] if row["method"] == PUBLISHED)
