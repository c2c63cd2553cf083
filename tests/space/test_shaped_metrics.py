"""The Poincaré and the Mahalanobis distance: exact up to their bound, proved under every mechanism that takes them."""

import pickle
from decimal import Decimal, localcontext

import numpy as np
import pytest

import deniable as dn
from tests.refusals import refuses

COVARIANCE = np.array([[2.0, 0.3, 0.0], [0.3, 1.0, -0.2], [0.0, -0.2, 0.5]])
METRICS = ("poincare", "mahalanobis", dn.Metric.mahalanobis(COVARIANCE))


def cloud(count=40, radius=0.9, near=(1e-12, 1e-9, 1e-6, 1e-4)):
    """Return vectors (n, 3) inside a ball, some of them so near to others, or near its sphere."""
    generator = np.random.default_rng(3)
    vectors = generator.normal(size=(count, 3))
    vectors *= radius * generator.uniform(0.05, 1, size=(count, 1)) / np.linalg.norm(vectors, axis=1, keepdims=True)
    for place, step in enumerate(near):
        vectors[-1 - place] = vectors[place] + step * np.arange(1.0, 4.0)
    return vectors


def space_of(metric, vectors=None):
    """Return a space of words."""
    vectors = cloud() if vectors is None else np.asarray(vectors)
    return dn.Space([f"w{number}" for number in range(len(vectors))], vectors, metric=metric)


def dot(x, y):
    """Return the inner product of two vectors of Decimals."""
    return sum(a * b for a, b in zip(x, y, strict=True))


def poincare(x, y):
    """Return ln(t + sqrt(1 + t^2)) doubled, of t^2 = |x - y|^2 / ((1 - |x|^2) (1 - |y|^2))."""
    apart = [a - b for a, b in zip(x, y, strict=True)]
    square = dot(apart, apart) / ((1 - dot(x, x)) * (1 - dot(y, y)))
    return 2 * (square.sqrt() + (1 + square).sqrt()).ln()


def solve(matrix, vector):
    """Return S^-1 v by elimination, in Decimals."""
    rows = [[*row, value] for row, value in zip(matrix, vector, strict=True)]
    for place in range(len(rows)):
        rows[place] = [entry / rows[place][place] for entry in rows[place]]
        for other in range(len(rows)):
            if other != place:
                factor = rows[other][place]
                rows[other] = [a - factor * b for a, b in zip(rows[other], rows[place], strict=True)]
    return [row[-1] for row in rows]


def check_bound(space, exact):
    """Check that no distance is farther from the exact one than the bound says, and that they are symmetric."""
    distances = space.distances(range(space.point_count))
    np.testing.assert_array_equal(distances, distances.T)
    with localcontext(prec=50):
        points = [[Decimal(float(number)) for number in vector] for vector in space.vectors]
        worst = Decimal(0)
        for i, x in enumerate(points):
            for j in range(i):
                p, q = space.point_by_word[i], space.point_by_word[j]
                worst = max(worst, abs(Decimal(float(distances[p, q])) - exact(x, points[j])))
        assert 0 < worst <= Decimal(space.distance_error)
    assert space.distance_error < 1e-3 * space.diameter


@pytest.mark.parametrize("radius", [0.3, 0.99, 0.9999])
def test_poincare_distance(radius):
    """In the ball, near its sphere and between words that nearly coincide."""
    check_bound(space_of("poincare", cloud(radius=radius)), poincare)


@pytest.mark.parametrize("scale", [1e-60, 1.0, 1e60])
def test_mahalanobis_distance(scale):
    """With a given matrix the distance is that of its inverse, at any scale."""
    matrix = scale**2 * COVARIANCE
    entries = [[Decimal(float(value)) for value in row] for row in matrix]

    def exact(x, y):
        apart = [a - b for a, b in zip(x, y, strict=True)]
        return dot(apart, solve(entries, apart)).sqrt()

    check_bound(space_of(dn.Metric.mahalanobis(matrix), scale * cloud()), exact)


def test_mahalanobis_of_the_words_themselves():
    """Without a matrix it is the covariance of the points, so that stretching the vectors changes nothing."""
    vectors = cloud()
    distances = space_of("mahalanobis", vectors).distances(range(len(vectors)))
    apart = vectors[:, None] - vectors[None]
    inverse = np.linalg.inv(np.cov(vectors.T, bias=True))
    np.testing.assert_allclose(distances, np.sqrt(np.einsum("ijk,kl,ijl->ij", apart, inverse, apart)), atol=1e-7)
    stretched = space_of("mahalanobis", vectors @ COVARIANCE)
    np.testing.assert_allclose(stretched.distances(range(len(vectors))), distances, rtol=1e-6, atol=1e-9)
    same = space_of(dn.Metric.mahalanobis(np.eye(3)), vectors).distances(range(len(vectors)))
    np.testing.assert_array_equal(same, space_of("euclidean", vectors).distances(range(len(vectors))))


@pytest.mark.parametrize("metric", METRICS, ids=str)
@pytest.mark.parametrize("kind", [dn.TEM, dn.CalibratedExponential, dn.TightExponential])
def test_mechanisms_are_proved(metric, kind):
    """Every law that takes any metric of the package is proved under both, over all pairs, with a witness."""
    space = space_of(metric, cloud(60, near=()))
    mechanism = kind(space, epsilon=3.0)
    verdict = dn.verify(mechanism)
    assert (verdict.status, verdict.guarantee.metric) == ("proved", str(space.metric))
    probabilities = np.log([mechanism.probabilities(word) for word in space.words])
    distances = space.distances(range(60))
    for word, other in ((0, 1), (3, 59), (7, 30)):
        assert np.abs(probabilities[word] - probabilities[other]).max() <= 3.0 * distances[word, other] + 1e-6
    assert verdict.witness is not None


@pytest.mark.parametrize("metric", METRICS, ids=str)
def test_metrics_have_names(metric):
    """A named metric makes a fingerprint, and survives pickling; a release under a key can be named by it."""
    space = space_of(metric)
    assert space.metric.is_builtin
    assert space.fingerprint is not None
    again = pickle.loads(pickle.dumps(space))
    assert (again.metric, again.fingerprint) == (space.metric, space.fingerprint)
    assert dn.Release(dn.TEM(space, epsilon=2.0), key="seed:1").fingerprint is not None


def test_a_file_is_read_again_under_a_matrix(tmp_path):
    """A space from a file pickles as a reference under a matrix too; another matrix is another metric."""
    np.savez(tmp_path / "v.npz", words=np.array([f"w{n}" for n in range(40)]), vectors=cloud())
    space = dn.Space.load(tmp_path / "v.npz", metric=dn.Metric.mahalanobis(COVARIANCE), hide=())
    assert pickle.loads(pickle.dumps(space)).fingerprint == space.fingerprint
    other = dn.Metric.mahalanobis(2 * COVARIANCE)
    assert other.name != space.metric.name
    assert space_of(other).fingerprint != space_of(space.metric).fingerprint
    impostor = dn.Metric(space.metric.name, *(getattr(other, part) for part in ("prepare", "canonicalize")))
    assert not impostor.is_builtin


def test_points_outside_the_ball_are_refused():
    """Poincaré vectors lie inside the unit ball, with digits left; a hidden class, apart from all words, may not."""
    for length in (1.0, 1.5, 1 - 1e-8):
        with refuses("number 1"):
            space_of("poincare", [(0.1, 0.0), (length, 0.0)])
    with refuses("hide none"):
        dn.Space(["a", "b", "7"], [(0.9, 0.0), (-0.9, 0.0), (0.0, 0.9)], metric="poincare", hide=["numbers"])


@pytest.mark.parametrize(
    ("matrix", "value"),
    [
        ([[1.0, 2.0], [2.0, 1.0]], "no spread"),
        ([[1.0, 1.0], [1.0, 1.0]], "no spread"),
        ([[1.0, 0.0], [0.0, 1e-11]], "no spread"),
        ([[1.0, 0.5], [0.0, 1.0]], "not symmetric"),
        ([[-1.0, 0.0], [0.0, -1.0]], "trace of -2"),
        ([[0.0, 0.0], [0.0, 0.0]], "trace of 0"),
        ([[np.nan, 0.0], [0.0, 1.0]], "(2, 2)"),
        ([1.0, 2.0], "(2,)"),
        ([[1.0, 0.0]], "(1, 2)"),
        ([["a"]], "could not convert"),
        ([[1.0, 2.0], [3.0]], "inhomogeneous"),
    ],
)
def test_matrices_that_are_no_covariance_are_refused(matrix, value):
    """A matrix is symmetric and positive definite by a margin, or names what is wrong."""
    with refuses(value):
        dn.Metric.mahalanobis(matrix)


def test_vectors_that_do_not_vary_are_refused():
    """Words in a plane have no covariance that can be inverted, and a matrix has the size of the vectors."""
    with refuses("no spread"):
        space_of("mahalanobis", [(0.0, 1.0, 1.0), (1.0, 0.0, 1.0), (1.0, 1.0, 1.0)])
    with refuses("(3, 3)"):
        space_of(dn.Metric.mahalanobis(np.eye(2)))


@pytest.mark.parametrize(("size", "scale"), [(1e99, 1e-199), (1e-98, 1e199)])
def test_matrices_that_leave_the_range_of_floats_are_refused(size, scale):
    """Distances whose squares overflow, or come out as 0, are refused with the vector, and no law is made of them."""
    with refuses("vector number 1"):
        space_of(dn.Metric.mahalanobis(scale * np.eye(2)), [(0.0, 0.0), (size, 0.0), (0.0, size)])
