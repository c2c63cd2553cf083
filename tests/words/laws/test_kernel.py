"""The kernels of the exponential family: their numbers, their rows and their sums over all pairs."""

import copy
import math
import pickle

import numpy as np
import pytest

import deniable as dn
from deniable.words.laws.kernel import ExponentialKernel, compute_log_normalisers, compute_normalisers


@pytest.mark.parametrize("cutoff", [1.5, math.inf])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("workers", [1, 2])
def test_normalisers_from_tiles_are_those_of_rows(glove_2000, cutoff, weighted, workers):
    """Sums over tiles are sums over whole rows, and the logarithms come back from the cache alike."""
    weights = np.random.default_rng(1).uniform(0.1, 5, size=2000) if weighted else None
    family = ExponentialKernel(1.1, cutoff, weights)
    decay = np.exp(-1.1 * np.minimum(glove_2000.distances(range(2000)), cutoff))
    sums = family.normalisers(glove_2000, workers)
    np.testing.assert_allclose(sums, decay @ (np.ones(2000) if weights is None else weights), rtol=1e-11)
    np.testing.assert_array_equal(sums, family.normalisers(glove_2000, 3 - workers))
    for _ in range(2):
        np.testing.assert_array_equal(compute_log_normalisers(glove_2000, family), np.log(sums))


def test_rows_are_the_formula():
    """A law is proportional to c(y) exp(-s min(d, cutoff)), row by row, in place."""
    distances = np.random.default_rng(3).uniform(0, 5, size=(6, 9))
    weights = np.random.default_rng(4).uniform(0, 2, size=9)
    for family in (
        ExponentialKernel(0.7, 3.0),
        ExponentialKernel(0.7, weights=weights),
        ExponentialKernel(0.7, 3.0, weights),
    ):
        expected = np.exp(-0.7 * np.minimum(distances, family.cutoff))
        if family.weights is not None:
            expected *= weights
        expected /= expected.sum(axis=1, keepdims=True)
        given_distances = distances.copy()
        out = family.rows(given_distances)
        assert out is given_distances
        np.testing.assert_allclose(out, expected, rtol=1e-14)


def test_fingerprint_tells_laws_apart():
    """Scale, cutoff and weights each change the fingerprint; equal laws share it."""
    ones, twos = np.ones(3), np.full(3, 2.0)
    laws = [
        ExponentialKernel(1.0),
        ExponentialKernel(2.0),
        ExponentialKernel(1.0, 2.0),
        ExponentialKernel(1.0, weights=ones),
    ]
    laws.append(ExponentialKernel(1.0, weights=twos))
    assert len({one.fingerprint for one in laws}) == 5
    assert ExponentialKernel(1.0, weights=np.ones(3)).fingerprint == laws[3].fingerprint


@pytest.mark.parametrize(
    "given",
    [
        *({"scale": scale} for scale in (math.nan, math.inf, 0.0, -0.3)),
        *({"cutoff": cutoff} for cutoff in (math.nan, 0.0, -1.0)),
        *({"weights": np.array(weights)} for weights in ([1, math.nan], [1, -0.5], [1, math.inf], [1, 1e-310])),
        *({"weights": np.array(weights)} for weights in ([1, 1e300], [0.0, 0.0], [], [[1.0], [1.0]])),
    ],
    ids=str,
)
def test_no_law_of_other_numbers(given):
    """A law is of numbers for which the bound on rounding holds."""
    with pytest.raises(dn.InputError, match=f"'{next(iter(given))}' parameter"):
        ExponentialKernel(**{"scale": 1.0, **given})


def test_weights_are_kept_as_they_were():
    """What is proved of a law stays true when the array that its weights came from is changed."""
    given = np.ones(3)
    family = ExponentialKernel(1.0, weights=given)
    given[0] = 1e9
    assert family.weights.tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="read-only"):
        family.weights[0] = 2.0


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("order", [1, -1])
def test_normalisers_of_several_laws(glove_2000, workers, order):
    """Several laws at once have the very sums that each has alone, whatever their weights, cutoffs and order."""
    weights = np.random.default_rng(1).uniform(0.1, 5, size=2000)
    laws = [
        ExponentialKernel(1.1),
        ExponentialKernel(0.4, 3.0),
        ExponentialKernel(2.0, weights=weights),
        ExponentialKernel(2.0, 5.0, weights),
    ]
    together = compute_normalisers(glove_2000, laws[::order], workers)
    for law_alone, sums in zip(laws[::order], together, strict=True):
        np.testing.assert_array_equal(sums, law_alone.normalisers(glove_2000, 1))
    assert compute_normalisers(glove_2000, []) == []


def test_restored_kernel_is_read_only():
    """A copy or a pickle has weights that cannot change after a proof, as the kernel itself."""
    kernel = ExponentialKernel(1.0, weights=np.array([1.0, 2.0]))
    for restored in (copy.copy(kernel), copy.deepcopy(kernel), pickle.loads(pickle.dumps(kernel))):
        assert restored.fingerprint == kernel.fingerprint
        with pytest.raises(ValueError, match="read-only"):
            restored.weights[0] = 5.0


def test_numbers_of_a_kernel_are_plain_floats():
    """An array would change after a proof, and a number that prints as another would go by its fingerprint."""

    class Disguised(float):
        def __repr__(self):
            return "0.5"

    scale = np.array(0.5)
    kernel = ExponentialKernel(scale, Disguised(3.0))
    scale[()] = 40.0
    assert (kernel.scale, kernel.cutoff) == (0.5, 3.0)
    assert kernel.fingerprint == ExponentialKernel(0.5, 3.0).fingerprint
    assert kernel.fingerprint != ExponentialKernel(0.5, 0.5).fingerprint
