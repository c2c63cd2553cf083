"""What a next-token sampler claims, and what the laws of one token under two neighbours say of it.

A text of T tokens is claimed to be (epsilon, delta)-DP in one of three ways. Each allows one token, whatever the tokens
before it, an epsilon of its own, and two laws p and q of that token spend one::

    pure     epsilon / T        max over v of ln p(v) / q(v)
    zcdp     sqrt(8 rho / T)    sqrt(8 max over alpha of D_alpha(p, q) / alpha)
    approx   epsilon            the least x with  sum over v of (p(v) - e^x q(v))+  <= delta

with rho the largest whose zCDP gives (epsilon, delta). The last row lets one token spend all of the claim.

Adaptive composition needs the first two for every prefix. A draw in proportion to exp(u) whose scores u differ by at
most e / 2 loses at most e and is e^2 / 8-zCDP (Cesar and Rogers 2021), so that the second row has the scale of the
first.
"""

import dataclasses
import functools
import math
import sys
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy import special

from deniable.accounting.renyi import RENYI_ORDERS, compute_zcdp_epsilon, compute_zcdp_rho
from deniable.auditing.games import CLAIM_SOURCE
from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError, check_count, check_fraction, check_positive, make_parameter_error
from deniable.core.guarantees import Guarantee
from deniable.core.numbers import bisect, format_exact

ClaimKind = Literal["pure", "zcdp", "approx"]
AUDITED_PAIRS = "the pairs of the audit"
_OWNER = "audit_language_model"
_ORDERS = np.array([*RENYI_ORDERS, 32.0, 64.0, 256.0])[:, None]
_RATIO_ROUNDING = 1e-12
"""Relative error allowed for in the probabilities of any law, for the arithmetic of the audit itself."""
_MAX_LOSS = 750.0
"""Above ln of the ratio of any two floats."""
_MAX_TOKENS = 10**9
SOFTMAX_UNITS = 128
"""Units in the last place that a softmax may err by, for logits up to 100 below the largest."""


@dataclasses.dataclass(frozen=True)
class TokenClaim:
    """The claim of a next-token sampler.

    Attributes:
        kind: how tokens share epsilon.
        epsilon: of a text, > 0.
        delta: of a text: 0 for a pure claim, else in (0, 1).
        tokens: T, number of tokens of a text.

    Raises:
        InputError: a number outside its domain.
    """

    kind: ClaimKind
    epsilon: float
    delta: float = 0.0
    tokens: int = 1

    def __post_init__(self) -> None:
        """Refuse what is no claim."""
        if self.kind not in get_args(ClaimKind):
            raise make_parameter_error(_OWNER, "claim", f"one of {', '.join(get_args(ClaimKind))}", self.kind)
        check_positive(_OWNER, "epsilon", self.epsilon, sys.float_info.max)
        check_fraction(_OWNER, "delta", self.delta)
        check_count(_OWNER, "tokens", self.tokens, 1, _MAX_TOKENS)
        if (self.delta > 0) == (self.kind == "pure"):
            rule = "has no delta: leave it out" if self.kind == "pure" else "needs a delta above 0, for example 1e-5"
            raise InputError(f"A claim of the kind {self.kind!r} {rule}. Got delta {format_exact(self.delta)}.")
        if not self.token_guarantee.epsilon:
            raise InputError(
                f"A claim must allow each token at least the smallest float. Got epsilon {format_exact(self.epsilon)} "
                f"for {self.tokens:,} tokens: give a larger epsilon, or fewer tokens."
            )

    @functools.cached_property
    def token_guarantee(self) -> Guarantee:
        """What the claim allows one token."""
        epsilon, delta = self.epsilon, 0.0
        if self.kind == "pure":
            epsilon /= self.tokens
        elif self.kind == "zcdp":
            epsilon = math.sqrt(8 * compute_zcdp_rho(epsilon, self.delta) / self.tokens)
        else:
            delta = self.delta
        return Guarantee(epsilon, CLAIM_SOURCE, "claimed", delta=delta, adjacency=AUDITED_PAIRS)

    def measure(self, p: FloatArray, q: FloatArray) -> float:
        """The epsilon that one token with these two laws (V,) spends, in the scale of `token_guarantee`."""
        if self.kind == "approx":
            return find_epsilon(p, q, self.delta)
        loss = find_largest_loss(p, q)[0]
        if self.kind == "pure" or math.isinf(loss):
            return loss
        return math.sqrt(8 * find_largest_rho(p, q))

    def compose(self, epsilon: float) -> tuple[float, float]:
        """Epsilon and delta of T tokens, each of which spends an epsilon as `measure` gives it."""
        if self.kind == "zcdp":
            return compute_zcdp_epsilon(self.tokens * epsilon**2 / 8, self.delta), self.delta
        return self.tokens * epsilon, min(self.tokens * self.delta, 1.0)


def find_largest_loss(p: FloatArray, q: FloatArray) -> tuple[float, int]:
    """The largest ln p(v) / q(v), and its token; infinite, at the likeliest such token, where q is 0 and p is not."""
    is_one_sided = (p > 0) & (q == 0)
    if is_one_sided.any():
        return math.inf, int(np.argmax(np.where(is_one_sided, p, 0)))
    with np.errstate(divide="ignore", invalid="ignore"):
        losses = np.where(p > 0, np.log(p) - np.log(q), -np.inf)
    token = int(np.argmax(losses))
    return max(float(losses[token]) - _RATIO_ROUNDING, 0.0), token


def find_largest_rho(p: FloatArray, q: FloatArray) -> float:
    """The largest D_alpha(p, q) / alpha over a grid of orders, for q above 0 wherever p is."""
    is_given = p > 0
    if not is_given.any():  # all are below what rounding may add
        return 0.0
    p, q = p[is_given], q[is_given]
    losses = np.log(p) - np.log(q)
    moments = special.logsumexp((_ORDERS - 1) * losses, axis=1, b=p, keepdims=True)
    # The moment of order 1 is the sum of p: where rounding is granted, it is below 1.
    divergences = (moments - _RATIO_ROUNDING * _ORDERS) / (_ORDERS - 1) / _ORDERS
    return max(float(divergences.max()), 0.0)


def compute_delta(p: FloatArray, q: FloatArray, epsilon: float) -> float:
    """The least delta at which one token with these laws keeps epsilon: sum over v of (p(v) - e^epsilon q(v))+."""
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.maximum(p - np.where(q > 0, np.exp(epsilon) * q, 0.0), 0.0).sum())


def find_epsilon(p: FloatArray, q: FloatArray, delta: float) -> float:
    """The least epsilon that one token with these laws keeps at delta; infinite where q misses more than delta."""
    allowed = delta * (1 + _RATIO_ROUNDING)
    if compute_delta(p, q, math.inf) > allowed:
        return math.inf
    return bisect(lambda epsilon: compute_delta(p, q, epsilon) <= allowed, 0.0, _MAX_LOSS)[0] - _RATIO_ROUNDING


def grant_rounding(p: FloatArray, q: FloatArray, arithmetic: "npt.DTypeLike") -> tuple[FloatArray, FloatArray]:
    """The least p and the largest q that a softmax in such floats may have given as these laws (V,).

    Each probability has a relative error, and an absolute one where it is too small for a normal float. What they
    spend, by `TokenClaim.measure`, is no more than rounding can explain.
    """
    limits = np.finfo(arithmetic)
    relative, absolute = SOFTMAX_UNITS * float(limits.eps) / 2, float(limits.tiny)
    return np.maximum(p * (1 - relative) - absolute, 0.0), q * (1 + relative) + absolute
