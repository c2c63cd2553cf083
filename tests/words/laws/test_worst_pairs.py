"""The worst pairs of inputs: what float32 sifts and float64 decides, against float64 throughout."""

import math

import numpy as np
import pytest

import deniable as dn
from deniable.words.laws.kernel import ExponentialKernel, approximate_log_normalisers, compute_log_normalisers
from deniable.words.laws.worst_pairs import _search_distances, _search_squares, find_worst_pairs
from deniable.words.tight_exponential import fit_weights


def cloud(count=1100, dimensions=5, scale=1.0, offset=0.0):
    """Return a space of random points, some of them 1e-3 and 1e-7 times the spread apart."""
    vectors = np.random.default_rng(count + dimensions).normal(size=(count, dimensions)) * scale + offset
    vectors[700] = vectors[5] + 1e-3 * scale
    vectors[900] = vectors[9] + 1e-7 * scale
    return dn.Space([f"w{number}" for number in range(count)], vectors)


def search_both(space, kernel):
    """Return the worst pair that each search finds."""
    logs = np.log(kernel.normalisers(space))
    return [
        max(search(space, kernel, logs, None), key=lambda pair: pair.epsilon)
        for search in (_search_squares, _search_distances)
    ]


@pytest.mark.parametrize("scale", [0.01, 0.4, 1.5, 6.0, 40.0, 3000.0])
@pytest.mark.parametrize("cutoff", [math.inf, 1.1, 0.02])
@pytest.mark.parametrize("weighted", [False, True])
def test_sifted_pairs_are_those_of_all(scale, cutoff, weighted):
    """Both searches name the same pair, the same way round, with the same epsilon up to rounding."""
    space = cloud()
    weights = np.random.default_rng(2).lognormal(0, 2, size=1100) if weighted else None
    sifted, exact = search_both(space, ExponentialKernel(scale, cutoff, weights))
    assert sifted.epsilon == pytest.approx(exact.epsilon, rel=1e-12)
    assert (sifted.input, sifted.other) == (exact.input, exact.other)
    assert sifted.distance == pytest.approx(exact.distance, rel=1e-7)


@pytest.mark.parametrize(("spread", "offset"), [(1e-6, 0.0), (1e6, 0.0), (1.0, 1e3)])
def test_in_other_units(spread, offset):
    """The same holds for vectors that are large, small, or far from the origin."""
    for per_spread in (0.5, 4.0):
        sifted, exact = search_both(cloud(1000, 4, spread, offset), ExponentialKernel(per_spread / spread))
        assert sifted.epsilon == pytest.approx(exact.epsilon, rel=1e-9)
        assert (sifted.input, sifted.other) == (exact.input, exact.other)


@pytest.mark.parametrize("scale", [0.2, 1.0, 2.3, 8.0])
@pytest.mark.parametrize("cutoff", [math.inf, 5.0])
def test_words(glove_2000, scale, cutoff):
    """The same holds for words."""
    sifted, exact = search_both(glove_2000, ExponentialKernel(scale, cutoff))
    assert sifted.epsilon == pytest.approx(exact.epsilon, rel=1e-12)
    assert (sifted.input, sifted.other) == (exact.input, exact.other)


def test_where_all_normalisers_are_equal(small_space):
    """Where only rounding tells the inputs apart, as with weights that solve for equal normalisers, nothing is lost."""
    weights, is_solved = fit_weights(small_space, 6.0)
    assert is_solved
    sifted, exact = search_both(small_space, ExponentialKernel(6.0, weights=weights))
    assert sifted.epsilon == pytest.approx(exact.epsilon, rel=1e-12)
    assert (sifted.input, sifted.other) == (exact.input, exact.other)


def test_a_loss_beyond_all_floats(small_space):
    """A loss that no float holds is infinite in both searches."""
    for found in search_both(small_space, ExponentialKernel(1e308)):
        assert found.epsilon == math.inf


@pytest.mark.parametrize("workers", [1, 2])
def test_list_does_not_depend_on_workers(glove_2000, workers):
    """The list begins with the worst of all, and is the same for any number of workers."""
    kernel = ExponentialKernel(1.5)
    logs = compute_log_normalisers(glove_2000, kernel)
    found = find_worst_pairs(glove_2000, kernel, logs, workers)
    assert found == find_worst_pairs(glove_2000, kernel, logs, 3 - workers)
    assert [pair.epsilon for pair in found] == sorted((pair.epsilon for pair in found), reverse=True)
    assert all(logs[pair.input] <= logs[pair.other] for pair in found)


@pytest.mark.parametrize("cutoff", [math.inf, 3.0])
def test_approximate_normalisers_find_the_pair(glove_2000, cutoff):
    """By normalisers in float32, near the true ones, the search names the same pair."""
    kernel = ExponentialKernel(1.5, cutoff)
    logs = compute_log_normalisers(glove_2000, kernel)
    (near,) = approximate_log_normalisers(glove_2000, [kernel])
    np.testing.assert_allclose(near, logs, atol=2e-5)
    best, exact = (find_worst_pairs(glove_2000, kernel, each)[0] for each in (near, logs))
    assert (best.input, best.other) == (exact.input, exact.other)
