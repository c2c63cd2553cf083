"""The law of one token: whatever the logits say, integer weights that lie between two bounds.

A row of logits (K,) becomes integer weights w (K,), whose sum is S. The token drawn from 62 uniform bits r is
the first whose running sum exceeds floor(r S / 2^62), so that token v comes out for exactly::

    N(v) = ceil(2^62 C(v + 1) / S) - ceil(2^62 C(v) / S)        C the running sums before each token

of the 2^62 values of r, which is 2^62 w(v) / S rounded down or up. If all weights lie in [l, h], then for every
row whatever::

    floor(2^62 l / (l + (K - 1) h))  <=  N(v)  <=  ceil(2^62 h / (h + (K - 1) l))

because w / (w + the others) grows in w and falls in the others. The quotient of the two sides bounds the loss
between any two rows at any token. It is compared with e^epsilon in integers, so nothing that floating point does to
a logit, a temperature or an exponential can matter: it ends before the clip to [l, h].
"""

import dataclasses
import decimal
import functools
import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from deniable.errors import InputError, bad_parameter, positive
from deniable.vectors.grid import downward, upward

Array = npt.NDArray[np.float64]
Weights = npt.NDArray[np.int64]

BITS = 62
TOTAL = 1 << BITS
TOP = 1 << 46
"""Largest weight of the exponential law: with 2^16 tokens their sum still fits."""
TOKENS = 1 << 16
"""Most tokens of a law."""
_DIGITS = 60
_CLOSE = Fraction(1, 10**50)
"""More than the relative error of an exponential or a logarithm to 60 digits."""
_LARGEST = 64.0
"""An epsilon beyond it is no other: the most that 62 bits can lose is less."""


@dataclasses.dataclass(frozen=True)
class Exponential:
    """The exponential mechanism on clipped logits (McSherry and Talwar 2007; DP-Prompt, Utpala et al. 2023).

    With u(v) the logit of v less the largest one, and no less than -R::

        w(v) = h exp(u(v) a / R)           a = ln(h / l),  from l to h

    that is, a softmax of temperature R / a. Logits that lie in [-R, 0] have sensitivity R, for which the theorem
    asks the temperature 2 R / epsilon (Utpala et al.: 4 B / epsilon for logits in [-B, B]): half of epsilon pays
    for the token's own weight and half for the sum of all. That sum cannot fall by as much as its terms, for one
    token always stays at the top, so the loss is not 2 a but::

        a + ln((1 + (K - 1) e^a) / (e^a + K - 1))

    which is reached: by logits that favour one token, against logits that favour all others over it. The least l
    is taken for which this, with all rounding, is at most epsilon. For epsilon far below ln K it is half of
    epsilon as in the theorem; beyond, a comes near epsilon - ln(K - 1), for a much colder softmax.

    Centring at the largest logit costs nothing, since a softmax does not see a shift. R is public and costs no
    privacy: it says how many nats below the best token the decoder is still listened to.

    Attributes:
        count: K.
        epsilon: of one token, > 0.
        reach: R, > 0, in nats.

    Raises:
        InputError: a parameter is outside its domain, or epsilon is too small for any weights.
    """

    count: int
    epsilon: float
    reach: float = 10.0
    least: int = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        _check(self.count, self.epsilon)
        positive("tokens", "reach", self.reach)
        allowed = _power(self.epsilon)
        low, high = 0, TOP  # `high` holds the claim, `low` does not: the loss falls as the least weight grows
        if _ratio(high, self.count) > allowed:
            raise _too_small(self.epsilon)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if _ratio(middle, self.count) <= allowed else (middle, high)
        object.__setattr__(self, "least", high)

    @property
    def temperature(self) -> float:
        """Of the softmax, in units of a logit; infinite where all tokens are equally likely."""
        slope = math.log(TOP / self.least)
        return self.reach / slope if slope else math.inf

    @functools.cached_property
    def ratio(self) -> Fraction:
        """The quotient of the bounds on N(v)."""
        return _ratio(self.least, self.count)

    def weights(self, logits: Array) -> Weights:
        """Return the weights (k, K), each from l to 2^46."""
        fallen = np.maximum(_below_top(logits), -self.reach)
        decayed = np.rint(TOP * np.exp(fallen * (math.log(TOP / self.least) / self.reach)))
        found: Weights = np.clip(decayed.astype(np.int64), self.least, TOP)
        return found


@dataclasses.dataclass(frozen=True)
class Mixed:
    """The decoder's own law, mixed with the uniform one (Majmudar et al. 2022, Differentially Private Decoding).

    With p the softmax of the logits::

        w(v) = l + floor((2^62 - K l) p(v))        what rounding leaves goes to the largest weight

    The weights sum to exactly 2^62 and none is below l, so none exceeds 2^62 - (K - 1) l, and no two rows lose
    more than ln(2^62 / l - (K - 1)), which two certain ones reach. The least l is taken for which that is at most
    epsilon: l / 2^62 = 1 / (e^epsilon + K - 1). A decoder that is certain is followed with probability
    e^epsilon / (e^epsilon + K - 1), and no epsilon-DP law over K tokens does better on average over the tokens
    (randomized response: add up P(v|v) <= e^epsilon P(v|w) over all v and w).

    Attributes:
        count: K.
        epsilon: of one token, > 0.

    Raises:
        InputError: a parameter is outside its domain, or epsilon is too small for any weights.
    """

    count: int
    epsilon: float
    least: int = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        _check(self.count, self.epsilon)
        least = math.ceil(TOTAL / (_power(self.epsilon) + self.count - 1))
        if least * self.count > TOTAL:
            raise _too_small(self.epsilon)
        object.__setattr__(self, "least", least)

    @property
    def uniform(self) -> float:
        """Share of the uniform law."""
        return self.count * self.least / TOTAL

    @functools.cached_property
    def ratio(self) -> Fraction:
        """The largest weight that there can be over the least."""
        return Fraction(TOTAL - (self.count - 1) * self.least, self.least)

    def weights(self, logits: Array) -> Weights:
        """Return the weights (k, K), which sum to 2^62."""
        likely = np.exp(_below_top(logits))
        likely /= likely.sum(axis=1, keepdims=True)
        found = self.least + np.floor(float(TOTAL - self.count * self.least) * likely).astype(np.int64)
        found[np.arange(len(found)), found.argmax(axis=1)] += TOTAL - found.sum(axis=1)
        return found


TokenLaw = Exponential | Mixed
"""From logits (k, K) to integer weights (k, K) that lose at most ``ratio`` between any two rows."""


def loss_of(ratio: Fraction, *, below: bool = False) -> float:
    """Return the logarithm of a ratio >= 1, rounded up, or down where ``below`` is set."""
    with decimal.localcontext(decimal.Context(prec=_DIGITS)):
        found = Fraction((decimal.Decimal(ratio.numerator) / decimal.Decimal(ratio.denominator)).ln())
    margin = _CLOSE * (1 + found)
    return max(downward(found - margin), 0.0) if below else upward(found + margin)


def chances(weights: Weights) -> list[list[int]]:
    """Return N(v) of each row of weights (k, K): of the 2^62 values of r, those that draw each token."""
    found = []
    for row in weights.tolist():
        total, running, before = sum(row), 0, 0
        counts = []
        for weight in row:
            running += weight
            after = -(-(running << BITS) // total)
            counts.append(after - before)
            before = after
        found.append(counts)
    return found


def drawn(weights: Weights, words: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
    """Return one token (k,) for each row of weights (k, K).

    Args:
        weights: as a law gives them.
        words: (k,) uniform 64-bit words, of which the upper 62 bits are used.
    """
    sums = np.cumsum(weights, axis=1)
    pairs = zip(words.tolist(), sums[:, -1].tolist(), strict=True)
    at = np.array([((word >> (64 - BITS)) * total) >> BITS for word, total in pairs], dtype=np.int64)
    found: npt.NDArray[np.int64] = (sums <= at[:, None]).sum(axis=1)
    return found


def _below_top(logits: Array) -> Array:
    """Return logits (k, K) less the largest of each row."""
    with np.errstate(over="ignore"):  # -inf is as far below as anything
        fallen: Array = logits - logits.max(axis=1, keepdims=True)
    return fallen


def _ratio(least: int, count: int) -> Fraction:
    """Return the quotient of the bounds on N(v) for weights from ``least`` to `TOP`; infinite ones are very large."""
    most = -((-TOP << BITS) // (TOP + (count - 1) * least))
    fewest = (least << BITS) // (least + (count - 1) * TOP)
    return Fraction(most, fewest) if fewest else Fraction(TOTAL * TOTAL)


def _power(epsilon: float) -> Fraction:
    """Return a rational number just below e^epsilon."""
    with decimal.localcontext(decimal.Context(prec=_DIGITS)):
        return Fraction(decimal.Decimal(min(epsilon, _LARGEST)).exp()) * (1 - _CLOSE)


def _check(count: int, epsilon: float) -> None:
    positive("tokens", "epsilon", epsilon)
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= TOKENS:
        raise bad_parameter("tokens", "count", f"an int from 1 to {TOKENS:,}, the words that are drawn from", count)


def _too_small(epsilon: float) -> InputError:
    return InputError(f"An epsilon of {epsilon:g} for one token is below what 62 bits can tell: choose a larger one.")
