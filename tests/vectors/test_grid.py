"""The grid of noisy vectors: steps, rounding and its charge, exactly."""

import math
from fractions import Fraction

import numpy as np
import pytest

from deniable.vectors.discrete_noise import (
    NoiseGrid,
    compute_noise_steps,
    compute_step_exponent,
    round_down_to_float,
    round_up_to_float,
)
from tests.refusals import refuses

MAX_NOISE_STEPS = 1 << 42


def test_steps_are_powers_of_two_of_the_documented_size():
    """The exponent is ceil(log2(scale)) - 40 exactly, at powers of two and beside them."""
    below, above = np.nextafter(1.0, 0), np.nextafter(1.0, 2)
    for scale, expected in ((1.0, -40), (above, -39), (below, -40), (0.5, -41), (3.0, -38)):
        assert compute_step_exponent("Test", float(scale), 1.0) == expected


def test_rounding_and_placing_are_exact():
    """Points up to 2^53 steps survive the way to float64 and back; rational bounds are rounded outwards."""
    grid = NoiseGrid(-37, 1)
    points = np.array([0, 1, -1, (1 << 51) - 1, 1 - (1 << 51)])
    assert (grid.round(grid.to_vectors(points)) == points).all()
    assert grid.round(np.array([0.4, 0.6, -0.6, 5e-324]) * 2.0**-37).tolist() == [0, 1, -1, 0]
    third = Fraction(1, 3)
    assert Fraction(round_down_to_float(third)) < third < Fraction(round_up_to_float(third))
    assert round_up_to_float(Fraction(1)) == round_down_to_float(Fraction(1)) == 1.0


def test_what_float64_and_int64_cannot_serve_is_refused():
    """A scale that is none, steps beyond 2^+-900, and inputs beyond 2^22 times the scale: the error names both."""
    for scale in (0.0, -1.0, math.inf, math.nan, 1e290, 1e-290):
        with refuses("Test"):
            compute_step_exponent("Test", scale, 1.0)
    assert compute_step_exponent("Test", 1.0, 2.0**22) == -40
    for largest, value in ((5e6, "5e+06"), (float(np.nextafter(2.0**22, math.inf)), "4,194,304")):
        with refuses(value):
            compute_step_exponent("Test", 1.0, largest)


@pytest.mark.parametrize("bits", [50, 53, 62])
def test_points_far_from_zero_are_the_nearest(bits):
    """Up to 2^62 steps from 0 a point is that of rational arithmetic, and rounding moves a pair by at most a step."""
    grid, random = NoiseGrid(-37, 1), np.random.default_rng(bits)
    x = np.ldexp(random.uniform(0.5, 1.0, 200) * random.choice([-1.0, 1.0], 200), bits - 37)
    x[:2] = math.ldexp(1.0, bits - 37), -math.ldexp(1.0, bits - 37)
    exact = [Fraction(float(value)) * 2**37 for value in x]
    assert grid.round(x).tolist() == [round(value) for value in exact]
    near = x + random.normal(size=200)
    for point, other, value, neighbour in zip(grid.round(x), grid.round(near), exact, near, strict=True):
        assert abs(int(point) - int(other)) <= abs(value - Fraction(float(neighbour)) * 2**37) + 1


@pytest.mark.parametrize("bits", [52, 54, 62])
def test_released_floats_depend_on_the_sum_alone(bits):
    """Whatever point and noise add up to a sum, what comes out is the float64 nearest to it, ties to even."""
    grid, random = NoiseGrid(-3, 1), np.random.default_rng(bits)
    sums = (1 << bits) - 1 + random.integers(-(1 << 20), 1 << 20, 500)
    outputs = grid.to_vectors(sums)
    assert [Fraction(float(y)) for y in outputs] == [Fraction(float(Fraction(int(total)))) / 8 for total in sums]
    for point in (0, 1 << 61, -(1 << 62)):
        parts = np.full(500, point), sums - point
        assert (grid.to_vectors(parts[0] + parts[1]) == outputs).all()


def test_noise_is_never_narrower_than_asked():
    """Steps are rounded up, and a scale beyond the sampler's is refused."""
    assert compute_noise_steps("Test", Fraction(7, 2)) == 4
    assert compute_noise_steps("Test", Fraction(4)) == 4
    assert compute_noise_steps("Test", Fraction(MAX_NOISE_STEPS)) == MAX_NOISE_STEPS
    with refuses("Test"):
        compute_noise_steps("Test", MAX_NOISE_STEPS + Fraction(1, 10**30))


def test_distances_in_steps_are_those_of_the_rounded_vectors():
    """Rounding moves a pair by at most a step for each coordinate, and no sum overflows."""
    grid, random = NoiseGrid(-3, 5), np.random.default_rng(0)
    assert (grid.step, grid.scale) == (0.125, 0.625)
    for _ in range(50):
        x, other = random.normal(size=(2, 9))
        steps = grid.l1_distance(x, other)
        assert abs(steps - np.abs(x - other).sum() / grid.step) <= 9
    far = np.full(9, 2.0**59)
    assert grid.l1_distance(far, -far) == 9 * 2**63
