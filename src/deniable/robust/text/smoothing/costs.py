"""What the law of a mechanism's output can lose where one word is replaced by another."""

import dataclasses
import math

import numpy as np

from deniable.errors import NotTractable
from deniable.guarantees import MetricDP
from deniable.robust.text.documents import Texts, Words
from deniable.robust.text.substitutions import Substitutions
from deniable.space.metrics import BLOCK, Array
from deniable.words import WordMechanism, law
from deniable.words.documents import ORDERS, exact_divergence
from deniable.words.exponential import log_normalisers, rounding

ANY = "any word of the space"
"""Name of the replacements where there are no sets."""
_EXACT = 3000
"""Points up to which divergences of all pairs are computed where any word may replace any."""
_SLACK = 1e-9
"""Relative error allowed for in a sum of powers; repeated squaring makes at most 2^12 roundings of it."""
_LOGARITHMS = 2.0**-46
"""Bound on the rounding of the difference of two logarithms of table entries."""


@dataclasses.dataclass(frozen=True, eq=False)
class Costs:
    """For each word of some texts the most that its law differs from the law of what may replace it.

    Attributes:
        replacements: name of what may replace a word.
        source: how the numbers were found.
        words: (m,) distinct words, in ascending order.
        losses: (m,) largest |ln P(y|w) - ln P(y|s)| over replacements s and outputs y, nats; 0 for a word without any.
        divergences: (m, len(ORDERS)) largest of D_alpha(P_w||P_s) and D_alpha(P_s||P_w); None where no law is known.
    """

    replacements: str
    source: str
    words: Words
    losses: Array
    divergences: Array | None

    def of(self, text: Words) -> tuple[Array, Array | None]:
        """Return losses (L,) and divergences (L, len(ORDERS)) of the words of a text."""
        at = np.searchsorted(self.words, text)
        return self.losses[at], None if self.divergences is None else self.divergences[at]


def costs(
    mechanism: WordMechanism,
    held: Texts,
    replacements: Substitutions | None = None,
    *,
    guarantee: MetricDP | None = None,
    workers: int | None = None,
) -> Costs:
    """Return what replacing each distinct word of some texts costs.

    Where draws come from integer tables, the tables themselves are compared. Where they are simulated, the loss is the
    guarantee's epsilon times the distance.

    Args:
        mechanism: that replaces every word.
        held: texts.
        replacements: the sets of what may replace a word; None for any word of the space.
        guarantee: to rely on where no law is known; the mechanism's own by default.
        workers: threads.
    """
    words = np.unique(held.words)
    claim = mechanism.guarantee if guarantee is None else guarantee
    if replacements is None:
        return _any(mechanism, words, claim, workers)
    sets = [replacements.of(int(word)) for word in words]
    if not mechanism.draws_from_law:
        apart = [max(_apart(mechanism, one).tolist()) for one in sets]
        return Costs(replacements.name, _by_claim(claim), words, np.array([claim.loss(one) for one in apart]), None)
    losses, divergences = _compared(mechanism, sets)
    return Costs(replacements.name, "the integer tables that are sampled", words, losses, divergences)


def _any(mechanism: WordMechanism, words: Words, claim: MetricDP, workers: int | None) -> Costs:
    """Return the costs of replacing words by any word of the space.

    A law of the exponential family loses at most s min(d(w, v), gamma) + |ln Z(v) - ln Z(w)|, at y = w or y = v; see
    `deniable.words.exponential`.
    """
    space, family = mechanism.space, mechanism.closed_form
    points = space.point_of[words]
    if family is None or not space.metric.builtin:
        farthest = space.sweep(lambda _, distances: distances.max(axis=1), points, workers)
        return Costs(ANY, _by_claim(claim), words, claim.epsilon * np.concatenate(farthest), None)
    logs = log_normalisers(space, family, workers)

    def visit(first: int, distances: Array) -> Array:
        np.minimum(distances, family.cutoff, out=distances)
        lifts = np.abs(logs[points[first : first + len(distances)], None] - logs)
        worst: Array = (family.scale * distances + lifts).max(axis=1)
        return worst

    losses = np.concatenate(space.sweep(visit, points, workers)) + rounding(space, family) + 1 / law.FLOOR
    divergences = None
    if len(space.points) <= _EXACT:
        worst = np.array([exact_divergence(mechanism, alpha, workers) for alpha in ORDERS])
        divergences = np.broadcast_to(worst, (len(words), len(ORDERS)))
    return Costs(ANY, "the law that is sampled, over all words", words, losses, divergences)


def _compared(mechanism: WordMechanism, sets: list[Words]) -> tuple[Array, Array]:
    """Return losses (m,) and divergences (m, len(ORDERS)) between the first word of each set and the others."""
    losses, divergences = np.zeros(len(sets)), np.zeros((len(sets), len(ORDERS)))
    for run in _runs(sets):
        points = mechanism.space.point_of[np.concatenate([sets[at] for at in run])]
        logs = np.log(tables(mechanism, points) / law.TOTAL)
        first = 0
        for at in run:
            for other in range(first + 1, first + len(sets[at])):
                loss, moments = _moments(logs[first], logs[other])
                losses[at] = max(losses[at], loss)
                divergences[at] = np.maximum(divergences[at], moments)
            first += len(sets[at])
    return np.where(losses > 0, losses + _LOGARITHMS, 0.0), divergences


def tables(mechanism: WordMechanism, points: Words) -> law.Table:
    """Return the entries (k, number of points) of the integer tables of k points, which sum to 2^62.

    Raises:
        NotTractable: draws do not come from integer tables.
    """
    if not mechanism.draws_from_law:
        raise NotTractable(
            f"The draws of {mechanism.name} are simulated, so that no exact law of them can be compared: "
            "certify by distance, or take a mechanism with tables (calibrated, tight, tem)."
        )
    return law.entries(mechanism.rows(mechanism.space.distances(points)))


def _moments(own: Array, other: Array) -> tuple[float, Array]:
    """Return the largest loss of two laws, and the larger Renyi divergence of both directions for each order.

    With l = ln P - ln S, D_alpha(P||S) = ln(sum P e^((alpha - 1) l)) / (alpha - 1). The orders less 1 are powers of the
    root of 2: every other one is the square of the one before.

    Args:
        own: ln P (number of points,).
        other: ln S.
    """
    loss = own - other
    p, s = np.exp(own), np.exp(other)
    sums = np.empty(len(ORDERS))
    for parity in (0, 1):
        up = np.exp((ORDERS[parity] - 1) * loss)
        down = 1 / up
        for place in range(parity, len(ORDERS), 2):
            sums[place] = max(float(p @ up), float(s @ down))
            up *= up
            down *= down
    largest = float(np.abs(loss).max())
    divergences = np.log(np.maximum(sums, 1.0) * (1 + _SLACK)) / (np.asarray(ORDERS) - 1)
    return largest, np.minimum(divergences, largest + _LOGARITHMS)


def _runs(sets: list[Words]) -> list[list[int]]:
    """Return the places of sets in runs of about as many words as one product of distances has rows."""
    runs: list[list[int]] = []
    held = math.inf
    for at, one in enumerate(sets):
        if held + len(one) > BLOCK:
            runs.append([])
            held = 0
        runs[-1].append(at)
        held += len(one)
    return runs


def _apart(mechanism: WordMechanism, one: Words) -> Array:
    """Return the distances of the words of a set from its first."""
    points = mechanism.space.point_of[one]
    distances: Array = mechanism.space.distances(points[:1])[0, points]
    return distances


def _by_claim(claim: MetricDP) -> str:
    return f"{claim} times distance ({claim.source})"
