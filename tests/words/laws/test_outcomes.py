"""What words become under the exponential family, against the whole matrix of words by words."""

import math

import numpy as np
import pytest

from deniable.words.laws import tabulated
from deniable.words.laws.exponential import ExponentialLaw, compute_normalisers
from deniable.words.laws.outcomes import compute_exponential_outcomes


def found(space, laws, prior, workers=None):
    """Return what becomes of words under several laws at once."""
    logs = [np.log(sums) for sums in compute_normalisers(space, laws)]
    return compute_exponential_outcomes(space, laws, logs, prior, workers)


def matrix(space, one):
    """Return the law of words by words (n, n)."""
    points = one.rows(space.distances(range(len(space.points))))
    return (points / np.bincount(space.point_by_word))[np.ix_(space.point_by_word, space.point_by_word)]


@pytest.mark.parametrize("name", ["small_space", "twin_space"])
@pytest.mark.parametrize("cutoff", [math.inf, 1.1])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("workers", [1, 2])
def test_against_brute_force(request, name, cutoff, weighted, workers):
    """Shares kept and recovered are those of the matrix of words by words, twins included."""
    space = request.getfixturevalue(name)
    generator = np.random.default_rng(7)
    weights = generator.uniform(0.2, 3, size=len(space.points)) if weighted else None
    one = ExponentialLaw(1.3, cutoff, weights)
    prior = generator.dirichlet(np.full(len(space), 0.5))
    ((kept, recovered),) = found(space, [one], prior, workers)
    whole = matrix(space, one)
    np.testing.assert_allclose(kept, whole.diagonal(), rtol=1e-12)
    assert recovered == pytest.approx((prior[:, None] * whole).max(axis=0).sum(), rel=1e-12)
    slow_kept, slow_recovered = tabulated.compute_outcomes(space, one.rows, prior, workers)
    np.testing.assert_allclose(kept, slow_kept, rtol=1e-12)
    assert recovered == pytest.approx(slow_recovered, rel=1e-12)


def test_over_several_tiles(glove_2000):
    """The same holds for 2,000 points, and where some words have no prior at all."""
    one = ExponentialLaw(1.4, 6.0)
    prior = tabulated.compute_zipf_prior(2000) * (np.arange(2000) % 3 > 0)
    prior /= prior.sum()
    ((kept, recovered),) = found(glove_2000, [one], prior)
    whole = one.rows(glove_2000.distances(range(2000)))
    np.testing.assert_allclose(kept, whole.diagonal(), rtol=1e-11)
    assert recovered == pytest.approx((prior[:, None] * whole).max(axis=0).sum(), rel=1e-11)


@pytest.mark.parametrize("name", ["twin_space", "glove_2000"])
@pytest.mark.parametrize("order", [1, -1])
def test_several_laws(request, name, order):
    """Several laws at once give for each the very numbers that it gives alone, in the order asked for."""
    space = request.getfixturevalue(name)
    weights = np.random.default_rng(2).uniform(0.2, 3, size=len(space.points))
    laws = [
        ExponentialLaw(1.3),
        ExponentialLaw(0.3, 2.0),
        ExponentialLaw(2.5, weights=weights),
        ExponentialLaw(1.0, 4.0, weights),
    ]
    prior = tabulated.compute_zipf_prior(len(space))
    together = found(space, laws[::order], prior)
    alone = [found(space, [one], prior)[0] for one in laws[::order]]
    assert [recovered for _, recovered in together] == [recovered for _, recovered in alone]
    for (kept, _), (kept_alone, _) in zip(together, alone, strict=True):
        np.testing.assert_array_equal(kept, kept_alone)
    assert len({recovered for _, recovered in together}) == 4


def test_no_laws(small_space):
    """No laws have no outcomes."""
    assert found(small_space, [], tabulated.compute_zipf_prior(60)) == []
