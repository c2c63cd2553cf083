"""The mechanisms of a study: built, pooled where their draws are slow, and what is known of their epsilon."""

import time

import numpy as np

from deniable.auditing import verify
from deniable.core.errors import InputError
from deniable.models.text.attacks.algorithms import compute_query_budget
from deniable.models.text.documents import Documents, IndexedTexts
from deniable.published.truncated_gumbel.mechanism import TruncatedGumbel, compute_min_epsilon
from deniable.studies.corpora import Corpus, privatized
from deniable.studies.gumbel.bound import far_output_bound
from deniable.studies.study import Data
from deniable.studies.substituted.bench import Bench
from deniable.studies.substituted.plan import GUMBEL, LAPLACE, Point
from deniable.studies.substituted.pooled import pooled
from deniable.studies.utility.bench import build
from deniable.words import WordMechanism

_CLOSE = 1.05
"""Bounds on epsilon within this factor of each other count as its value."""


class Mechanisms:
    """Mechanisms by point, each built once.

    Args:
        bench: what all models share.
    """

    def __init__(self, bench: Bench) -> None:
        self._bench, self._built = bench, dict[Point, WordMechanism]()

    def at(self, point: Point) -> WordMechanism:
        """Return the mechanism itself."""
        if point not in self._built:
            self._built[point] = build(point.mechanism, self._bench.space, point.epsilon)
        return self._built[point]

    def least(self, point: Point) -> float | None:
        """Return the epsilon above which the mechanism has a law; None where any epsilon gives one."""
        space = self._bench.space
        if point.mechanism != GUMBEL:
            return None
        if space.separation == 0:
            raise InputError("Two words of the space are at distance 0: truncated Gumbel needs a space without them.")
        return compute_min_epsilon(len(space.points), space.separation)

    def below(self, point: Point) -> bool:
        """Say whether a point has no law."""
        least = self.least(point)
        return least is not None and point.epsilon <= least

    def attacking(self, point: Point) -> WordMechanism:
        """Return the mechanism as attacks draw from it, pooled where it is simulated slowly."""
        bench = self._bench
        if point.mechanism != LAPLACE:
            return self.at(point)
        held = bench.test.texts
        draws = compute_query_budget(bench.sizes.population, bench.sizes.generations)
        per_word = -(-draws // max(1, int(np.median(held.lengths))))
        return self._pooled(point, per_word * _counts(bench, held), "attacks")

    def copied(self, point: Point) -> Documents:
        """Return the training texts and perturbed copies of each, with its label (paper 000, section 4).

        The copies of all texts are drawn together and kept by the ledger: an interrupted training draws none anew.
        """
        bench = self._bench
        train, copies = bench.train, bench.sizes.copies
        held = train.texts
        mechanism = self.at(point)
        if point.mechanism == LAPLACE:
            mechanism = self._pooled(point, copies * _counts(bench, held), "copies")
        known = np.zeros(len(held.words), dtype=np.bool_)
        corpus = Corpus(bench.plan.name, held.words, held.offsets, known, train.labels)
        drawn = privatized(mechanism, corpus, copies, bench.setting.seed, bench.setting.ledger)
        rows = np.tile(np.arange(len(train)), 1 + copies)
        lengths = np.tile(held.lengths, 1 + copies)
        texts = IndexedTexts(np.concatenate([held.words, drawn.ravel()]), np.concatenate([[0], np.cumsum(lengths)]))
        premises = None if train.premises is None else train.premises.take(rows)
        return Documents(texts, train.labels[rows], train.classes, premises)

    def _pooled(
        self, point: Point, uses: "np.ndarray[tuple[int, ...], np.dtype[np.int64]]", purpose: str
    ) -> WordMechanism:
        setting, most = self._bench.setting, self._bench.sizes.pool
        return pooled(self.at(point), uses, most, f"{purpose} {point.title}", setting.seed, setting.ledger)

    def about(self, point: Point) -> Data:
        """Return what is claimed and known of the epsilon of one point, as JSON."""
        start = time.perf_counter()
        below = self.below(point)
        known = {"claim": None, "spent": None, "spent is": None} if below else spent(self.at(point))
        return {
            "mechanism": point.mechanism,
            "at": point.at,
            "epsilon": point.epsilon,
            "least": self.least(point),
            "below": below,
            **known,
            "pooled": self._bench.sizes.pool if point.mechanism == LAPLACE else None,
            "seconds": time.perf_counter() - start,
        }


def spent(mechanism: WordMechanism) -> Data:
    """Return the epsilon that a mechanism spends in truth, as far as it is known, and what becomes of its claim."""
    verdict = verify(mechanism)
    least, status = verdict.lower_bound, verdict.status
    if verdict.method.startswith("by theorem"):
        return {"claim": status, "spent": verdict.epsilon, "spent is": "by theorem"}
    if isinstance(mechanism, TruncatedGumbel):
        least = max(least, far_output_bound(mechanism))
        status = "refuted" if least > mechanism.epsilon else status
    if verdict.epsilon <= _CLOSE * least:
        return {"claim": status, "spent": verdict.epsilon, "spent is": "exact"}
    return {"claim": status, "spent": least, "spent is": "at least"}


def _counts(bench: Bench, held: IndexedTexts) -> "np.ndarray[tuple[int, ...], np.dtype[np.int64]]":
    """Return how often each word of the space (V,) stands in some texts."""
    return np.bincount(held.words, minlength=len(bench.space))
