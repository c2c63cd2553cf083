"""Integer noise in a norm: exact laws on small lattices, the laws of real scales, exact decisions."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from deniable.vectors import discrete_noise
from deniable.vectors.discrete_noise import make_noise_generator
from deniable.vectors.norm_noise import (
    sample_ball_noise,
    sample_cube_noise,
    sample_discrete_gaussian_each,
    sample_uniform_below_each,
)
from tests.contracts.statistics import DRAWS, FEW_DRAWS, THRESHOLD, fit

SAMPLERS = {"cube": sample_cube_noise, "ball": sample_ball_noise}
BIG = 1 << 40


def lattice(n, ends):
    """Return all points of Z^n with coordinates from -ends to ends."""
    return np.array(list(itertools.product(range(-ends, ends + 1), repeat=n)))


def law(kind, scale, points):
    """Return the normalised law of lattice points, straight from the definitions."""
    n = points.shape[1]
    levels = np.abs(points).max(axis=1)
    if kind == "ball":
        squares = np.square(points).sum(axis=1).tolist()
        levels = np.array([max(1, math.isqrt(max(-(-square // n) - 1, 0)) + 1) for square in squares])
    s, k = np.arange(4_000.0), np.arange(-60, 61)
    theta = np.ones(len(s))
    if kind == "ball":
        for small in (1, 2, 3):  # 1 to 77 digits from 4 on
            theta[small] = np.exp(-(k**2) / (2 * small**2)).sum() / (math.sqrt(2 * math.pi) * small)
    weights = np.exp(-s / scale) * theta**-n
    sums = np.cumsum(weights[::-1])[::-1][levels]
    return sums / sums.sum()


@pytest.mark.parametrize(
    ("n", "scale", "ends"),
    [(1, 1, 40), (1, 5, 200), (2, 1, 40), (2, 2, 90), pytest.param(3, 1, 45, marks=pytest.mark.deep)],
)
@pytest.mark.parametrize("kind", SAMPLERS)
def test_draws_follow_their_law_and_no_other(kind, n, scale, ends):
    """100,000 lattice points fit the law of the definition, and fit none whose scale is 30 % off on either side."""
    points = lattice(n, ends)
    drawn = SAMPLERS[kind](make_noise_generator(7), scale, DRAWS, n)
    assert drawn.shape == (DRAWS, n)
    assert np.abs(drawn).max() <= ends
    cells = ((drawn + ends) * (2 * ends + 1) ** np.arange(n - 1, -1, -1)).sum(axis=1)
    counts = np.bincount(cells, minlength=len(points))
    assert fit(counts, law(kind, scale, points)) > THRESHOLD
    for factor in (0.7, 1.3):
        assert fit(counts, law(kind, factor * scale, points) + 1e-300) < 1e-20


@pytest.mark.parametrize("n", [1, 3, 64])
@pytest.mark.parametrize("kind", SAMPLERS)
def test_real_scales_have_the_law_of_the_norm(kind, n):
    """The norm of a point is Gamma(n) and none 30 % off; its direction is that of a uniform point of the body."""
    rows, scale = (FEW_DRAWS if n < 64 else 2_000), BIG // n
    drawn = SAMPLERS[kind](make_noise_generator(11), scale, rows, n) / scale
    norms = np.abs(drawn).max(axis=1) if kind == "cube" else np.linalg.norm(drawn, axis=1) / math.sqrt(n)
    assert stats.kstest(norms, stats.gamma(n).cdf).pvalue > THRESHOLD
    for factor in (0.7, 1.3):
        assert stats.kstest(norms / factor, stats.gamma(n).cdf).pvalue < 1e-20
    signs = (drawn[:, 0] > 0).sum()
    assert stats.binomtest(int(signs), rows).pvalue > THRESHOLD
    if n > 1 and kind == "ball":
        shares = drawn[:, 0] ** 2 / (norms**2 * n)
        assert stats.kstest(shares, stats.beta(0.5, (n - 1) / 2).cdf).pvalue > THRESHOLD
        assert abs(np.corrcoef(shares, norms)[0, 1]) < 6 / math.sqrt(rows)
    if n > 1 and kind == "cube":
        ratios = drawn[:, 0] / norms
        inner = ratios[np.abs(ratios) < 1]
        assert stats.kstest(inner, stats.uniform(-1, 2).cdf).pvalue > THRESHOLD
        assert stats.binomtest(rows - len(inner), rows, 1 / n).pvalue > THRESHOLD


@pytest.mark.parametrize("kind", SAMPLERS)
def test_low_bits_are_uniform(kind):
    """No residue of a large draw is favoured: nothing of the noise is rounded."""
    drawn = SAMPLERS[kind](make_noise_generator(13), BIG, DRAWS // 4, 2).ravel()
    assert stats.chisquare(np.bincount(drawn & 255, minlength=256)).pvalue > THRESHOLD


@pytest.mark.parametrize("kind", SAMPLERS)
def test_exact_decisions_agree_with_fast_ones(kind, monkeypatch):
    """With every coin settled by decimal arithmetic the same bits give the same points."""
    fast = SAMPLERS[kind](make_noise_generator(19), BIG, 40, 3)
    asked, settle = [], discrete_noise._is_below
    monkeypatch.setattr(discrete_noise, "_is_below", lambda *given: asked.append(given) or settle(*given))
    monkeypatch.setattr(discrete_noise, "UNDECIDED_GAP", 2.0)
    assert (SAMPLERS[kind](make_noise_generator(19), BIG, 40, 3) == fast).all()
    assert len(asked) > 100


def test_a_point_on_the_sphere_counts_as_inside():
    """At scale 1 the point (1, 1) lies on the circle of level 1, of radius sqrt(2), and is drawn as often as due."""
    drawn = sample_ball_noise(make_noise_generator(3), 1, FEW_DRAWS, 2)
    points = lattice(2, 40)
    share = law("ball", 1, points)[(points == 1).all(axis=1)].sum()
    assert stats.binomtest(int((drawn == 1).all(axis=1).sum()), FEW_DRAWS, share).pvalue > THRESHOLD


def test_bounds_and_deviations_of_their_own():
    """Each number is uniform below its own bound, and normal with its own deviation."""
    bounds = np.array([1, 3, 1 << 40, 3 << 60, 1 << 62])
    drawn = sample_uniform_below_each(make_noise_generator(5), np.repeat(bounds, FEW_DRAWS)).reshape(len(bounds), -1)
    assert (drawn >= 0).all()
    assert (drawn < bounds[:, None]).all()
    assert stats.chisquare(np.bincount(drawn[1], minlength=3)).pvalue > THRESHOLD
    for row in (2, 3, 4):
        assert stats.kstest(drawn[row] / bounds[row], stats.uniform.cdf).pvalue > THRESHOLD
    sigmas = np.array([1000, BIG])
    normal = sample_discrete_gaussian_each(make_noise_generator(5), np.tile(sigmas, FEW_DRAWS)).reshape(-1, 2) / sigmas
    for column in normal.T:
        assert stats.kstest(column, stats.norm.cdf).pvalue > 1e-3 * THRESHOLD
        assert stats.kstest(column / 1.3, stats.norm.cdf).pvalue < 1e-20
