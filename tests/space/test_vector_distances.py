"""The bound on what rounding can change in a distance of two vectors, against 50 digits."""

import hashlib
from decimal import Decimal, localcontext

import numpy as np
import pytest

import deniable as dn

METRICS = ("euclidean", "angular", *(pytest.param(m, marks=pytest.mark.deep) for m in ("manhattan", "chebyshev")))


def square_root_of_sum(x, y):
    """Return |x - y| exactly, but for the 50th digit."""
    return sum((a - b) ** 2 for a, b in zip(x, y, strict=True)).sqrt()


def arctangent(value):
    """Return arctan of a Decimal >= 0 to about 45 digits, by halving the angle 12 times and the series."""
    for _ in range(12):
        value /= 1 + (1 + value * value).sqrt()
    total, power = Decimal(0), value
    for order in range(1, 31, 2):
        total += (power if order % 4 == 1 else -power) / order
        power *= value * value
    return total * 2**12


def angle(x, y):
    """Return the angle between two vectors, twice the arctangent of |u - v| / |u + v|."""
    u, v = ([a / sum(b * b for b in side).sqrt() for a in side] for side in (x, y))
    apart, along = square_root_of_sum(u, v), square_root_of_sum(u, [-a for a in v])
    return (
        2 * arctangent(apart / along) if along > apart else 4 * arctangent(Decimal(1)) - 2 * arctangent(along / apart)
    )


def exact_distance(metric, x, y):
    """Return the distance of two vectors of Decimals."""
    if metric == "euclidean":
        return square_root_of_sum(x, y)
    if metric == "angular":
        return angle(x, y)
    differences = [abs(a - b) for a, b in zip(x, y, strict=True)]
    return sum(differences) if metric == "manhattan" else max(differences)


def hard_vectors(offset, dimensions=5):
    """Return vectors with many nearly equal, opposite or orthogonal to others, around an offset."""
    generator = np.random.default_rng(17)
    vectors = list(generator.normal(size=(10, dimensions)) + offset)
    steps = [1e-15, 1e-12, 1e-9, 1e-6, 1e-4, 0.9e-3, 1e-3, 1.1e-3, 1.42e-3, 2e-3, 1e-2]
    for step in steps:
        towards = generator.normal(size=dimensions)
        start = vectors[int(generator.integers(10))]
        vectors.append(start + step * np.linalg.norm(start) * towards / np.linalg.norm(towards))
    opposite, axis = [-vectors[0], -vectors[1] * (1 + 1e-7), 1e-3 * vectors[2]], np.eye(dimensions)[0]
    return np.array([*vectors, *opposite, axis, 3 * np.ones(dimensions)])


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("offset", [0.0, 30.0, 1e6])
@pytest.mark.parametrize("size", [1e-90, 1.0, 1e60])
def test_distance_error_bounds_the_rounding(metric, offset, size):
    """No distance is farther from the exact one than the bound says."""
    vectors = size * hard_vectors(offset)
    space = dn.Space([f"w{number}" for number in range(len(vectors))], vectors, metric=metric)
    by_rows = space.distances(range(space.point_count))
    with localcontext(prec=50):
        exact = [[Decimal(float(number)) for number in vector] for vector in space.vectors]
        bound = Decimal(space.distance_error)
        worst = Decimal(0)
        for i in range(len(exact)):
            for j in range(i + 1, len(exact)):
                truth = exact_distance(metric, exact[i], exact[j])
                p, q = space.point_by_word[i], space.point_by_word[j]
                for computed in (by_rows[p, q], by_rows[q, p]):
                    worst = max(worst, abs(Decimal(float(computed)) - truth))
    assert 0 < worst <= bound


def measure(vectors, rows=None):
    """Return the distances of some rows, or of all, as a space of those vectors has them."""
    space = dn.Space([f"w{number}" for number in range(len(vectors))], vectors)
    return space.distances(range(len(vectors)) if rows is None else rows)


@pytest.mark.parametrize(("count", "dimensions"), [(256, 5), (513, 3), (2, 1), (30, 301)])
def test_euclidean_distances_do_not_depend_on_what_is_computed_beside_them(count, dimensions):
    """A distance has the same bits in either direction, alone, in a block of rows and in a part of the points."""
    vectors = np.random.default_rng(count).normal(size=(count, dimensions))
    vectors[count // 2] = vectors[0] + 1e-7  # close: from differences
    distances = measure(vectors)
    np.testing.assert_array_equal(distances, distances.T)
    np.testing.assert_allclose(distances, np.sqrt(((vectors[:, None] - vectors[None]) ** 2).sum(axis=2)), atol=1e-9)
    for rows in ([0], [1, 0], [0, count - 1, count // 2, 1, 0]):
        np.testing.assert_array_equal(measure(vectors, rows), distances[rows])
    if count > 2:
        np.testing.assert_array_equal(measure(vectors[count // 2 :]), distances[count // 2 :, count // 2 :])


def test_euclidean_distances_have_the_bits_of_every_processor():
    """Distances between vectors of 50 dimensions have the bits that every processor must give."""
    numbers = np.random.Generator(np.random.Philox(key=7)).random((600, 50)) - 0.5
    numbers[3] = numbers[2] + 1e-9
    assert hashlib.blake2b(measure(numbers).tobytes(), digest_size=8).hexdigest() == "8f35ed4b63519c5e"
