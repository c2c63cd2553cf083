"""What a whole text loses: the losses of its words added up, and composed.

The guarantee is about any two texts of one length. Every word loses at most

- e, the largest loss ln P(y|w) - ln P(y|w') of any pair, so that L words lose at most L e;
- r(alpha), the largest Renyi divergence D_alpha of any pair, and L words L r(alpha) (Mironov 2017),
  which gives (epsilon, delta) for every delta (Canonne, Kamath, Steinke 2020, Proposition 12)::

      epsilon = L r(alpha) + ln((alpha - 1) / alpha) - (ln delta + ln alpha) / (alpha - 1)

Three bounds on r(alpha) hold over *all* pairs; the least is used:

- exact: sum_y P(y|w)^alpha P(y|w')^(1 - alpha) for all pairs is one product of two n x n matrices;
- for the exponential family, from d(w', y) <= R(w'), the largest distance from w'::

      r(alpha) <= max_w' [s R(w') + ln Z_s(w')] + max_w [ln Z_{alpha s}(w) - alpha ln Z_s(w)] / (alpha - 1)

- for any law of loss at most e: the divergence of randomized response, which dominates it.
"""

import dataclasses
import functools
import math
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from deniable.cache import remember
from deniable.errors import bad_parameter, positive
from deniable.guarantees import ApproxDP, PureDP
from deniable.parallel import each
from deniable.space.metrics import Array
from deniable.space.space import Space
from deniable.status import Status, weakest
from deniable.words import law
from deniable.words.exponential import Exponential, log_normalisers, rounding

if TYPE_CHECKING:
    from deniable.words.mechanism import WordMechanism

EXACT = 10_000
"""Points up to which divergences are computed for every pair: 2 n^3 operations an order."""
ORDERS = tuple(1 + 2.0 ** (half / 2) for half in range(-16, 9))
"""Orders alpha tried. At 20 powers of the least table entry, 2^-38, are still far above 1e-308."""
_SIDE = 256
_WORTHWHILE = 0.95
_CANCELLED = 2.0**-48
"""Bound on the rounding of the logarithm of a sum near 1."""
_SLACK = 1e-9
"""Relative error allowed for in a sum of powers; in truth it is below n 2^-53 + 40 alpha 2^-53."""


@dataclasses.dataclass(frozen=True)
class DocumentGuarantee:
    """What is promised for a whole text, against any other text of the same number of words.

    Attributes:
        words: number of words of the text.
        pure: the losses of the words added up.
        approximate: composed, with a probability delta of more.
    """

    words: int
    pure: PureDP
    approximate: ApproxDP

    def __str__(self) -> str:
        """Return both in one line."""
        return f"{self.words:,} words: {self.pure}, {self.approximate}"


def document_guarantee(
    mechanism: "WordMechanism", words: int, delta: float, workers: int | None = None
) -> DocumentGuarantee:
    """Return the guarantee of a text of so many words; see `WordMechanism.document_guarantee`."""
    if isinstance(words, bool) or not isinstance(words, int | np.integer) or words < 1:
        raise bad_parameter("document_guarantee", "words", "an int of at least 1", words)
    delta = positive("document_guarantee", "delta", delta, upper=1.0)
    loss = worst_loss(mechanism, workers)
    total = int(words) * loss
    standing = weakest(mechanism.guarantee.standing, _ground(mechanism))
    composed, how = _compose(mechanism, int(words), delta, loss, workers)
    if composed >= total:
        composed, how = total, "the pure bound, on which composition does not improve"
    pure = PureDP(total, f"{words:,} times the largest loss of a word, {loss:.6g}", standing)
    return DocumentGuarantee(int(words), pure, ApproxDP(float(composed), delta, how, standing))


def _ground(mechanism: "WordMechanism") -> Status:
    """Return how far the largest loss of a word is known to be true if the mechanism's guarantee is."""
    if mechanism.closed_form is not None and mechanism.space.metric.builtin:
        return "proved"  # computed, all rounding in it
    # By the claim, whose theorem is not about floats, nor about rows or draws of a subclass's own.
    return "proved for ideal arithmetic" if mechanism.own else "undecided"


def worst_loss(mechanism: "WordMechanism", workers: int | None = None) -> float:
    """Return the largest loss of one word, in nats, over all pairs: computed, or by the claim epsilon Delta."""
    space, family = mechanism.space, mechanism.closed_form
    if family is None or not space.metric.builtin:
        return mechanism.guarantee.loss(space.diameter)
    return extents(space, family, workers)["loss"]


def _compose(
    mechanism: "WordMechanism", words: int, delta: float, loss: float, workers: int | None
) -> tuple[float, str]:
    """Return the least epsilon found at this delta, and how."""

    def spend(alpha: float, divergence: float) -> float:
        gain = math.log1p(-1 / alpha) - (math.log(delta) + math.log(alpha)) / (alpha - 1)
        return max(0.0, words * divergence + gain)

    simple = [spend(alpha, randomized_response(loss, alpha)) for alpha in ORDERS]
    start = int(np.argmin(simple))
    found = [(simple[start], "Renyi divergences of randomized response with the largest loss of a word")]
    space, family = mechanism.space, mechanism.closed_form
    if mechanism.tabulated and len(space.points) <= EXACT:
        exact = functools.cache(lambda place: spend(ORDERS[place], exact_divergence(mechanism, ORDERS[place], workers)))
        found.append((exact(_valley(exact, start)), "exact Renyi divergences of all pairs"))
    elif family is not None and space.metric.builtin:

        def bounded(place: int) -> float:
            return bounded_divergence(space, family, ORDERS[place], workers)

        # It grows with the order: where the least order gains nothing, none does.
        if bounded(0) < _WORTHWHILE * loss:
            bound = functools.cache(lambda place: spend(ORDERS[place], bounded(place)))
            found.append((bound(_valley(bound, start)), "a bound on the Renyi divergences of all pairs"))
    return min(found)


def _valley(cost: Callable[[int], float], start: int) -> int:
    """Return where a walk downhill over the orders ends."""
    here = start
    for step in (-1, 1):
        while 0 <= here + step < len(ORDERS) and cost(here + step) < cost(here):
            here += step
    return here


def randomized_response(loss: float, alpha: float) -> float:
    """Return D_alpha of randomized response, the largest of any two laws of loss at most ``loss``."""
    # ln of p^alpha q^(1 - alpha) + q^alpha p^(1 - alpha), with p = e^loss / (1 + e^loss), q = 1 - p
    p, q = -math.log1p(math.exp(-loss)), -loss - math.log1p(math.exp(-loss))
    moment = float(np.logaddexp(alpha * p + (1 - alpha) * q, alpha * q + (1 - alpha) * p))
    return (max(moment, 0.0) + _CANCELLED) / (alpha - 1)


def exact_divergence(mechanism: "WordMechanism", alpha: float, workers: int | None = None) -> float:
    """Return the largest D_alpha of any two inputs, of the integer tables that are sampled."""

    def compute() -> dict[str, float]:
        space = mechanism.space
        count = len(space.points)
        powers = np.empty((count, count))
        probabilities = np.empty((count, count))

        def fill(first: int, distances: Array) -> None:
            block = law.entries(mechanism.rows(distances)) / law.TOTAL
            probabilities[first : first + len(block)] = block
            powers[first : first + len(block)] = block ** (1 - alpha)

        space.sweep(fill, range(count), workers)

        def largest(first: int) -> float:
            return float((probabilities[first : first + _SIDE] ** alpha @ powers.T).max())

        return {"sum": max(each(largest, range(0, count, _SIDE), workers))}

    fingerprint = mechanism.law_fingerprint
    name = f"renyi-{fingerprint}-{alpha!r}"
    # The sum is at least 1: a divergence is not negative.
    found = (
        remember(
            name,
            ("sum",),
            compute,
            lambda it: 1 - _SLACK <= it["sum"] < math.inf,
        )
        if fingerprint
        else compute()
    )
    return math.log(found["sum"] * (1 + _SLACK)) / (alpha - 1)


def bounded_divergence(space: Space, family: Exponential, alpha: float, workers: int | None = None) -> float:
    """Return a bound on the largest D_alpha of any two inputs of an exponential law.

    The tables mix the law with the uniform one, which does not raise a divergence, and round each
    entry by a factor of at most 1 + 2^-24.
    """
    # A smaller scale has the larger normaliser, and so is a bound too.
    steeper = dataclasses.replace(family, scale=min(alpha * family.scale, sys.float_info.max))

    def compute() -> dict[str, float]:
        logs = np.log(steeper.normalisers(space, workers)) - alpha * log_normalisers(space, family, workers)
        return {"inputs": float(logs.max())}

    name = f"bound-{space.fingerprint}-{family.fingerprint}-{alpha!r}"
    inputs = remember(name, ("inputs",), compute)["inputs"]
    slack = (2 * alpha - 1) / (alpha - 1) * (1 / law.FLOOR + rounding(space, steeper))
    return extents(space, family, workers)["reach"] + inputs / (alpha - 1) + slack


def extents(space: Space, family: Exponential, workers: int | None = None) -> dict[str, float]:
    """Return over all pairs the largest loss, and the largest s d(w, w') + ln Z(w')."""

    def compute() -> dict[str, float]:
        logs = log_normalisers(space, family, workers)

        def visit(rows: slice, columns: slice, distances: Array) -> tuple[float, float]:
            np.minimum(distances, family.cutoff, out=distances)
            distances *= family.scale
            left, right = logs[rows, None], logs[None, columns]
            return float((distances + abs(left - right)).max()), float((distances + np.maximum(left, right)).max())

        losses, reaches = zip(*space.tiles(visit, workers), strict=True)
        slack = rounding(space, family)
        return {"loss": max(max(losses) + slack, 1 / law.FLOOR + slack), "reach": max(reaches) + slack}

    name = f"extents-{space.fingerprint}-{family.fingerprint}"
    return remember(name, ("loss", "reach"), compute, lambda it: it["loss"] > 0 and math.isfinite(it["reach"]))
