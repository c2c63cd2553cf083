"""How far a probability can fall when the law of a text changes: the basis of every certificate of a smoothed text.

Let A be an event, P its law for the text and Q for the changed text. What is known of P and Q bounds Q(A) from below by
a function ``low`` of P(A). The same bound of the complement gives Q(B) <= 1 - low(1 - P(B)). So with P(A) >= p_A for
the certified class and P(B) <= p_B for every other, the class stays the likeliest while::

    low(p_A) + low(1 - p_B) > 1

For a pure bound, e^-t P <= Q <= e^t P, no joint bound of Q(A) and Q(B) from p_A and p_B is sharper. With f(x) =
e^t x + e^-t (1 - x), which increases, low(p_A) is 1 - e^t (1 - p_A) where f(1 - p_A) <= 1, and 1 - low(1 - p_B) is
1 - e^-t (1 - p_B) where f(p_B) >= 1; as p_B <= 1 - p_A both can be so only where p_B = 1 - p_A, and in the three other
cases one law Q on {A, B, rest} takes both values.
"""

import functools
import math
from collections.abc import Callable, Iterator

import numpy as np

from deniable.accounting.renyi import RENYI_ORDERS
from deniable.core.arrays import FloatArray
from deniable.core.numbers import bisect, find_least_count

_MAX_STEPS, _MIN_STEPS, _TOTAL_STEPS = 64, 4, 8192
"""Maximum and minimum number of steps of the largest loss, and the maximum for all words of a text together."""
_ROUNDING = 1e-9
"""Relative error granted to sums of probabilities, far above what float64 makes of them."""
_BISECTIONS = 40
"""Of [0, p], until its end is known to 1e-12."""
_DIVERGENCE_ERROR = 1e-12
"""Error of a binary divergence: rounding near 1 divided by the least order less 1."""


def bound_by_loss(probability: float, loss: float) -> float:
    """Return ``low`` for laws with |ln P - ln Q| <= loss everywhere: max(e^-t p, 1 - e^t (1 - p))."""
    return max(math.exp(-loss) * probability, 1 - math.exp(min(loss, 700.0)) * (1 - probability))


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
