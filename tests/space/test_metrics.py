"""Metrics by name and of the user's own."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn
from tests.contracts import reference
from tests.refusals import refuses


def space_with(choice, vectors=((0.0, 1.0), (2.0, 0.5), (-1.0, 1.0))):
    """Return a space of a few words with a metric."""
    return dn.Space([f"w{number}" for number in range(len(vectors))], np.array(vectors), metric=choice)


def test_metrics_by_name():
    """A name gives its metric, a metric itself; what is neither, and cosine, which is no metric, is refused."""
    for name in ("euclidean", "manhattan", "chebyshev", "angular"):
        metric = space_with(name).metric
        assert space_with(metric).metric is metric
        assert str(metric) == name
        assert metric.is_builtin
        assert pickle.loads(pickle.dumps(metric)).is_builtin
    for choice in ("l2", "", "Euclidean", 2, ["euclidean"], "geodesic"):
        with refuses(repr(choice)):
            space_with(choice)
    with refuses("'angular'"):
        space_with("cosine")
    assert space_with(None).metric is dn.Space(["a", "b"], np.eye(2), metric="euclidean").metric


def test_every_way_to_count_steps_has_a_name():
    """The name gives what is not the default, and it alone; name and pickle lead to the same metric."""
    names = {
        "steps": dn.Metric.steps(),
        "steps(neighbours=8, reach=6)": dn.Metric.steps(8, 6),
        "steps(reach=2)": dn.Metric.steps(reach=2),
        "steps(neighbours=64)": dn.Metric.steps(neighbours=np.int64(64)),
        "steps(by=cosine)": dn.Metric.steps(by="cosine"),
        "steps(neighbours=2, reach=8, by=euclidean)": dn.Metric.steps(2, 8, "euclidean"),
    }
    for name, metric in names.items():
        assert str(metric) == metric.name == name
        assert metric.is_builtin
        assert space_with(name).metric == metric
        assert pickle.loads(pickle.dumps(metric)) == metric
    assert len({space_with(name).fingerprint for name in names}) == len(names)
    impostor = dn.Metric("steps(reach=2)", step_options=dn.Metric.steps(reach=3).step_options)
    assert not impostor.is_builtin
    assert space_with(impostor).fingerprint is None


@pytest.mark.parametrize(("options", "value"), [((3, 5, "lists"), "3"), ((4, 9, "lists"), "9"), ((4, 5, "far"), "far")])
def test_steps_are_counted_in_no_other_way(options, value):
    """Options made by hand are those of a metric with a name, since nothing is proved of others."""
    made = dn.Metric.steps().step_options
    with refuses(value):
        type(made)(*options)


@pytest.mark.parametrize(
    "name",
    [
        *("steps()", "steps(12)", "steps(neighbours=12)", "steps(reach=5)", "steps(by=lists)", "Steps", "steps "),
        *(
            "steps(reach=6, neighbours=8)",
            "steps(neighbours=8,reach=6)",
            "steps(neighbours=08)",
            "steps(reach=6, reach=6)",
        ),
        *("steps(neighbours=7)", "steps(neighbours=66)", "steps(reach=1)", "steps(reach=9)", "steps(by=angular)"),
        *(
            "steps(neighbours=\u0668)",
            "steps(neighbours=\u00b2)",
            "steps(degree=8)",
            "steps(reach=6",
            "steps(reach=6)\n",
        ),
    ],
)
def test_other_spellings_of_steps_are_no_names(name):
    """Each metric has one name: what is a default, another order, and numbers out of range name none."""
    with refuses(repr(name)):
        space_with(name)


@pytest.mark.parametrize(
    ("options", "value"),
    [
        *(({"neighbours": count}, repr(count)) for count in (0, 1, 7, 65, 66, -2, 12.0, "12", None, True)),
        *(({"reach": reach}, repr(reach)) for reach in (0, 1, 9, 5.0, "5", None, True)),
        *(({"by": by}, repr(by)) for by in ("angular", "", None, 3, ["cosine"])),
    ],
)
def test_numbers_of_steps_out_of_range_are_refused(options, value):
    """Neighbours are even and at most as many as a list holds; no two words are farther than a class is."""
    with refuses(value):
        dn.Metric.steps(**options)


@pytest.mark.parametrize("name", ["euclidean", "manhattan", "chebyshev", "angular"])
@settings(max_examples=25)
@given(data=st.data())
def test_built_in_metrics_are_metrics(name, data):
    """Each is symmetric, zero only from a point to itself, and obeys the triangle inequality."""
    coordinates = st.tuples(*[st.integers(-6, 6)] * 3).filter(any)
    vectors = data.draw(st.lists(coordinates, min_size=2, max_size=8, unique=True))
    try:
        space = space_with(name, vectors)
    except dn.InputError:
        assert name == "angular"  # all of them parallel
        return
    distances = space.distances(range(space.point_count))
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
    with refuses("number 1"):
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
    assert space.point_count == 4
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
        with refuses(space.metric, dn.NotTractable):
            _ = space.distance_error
        assert dn.TEM(space, epsilon=2.0).guarantee.metric == "user function weighted"

        class Halved:
            def __call__(self, left, right):
                return np.linalg.norm(left[:, None] - right[None], axis=2) / 2

        assert space_with(Halved()).metric.name == "user function Halved"

    @pytest.mark.parametrize(
        "function",
        [
            lambda left, right: np.zeros((len(right), len(left))),
            lambda _, right: np.zeros(len(right)),
            lambda left, right: np.full((len(left), len(right)), np.nan),
            lambda left, right: np.full((len(left), len(right)), np.inf),
            lambda left, right: np.full((len(left), len(right)), -1.0),
        ],
    )
    def test_bad_values_are_refused(self, function):
        """A wrong shape, a negative distance or one that is not finite is refused with the metric's name."""
        space = space_with(function)
        with refuses("<lambda>"):
            space.distances([0])

    def test_its_own_error_is_not_hidden(self):
        """An error inside the function reaches the user as it is."""

        def broken(*_):
            raise ZeroDivisionError("mine")

        with refuses("mine", ZeroDivisionError):
            space_with(broken).distances([0])
