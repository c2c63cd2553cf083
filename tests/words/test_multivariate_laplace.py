"""Multivariate Laplace: its noise, its nearest word, and an independent simulation in place of a law."""

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.words.multivariate_laplace import sample_spherical_laplace
from tests.contracts.statistics import THRESHOLD, same, streams
from tests.contracts.word_mechanism import WordMechanismContract
from tests.refusals import refuses


def simulate(vectors, number, epsilon, generator, draws):
    """Return (n,) counts of Algorithm 1, made another way: other noise, other search.

    The radius is a sum of exponential draws, the direction a point of the ball (found by rejection
    from the cube) moved out to the sphere, and the nearest word the least of all distances.
    """
    dimensions = vectors.shape[1]
    counts = np.zeros(len(vectors), dtype=np.int64)
    for _ in range(0, draws, draws // 10):
        cube = generator.uniform(-1, 1, size=(draws // 10 * 5, dimensions))
        inside = cube[np.linalg.norm(cube, axis=1) <= 1][: draws // 10]
        assert len(inside) == draws // 10
        radius = -np.log(generator.uniform(size=(len(inside), dimensions))).sum(axis=1) / epsilon
        noisy = vectors[number] + inside * (radius / np.linalg.norm(inside, axis=1))[:, None]
        distances = np.linalg.norm(noisy[:, None, :] - vectors[None], axis=2)
        counts += np.bincount(distances.argmin(axis=1), minlength=len(vectors))
    return counts


class TestMultivariateLaplace(WordMechanismContract):
    """Multivariate Laplace holds the contract."""

    mechanism = dn.MultivariateLaplace
    epsilon = 4.0
    twin_epsilon = 2.0
    glove_epsilon = 12.0
    tolerance = None
    theorem = ("Carvalho et al. 2021", "Theorem 1", "floating point")
    status = "proved for ideal arithmetic"
    verified = "proved for ideal arithmetic"

    def p_value(self, subject, word, counts, *, off=False):
        """Return the two-sample p-value against the simulation, or against one at 1.3 epsilon."""
        space = subject.space
        epsilon = 1.3 * subject.epsilon if off else subject.epsilon
        number = space.index_of(word)
        return same(counts, simulate(space.vectors, number, epsilon, np.random.default_rng(number), counts.sum()))


CASES = [
    *((dimensions, 0.3) for dimensions in (1, 4, 50)),
    *(pytest.param(dimensions, 12.0, marks=pytest.mark.deep) for dimensions in (1, 2, 4, 50)),
]


def draw_noise(dimensions, epsilon):
    """Return 20,000 draws of the noise, their radii and their directions."""
    noise = sample_spherical_laplace(np.random.default_rng(3), (20_000, dimensions), epsilon)
    radius = np.linalg.norm(noise, axis=1)
    return radius, noise / radius[:, None]


@pytest.mark.parametrize(("dimensions", "epsilon"), CASES)
def test_radius_follows_the_gamma_law(dimensions, epsilon):
    """The radius follows Gamma(m, 1 / epsilon), which the test tells from one 30 % off."""
    radius, _ = draw_noise(dimensions, epsilon)
    assert stats.kstest(radius, stats.gamma(dimensions, scale=1 / epsilon).cdf).pvalue > THRESHOLD
    assert stats.kstest(radius, stats.gamma(dimensions, scale=0.7 / epsilon).cdf).pvalue < THRESHOLD
    assert stats.kstest(radius, stats.gamma(1.3 * dimensions, scale=1 / epsilon).cdf).pvalue < THRESHOLD


@pytest.mark.parametrize(("dimensions", "epsilon"), CASES)
def test_direction_is_uniform_on_the_sphere(dimensions, epsilon):
    """Every coordinate of the direction, and an oblique one, has the sphere's marginal law, whatever the radius."""
    radius, direction = draw_noise(dimensions, epsilon)
    short = radius < np.median(radius)
    assert stats.ks_2samp(direction[short, 0], direction[~short, 0], method="asymp").pvalue > THRESHOLD
    if dimensions == 1:
        assert set(np.unique(direction)) == {-1.0, 1.0}
        assert stats.binomtest(int((direction > 0).sum()), len(direction)).pvalue > THRESHOLD
        return
    half = (dimensions - 1) / 2
    oblique = direction @ np.ones(dimensions) / np.sqrt(dimensions)
    for coordinate in (direction[:, 0], direction[:, -1], oblique):
        shifted = (1 + coordinate) / 2
        assert stats.kstest(shifted, stats.beta(half, half).cdf).pvalue > THRESHOLD
        assert stats.kstest(shifted, stats.beta(1.3 * half, 1.3 * half).cdf).pvalue < THRESHOLD


def test_ball_in_place_of_sphere_is_told_apart():
    """A direction drawn inside the unit ball, as Xu et al. 2021 write, fails the radius test."""
    generator = np.random.default_rng(4)
    noise = sample_spherical_laplace(generator, (20_000, 4), 1.0) * generator.uniform(size=(20_000, 1)) ** 0.25
    assert stats.kstest(np.linalg.norm(noise, axis=1), stats.gamma(4).cdf).pvalue < THRESHOLD


@pytest.mark.parametrize("name", ["small_space", "twin_space", pytest.param("glove_2000", marks=pytest.mark.deep)])
def test_words_are_the_nearest_to_the_noise(request, name):
    """Draws are the nearest points of vectors whose noise is read from the record's stream, in order."""
    space, source = request.getfixturevalue(name), streams(1500, "noise")
    words = np.random.default_rng(3).integers(0, len(space), 1500).astype(np.int32)
    starts = space.points[space.point_by_word[words]]
    for epsilon in (1e-9, 0.01, 1.0, 8.0, 40.0, 1e9):
        (chunk,) = source.chunks(0, 1, 0)
        noisy = starts + sample_spherical_laplace(np.random.Generator(chunk.generator), starts.shape, epsilon)
        drawn = dn.MultivariateLaplace(space, epsilon=epsilon).draw_words(words, source)
        nearest = [np.einsum("nd,nd->n", space.points - row, space.points - row).argmin() for row in noisy]
        np.testing.assert_array_equal(space.point_by_word[drawn], nearest)


def test_other_metrics_are_refused(small_space, small_vectors):
    """The theorem is about the Euclidean metric: others, and a function that calls itself Euclidean, are refused."""

    def euclidean(left, right):
        return np.abs(left[:, None, :] - right[None]).max(axis=2)

    for metric in ("manhattan", "chebyshev", "angular", euclidean):
        space = dn.Space(small_space.words, small_vectors, metric=metric)
        with refuses(space.metric):
            dn.MultivariateLaplace(space, epsilon=3.0)
