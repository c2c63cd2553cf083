"""DPAL's certificate against classifiers of known robustness: as published, and with its errors corrected."""

import math

import numpy as np
import pytest
from scipy import integrate

from deniable.published.dpal.counterexample import (
    compare_one_pass,
    compare_two_networks,
    compute_tail_probability,
    compute_threshold,
)


@pytest.mark.parametrize(("psi", "claimed"), [(1.0, 2.838), (2.0, 5.260), (10.0, 20.10)])
def test_two_networks_are_refuted_exactly(psi, claimed):
    """A threshold 0.3 away is certified up to many times as far, and up to less than 0.3 once all is fixed."""
    found = compare_two_networks(psi=psi)
    assert found.published == pytest.approx(claimed, rel=1e-3)
    assert found.true_distance == 0.3
    assert found.published > found.one_unit > found.true_distance  # the unit alone does not fix it
    assert found.one_unit == pytest.approx(found.composed * 9 / 2)  # 1 + 2 against 1 / (1 + 1/2)
    assert (found.composed > found.true_distance) == (psi > 1)  # nor does the composition, with psi
    assert found.sound < found.true_distance


@pytest.mark.parametrize("psi", [1.0, 2.0, 10.0])
def test_two_networks_by_quadrature(psi):
    """The probabilities behind eps_r are those of the Laplace laws, and both classes are even at the border."""
    shares = [
        0.5 + integrate.quad(lambda n, b=b: math.exp(-abs(n) / b) / (2 * b), -0.3, 0)[0] for b in (1 / psi, 2 / psi)
    ]
    ours, theirs = math.prod(shares), math.prod(1 - share for share in shares)
    assert compare_two_networks(psi=psi).eps_r == pytest.approx(math.log(ours / theirs) / 2)


@pytest.mark.parametrize("true", [0.01, 0.3, 1.0, 5.0])
@pytest.mark.parametrize("psi", [1.0, 2.0, 10.0])
def test_the_mended_size_is_sound_for_two_networks(true, psi):
    """At every input looked at, the harmonic size with psi does not exceed the true distance."""
    assert compare_two_networks(true, psi).sound <= true * (1 + 1e-12)


@pytest.mark.parametrize("rivals", [0.001, 0.05, 0.1, 0.2, 0.33])
@pytest.mark.parametrize("psi", [1.0, 2.0, 10.0])
def test_the_mended_size_is_sound_for_one_pass(rivals, psi):
    """With both noises in one pass, the larger size with psi does not exceed the true distance."""
    found = compare_one_pass(rivals, psi)
    assert 0 < found.sound <= found.true_distance * (1 + 1e-9)
    assert found.published > found.true_distance


def test_the_sum_is_refuted_for_one_pass():
    """Three classes and both noises in one pass: the sum in one unit, without psi, exceeds the true distance."""
    found = compare_one_pass()
    assert found.true_distance == pytest.approx(2.976, abs=1e-3)
    assert found.one_unit == pytest.approx(3.119, abs=1e-3)
    assert found.published == pytest.approx(7.278, abs=1e-3)
    assert found.sound == pytest.approx(2.079, abs=1e-3)


@pytest.mark.parametrize("psi", [1.0, 3.0])
@pytest.mark.parametrize("value", [-3.0, -0.2, 0.0, 0.7, 4.0])
def test_tail_of_two_laplace_numbers(psi, value):
    """The tail of the sum is the convolution of the two laws, and the threshold inverts it."""
    density = lambda noise, scale: math.exp(-abs(noise) / scale) / (2 * scale)  # noqa: E731 - one line of mathematics
    survival = lambda noise: np.where(noise > 0, 0.5 * np.exp(-abs(noise) * psi), 1 - 0.5 * np.exp(-abs(noise) * psi))  # noqa: E731
    by_quadrature = integrate.quad(
        lambda n: density(n, 2 / psi) * float(survival(value - n)), -60, 60, points=sorted({0.0, value}), limit=200
    )[0]
    assert compute_tail_probability(value, psi) == pytest.approx(by_quadrature, rel=1e-6)
    assert compute_threshold(compute_tail_probability(value, psi), psi) == pytest.approx(value, abs=1e-9)
