"""How much the law of a word changes when it is replaced, and a sharp bound for one pair of texts."""

import dataclasses
import functools
import math

import numpy as np
import numpy.typing as npt

from deniable.accounting.renyi import RENYI_ORDERS
from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError, NotTractable
from deniable.core.guarantees import Guarantee
from deniable.models.text.documents import IndexedTexts, WordIds
from deniable.models.text.substitutions import Substitutions
from deniable.space.vector_distances import BLOCK_ROWS
from deniable.words import WordMechanism
from deniable.words.laws import tables
from deniable.words.laws.law import IntegerTable

ANY_WORD = "any word of the space"
"""Name of the replacements where there are no sets."""
_MAX_EXACT_POINTS = 3000
"""Number of points up to which divergences of all pairs are computed where any word may replace any."""
_POWER_SUM_ERROR = 1e-9
"""Bound on the relative error of a sum of powers; repeated squaring makes at most 2^12 roundings."""
_LOGARITHM_ERROR = 2.0**-46
"""Bound on the rounding of the difference of two logarithms of table entries."""


@dataclasses.dataclass(frozen=True, eq=False)
class ReplacementCosts:
    """For each word of some texts the largest difference between its law and the laws of its replacements.

    Attributes:
        replacements: name of the words that may replace a word.
        source: basis of the numbers.
        words: (m,) distinct words, in ascending order.
        losses: (m,) largest |ln P(y|w) - ln P(y|s)| over replacements s and outputs y, nats; 0 for a word without any.
        divergences: (m, len(ORDERS)) largest of D_alpha(P_w||P_s) and D_alpha(P_s||P_w); None where no law is known.
    """

    replacements: str
    source: str
    words: WordIds
    losses: FloatArray
    divergences: FloatArray | None

    def look_up(self, text: WordIds) -> tuple[FloatArray, FloatArray | None]:
        """Return losses (L,) and divergences (L, len(ORDERS)) of the words of a text."""
        indices = np.searchsorted(self.words, text)
        return self.losses[indices], None if self.divergences is None else self.divergences[indices]


def compute_replacement_costs(
    mechanism: WordMechanism,
    texts: IndexedTexts,
    replacements: Substitutions | None = None,
    *,
    guarantee: Guarantee | None = None,
    workers: int | None = None,
) -> ReplacementCosts:
    """Return the cost of replacing each distinct word of some texts.

    Where draws come from integer tables, the tables themselves are compared. Where they are simulated, the loss is the
    guarantee's epsilon times the distance.

    Args:
        mechanism: that replaces every word.
        texts: texts.
        replacements: the words that may replace a word; None for any word of the space.
        guarantee: used where no law is known; the mechanism's own by default.
        workers: threads.
    """
    words = np.unique(texts.words)
    claim = mechanism.guarantee if guarantee is None else guarantee
    if replacements is None:
        return _compute_costs_of_any_word(mechanism, words, claim, workers)
    sets = [replacements.choices_of(int(word)) for word in words]
    if not mechanism.law.is_tabulated:
        max_distances = [max(_measure_distances_from_first(mechanism, item).tolist()) for item in sets]
        return ReplacementCosts(
            replacements.name,
            _describe_claim(claim),
            words,
            np.array([claim.loss(item) for item in max_distances]),
            None,
        )
    losses, divergences = _compare_tables(mechanism, sets)
    return ReplacementCosts(replacements.name, "the integer tables that are sampled", words, losses, divergences)


def _compute_costs_of_any_word(
    mechanism: WordMechanism, words: WordIds, claim: Guarantee, workers: int | None
) -> ReplacementCosts:
    """Return the costs of replacing words by any word of the space."""
    space, law = mechanism.space, mechanism.law
    points = space.point_by_word[words]
    losses = law.input_losses(points, workers)
    if losses is None:
        farthest = space.map_row_blocks(lambda _, distances: distances.max(axis=1), points, workers)
        return ReplacementCosts(ANY_WORD, _describe_claim(claim), words, claim.epsilon * np.concatenate(farthest), None)
    divergences = None
    if space.point_count <= _MAX_EXACT_POINTS:
        bounds = [law.renyi(alpha, workers) for alpha in RENYI_ORDERS]
        largest = np.array([math.inf if bound is None else bound for bound in bounds])
        divergences = np.broadcast_to(largest, (len(words), len(RENYI_ORDERS)))
    return ReplacementCosts(ANY_WORD, "the law that is sampled, over all words", words, losses, divergences)


def _compare_tables(mechanism: WordMechanism, sets: list[WordIds]) -> tuple[FloatArray, FloatArray]:
    """Return losses (m,) and divergences (m, len(ORDERS)) between the first word of each set and the others."""
    losses, divergences = np.zeros(len(sets)), np.zeros((len(sets), len(RENYI_ORDERS)))
    for batch in _batch_sets(sets):
        points = mechanism.space.point_by_word[np.concatenate([sets[index] for index in batch])]
        log_rows = np.log(compute_integer_tables(mechanism, points) / tables.TABLE_TOTAL)
        first = 0
        for index in batch:
            for other in range(first + 1, first + len(sets[index])):
                loss, set_divergences = _compare_laws(log_rows[first], log_rows[other])
                losses[index] = max(losses[index], loss)
                divergences[index] = np.maximum(divergences[index], set_divergences)
            first += len(sets[index])
    return np.where(losses > 0, losses + _LOGARITHM_ERROR, 0.0), divergences


def compute_integer_tables(mechanism: WordMechanism, points: WordIds) -> IntegerTable:
    """Return the entries (k, number of points) of the integer tables of k points, which sum to 2^62.

    Raises:
        NotTractable: draws do not come from integer tables.
    """
    if not mechanism.law.is_tabulated:
        raise NotTractable(
            f"The draws of {mechanism.name} are simulated, so that no exact law of them can be compared: "
            "certify by distance, or choose a mechanism that is drawn from tables."
        )
    return mechanism.law.tables(points)


def _compare_laws(own: FloatArray, other: FloatArray) -> tuple[float, FloatArray]:
    """Return the largest loss of two laws, and the larger Renyi divergence of both directions for each order.

    With l = ln P - ln S, D_alpha(P||S) = ln(sum P e^((alpha - 1) l)) / (alpha - 1). The orders less 1 are powers of the
    root of 2: every other one is the square of the one before.

    Args:
        own: ln P (number of points,).
        other: ln S.
    """
    loss = own - other
    p, s = np.exp(own), np.exp(other)
    sums = np.empty(len(RENYI_ORDERS))
    for parity in (0, 1):
        forward_powers = np.exp((RENYI_ORDERS[parity] - 1) * loss)
        backward_powers = 1 / forward_powers
        for index in range(parity, len(RENYI_ORDERS), 2):
            sums[index] = max(float(p @ forward_powers), float(s @ backward_powers))
            forward_powers *= forward_powers
            backward_powers *= backward_powers
    max_loss = float(np.abs(loss).max())
    divergences = np.log(np.maximum(sums, 1.0) * (1 + _POWER_SUM_ERROR)) / (np.asarray(RENYI_ORDERS) - 1)
    return max_loss, np.minimum(divergences, max_loss + _LOGARITHM_ERROR)


def _batch_sets(sets: list[WordIds]) -> list[list[int]]:
    """Return indices of sets in batches of about `BLOCK_ROWS` words, the rows of one block of distances."""
    batches: list[list[int]] = []
    batch_size = math.inf
    for index, word_set in enumerate(sets):
        if batch_size + len(word_set) > BLOCK_ROWS:
            batches.append([])
            batch_size = 0
        batches[-1].append(index)
        batch_size += len(word_set)
    return batches


def _measure_distances_from_first(mechanism: WordMechanism, word_set: WordIds) -> FloatArray:
    """Return the distances of the words of a set from its first."""
    points = mechanism.space.point_by_word[word_set]
    distances: FloatArray = mechanism.space.distances(points[:1])[0, points]
    return distances


def _describe_claim(claim: Guarantee) -> str:
    return f"{claim} times distance ({claim.source})"


_LOSS_GRID = 1e-3
"""Step of the grid, in nats, to which losses are rounded up, so that the bound holds."""
_EPSILON_LEVELS = 400


def bound_pair_probability(
    mechanism: WordMechanism, text: WordIds, other: WordIds, probability: float, grid: float = _LOSS_GRID
) -> float:
    """Return a lower bound on Q(A) for the law Q of one text and any event of probability >= p under that of another.

    The privacy losses of the differing words are composed as distributions (Koskela et al. 2020; dp-accounting, rounded
    towards more loss). With delta(e) = sup_S P(S) - e^e Q(S), and delta' for Q and P exchanged::

        Q(A) >= e^-e (p - delta(e))          Q(A) >= 1 - e^e (1 - p) - delta'(e)          for every e >= 0

    which together are the curve of Neyman and Pearson. It shows how sharp the bounds for whole sets of texts are.

    Args:
        mechanism: with integer tables.
        text: (L,) words of the text with law P.
        other: (L,) words of the text with law Q.
        probability: p in [0, 1].
        grid: nats between losses.

    Raises:
        InputError: texts of different lengths.
        NotTractable: draws do not come from integer tables.
    """
    import dp_accounting.pld.pld_pmf as library

    if len(text) != len(other):
        raise InputError(f"Texts of one length are compared. Got {len(text)} and {len(other)} words.")
    points = mechanism.space.point_by_word[np.stack([text, other])]  # (2, L)
    changed = points[:, points[0] != points[1]]
    if not changed.size:
        return probability
    rows = compute_integer_tables(mechanism, changed.ravel()).reshape(2, changed.shape[1], -1) / tables.TABLE_TOTAL
    deltas = []
    for own, against in ((rows[0], rows[1]), (rows[1], rows[0])):
        singles = [
            library.create_pmf(_bin_losses(p, q, grid), grid, 0.0, pessimistic_estimate=True).to_dense_pmf()
            for p, q in zip(own, against, strict=True)
        ]
        composed = functools.reduce(lambda first, other: first.compose(other), singles)
        max_loss = float(np.abs(np.log(own) - np.log(against)).max(axis=1).sum())
        levels = np.linspace(0.0, max_loss, _EPSILON_LEVELS)
        deltas.append(np.maximum(np.asarray(composed.get_delta_for_epsilon(levels.tolist())), 0.0))
    bounds = np.exp(-levels) * (probability - deltas[0]), 1 - np.exp(levels) * (1 - probability) - deltas[1]
    return float(np.clip(np.max(bounds), 0.0, probability))


def _bin_losses(p: FloatArray, q: FloatArray, grid: float) -> dict[int, float]:
    """Return the mass under p of every loss ln p - ln q, rounded up to whole steps of the grid."""
    steps: npt.NDArray[np.int64] = np.ceil((np.log(p) - np.log(q)) / grid + 1e-9).astype(np.int64)
    masses = np.bincount(steps - steps.min(), weights=p)
    return {int(steps.min()) + index: float(mass) for index, mass in enumerate(masses) if mass > 0}
