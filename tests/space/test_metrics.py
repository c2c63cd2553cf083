"""Metrics by name and of the user's own."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deniable as dn
from deniable.space.metrics import METRICS, resolve_metric
from tests.contracts import reference


def space_with(choice, vectors=((0.0, 1.0), (2.0, 0.5), (-1.0, 1.0))):
    """Return a space of a few words with a metric."""
    return dn.Space([f"w{number}" for number in range(len(vectors))], np.array(vectors), metric=choice)


def test_five_metrics_are_known_by_name():
    """A name gives its metric, a metric itself, and each prints as its name."""
    assert set(METRICS) == {"euclidean", "manhattan", "chebyshev", "angular", "geodesic"}
    for name, known in METRICS.items():
        assert resolve_metric(name) is known
        assert resolve_metric(known) is known
        assert str(known) == name
        assert known.is_builtin


def test_cosine_is_refused_with_the_reason():
    """Cosine distance breaks the triangle inequality, and the message says what to use."""
    with pytest.raises(dn.InputError, match=r"breaks the triangle inequality.*Use metric='angular'"):
        space_with("cosine")
    directions = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    cosine = 1 - directions @ directions.T / np.outer(*[np.linalg.norm(directions, axis=1)] * 2)
    assert cosine[0, 2] > cosine[0, 1] + cosine[1, 2] + 0.1


@pytest.mark.parametrize("choice", ["l2", "", "Euclidean", None, 2, ["euclidean"]])
def test_unknown_metric_is_refused(choice):
    """What is neither a known name nor a function is refused with the list of names."""
    with pytest.raises(
        dn.InputError, match=r"must be one of euclidean, manhattan, chebyshev, angular, geodesic, or a function"
    ):
        space_with(choice)


@pytest.mark.parametrize("name", ["euclidean", "manhattan", "chebyshev", "angular"])
@given(data=st.data())
def test_built_in_metrics_are_metrics(name, data):
    """Each is symmetric, zero only from a point to itself, and obeys the triangle inequality."""
    coordinates = st.tuples(*[st.integers(-6, 6)] * 3).filter(any)
    vectors = data.draw(st.lists(coordinates, min_size=2, max_size=8, unique=True))
    try:
        space = space_with(name, vectors)
    except dn.InputError:
        # All of them parallel.
        assert name == "angular"
        return
    distances = space.distances(range(len(space.points)))
    count = len(distances)
    np.testing.assert_allclose(distances, distances.T, rtol=1e-12)
    assert (distances[~np.eye(count, dtype=bool)] > 0).all()
    assert (np.diagonal(distances) == 0).all()
    detours = (distances[:, :, None] + distances[None]).min(axis=1)
    assert (distances <= detours + 1e-9).all()


def test_angle_is_exact_for_small_and_straight_angles():
    """The angle keeps its digits near 0 and reaches pi, where an arc cosine would lose them."""
    tiny = [1e-3, 1e-6, 1e-9]
    space = space_with("angular", [(1.0, 0.0), (-3.0, 0.0), *((np.cos(angle), np.sin(angle)) for angle in tiny)])
    row = space.distances([0])[0]
    np.testing.assert_allclose(row[2:], tiny, rtol=1e-3)
    assert row[1] == pytest.approx(np.pi, rel=1e-15)


def test_zero_vector_has_no_angle():
    """The angular metric refuses a zero vector with its number and what to do."""
    with pytest.raises(dn.InputError, match=r"Vector number 1 is zero: leave that word out"):
        space_with("angular", [(1.0, 0.0), (0.0, 0.0), (0.0, 1.0)])
    assert space_with("euclidean", [(1.0, 0.0), (0.0, 0.0)]).distance("w0", "w1") == 1.0


@pytest.mark.parametrize("factor", [1e-200, 1e-160, 1e160, 1e200])
@pytest.mark.filterwarnings("ignore:overflow")
def test_angle_does_not_depend_on_lengths(factor):
    """Very short and very long vectors have the same angles as others, or are refused; no angle is wrong."""
    vectors = np.array([(1.0, 0.0), (1.0, 1.0), (-1.0, 3.0), (-2.0, -1.0)])
    expected = reference.distances(vectors, "angular")
    vectors[1:3] *= factor
    try:
        space = space_with("angular", vectors)
    except dn.InputError:
        return
    assert len(space.points) == 4
    np.testing.assert_allclose(space.distances(range(4)), expected, rtol=0, atol=1e-9)


class TestFunction:
    """A metric may be a function of the user's own."""

    @staticmethod
    def weighted(left, right):
        """Return a weighted Manhattan distance."""
        return np.abs((left[:, None] - right[None]) * [1.0, 10.0]).sum(axis=2)

    def test_it_gives_the_distances(self):
        """Its name and values are the space's, and mechanisms take it."""
        space = space_with(self.weighted)
        assert space.metric.name == "user function weighted"
        assert not space.metric.is_builtin
        assert space.distance("w0", "w1") == pytest.approx(2 + 5)
        assert (space.separation, space.diameter) == (pytest.approx(1.0), pytest.approx(8.0))
        assert space.neighbours("w0", 1) == [("w2", 1.0)]
        assert dn.TEM(space, epsilon=2.0).guarantee.metric == "user function weighted"

    def test_object_that_can_be_called(self):
        """An object without a name of its own goes by its class."""

        class Halved:
            def __call__(self, left, right):
                return np.linalg.norm(left[:, None] - right[None], axis=2) / 2

        space = space_with(Halved())
        assert space.metric.name == "user function Halved"
        assert space.distance("w0", "w2") == 0.5

    @pytest.mark.parametrize(
        ("function", "message"),
        [
            (lambda left, right: np.zeros((len(right), len(left))), "must return shape"),
            (lambda _, right: np.zeros(len(right)), "must return shape"),
            (lambda left, right: np.full((len(left), len(right)), np.nan), "negative or not finite"),
            (lambda left, right: np.full((len(left), len(right)), np.inf), "negative or not finite"),
            (lambda left, right: np.full((len(left), len(right)), -1.0), "negative or not finite"),
        ],
    )
    def test_bad_values_are_refused(self, function, message):
        """A wrong shape, a negative distance or one that is not finite is refused with the metric's name."""
        space = space_with(function)
        with pytest.raises(dn.InputError, match=f"The metric user function <lambda> .*{message}"):
            space.distances([0])

    def test_its_own_error_is_not_hidden(self):
        """An error inside the function reaches the user as it is."""

        def broken(*_):
            raise ZeroDivisionError("mine")

        with pytest.raises(ZeroDivisionError, match="mine"):
            space_with(broken).distances([0])


def test_the_list_of_metrics_is_closed():
    """A metric of one's own cannot get among those whose name names them."""
    with pytest.raises(TypeError, match="does not support item assignment"):
        METRICS["euclidean"] = dataclasses.replace(METRICS["manhattan"], name="euclidean")
    assert METRICS["euclidean"].is_builtin
