"""The law of one token: integer weights that lie between two bounds, whatever the logits.

A row of logits (K,) becomes integer weights w (K,), whose sum is S. The token drawn from 62 uniform bits r is
the first whose running sum exceeds floor(r S / 2^62), so that token v comes out for exactly::

    N(v) = ceil(2^62 C(v + 1) / S) - ceil(2^62 C(v) / S)        C the running sums before each token

of the 2^62 values of r, which is 2^62 w(v) / S rounded down or up. If all weights lie in [l, h], then for every
row::

    floor(2^62 l / (l + (K - 1) h))  <=  N(v)  <=  ceil(2^62 h / (h + (K - 1) l))

because w / (w + the others) grows in w and falls in the others. The quotient of the two sides bounds the loss
between any two rows at any token. It is compared with e^epsilon in integers, so no rounding of a logit, a temperature
or an exponential matters: all floating point comes before the clip to [l, h].
"""

import dataclasses
import decimal
import functools
import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from deniable.core.errors import InputError, check_count, check_positive
from deniable.core.numbers import find_least_count, format_exact
from deniable.vectors.discrete_noise import round_down_to_float, round_up_to_float

Logits = npt.NDArray[np.float64]
TokenWeights = npt.NDArray[np.int64]

DRAW_BITS = 62
DRAW_TOTAL = 1 << DRAW_BITS
TOP_WEIGHT = 1 << 46
"""Largest weight of the exponential law: with 2^16 tokens their sum still fits."""
MAX_LAW_TOKENS = 1 << 16
"""Maximum number of tokens of a law."""
_DIGITS = 60
_DECIMAL_ERROR = Fraction(1, 10**50)
"""More than the relative error of an exponential or a logarithm to 60 digits."""
_MAX_EPSILON = 64.0
"""A larger epsilon has the same law: the largest loss that 62 bits can have is smaller."""


@dataclasses.dataclass(frozen=True)
class ExponentialTokenLaw:
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

    Centring at the largest logit costs nothing, since a softmax is invariant under a shift. R is public and costs no
    privacy: tokens more than R nats below the best one all get the least weight.

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
    min_weight: int = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        _check_token_law(self.count, self.epsilon)
        check_positive("tokens", "reach", self.reach)
        allowed = _bound_exponential(self.epsilon)
        if _bound_ratio(TOP_WEIGHT, self.count) > allowed:
            raise _epsilon_too_small(self.epsilon)
        # The loss falls as the least weight grows.
        least = find_least_count(lambda weight: _bound_ratio(weight, self.count) <= allowed, TOP_WEIGHT)
        object.__setattr__(self, "min_weight", least)

    @property
    def temperature(self) -> float:
        """Of the softmax, in units of a logit; infinite where all tokens are equally likely."""
        slope = math.log(TOP_WEIGHT / self.min_weight)
        return self.reach / slope if slope else math.inf

    @functools.cached_property
    def ratio(self) -> Fraction:
        """The quotient of the bounds on N(v)."""
        return _bound_ratio(self.min_weight, self.count)

    def compute_weights(self, logits: Logits) -> TokenWeights:
        """Return the weights (k, K), each from l to 2^46."""
        clipped = np.maximum(_subtract_row_maximum(logits), -self.reach)
        rounded = np.rint(TOP_WEIGHT * np.exp(clipped * (math.log(TOP_WEIGHT / self.min_weight) / self.reach)))
        weights: TokenWeights = np.clip(rounded.astype(np.int64), self.min_weight, TOP_WEIGHT)
        return weights


@dataclasses.dataclass(frozen=True)
class MixedTokenLaw:
    """The decoder's own law, mixed with the uniform one (Majmudar et al. 2022, Differentially Private Decoding).

    With p the softmax of the logits::

        w(v) = l + floor((2^62 - K l) p(v))        the remainder of rounding goes to the largest weight

    The weights sum to exactly 2^62 and none is below l, so none exceeds 2^62 - (K - 1) l, and the loss of any two
    rows is at most ln(2^62 / l - (K - 1)), which two rows of certain decoders reach. The least l is taken for which
    that is at most epsilon: l / 2^62 = 1 / (e^epsilon + K - 1). The token of a certain decoder is drawn with
    probability e^epsilon / (e^epsilon + K - 1), and no epsilon-DP law over K tokens does better on average over the
    tokens (randomized response: add up P(v|v) <= e^epsilon P(v|w) over all v and w).

    Attributes:
        count: K.
        epsilon: of one token, > 0.

    Raises:
        InputError: a parameter is outside its domain, or epsilon is too small for any weights.
    """

    count: int
    epsilon: float
    min_weight: int = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        _check_token_law(self.count, self.epsilon)
        min_weight = math.ceil(DRAW_TOTAL / (_bound_exponential(self.epsilon) + self.count - 1))
        if min_weight * self.count > DRAW_TOTAL:
            raise _epsilon_too_small(self.epsilon)
        object.__setattr__(self, "min_weight", min_weight)

    @property
    def uniform_share(self) -> float:
        """Share of the uniform law."""
        return self.count * self.min_weight / DRAW_TOTAL

    @functools.cached_property
    def ratio(self) -> Fraction:
        """The largest possible weight over the least."""
        return Fraction(DRAW_TOTAL - (self.count - 1) * self.min_weight, self.min_weight)

    def compute_weights(self, logits: Logits) -> TokenWeights:
        """Return the weights (k, K), which sum to 2^62."""
        probabilities = np.exp(_subtract_row_maximum(logits))
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        weights = self.min_weight + np.floor(float(DRAW_TOTAL - self.count * self.min_weight) * probabilities).astype(
            np.int64
        )
        weights[np.arange(len(weights)), weights.argmax(axis=1)] += DRAW_TOTAL - weights.sum(axis=1)
        return weights


TokenLaw = ExponentialTokenLaw | MixedTokenLaw
"""From logits (k, K) to integer weights (k, K) that lose at most ``ratio`` between any two rows."""


def compute_log_ratio(ratio: Fraction, *, round_down: bool = False) -> float:
    """Return the logarithm of a ratio >= 1, rounded up, or down where ``round_down`` is set."""
    with decimal.localcontext(decimal.Context(prec=_DIGITS)):
        logarithm = Fraction((decimal.Decimal(ratio.numerator) / decimal.Decimal(ratio.denominator)).ln())
    margin = _DECIMAL_ERROR * (1 + logarithm)
    return max(round_down_to_float(logarithm - margin), 0.0) if round_down else round_up_to_float(logarithm + margin)


def count_draw_values(weights: TokenWeights) -> list[list[int]]:
    """Return N(v) for each row of weights (k, K): the number of values of r, out of 2^62, that draw each token."""
    counts_by_row = []
    for row in weights.tolist():
        total, running, before = sum(row), 0, 0
        counts = []
        for weight in row:
            running += weight
            after = -(-(running << DRAW_BITS) // total)
            counts.append(after - before)
            before = after
        counts_by_row.append(counts)
    return counts_by_row


def draw_tokens(weights: TokenWeights, words: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
    """Return one token (k,) for each row of weights (k, K).

    Args:
        weights: from `compute_weights` of a law.
        words: (k,) uniform 64-bit words, of which the upper 62 bits are used.
    """
    sums = np.cumsum(weights, axis=1)
    pairs = zip(words.tolist(), sums[:, -1].tolist(), strict=True)
    thresholds = np.array([((word >> (64 - DRAW_BITS)) * total) >> DRAW_BITS for word, total in pairs], dtype=np.int64)
    token_indices: npt.NDArray[np.int64] = (sums <= thresholds[:, None]).sum(axis=1)
    return token_indices


def _subtract_row_maximum(logits: Logits) -> Logits:
    """Return logits (k, K) minus the largest of each row."""
    with np.errstate(over="ignore"):  # an overflow to -inf is clipped later
        differences: Logits = logits - logits.max(axis=1, keepdims=True)
    return differences


def _bound_ratio(min_weight: int, count: int) -> Fraction:
    """Return the quotient of the bounds on N(v) for weights from ``min_weight`` to `TOP_WEIGHT`; huge for infinite."""
    max_count = -((-TOP_WEIGHT << DRAW_BITS) // (TOP_WEIGHT + (count - 1) * min_weight))
    min_count = (min_weight << DRAW_BITS) // (min_weight + (count - 1) * TOP_WEIGHT)
    return Fraction(max_count, min_count) if min_count else Fraction(DRAW_TOTAL * DRAW_TOTAL)


def _bound_exponential(epsilon: float) -> Fraction:
    """Return a rational number just below e^epsilon."""
    with decimal.localcontext(decimal.Context(prec=_DIGITS)):
        return Fraction(decimal.Decimal(min(epsilon, _MAX_EPSILON)).exp()) * (1 - _DECIMAL_ERROR)


def _check_token_law(count: int, epsilon: float) -> None:
    check_positive("tokens", "epsilon", epsilon)
    check_count("tokens", "count", count, maximum=MAX_LAW_TOKENS)


def _epsilon_too_small(epsilon: float) -> InputError:
    return InputError(
        f"An epsilon of {format_exact(epsilon)} for one token is too small for 62-bit integers: choose a larger one."
    )
