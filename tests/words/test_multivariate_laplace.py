"""Multivariate Laplace: its noise, its nearest word, and an independent simulation in place of a law."""

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.core.randomness import Streams, derive_key_from_seed
from deniable.words.multivariate_laplace import sample_spherical_laplace
from tests.contracts.statistics import DRAWS, THRESHOLD, same
from tests.contracts.word_mechanism import WordMechanismContract


def simulate(vectors, number, epsilon, generator, draws=DRAWS):
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
        generator = np.random.default_rng(space.index_of(word))
        return same(counts, simulate(space.vectors, space.index_of(word), epsilon, generator))


CASES = [(dimensions, epsilon) for dimensions in (1, 2, 4, 50) for epsilon in (0.3, 12.0)]


def draw_noise(dimensions, epsilon):
    """Return 40,000 draws of the noise, their radii and their directions."""
    noise = sample_spherical_laplace(np.random.default_rng(3), (40_000, dimensions), epsilon)
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
    """Every coordinate of the direction, and one oblique to the axes, has the sphere's marginal law."""
    _, direction = draw_noise(dimensions, epsilon)
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


@pytest.mark.parametrize(("dimensions", "epsilon"), CASES)
def test_direction_and_radius_are_independent(dimensions, epsilon):
    """The direction's first coordinate has one law among the short and among the long draws."""
    radius, direction = draw_noise(dimensions, epsilon)
    short = radius < np.median(radius)
    assert stats.ks_2samp(direction[short, 0], direction[~short, 0], method="asymp").pvalue > THRESHOLD


def test_ball_in_place_of_sphere_is_told_apart():
    """A direction drawn inside the unit ball, as Xu et al. 2021 write, fails the radius test."""
    generator = np.random.default_rng(4)
    noise = sample_spherical_laplace(generator, (40_000, 4), 1.0) * generator.uniform(size=(40_000, 1)) ** 0.25
    assert stats.kstest(np.linalg.norm(noise, axis=1), stats.gamma(4).cdf).pvalue < THRESHOLD


@pytest.mark.parametrize("epsilon", [1e-9, 0.01, 1.0, 8.0, 40.0, 1e9])
@pytest.mark.parametrize("name", ["small_space", "twin_space", "glove_2000"])
def test_words_are_the_nearest_to_the_noise_of_each_record(request, name, epsilon):
    """Draws are the nearest points of vectors whose noise is read from each record's stream, in order."""
    space = request.getfixturevalue(name)
    words = np.random.default_rng(3).integers(0, len(space), 1_500).astype(np.int32)
    key, names, lengths = derive_key_from_seed(1), [bytes(16), bytes([1] * 16)], [500, 1_000]
    drawn = dn.MultivariateLaplace(space, epsilon=epsilon).draw_words(words, Streams(key, names, lengths))

    dimensions, noise = space.points.shape[1], []
    for chunk in Streams(key, names, lengths).chunks(0, 2, 0):
        shape = chunk.tokens.stop - chunk.tokens.start, dimensions
        noise.append(sample_spherical_laplace(np.random.Generator(chunk.generator), shape, epsilon))
    noisy = space.points[space.point_by_word[words]] + np.concatenate(noise)
    nearest = [np.einsum("nd,nd->n", space.points - row, space.points - row).argmin() for row in noisy]
    np.testing.assert_array_equal(space.point_by_word[drawn], nearest)


@pytest.mark.parametrize("metric", ["manhattan", "chebyshev", "angular"])
def test_other_metrics_are_refused(small_space, small_vectors, metric):
    """The mechanism's theorem is about the Euclidean metric, and it refuses every other one."""
    space = dn.Space(small_space.words, small_vectors, metric=metric)
    with pytest.raises(dn.InputError, match=f"needs the Euclidean metric. Got {metric}: use TEM"):
        dn.MultivariateLaplace(space, epsilon=3.0)


def test_function_that_calls_itself_euclidean_is_refused(small_space, small_vectors):
    """A function of the user's own is not taken for the Euclidean metric because of its name."""

    def euclidean(left, right):
        return np.abs(left[:, None, :] - right[None]).max(axis=2)

    space = dn.Space(small_space.words, small_vectors, metric=euclidean)
    with pytest.raises(dn.InputError, match="needs the Euclidean metric"):
        dn.MultivariateLaplace(space, epsilon=3.0)
