"""Evidence for and against the claims on a real encoder: sensitivities, audits, and what an attacker can learn."""

import numpy as np

from deniable.core.evidence import Verdict
from deniable.core.intervals import estimate_share
from deniable.published.adept.mechanism import ADePT
from deniable.rewriting.attacks.candidates import drop_indistinguishable_texts, measure_guesses, propose_texts
from deniable.rewriting.attacks.gradient import search_nearest_texts
from deniable.rewriting.attacks.inversion import fit_inverter
from deniable.rewriting.attacks.ranking import find_nearest_candidates, get_norm_order
from deniable.rewriting.audits import (
    AuditView,
    audit_pair,
    encode_clipped_vectors,
    find_farthest_texts,
    pairs_beyond_sensitivity,
)
from deniable.rewriting.methods.base import VectorMethod
from deniable.rewriting.model import Rewriter
from deniable.studies.rewriting.bench import Array, Bench
from deniable.studies.rewriting.measuring import told
from deniable.studies.rewriting.plan import PUBLISHED
from deniable.studies.study import Data

CONFIDENCE = 0.999
"""Of audits, as in the zoo."""
_PAIRS = 2_000
"""Texts among which the median distance is taken."""


def vectors_of(bench: Bench, name: str, epsilon: float, *parts: object, model: Rewriter | None = None) -> VectorMethod:
    """Return a method that releases vectors."""
    method = bench.method(name, epsilon, *parts, model=model)
    if not isinstance(method, VectorMethod):
        raise TypeError(name)
    return method


def distances(bench: Bench, name: str) -> Data:
    """Return how far apart the corpus lies under one method, beside the sensitivity that its noise is for."""
    method = vectors_of(bench, name, bench.sizes.audited)
    points = encode_clipped_vectors(method, bench.candidates)
    return {"method": name, **_apart(method, points, bench.candidates, bench.seed("pairs"))}


def _apart(method: VectorMethod, points: Array, texts: list[str], seed: int) -> Data:
    mechanism, order = method.mechanism, get_norm_order(method.mechanism)
    counted, worst = pairs_beyond_sensitivity(mechanism, points), find_farthest_texts(mechanism, points)
    some = np.random.default_rng(seed).integers(len(points), size=(2, _PAIRS))
    apart = np.linalg.norm(points[some[0]] - points[some[1]], ord=order, axis=1)
    return {
        "n": points.shape[1],
        "norm": f"l{order}",
        "claimed": worst.claimed_sensitivity,
        "pairs": counted.pair_count,
        "beyond": counted.violation_count,
        "share": counted.violation_share,
        "ratio": worst.ratio,
        "median ratio": float(np.median(apart)) / worst.claimed_sensitivity,
        "loss": worst.loss,
        "one": texts[worst.first_row],
        "other": texts[worst.second_row],
    }


def audited(bench: Bench, name: str, seen: AuditView) -> Data:
    """Return the verdict of an audit on the two texts of the corpus that a method protects least."""
    method = vectors_of(bench, name, bench.sizes.audited, "audit", seen)
    worst = find_farthest_texts(method.mechanism, encode_clipped_vectors(method, bench.candidates))
    pair = bench.candidates[worst.first_row], bench.candidates[worst.second_row]
    seed = bench.seed("audit", name, seen)
    verdict = audit_pair(method, *pair, view=seen, samples=bench.sizes.samples, confidence=CONFIDENCE, seed=seed)
    return {"method": name, "seen": seen, "loss": worst.loss, **_said(verdict)}


def _said(verdict: Verdict) -> Data:
    return {
        "claim": verdict.claim,
        "status": verdict.status,
        "bound": verdict.lower_bound,
        "detectable": verdict.detectable_epsilon,
        "samples": verdict.samples,
    }


def grown(bench: Bench, latent: int) -> Data:
    """Return distances and an audit of published ADePT behind an encoder of another dimension."""
    model = bench.model if latent == bench.sizes.latent else bench.trained(latent)
    method = vectors_of(bench, PUBLISHED, bench.sizes.audited, "grown", latent, model=model)
    texts = drop_indistinguishable_texts(bench.candidates, model.vocabulary)
    points = encode_clipped_vectors(method, texts)
    found = _apart(method, points, texts, bench.seed("pairs"))
    exact = ADePT(epsilon=bench.sizes.audited, radius=model.radius).exact_loss(latent)  # under no public seed
    verdict = audit_pair(
        method,
        found["one"],
        found["other"],
        view="likelihood",
        samples=bench.sizes.samples,
        confidence=CONFIDENCE,
        seed=bench.seed("audit", "grown", latent),
    )
    return {**found, "exact": exact.lower, **_said(verdict)}


def proposed(bench: Bench, name: str) -> Data:
    """Return how the attack of Habernal 2021, Appendix C, fares at every epsilon.

    The attacker has the corpus but for the test texts, and a language model of it; the released vectors are those of
    test texts that the corpus does not hold.
    """
    sizes, model = bench.sizes, bench.model
    corpus = drop_indistinguishable_texts([*bench.train.texts, *bench.dev.texts], model.vocabulary)
    truths = drop_indistinguishable_texts([*corpus, *bench.test.texts], model.vocabulary)[len(corpus) :]
    seed = bench.seed("proposals")
    guesses = [*corpus, *propose_texts(corpus, model.vocabulary, sizes.proposals, max_tokens=model.limit, seed=seed)]
    held = {tuple(model.vocabulary.to_ids(text)) for text in guesses}
    reached = sum(tuple(model.vocabulary.to_ids(text)) in held for text in truths)
    blind = np.random.default_rng(bench.seed("blind")).integers(len(guesses), size=len(truths))
    points = []
    for epsilon in sizes.epsilons:
        method = vectors_of(bench, name, epsilon, "proposals")
        order = get_norm_order(method.mechanism)
        named = find_nearest_candidates(method.release(truths), encode_clipped_vectors(method, guesses), order)
        points.append({"epsilon": epsilon, **_recovered(truths, [guesses[row] for row in named.tolist()])})
    return {
        "method": name,
        "texts": len(truths),
        "guesses": len(guesses),
        "reached": told(estimate_share(reached, len(truths))),
        "blind": _recovered(truths, [guesses[row] for row in blind.tolist()])["tokens"],
        "points": points,
    }


def learned(bench: Bench, name: str, epsilon: float) -> Data:
    """Return what is read of test texts: by the public decoder, by one trained on releases, and by search from there.

    The last one is slow, and asked for some of the texts only; ``started`` is what the trained decoder reads of these.
    """
    method = vectors_of(bench, name, epsilon, "inversion")
    attacker = fit_inverter(
        method, bench.train.texts, epochs=bench.sizes.inverting, seed=bench.seed("inverter", name, epsilon)
    )
    truths = bench.test.texts
    released = method.release(truths)
    read, some = attacker.invert(released), slice(bench.sizes.searched)
    return {
        "method": name,
        "epsilon": epsilon,
        "public": _recovered(truths, method.decode(released)),
        "trained": _recovered(truths, read),
        "started": _recovered(truths[some], read[some]),
        "searched": _recovered(truths[some], search_nearest_texts(method, released[some], read[some])),
    }


def _recovered(truths: list[str], guesses: list[str]) -> Data:
    return {name: told(found) for name, found in measure_guesses(truths, guesses).items()}
