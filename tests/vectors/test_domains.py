"""Domains: clipping keeps its promises, sensitivities are the true ones."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import deniable as dn
from tests.refusals import refuses

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
ROWS = arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 6)), elements=FLOATS)
RADII = st.floats(1e-150, 1e150)
DOMAINS = (dn.Box(-0.5, 2.0), dn.L1Ball(1.7), dn.L2Ball(1.7))


def within(ball, row):
    """Say in rational arithmetic whether a row lies in a ball."""
    exact = [abs(Fraction(float(value))) for value in row]
    if isinstance(ball, dn.L1Ball):
        return sum(exact) <= Fraction(ball.radius)
    return sum(value**2 for value in exact) <= Fraction(ball.radius) ** 2


@pytest.mark.parametrize("kind", [dn.L1Ball, dn.L2Ball])
@given(x=ROWS, radius=RADII)
@settings(max_examples=30)
def test_ball_holds_what_it_clips(kind, x, radius):
    """Whatever finite floats come in, what comes out is finite, truly in the ball and clipped for good."""
    ball = kind(radius)
    clipped = ball.clip(x)
    assert clipped.shape == x.shape
    assert np.isfinite(clipped).all()
    assert all(within(ball, row) for row in clipped)
    assert (ball.clip(clipped) == clipped).all()
    assert (np.sign(clipped) * np.sign(x) >= 0).all()


@given(x=ROWS, bounds=st.tuples(st.floats(-1e150, 1e150), st.floats(-1e150, 1e150)).filter(lambda b: b[0] < b[1] - 1))
@settings(max_examples=30)
def test_box_holds_what_it_clips(x, bounds):
    """Clipped coordinates lie between the bounds, for good, and those that already did stay."""
    box = dn.Box(*bounds)
    clipped = box.clip(x)
    assert (clipped >= box.lower).all()
    assert (clipped <= box.upper).all()
    assert (box.clip(clipped) == clipped).all()
    inside = (x >= box.lower) & (x <= box.upper)
    assert (clipped[inside] == x[inside]).all()


@pytest.mark.parametrize(("ball", "order"), [(dn.L1Ball(2.0), 1), (dn.L2Ball(2.0), 2)])
def test_clip_is_the_published_formula(ball, order):
    """A clipped row is x min(1, C / norm(x)) up to the documented rounding, and short rows stay as they are."""
    x = np.random.default_rng(5).normal(size=(200, 40)) * np.geomspace(1e-6, 1e6, 200)[:, None]
    norms = np.linalg.norm(x, ord=order, axis=1, keepdims=True)
    clipped = ball.clip(x)
    np.testing.assert_allclose(clipped, x * np.minimum(1, 2.0 / norms), rtol=4 * 50 * 2.0**-53)
    short = norms[:, 0] < 1.99
    assert short.any()
    assert (clipped[short] == x[short]).all()


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("n", [1, 3, 1024])
@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
def test_sensitivity_is_attained_and_never_exceeded(domain, order, n):
    """The worst pair attains the sensitivity; random pairs, sign corners and axes never exceed it."""
    claimed = domain.sensitivity(order, n)
    x, other = domain.worst_pair(order, n)
    assert np.linalg.norm(x - other, ord=order) == pytest.approx(claimed, rel=1e-12)
    for point in (x, other):
        np.testing.assert_allclose(domain.clip(point[None])[0], point, rtol=1e-12)
    draw = np.random.default_rng(n)
    seeds = np.concatenate([draw.normal(size=(300, n)), draw.choice([-1.0, 1.0], size=(300, n)), np.eye(n)[:50]])
    points = domain.clip(seeds * 100)
    far = np.linalg.norm(points - domain.clip(-seeds * 100), ord=order, axis=1)
    mixed = np.linalg.norm(points - points[::-1], ord=order, axis=1)
    assert max(far.max(), mixed.max()) <= claimed * (1 + 1e-12)


def test_published_formulae():
    """The numbers of Habernal 2021: 2 C sqrt(n), where ADePT says 2 C."""
    assert dn.L2Ball(3.0).sensitivity(1, 32) == pytest.approx(6 * math.sqrt(32))
    assert dn.L2Ball(3.0).sensitivity(2, 32) == 6
    assert dn.L1Ball(3.0).sensitivity(1, 32) == dn.L1Ball(3.0).sensitivity(2, 32) == 6
    assert dn.Box(-1, 2).sensitivity(1, 4) == 12
    assert dn.Box(-1, 2).sensitivity(2, 4) == 6


@pytest.mark.parametrize(
    "make",
    [
        *(
            lambda kind=kind, r=r: kind(r)
            for kind in (dn.L1Ball, dn.L2Ball)
            for r in (0, -1, math.nan, math.inf, "1", True)
        ),
        *(
            lambda b=b: dn.Box(*b)
            for b in ((1, 1), (1, 0), (0, math.inf), (math.nan, 1), ("0", 1), (False, 1), (0, None))
        ),
        lambda: dn.L2Ball(1).sensitivity(1, 0),
    ],
)
def test_bad_domains_are_refused_in_one_line(make):
    """Bounds, radii and dimensions outside their range raise InputError in one line."""
    with refuses("Got"):
        make()
