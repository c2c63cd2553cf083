"""Integer noise: exact laws, exact coins, the same bits for the same seed."""

import math

import numpy as np
import pytest
from scipy import stats

from deniable.vectors import discrete_noise
from deniable.vectors.discrete_noise import (
    make_noise_generator,
    sample_bernoulli_exp,
    sample_discrete_gaussian,
    sample_discrete_laplace,
    sample_uniform_below,
)
from tests.contracts.statistics import DRAWS, FEW_DRAWS, THRESHOLD, fit, same
from tests.refusals import refuses

SAMPLERS = {"laplace": sample_discrete_laplace, "gaussian": sample_discrete_gaussian}


def law(kind, scale, ends):
    """Return the normalised law on -ends ... ends, straight from the formula."""
    k = np.arange(-ends, ends + 1.0)
    weights = np.exp(-np.abs(k) / scale) if kind == "laplace" else np.exp(-(k**2) / (2 * scale**2))
    return weights / weights.sum()


def counts_of(kind, scale):
    """Return how often each integer from -60 scale to 60 scale is drawn."""
    ends = 60 * scale
    drawn = SAMPLERS[kind](make_noise_generator(7), scale, DRAWS)
    assert np.abs(drawn).max() <= ends
    return np.bincount(drawn + ends, minlength=2 * ends + 1), ends


@pytest.mark.parametrize("scale", [1, 7, *(pytest.param(scale, marks=pytest.mark.deep) for scale in (2, 40))])
@pytest.mark.parametrize("kind", SAMPLERS)
def test_draws_follow_their_law_and_no_other(kind, scale):
    """100,000 draws fit the formula, and fit none whose scale is 30 % off on either side."""
    counts, ends = counts_of(kind, scale)
    assert fit(counts, law(kind, scale, ends)) > THRESHOLD
    for factor in (0.7, 1.3):
        assert fit(counts, law(kind, factor * scale, ends) + 1e-300) < 1e-20


@pytest.mark.parametrize("scale", [(1 << 40) + 12_345, pytest.param(1 << 42, marks=pytest.mark.deep)])
@pytest.mark.parametrize(("kind", "continuous"), [("laplace", stats.laplace), ("gaussian", stats.norm)])
def test_large_scales_look_continuous(kind, continuous, scale):
    """At scales of a real grid the draws fit the continuous law, and none 30 % off."""
    drawn = SAMPLERS[kind](make_noise_generator(11), scale, DRAWS) / scale
    assert stats.kstest(drawn, continuous.cdf).pvalue > THRESHOLD
    for factor in (0.7, 1.3):
        assert stats.kstest(drawn / factor, continuous.cdf).pvalue < 1e-20


@pytest.mark.parametrize("kind", SAMPLERS)
def test_low_bits_are_uniform(kind):
    """No residue of a large draw is favoured: nothing of the noise is rounded."""
    drawn = SAMPLERS[kind](make_noise_generator(13), 1 << 41, DRAWS)
    assert stats.chisquare(np.bincount(drawn & 255, minlength=256)).pvalue > THRESHOLD


@pytest.mark.parametrize("bound", [1, 3, 1000, 3 << 60])
def test_uniform_integers_have_no_bias(bound):
    """Integers below a bound are uniform; with 3/16 of 2^64 the bias of a modulo would show."""
    drawn = sample_uniform_below(make_noise_generator(17), bound, 20_000)
    assert drawn.min() >= 0
    assert drawn.max() < bound
    if bound > 10_000:
        assert stats.kstest(drawn / bound, stats.uniform.cdf).pvalue > THRESHOLD
    elif bound > 1:
        assert stats.chisquare(np.bincount(drawn, minlength=bound)).pvalue > THRESHOLD


@pytest.mark.parametrize("kind", SAMPLERS)
def test_exact_decisions_agree_with_fast_ones(kind, monkeypatch):
    """With every coin settled by decimal arithmetic the same bits give the same draws."""
    fast = SAMPLERS[kind](make_noise_generator(19), 1 << 40, 400)
    asked = []
    settle = discrete_noise._is_below
    monkeypatch.setattr(discrete_noise, "_is_below", lambda *given: asked.append(given) or settle(*given))
    monkeypatch.setattr(discrete_noise, "UNDECIDED_GAP", 2.0)
    assert (SAMPLERS[kind](make_noise_generator(19), 1 << 40, 400) == fast).all()
    assert len(asked) > 1000
    monkeypatch.setattr(discrete_noise, "UNDECIDED_GAP", 0.05)
    assert (SAMPLERS[kind](make_noise_generator(19), 1 << 40, 400) == fast).all()


def test_close_calls_take_further_bits():
    """A number that agrees with exp(-1) in its first 64 bits is decided by the next ones."""
    # exp(-1) = 0x0.5E2D58D8B3BCDF1A BADEC7829054F90D ..., from its series in integers.
    word, follow = 0x5E2D58D8B3BCDF1A, 0xBADEC7829054F90D
    assert discrete_noise._is_below(word - 1, 1, 1, None)
    assert not discrete_noise._is_below(word + 1, 1, 1, None)
    for off in (-1, 1):
        asked = iter([follow + off])
        assert discrete_noise._is_below(word, 1, 1, lambda asked=asked: next(asked)) == (off < 0)
        assert next(asked, None) is None
    assert discrete_noise._is_below(2**64 - 1, 0, 5, None)
    assert not discrete_noise._is_below(1, 10**6, 1, None)


def test_a_coin_falls_with_its_probability():
    """Flags are true with probability exp(-a / b)."""
    for a, b in ((0, 1), (1, 3), (1, 1), (7, 2)):
        flags = sample_bernoulli_exp(make_noise_generator(23), np.full(DRAWS, a / b), lambda _, a=a, b=b: (a, b))
        assert stats.binomtest(int(flags.sum()), DRAWS, math.exp(-a / b)).pvalue > THRESHOLD


def test_this_machines_exp_is_as_right_as_the_coin_needs():
    """numpy's exp errs by far less than the 2^-47 that the closeness threshold grants it."""
    mpmath = pytest.importorskip("mpmath")
    x = np.random.default_rng(29).exponential(size=4000)
    with mpmath.workdps(40):
        worst = max(
            abs(mpmath.mpf(float(y)) - mpmath.exp(-mpmath.mpf(float(v)))) for v, y in zip(x, np.exp(-x), strict=True)
        )
    assert worst < 2.0**-50
    assert discrete_noise.UNDECIDED_GAP >= 2.0**-46


@pytest.mark.parametrize("kind", SAMPLERS)
def test_bad_scales_are_refused(kind):
    """A scale that is no integer from 1 to 2^42 raises InputError."""
    for scale in (0, -1, 1.0, True, (1 << 42) + 1, "3", None):
        with refuses("4,398,046,511,104"):
            SAMPLERS[kind](make_noise_generator(0), scale, 3)


@pytest.mark.deep
@pytest.mark.parametrize("scale", [4, 1000])
@pytest.mark.parametrize("kind", SAMPLERS)
def test_integer_noise_has_the_law_of_opendps(kind, scale):
    """Integers of ours and of OpenDP come from one law, and not from laws whose scales differ by 30 %."""
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    distance = dp.l1_distance(T=int) if kind == "laplace" else dp.l2_distance(T=float)
    make = dp.m.make_laplace if kind == "laplace" else dp.m.make_gaussian
    space = dp.vector_domain(dp.atom_domain(T=int)), distance
    ours = SAMPLERS[kind](make_noise_generator(41), scale, FEW_DRAWS)
    for factor in (1.0, 0.7, 1.3):
        theirs = np.array(make(*space, scale=factor * scale)([0] * FEW_DRAWS))
        cells = [np.floor_divide(draws, max(1, scale // 8)) for draws in (ours, theirs)]
        low = min(part.min() for part in cells)
        length = max(part.max() for part in cells) - low + 1
        p = same(*(np.bincount(part - low, minlength=length) for part in cells))
        assert p > THRESHOLD if factor == 1 else p < 1e-12, (factor, p)
