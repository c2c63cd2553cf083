"""What a claim allows one token, and what two laws spend."""

import math

import numpy as np
import pytest
from scipy import optimize

from deniable.accounting.renyi import bound_zcdp_log_delta, compute_zcdp_epsilon, compute_zcdp_rho
from deniable.auditing.samplers.claims import (
    TokenClaim,
    compute_delta,
    find_epsilon,
    find_largest_loss,
    find_largest_rho,
    grant_rounding,
)


def convert(rho, delta):
    """Return the epsilon of Proposition 12 of Canonne, Kamath and Steinke 2020, by a search over orders."""

    def epsilon(logarithm):
        alpha = 1 + math.exp(logarithm)
        return alpha * rho + math.log1p(-1 / alpha) - (math.log(delta) + math.log(alpha)) / (alpha - 1)

    return optimize.minimize_scalar(epsilon, bounds=(-10, 15), method="bounded", options={"xatol": 1e-10}).fun


@pytest.mark.parametrize("rho", [1e-4, 0.03, 1.0, 20.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.1])
def test_zcdp(rho, delta):
    """Epsilon of a rho is that of a search over orders, and rho of that epsilon is the same again."""
    epsilon = compute_zcdp_epsilon(rho, delta)
    assert epsilon == pytest.approx(max(convert(rho, delta), 0), rel=1e-6, abs=1e-9)
    if epsilon > 0.01:
        assert compute_zcdp_rho(epsilon, delta) == pytest.approx(rho, rel=1e-6)


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-9, 1e-300), (1e-3, 1e-5), (1.0, 1e-5), (50.0, 1e-9), (1e300, 0.5)])
def test_rho_keeps_the_claim(epsilon, delta):
    """The rho of a claim implies it, however small, and a little more does not."""
    rho = compute_zcdp_rho(epsilon, delta)
    assert bound_zcdp_log_delta(rho, epsilon) <= math.log(delta)
    if epsilon < 1e15:
        assert bound_zcdp_log_delta(rho * 1.001, epsilon) > math.log(delta)


@pytest.mark.parametrize(
    ("claim", "epsilon"),
    [
        (TokenClaim("pure", 5.0, tokens=100), 0.05),
        (TokenClaim("zcdp", 1.0, 1e-5, 100), 0.0494),  # as a paper of private prediction has them
        (TokenClaim("zcdp", 10.0, 1e-5, 100), 0.378),
        (TokenClaim("approx", 3.0, 1e-5, 100), 3.0),
    ],
)
def test_what_a_token_may_spend(claim, epsilon):
    """A pure claim is shared evenly, zCDP adds up, and an approximate claim may be spent by one token."""
    assert claim.token_guarantee.epsilon == pytest.approx(epsilon, rel=3e-3)
    assert claim.compose(claim.token_guarantee.epsilon)[0] == pytest.approx(
        claim.epsilon * (1 if claim.kind != "approx" else 100)
    )


def test_what_two_laws_spend():
    """The loss, delta and epsilon of randomized response are those of its formula."""
    q = np.array([0.5, 0.3, 0.2])
    p = np.array([0.3, 0.3, 0.4])
    assert find_largest_loss(p, q) == (pytest.approx(math.log(2)), 2)
    assert compute_delta(p, q, 0.0) == pytest.approx(0.2)
    assert compute_delta(p, q, math.log(1.5)) == pytest.approx(0.4 - 0.3)
    assert find_epsilon(p, q, 0.1) == pytest.approx(math.log(1.5))
    assert find_epsilon(p, q, 0.25) == pytest.approx(0, abs=1e-9)


def test_tokens_of_one_side():
    """A token that one law lacks is an infinite loss, and an infinite epsilon where delta does not cover it."""
    p, q = np.array([0.01, 0.99]), np.array([0.0, 1.0])
    assert find_largest_loss(p, q) == (math.inf, 0)
    assert find_largest_loss(q, p)[0] == pytest.approx(math.log(1 / 0.99))
    assert TokenClaim("zcdp", 1.0, 1e-5).measure(p, q) == math.inf
    assert TokenClaim("approx", 1.0, 1e-5).measure(p, q) == math.inf
    assert TokenClaim("approx", 1.0, 0.02).measure(p, q) == pytest.approx(0, abs=1e-9)


def test_rounding_refutes_nothing():
    """Probabilities that add up to delta keep it, a loss beyond e^700 is finite, and equal laws spend no rho."""
    approx = TokenClaim("approx", 1.0, 0.3)
    assert approx.delta < 0.1 + 0.2
    assert approx.measure(np.array([0.1, 0.2, 0.7]), np.array([0, 0, 1.0])) <= 1e-9
    assert 700 < TokenClaim("approx", 800.0, 1e-6).measure(np.array([1e-5, 1 - 1e-5]), np.array([1e-315, 1])) < 800
    p = np.random.default_rng(0).dirichlet(np.full(150_000, 0.5)) + 1e-12
    for moved in (1, 1 + 1e-15):
        assert find_largest_rho(p / p.sum() * moved, p / p.sum()) == 0
    assert find_largest_rho(np.zeros(3), np.ones(3) / 3) == 0


def test_rho_of_bounded_range():
    """A law in proportion to exp(u) has at most e^2 / 8 for scores that move by e / 2, and nearly that for small e."""
    random = np.random.default_rng(1)
    scores = random.normal(size=100)
    for e in (0.02, 0.5, 3.0):
        moved = scores + random.choice([-e / 2, e / 2], size=100)
        p, q = (np.exp(u) / np.exp(u).sum() for u in (moved, scores))
        rho = find_largest_rho(p, q)
        assert 0.3 * e**2 / 8 < rho <= e**2 / 8
        alpha = 2.0
        assert rho >= math.log((p**alpha * q ** (1 - alpha)).sum()) / (alpha - 1) / alpha - 1e-9


def test_rounding_is_granted():
    """Two softmaxes of shifted logits in float32 spend nothing beyond rounding, and a lost token does."""
    logits = np.random.default_rng(2).normal(scale=20, size=1000)

    def softmax(values, kind):
        values = (values - values.max()).astype(kind)
        weights = np.exp(values)
        return (weights / weights.sum()).astype(np.float64)

    for kind in (np.float32, np.float64):
        p, q = softmax(logits, kind), softmax(logits + 0.1, kind)
        assert find_largest_loss(*grant_rounding(p, q, kind))[0] <= 0 < find_largest_loss(p, q)[0] + 1e-11
    q = np.where(np.arange(1000) == 3, 0, p)
    assert 0 < find_largest_loss(*grant_rounding(p, q, np.float64))[0] < math.inf
