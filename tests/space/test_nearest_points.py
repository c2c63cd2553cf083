"""The nearest point: equal to the full list of float64 distances, whatever float32 can tell."""

import numpy as np
import pytest

from deniable.space.nearest_points import BATCH_VECTORS, NearestPointSearch

DEEP = pytest.mark.deep


def list_nearest(points, vectors):
    """Return the first of the nearest points, from all distances."""
    squares = [np.einsum("nd,nd->n", points - vector, points - vector) for vector in vectors]
    return np.array([row.argmin() for row in squares], dtype=np.int32)


def check(points, vectors):
    """Compare the search with the full list, and return what it found."""
    found = NearestPointSearch(points).find_nearest(vectors)
    np.testing.assert_array_equal(found, list_nearest(points, vectors))
    return found


def scatter(dimensions, count, vectors, scale):
    """Return normal points, and vectors about them."""
    generator = np.random.default_rng(dimensions)
    points = generator.normal(size=(count, dimensions))
    return points, points[generator.integers(0, count, vectors)] + scale * generator.normal(size=(vectors, dimensions))


@pytest.mark.parametrize("dimensions", [1, 2, 50, *(pytest.param(d, marks=DEEP) for d in (3, 300))])
def test_dimensions_and_sizes_of_noise(dimensions):
    """In few and many dimensions, near the points and far from all of them."""
    for scale in (1e-9, 0.1, 1.0, 10.0, 1e6):
        check(*scatter(dimensions, 600, 100, scale))


def test_numbers_of_vectors():
    """Batches that are full, nearly full or begun, and several tasks of them."""
    for vectors in (0, 1, BATCH_VECTORS - 1, BATCH_VECTORS, BATCH_VECTORS + 1, 20 * BATCH_VECTORS):
        check(*scatter(4, 2, vectors, 0.5))


@pytest.mark.deep
def test_words_of_glove(glove_2000):
    """On real vectors, with noise of every size, half of it around the points and half between two of them."""
    generator = np.random.default_rng(8)
    left, right = glove_2000.points[generator.integers(2_000, size=(2, 600))]
    noise = generator.normal(size=left.shape) * np.repeat([1e-9, 1e-3, 0.3, 1.0, 5.0, 1e9], 100)[:, None]
    check(glove_2000.points, left + noise)
    check(glove_2000.points, (left + right) / 2 + noise)


def test_between_two_points():
    """A vector that float32 cannot tell from the middle of two points finds the nearer one."""
    points, vectors = np.random.default_rng(6).normal(size=(600, 50)), []
    for number in range(100):
        other = np.linalg.norm(points - points[number], axis=1).argsort()[1]
        first, second = points[number], points[other]
        vectors += [first + (second - first) * (0.5 + offset) for offset in (-1e-9, 1e-9)]
    found = check(points, np.array(vectors))
    assert (found[0::2] != found[1::2]).mean() > 0.9


def test_first_of_equally_near_points():
    """In the middle between points of a grid the first is found, as in the full list."""
    grid = np.stack(np.meshgrid(*[np.arange(12.0)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    vectors = np.random.default_rng(0).integers(0, 23, (300, 3)) / 2
    found = check(grid, vectors)
    assert (found == np.ravel_multi_index(tuple(np.floor(vectors.T).astype(int)), (12, 12, 12))).all()


def test_nearly_equal_distances():
    """On a grid whose middles float32 cannot resolve, a billionth of a step decides."""
    generator = np.random.default_rng(1)
    spots = np.stack(np.meshgrid(np.arange(30.0), np.arange(30.0)), axis=-1).reshape(-1, 2) * 2.0**-9
    points = np.hstack([spots, np.ones((900, 1))])
    vectors = points[generator.integers(0, 900, 500)]
    steps = generator.choice([-1.0, 1.0], (500, 2)) * 2.0**-10
    vectors[:, :2] += steps * (1 + generator.choice([-1.0, 0.0, 1.0], (500, 2)) * 1e-9)
    vectors[:, 2] += generator.normal(size=500)
    check(points, vectors)


SPACES = {
    "an outlier": lambda generator: np.vstack([generator.normal(size=(700, 20)), np.full((1, 20), 1e5)]),
    "clusters": lambda generator: (
        np.repeat(generator.normal(size=(7, 20)), 100, axis=0) + 1e-5 * generator.normal(size=(700, 20))
    ),
    "all lengths": lambda generator: generator.normal(size=(700, 4)) * np.logspace(-8, 8, 700)[:, None],
    "a sphere": lambda generator: np.linalg.qr(generator.normal(size=(700, 20)))[0] + 5,
    "far from the origin": lambda generator: 1e6 + 1e-3 * generator.normal(size=(700, 3)),
    "tiny": lambda generator: 1e-99 * generator.normal(size=(700, 3)),
    "huge": lambda generator: 1e99 * generator.normal(size=(700, 3)),
    "one direction": lambda _: np.outer(np.arange(700.0), np.eye(30)[3]),
}


@pytest.mark.parametrize("name", SPACES)
def test_spaces_of_other_shapes(name):
    """Points that differ in scale, or that float32 cannot tell apart."""
    generator = np.random.default_rng(1)
    points = SPACES[name](generator)
    starts = points[generator.integers(0, len(points), 150)]
    for noise in (1e-6, 1e-2, 1.0, 1e3):
        check(points, starts + noise * points.std() * generator.normal(size=starts.shape))
    check(points, points[:150])


def test_vectors_far_from_all_points():
    """Where distances are equal in float64 the nearest point is found by its score, which still tells."""
    points, vectors = scatter(50, 1_000, 60, 1.0)
    for size in (1e11, 1e13, 1e17, 1e150):
        found = NearestPointSearch(points).find_nearest(vectors * size)
        np.testing.assert_array_equal(found, (vectors @ points.T).argmax(axis=1))


def test_vectors_beyond_floats():
    """Where squares are infinite a point is found, and nothing is said about it."""
    points, vectors = scatter(50, 1_000, 60, 1.0)
    assert (NearestPointSearch(points).find_nearest(vectors * 1e300) == 0).all()
