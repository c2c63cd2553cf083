"""Exponentials and sums whose bits are the same on every processor."""

import hashlib
import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.words.laws import kernel


def decay(distances, scale=1.0, cutoff=math.inf):
    """Return exp(-scale min(d, cutoff)) of distances, which stay."""
    values = np.array(distances, dtype=float)
    kernel.write_decays(values, scale, cutoff)
    return values


@settings(max_examples=30)
@given(st.lists(st.floats(0, 708), min_size=1, max_size=20))
def test_error_is_within_its_bound(distances):
    """Each exponential is that of 50 digits, but for the relative error that is promised."""
    with localcontext() as context:
        context.prec = 50
        for value, computed in zip(distances, decay(distances).tolist(), strict=True):
            exact = (-Decimal(value)).exp()
            assert abs(Decimal(computed) - exact) <= Decimal(kernel.EXPONENTIAL_ERROR) * exact


def test_many_exponentials_are_those_of_longer_floats():
    """Over 100,000 values none is wrong by more than is promised, where the platform has longer floats."""
    if np.finfo(np.longdouble).eps > 2.0**-60:
        pytest.skip("this platform has no floats of more than 60 bits")
    values = np.random.default_rng(5).uniform(0, 708, 100_000)
    exact = np.exp(-values.astype(np.longdouble))
    assert float(np.abs(decay(values) / exact - 1).max()) < kernel.EXPONENTIAL_ERROR


def test_scale_cutoff_and_the_ends_of_the_range():
    """Zero gives one; what lies beyond the cutoff counts as it; what is beyond 708 nats, or infinite, is the least."""
    least = decay([708.0])[0]
    assert 0 < least < 1e-307
    np.testing.assert_array_equal(decay([0.0, 1e-320, 1000.0, math.inf]), [1.0, 1.0, least, least])
    np.testing.assert_array_equal(decay([0.0, 2.0, 5.0], 0.5, 2.0), [1.0, *decay([1.0, 1.0])])
    assert decay([3.0], 1e308)[0] == least


@pytest.mark.parametrize("count", [1, 17, 256, 257, 600])
def test_sums_are_those_of_the_definition(count):
    """A row's sum is that of its panels in order, each from sixteen lanes that are added by halves."""
    values = np.random.default_rng(count).uniform(size=count)
    total = 0.0
    for start in range(0, count, 256):
        lanes = [0.0] * 16
        for place, value in enumerate(values[start : start + 256].tolist()):
            lanes[place % 16] += value
        while len(lanes) > 1:
            half = len(lanes) // 2
            lanes = [a + b for a, b in zip(lanes[:half], lanes[half:], strict=True)]
        total += lanes[0]
    assert kernel.sum_row(values, np.empty(16)) == total
    assert total == pytest.approx(math.fsum(values.tolist()), rel=1e-14)


def test_bits_are_those_of_every_processor():
    """Exponentials and sums have the bits that every processor must give."""
    values = np.arange(20_000) / 32
    state = hashlib.blake2b(decay(values, 1.1).tobytes(), digest_size=8)
    state.update(np.float64(kernel.sum_row(values, np.empty(16))).tobytes())
    assert state.hexdigest() == "5789b655041aab68"
