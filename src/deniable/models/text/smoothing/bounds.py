"""How far a probability can fall when words of a text change: the basis of every certificate of a smoothed text.

Let A be an event, P its law for the text and Q for the changed text. What is known of P and Q bounds Q(A) from below by
a function ``low`` of P(A). The same bound of the complement gives Q(B) <= 1 - low(1 - P(B)). So with P(A) >= p_A for
the certified class and P(B) <= p_B for every other, the class stays the likeliest while::

    low(p_A) + low(1 - p_B) > 1

For a pure bound, e^-t P <= Q <= e^t P, no joint bound of Q(A) and Q(B) from p_A and p_B is sharper. With f(x) =
e^t x + e^-t (1 - x), which increases, low(p_A) is 1 - e^t (1 - p_A) where f(1 - p_A) <= 1, and 1 - low(1 - p_B) is
1 - e^-t (1 - p_B) where f(p_B) >= 1; as p_B <= 1 - p_A both can be so only where p_B = 1 - p_A, and in the three other
cases one law Q on {A, B, rest} takes both values.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator

import numpy as np

from deniable.accounting.renyi import RENYI_ORDERS
from deniable.core.arrays import FloatArray
from deniable.core.guarantees import Guarantee
from deniable.core.numbers import bisect, find_least_count
from deniable.core.randomness import Streams
from deniable.models.text.documents import IndexedTexts, WordIds
from deniable.models.text.substitutions import Substitutions
from deniable.space.vector_distances import BLOCK_ROWS
from deniable.words import WordMechanism
from deniable.words.laws import tables

_MAX_STEPS, _MIN_STEPS, _TOTAL_STEPS = 64, 4, 8192
"""Maximum and minimum number of steps of the largest loss, and the maximum for all words of a text together."""
_ROUNDING = 1e-9
"""Relative error granted to sums of probabilities, far above what float64 makes of them."""
_BISECTIONS = 40
"""Of [0, p], until its end is known to 1e-12."""
_DIVERGENCE_ERROR = 1e-12
"""Error of a binary divergence: rounding near 1 divided by the least order less 1."""


def compute_max_loss(own: float, rival: float) -> float:
    """Return the supremum of the t for which pure(own) + pure(1 - rival) > 1, in closed form.

    Each of the two terms has two branches, and each pair of branches gives one threshold::

        e^-t p_A > e^t p_B                          t < ln(p_A / p_B) / 2
        1 - e^t (1 - p_A) > e^t p_B                 t < -ln(1 - p_A + p_B)
        1 - e^t (1 - p_A) > 1 - e^-t (1 - p_B)      t < ln((1 - p_B) / (1 - p_A)) / 2

    The fourth, t < ln(1 + p_A - p_B), is never above the second.

    Args:
        own: p_A in [0, 1].
        rival: p_B in [0, 1 - own].
    """
    if own <= rival:
        return 0.0
    ratios = ((own, rival, 0.5), (1.0, 1 - (own - rival), 1.0), (1 - rival, 1 - own, 0.5))
    return max(
        power * math.log(numerator / denominator) if denominator > 0 else math.inf
        for numerator, denominator, power in ratios
    )


def bound_by_renyi(probability: float, divergences: FloatArray) -> float:
    """Return ``low`` for laws with D_alpha(P||Q) and D_alpha(Q||P) at most given numbers.

    Whether A happens is post-processing, so that both divergences of (q, 1 - q) and (p, 1 - p) are at most as large
    (van Erven and Harremoes 2014, Theorem 9). Both grow as q falls from p to 0: the least q is found by bisection, and
    the end that is outside is returned.

    Args:
        probability: p in [0, 1].
        divergences: (len(ORDERS),) in nats, for each of `deniable.accounting.renyi.RENYI_ORDERS`.
    """

    def is_possible(q: float) -> bool:
        return bool(np.all(_compute_binary_divergences(q, probability) <= divergences + _DIVERGENCE_ERROR))

    return bisect(is_possible, 0.0, probability, steps=_BISECTIONS)[0]


def _compute_binary_divergences(q: float, p: float) -> FloatArray:
    """Return for each order the larger of D_alpha(q||p) and D_alpha(p||q) of two events' chances."""
    alpha = np.asarray(RENYI_ORDERS)
    with np.errstate(divide="ignore", invalid="ignore"):
        (q1, q0), (p1, p0) = (np.log([probability, 1 - probability]) for probability in (q, p))
        forward = np.logaddexp(alpha * q1 + (1 - alpha) * p1, alpha * q0 + (1 - alpha) * p0)
        backward = np.logaddexp(alpha * p1 + (1 - alpha) * q1, alpha * p0 + (1 - alpha) * q0)
        larger: FloatArray = np.maximum(forward, backward) / (alpha - 1)
    return larger


def count_changes_by_renyi(own: float, rival: float, divergences: FloatArray) -> int:
    """Return how many words may change, from the divergences of each word.

    Divergences of independent draws add up (van Erven and Harremoes 2014, Theorem 28), so that k words make at most the
    sum of the k largest, order by order.

    Args:
        own: p_A.
        rival: p_B.
        divergences: (L, len(ORDERS)), of every word of the text.
    """
    summed = np.cumsum(-np.sort(-divergences, axis=0), axis=0) * (1 + _ROUNDING)

    def is_uncertified(changes: int) -> bool:
        return not _is_still_likeliest(functools.partial(bound_by_renyi, divergences=summed[changes - 1]), own, rival)

    return find_least_count(is_uncertified, len(divergences)) - 1


def count_changes_by_randomized_response(own: float, rival: float, losses: FloatArray) -> int:
    """Return how many words may change, from the largest loss of each word.

    Two laws of loss at most e are post-processing of randomized response with loss e (Kairouz, Oh and Viswanath 2015,
    Theorem 2.1), and independent draws of independent responses. For these the lemma of Neyman and Pearson gives
    ``low`` exactly.

    Args:
        own: p_A.
        rival: p_B.
        losses: (L,) nats, of every word of the text; 0 for a word that nothing may replace.
    """
    if not losses.any():
        return len(losses) if own > rival else 0
    for changed, masses in enumerate(_compose_losses(losses)):
        if not _is_still_likeliest(functools.partial(_bound_by_neyman_pearson, masses=masses), own, rival):
            return max(changed - 1, 0)
    return len(losses)


def _is_still_likeliest(low: Callable[[float], float], own: float, rival: float) -> bool:
    """Say whether the class stays the likeliest; with two classes one bound serves for both."""
    own_bound = low(own)
    return own_bound + (own_bound if 1 - rival == own else low(1 - rival)) > 1


def _compose_losses(losses: FloatArray) -> Iterator[FloatArray]:
    """Yield the masses (2 m + 1,) of the total losses of 0, 1, 2, ... responses, those of the largest losses first.

    The total loss is a whole number of steps from -m to m. Of a response with loss e it is e with the chance
    e^e / (1 + e^e) under P, and -e under Q; so of a total l the chance is P(l) under P and P(-l) = e^-l P(l) under Q.
    """
    # Smaller losses than the largest are rounded up to whole steps; longer texts have coarser ones.
    step = float(losses.max()) / min(max(_TOTAL_STEPS // len(losses), _MIN_STEPS), _MAX_STEPS) * (1 + _ROUNDING)
    masses = np.ones(1)
    yield masses
    for loss in -np.sort(-losses):
        loss_steps = math.ceil(loss / step)
        true_probability = 1 / (1 + math.exp(-loss_steps * step))
        # Ahead by `parts` where the response is true, back by as many where it is false.
        masses = np.pad(masses * true_probability, (2 * loss_steps, 0)) + np.pad(
            masses * (1 - true_probability), (0, 2 * loss_steps)
        )
        yield masses


def _bound_by_neyman_pearson(probability: float, masses: FloatArray) -> float:
    """Return ``low`` where P gives evenly spaced losses these masses, and Q gives them the mirrored ones.

    The complement of A gains most if it consists of the least losses: 1 - low is what Q gives to the 1 - p of least
    loss, the last value of the loss taken in part.
    """
    complement = 1 - probability
    cumulative = np.cumsum(masses)  # P(loss <= i)
    last = min(int(np.searchsorted(cumulative, complement, side="right")), len(masses) - 1)
    mirrored = masses[::-1]
    cumulative_before = cumulative[last - 1] if last else 0.0
    share = min(max(complement - cumulative_before, 0.0) / masses[last], 1.0) if masses[last] else 1.0
    gained = float(mirrored[:last].sum() + share * mirrored[last])
    return 1 - gained * (1 + _ROUNDING)


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
    words, space, law = np.unique(texts.words), mechanism.space, mechanism.law
    claim = mechanism.guarantee if guarantee is None else guarantee
    points, claimed = space.point_by_word[words], f"{claim} times distance ({claim.source})"
    if replacements is not None:
        sets = [replacements.choices_of(int(word)) for word in words]
        if law.is_tabulated:
            return ReplacementCosts(
                replacements.name, "the integer tables that are sampled", words, *_compare_tables(mechanism, sets)
            )
        members = [space.point_by_word[item] for item in sets]
        max_losses = [claim.loss(float(space.distances(own[:1])[0, own].max())) for own in members]
        return ReplacementCosts(replacements.name, claimed, words, np.array(max_losses), None)
    losses, divergences = law.input_losses(points, workers), None
    if losses is None:
        farthest = space.map_row_blocks(lambda _, distances: distances.max(axis=1), points, workers)
        return ReplacementCosts(ANY_WORD, claimed, words, claim.epsilon * np.concatenate(farthest), None)
    if space.point_count <= _MAX_EXACT_POINTS:
        bounds = [law.renyi(alpha, workers) for alpha in RENYI_ORDERS]
        largest = np.array([math.inf if bound is None else bound for bound in bounds])
        divergences = np.broadcast_to(largest, (len(words), len(RENYI_ORDERS)))
    return ReplacementCosts(ANY_WORD, "the law that is sampled, over all words", words, losses, divergences)


def _compare_tables(mechanism: WordMechanism, sets: list[WordIds]) -> tuple[FloatArray, FloatArray]:
    """Return losses (m,) and divergences (m, len(ORDERS)) between the first word of each set and the others."""
    losses, divergences = np.zeros(len(sets)), np.zeros((len(sets), len(RENYI_ORDERS)))
    # About as many words at once as one block of distances has rows.
    for start, end in Streams(b"", [], list(map(len, sets))).batches(BLOCK_ROWS):
        points = mechanism.space.point_by_word[np.concatenate(sets[start:end])]
        log_rows = np.log(mechanism.law.tables(points) / tables.TABLE_TOTAL)
        first = 0
        for index in range(start, end):
            for other in range(first + 1, first + len(sets[index])):
                loss, set_divergences = _compare_laws(log_rows[first], log_rows[other])
                losses[index] = max(losses[index], loss)
                divergences[index] = np.maximum(divergences[index], set_divergences)
            first += len(sets[index])
    return np.where(losses > 0, losses + _LOGARITHM_ERROR, 0.0), divergences


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
