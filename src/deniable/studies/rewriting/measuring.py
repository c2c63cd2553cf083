"""What is measured of one method at one epsilon: what is left of texts, and how often the attacker finds them."""

from collections.abc import Sequence

import numpy as np

from deniable.core.guarantees import ApproxDP
from deniable.core.intervals import Estimate, estimate_share
from deniable.measure.classifiers import TfIdfClassifier
from deniable.rewriting.attacks.ranking import get_norm_order, measure_ranking_success, rank_true_candidates
from deniable.rewriting.attacks.success import RankingSuccess
from deniable.rewriting.audits import encode_clipped_vectors
from deniable.rewriting.methods.base import RewritingMethod, VectorMethod
from deniable.rewriting.model import Rewriter
from deniable.rewriting.reconstruction import compute_bleu
from deniable.rewriting.tokens import join_tokens, split_tokens
from deniable.studies.rewriting.bench import Array, Bench
from deniable.studies.rewriting.plan import FIRST
from deniable.studies.study import Data
from deniable.vectors import L2Ball

_TOGETHER = 2_000
"""Vectors released at a time and decoded."""


def told(estimate: Estimate) -> Data:
    """Return an estimate as JSON holds it."""
    return {name: getattr(estimate, name) for name in ("value", "low", "high", "count")}


def useful(bench: Bench, rewritten: Sequence[str] | None, train: Sequence[str]) -> Data:
    """Return what is left of texts.

    Args:
        bench: with the originals.
        rewritten: the test texts as rewritten; None where nothing was.
        train: the training texts as rewritten, which a classifier of intents learns from; it is asked about original
            test texts.
    """
    seen = np.flatnonzero(bench.test.intents >= 0)
    classifier = TfIdfClassifier().fit(train, bench.train.intents, bench.classes)
    guesses = classifier.probabilities([bench.test.texts[row] for row in seen.tolist()]).argmax(axis=1)
    right = int((guesses == bench.test.intents[seen]).sum())
    # An intent that no training text has is never guessed.
    found: Data = {"accuracy": told(estimate_share(right, len(bench.test.texts)))}
    if rewritten is not None:
        wanted, held = [split_tokens(text) for text in bench.test.texts], [split_tokens(text) for text in rewritten]
        same = sum(one == other for one, other in zip(wanted, held, strict=True))
        found["bleu"] = compute_bleu(held, wanted)
        found["exact"] = told(estimate_share(same, len(wanted)))
    return found


def undisturbed(bench: Bench) -> Data:
    """Return what there is before any noise: of the originals, and of texts that went through the auto-encoder."""
    model = bench.model
    through = [model.decode(encoded(model, part.texts)) for part in (bench.test, bench.train)]
    guessed = int(np.bincount(bench.train.intents).argmax())
    return {
        "latent": model.latent,
        "words": len(model.vocabulary),
        "candidates": len(bench.candidates),
        "training texts": len(bench.train.texts),
        "test texts": len(bench.test.texts),
        "classes": bench.classes,
        "best epoch": model.facts["best epoch"],
        "held-out loss": model.facts["held-out loss"],
        "most frequent intent": told(estimate_share(int((bench.test.intents == guessed).sum()), len(bench.test.texts))),
        "originals": useful(bench, None, bench.train.texts),
        "without noise": useful(bench, through[0], through[1]),
    }


def cell(bench: Bench, name: str, epsilon: float) -> Data:
    """Return everything of one method at one epsilon."""
    method = bench.method(name, epsilon)
    guarantee = method.guarantee
    delta = guarantee.delta if isinstance(guarantee, ApproxDP) else 0.0
    found: Data = {"method": name, "epsilon": epsilon, "delta": delta}
    found.update(useful(bench, method.rewrite(bench.test.texts), method.rewrite(bench.train.texts)))
    coins = np.random.default_rng(bench.seed("truths", name, epsilon))
    count = len(bench.candidates)
    first = [k for k in FIRST if k < count]
    if isinstance(method, VectorMethod):
        points = encode_clipped_vectors(method, bench.candidates)
        truths = coins.integers(count, size=bench.sizes.attacked(epsilon, count))
        places = rank_true_candidates(
            method.mechanism.sample(points[truths]), truths, points, get_norm_order(method.mechanism)
        )
        found["vector"] = [
            _of(measure_ranking_success(places, count, epsilon=epsilon, delta=delta, first=k)) for k in first
        ]
    truths = coins.integers(count, size=bench.sizes.rewritten)
    read = encoded(bench.model, _rewritten(bench, method, truths.tolist()))
    places = rank_true_candidates(read, truths, bench.points, 2)
    found["text"] = [_of(measure_ranking_success(places, count, epsilon=epsilon, delta=delta, first=k)) for k in first]
    return found


def tuned(bench: Bench, name: str, epsilon: float) -> Data:
    """Return what is left of texts where the auto-encoder was trained on with the noise of the method."""
    method = bench.method(name, epsilon, "tuned", model=bench.tuned(name, epsilon))
    found = useful(bench, method.rewrite(bench.test.texts), method.rewrite(bench.train.texts))
    return {"method": name, "epsilon": epsilon, "best epoch": method.model.facts["best epoch"], **found}


def _rewritten(bench: Bench, method: RewritingMethod, rows: list[int]) -> list[str]:
    found: list[str] = []
    for start in range(0, len(rows), _TOGETHER):
        found += method.rewrite([bench.candidates[row] for row in rows[start : start + _TOGETHER]])
    return found


def encoded(model: Rewriter, texts: Sequence[str]) -> Array:
    """Return the clipped vectors of texts that were rewritten, cut off where they are longer than the model takes."""
    short = [join_tokens(split_tokens(text)[: model.limit]) for text in texts]
    return L2Ball(model.radius).clip(model.encode(short))


def _of(found: RankingSuccess) -> Data:
    return {
        "first": found.first,
        "candidates": found.candidates,
        **told(found.success_rate),
        "permitted": found.max_success_rate,
        "least": found.epsilon_lower_bound,
        "refuted": found.is_refuted,
    }
