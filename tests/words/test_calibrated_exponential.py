"""Calibrated exponential: the requested epsilon is reached, never exceeded, and found alike every time."""

import json
import pickle

import numpy as np
import pytest

import deniable as dn
from deniable.words.calibrated_exponential import calibrate_scale
from tests.cached import authentic, content, entries
from tests.contracts.steps import StepSpaces
from tests.contracts.word_mechanism import WordMechanismContract
from tests.refusals import refuses

METRICS = (
    "euclidean",
    "steps",
    *(pytest.param(m, marks=pytest.mark.deep) for m in ("manhattan", "chebyshev", "angular")),
)
BOTH = (dn.CalibratedExponential, dn.TightExponential)
both = pytest.mark.parametrize("mechanism", BOTH)


class TestCalibratedExponential(WordMechanismContract):
    """The calibrated exponential mechanism holds the contract."""

    mechanism = dn.CalibratedExponential
    epsilon = 3.0
    twin_epsilon = 2.0
    glove_epsilon = 2.327  # which docs/howto/names.md uses in this space: one proof serves both
    theorem = ("exact epsilon", "all pairs of words", "all outputs")


class TestStepsCalibratedExponential(StepSpaces, TestCalibratedExponential):
    """The mechanism holds the contract under distance in steps."""


def kept_and_moved(subject):
    """Return the mean share of words kept and the mean distance moved, over all inputs alike."""
    points = range(subject.space.point_count)
    rows = subject.law.rows(points)
    return rows.diagonal().mean(), (rows * subject.space.distances(points)).sum(axis=1).mean()


@both
@pytest.mark.parametrize("metric", METRICS)
def test_requested_epsilon_is_reached_and_not_exceeded(small_space, small_vectors, mechanism, metric):
    """The proven epsilon of the law lies within 1e-6 below the requested one, at a scale in [epsilon / 2, epsilon]."""
    space = dn.Space(small_space.words, small_vectors, metric=metric)
    for epsilon in (0.3, 3.0, 12.0):
        subject = mechanism(space, epsilon=epsilon)
        assert (1 - 1e-6) * epsilon <= dn.verify(subject).epsilon <= epsilon
        assert epsilon / 2 <= subject.scale <= epsilon
        assert subject.scale == subject.kernel.scale == subject.derived_parameters["scale"]
        assert subject.guarantee == dn.Guarantee.of_words(epsilon, metric, subject.guarantee.source)


@pytest.mark.parametrize("epsilon", [0.3, 3.0, 20.0])
def test_scale_is_the_largest(small_space, epsilon):
    """A scale larger by a millionth of epsilon would exceed the requested epsilon."""
    kernel = dn.laws.ExponentialKernel(dn.CalibratedExponential(small_space, epsilon=epsilon).scale + 1e-6 * epsilon)
    assert dn.laws.ExponentialLaw(small_space, kernel).exact_epsilon().lower_bound > epsilon


@pytest.mark.parametrize(
    ("epsilon", "kept", "moved", "tem", "tight"),
    [
        (3, 95.7, 0.115, "50.2", "98.3"),
        pytest.param(2, 54.1, 1.91, "10.2", None, marks=pytest.mark.deep),
        pytest.param(4, 99.3, 0.010, "83.7", None, marks=pytest.mark.deep),
    ],
)
def test_reference_shares(glove_2000, epsilon, kept, moved, tem, tight):
    """Shares kept and distances moved on 2,000 words are those worked out before; tight keeps more, TEM less."""
    share, distance = kept_and_moved(dn.CalibratedExponential(glove_2000, epsilon=epsilon))
    assert 100 * share == pytest.approx(kept, abs=0.06)
    assert distance == pytest.approx(moved, abs=0.6 * 10.0 ** -(2 if moved > 1 else 3))
    plain, _ = kept_and_moved(dn.TEM(glove_2000, epsilon=epsilon, gamma=float("inf")))
    assert f"{100 * plain:.1f}" == tem
    most, _ = kept_and_moved(dn.TightExponential(glove_2000, epsilon=epsilon))
    assert tight in {None, f"{100 * most:.1f}"}
    assert most >= share >= max(plain, kept_and_moved(dn.TEM(glove_2000, epsilon=epsilon))[0])


@both
def test_what_cannot_be_proved_is_refused(small_space, small_vectors, mechanism):
    """A metric whose rounding is unknown, and an epsilon that rounding alone may exceed, are refused."""

    def own(left, right):
        return np.abs(left[:, None] - right[None]).sum(axis=2)

    with refuses("user function own"):
        mechanism(dn.Space(small_space.words, small_vectors, metric=own), epsilon=1.0)
    with refuses(1e-9):
        mechanism(small_space, epsilon=1e-9).probabilities("baran")


def test_calibration_ends_alike_wherever_it_begins(small_space):
    """However bad the guess is at which it begins, it ends at one scale."""
    expected = dn.CalibratedExponential(small_space, epsilon=3.0).scale
    assert {calibrate_scale(small_space, 3.0, guess=guess).scale for guess in (0.5, 0.9, 0.9999, 1.0)} == {expected}


class TestSteps:
    """Calibration where distances are steps: by the graph alone, to what tables can spend."""

    @pytest.fixture(scope="class", params=["words", "classes", "far words"])
    @classmethod
    def space(cls, request, small_space, small_vectors):
        """Return the sixty words under steps; with hidden ones; and in two parts without a path between them."""
        hide = [dn.WordClass("some", frozenset(small_space.words[:5]))] if request.param == "classes" else []
        vectors = small_vectors + 100 * (np.arange(60) < 15)[:, None] * (request.param == "far words")
        metric = dn.Metric.steps(4, reach=3, by="euclidean")
        return dn.Space(small_space.words, vectors, metric=metric, hide=hide)

    @pytest.mark.parametrize("epsilon", [1e-4, 0.05, 0.2, 0.7, 1.0, 1.9, 3.3, 5.0, 8.0, 11.0, 15.0])
    def test_all_of_epsilon_is_spent(self, space, epsilon):
        """The tables spend no more than was asked for, and less by a millionth at most; a larger scale spends more."""
        subject = dn.CalibratedExponential(space, epsilon=epsilon)
        assert (1 - 1e-6) * epsilon <= dn.verify(subject).epsilon <= epsilon
        assert epsilon / 2 <= subject.scale <= epsilon
        larger = dn.laws.RingLaw(space, dn.laws.ExponentialKernel(subject.scale + 1e-6 * epsilon))
        assert larger.exact_epsilon().lower_bound > epsilon or subject.scale > (1 - 1e-6) * epsilon

    @pytest.mark.parametrize("epsilon", [16.0, 20.0, 30.0, 60.0, 200.0, 1e4])
    def test_what_tables_cannot_spend_is_left(self, space, epsilon):
        """Beyond what the least entry lets words lose, the scale is epsilon itself, and less is spent."""
        subject = dn.CalibratedExponential(space, epsilon=epsilon)
        assert (1 - 1e-6) * epsilon <= subject.scale <= epsilon
        assert dn.verify(subject).epsilon <= min(epsilon, 38 * np.log(2) + 1e-9)
        assert subject("baran") in space

    def test_what_rounding_exceeds_is_refused(self, space):
        """An epsilon of the size of rounding is refused."""
        with refuses(1e-9):
            dn.CalibratedExponential(space, epsilon=1e-9).probabilities("baran")

    def test_scale_is_that_of_every_processor(self):
        """Calibration ends at the same digits wherever it is done, and is sent along."""
        subject = dn.CalibratedExponential(dn.Space.glove(2000), epsilon=3.0)
        assert subject.scale == 2.79741831
        assert pickle.loads(pickle.dumps(subject)).scale == subject.scale


@both
@pytest.mark.parametrize("epsilon", [0.05, 20.0, 1000.0])
def test_two_points(mechanism, epsilon):
    """Two words at distance d get the law of randomized response with loss epsilon d."""
    subject = mechanism(dn.Space(["a", "b"], [[0.0], [0.5]]), epsilon=epsilon)
    assert subject.scale == pytest.approx(epsilon, rel=1e-6)
    kept = 1 / (1 + np.exp(-epsilon / 2))
    np.testing.assert_allclose(subject.probabilities("a"), [kept, 1 - kept], rtol=1e-3, atol=1e-12)
    assert dn.verify(subject).status == "proved"


@both
def test_equal_vectors_bind_nothing(twin_space, mechanism):
    """Words that share a point share a law; the scale is that of the points alone."""
    for epsilon in (0.3, 20.0):
        subject = mechanism(twin_space, epsilon=epsilon)
        alone = mechanism(dn.Space(twin_space.words[:5], twin_space.points), epsilon=epsilon)
        assert subject.scale == alone.scale
        np.testing.assert_array_equal(subject.kernel.weights, alone.kernel.weights)
        verdict = dn.verify(subject)
        assert verdict.status == "proved"
        assert verdict.epsilon == pytest.approx(epsilon, rel=1e-6)


class TestCache:
    """The same law comes out whatever the state of the cache."""

    @pytest.fixture(params=BOTH, ids=lambda mechanism: mechanism.name)
    def law(self, request, small_space, tmp_path, monkeypatch):
        """Return a function that finds the law anew, the first time with a cold cache in tmp_path / cache."""
        monkeypatch.setenv("DENIABLE_CACHE", str(tmp_path / "cache"))

        def find():
            subject = request.param(small_space, epsilon=2.5)
            return subject.scale.hex(), subject.probabilities("baran").tobytes(), dn.verify(subject).epsilon

        return find

    def test_a_law_is_read_or_found_anew(self, law, tmp_path, monkeypatch):
        """A law read from the cache is the one found cold; files that hold something else are found anew."""
        cold, folder = law(), tmp_path / "cache"
        assert {"scale", "census"} <= {file.name.split("-")[0] for file in entries(folder)}
        before = {file: file.stat().st_mtime_ns for file in entries(folder)}
        read = [file for file in entries(folder) if file.name.startswith(("scale-", "weights-"))]
        assert law() == cold
        assert {file: file.stat().st_mtime_ns for file in entries(folder)} == before
        for data in (b"", b"{", b'{"scale": "1"}', b"\x93NUMPY"):
            for damaged in (lambda _, data=data: data, lambda file, data=data: authentic(file, data)):
                for file in entries(folder):
                    file.write_bytes(damaged(file))
                assert law() == cold
                assert all(file.read_bytes() != damaged(file) for file in read)
        (tmp_path / "file").write_text("in the way")
        monkeypatch.setenv("DENIABLE_CACHE", str(tmp_path / "file"))
        assert law() == cold

    @pytest.mark.parametrize("scale", [50.0, 4.0, -1.0, 0.5, float("nan"), float("inf")])
    def test_cached_scale_is_proved_before_it_is_used(self, small_space, own_cache_folder, scale):
        """A scale in the cache that does not suit, whoever wrote it, is found again."""
        true = dn.CalibratedExponential(small_space, epsilon=2.0).scale
        (path,) = own_cache_folder.glob("scale-*")
        path.write_bytes(authentic(path, json.dumps({"scale": scale}).encode()))
        subject = dn.CalibratedExponential(small_space, epsilon=2.0)
        assert subject.scale == true
        assert dn.verify(subject).status == "proved"
        assert json.loads(content(path)) == {"scale": true}
