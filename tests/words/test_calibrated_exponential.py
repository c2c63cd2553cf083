"""Calibrated exponential: the requested epsilon is reached, never exceeded, and found alike every time."""

import json

import numpy as np
import pytest

import deniable as dn
from deniable.words.calibrated_exponential import CALIBRATION_TOLERANCE, calibrate_scale
from deniable.words.laws import ExponentialKernel
from deniable.words.laws.exponential_proof import prove_exact_epsilon
from tests.cached import authentic, entries
from tests.cached import content as content_of
from tests.contracts.geodesic import GeodesicSpaces
from tests.contracts.word_mechanism import WordMechanismContract

METRICS = ("euclidean", "manhattan", "chebyshev", "angular", "geodesic")
BOTH = (dn.CalibratedExponential, dn.TightExponential)


class TestCalibratedExponential(WordMechanismContract):
    """The calibrated exponential mechanism holds the contract."""

    mechanism = dn.CalibratedExponential
    epsilon = 3.0
    twin_epsilon = 2.0
    glove_epsilon = 2.327  # which docs/howto/names.md uses in this space: one proof serves both
    theorem = ("exact epsilon", "all pairs of words", "all outputs")


class TestGeodesicCalibratedExponential(GeodesicSpaces, TestCalibratedExponential):
    """The mechanism holds the contract under the geodesic metric."""


def kept_and_moved(subject):
    """Return the mean share of words kept and the mean distance moved, over all inputs alike."""
    space = subject.space
    distances = space.distances(range(len(space.points)))
    rows = subject.law.rows(range(len(space.points)))
    return rows.diagonal().mean(), (rows * distances).sum(axis=1).mean()


@pytest.mark.parametrize("mechanism", BOTH)
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0, 8.0, 20.0])
def test_requested_epsilon_is_reached_and_not_exceeded(small_space, small_vectors, mechanism, metric, epsilon):
    """The proven epsilon of the law lies within 1e-6 below the requested one, at a scale in [epsilon / 2, epsilon]."""
    subject = mechanism(dn.Space(small_space.words, small_vectors, metric=metric), epsilon=epsilon)
    assert (1 - 1e-6) * epsilon <= prove_exact_epsilon(subject.space, subject.kernel).epsilon <= epsilon
    assert epsilon / 2 <= subject.scale <= epsilon
    assert subject.scale == subject.kernel.scale == subject.derived_parameters["scale"]
    assert subject.guarantee == dn.MetricDP(epsilon, metric, subject.guarantee.source)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0, 20.0])
def test_scale_is_the_largest(small_space, epsilon):
    """A scale larger by a millionth of epsilon would exceed the requested epsilon."""
    subject = dn.CalibratedExponential(small_space, epsilon=epsilon)
    assert prove_exact_epsilon(small_space, ExponentialKernel(subject.scale + 1e-6 * epsilon)).lower_bound > epsilon


@pytest.mark.parametrize("mechanism", BOTH)
@pytest.mark.parametrize("epsilon", [1, 2, 3, 4])
def test_keeps_at_least_what_tem_keeps(glove_2000, mechanism, epsilon):
    """At equal proven epsilon more words are kept than by TEM, truncated by default or not at all."""
    kept, _ = kept_and_moved(mechanism(glove_2000, epsilon=epsilon))
    for gamma in (None, float("inf")):
        assert kept >= kept_and_moved(dn.TEM(glove_2000, epsilon=epsilon, gamma=gamma))[0]


@pytest.mark.parametrize(
    ("epsilon", "kept", "moved", "tem"), [(2, 54.1, 1.91, "10.2"), (3, 95.7, 0.115, "50.2"), (4, 99.3, 0.010, "83.7")]
)
def test_reference_shares(glove_2000, epsilon, kept, moved, tem):
    """Shares kept and distances moved on the 2,000 most frequent words are those worked out before."""
    share, distance = kept_and_moved(dn.CalibratedExponential(glove_2000, epsilon=epsilon))
    assert 100 * share == pytest.approx(kept, abs=0.06)
    assert distance == pytest.approx(moved, abs=0.6 * 10.0 ** -(2 if moved > 1 else 3))
    share, _ = kept_and_moved(dn.TEM(glove_2000, epsilon=epsilon, gamma=float("inf")))
    assert f"{100 * share:.1f}" == tem


@pytest.mark.parametrize("mechanism", BOTH)
def test_metric_of_the_users_own_is_refused(small_space, small_vectors, mechanism):
    """A metric whose rounding is unknown is refused when the mechanism is made, with what to use instead."""

    def own(left, right):
        return np.abs(left[:, None] - right[None]).sum(axis=2)

    space = dn.Space(small_space.words, small_vectors, metric=own)
    with pytest.raises(dn.InputError) as caught:
        mechanism(space, epsilon=1.0)
    assert str(caught.value) == (
        f"{mechanism.__name__} needs a metric that has a name, whose rounding is known. "
        "Got user function own: use TEM, which takes any metric."
    )


@pytest.mark.parametrize("mechanism", BOTH)
def test_epsilon_below_the_rounding_is_refused(small_space, mechanism):
    """An epsilon that rounding alone may exceed is refused in one line, at first use."""
    subject = mechanism(small_space, epsilon=1e-9)
    with pytest.raises(
        dn.InputError, match=r"^The 'epsilon' parameter must be larger .* rounding .* Got 1e-09: raise it, or .*\.$"
    ):
        subject.probabilities("baran")


@pytest.mark.parametrize("weighted", [False, True])
def test_scale_does_not_depend_on_workers(glove_2000, weighted):
    """One worker and two find the same scale and the same proof to the last bit."""
    weights = np.random.default_rng(6).uniform(0.5, 2.0, size=2000) if weighted else None
    law, proof = calibrate_scale(glove_2000, 2.0, weights, workers=1)
    again, other = calibrate_scale(glove_2000, 2.0, weights, workers=2)
    assert law.scale.hex() == again.scale.hex()
    assert (proof.epsilon, proof.lower_bound, proof.input, proof.other) == (
        other.epsilon,
        other.lower_bound,
        other.input,
        other.other,
    )


@pytest.mark.parametrize("guess", [None, 0.0, 1.5, 2.9999, 1e9])
def test_guess_does_not_decide_the_result(small_space, guess):
    """Whatever scale is tried first, the law found spends epsilon to within the tolerance."""
    law, proof = calibrate_scale(small_space, 3.0, guess=guess)
    assert (1 - 1.001 * CALIBRATION_TOLERANCE) * 3.0 <= proof.epsilon <= 3.0
    assert law.scale == pytest.approx(calibrate_scale(small_space, 3.0)[0].scale, rel=1e-6)


@pytest.mark.parametrize("mechanism", BOTH)
@pytest.mark.parametrize("epsilon", [0.05, 2.0, 20.0, 1000.0])
def test_two_points(mechanism, epsilon):
    """Two words at distance d get the law of randomized response with loss epsilon d."""
    space = dn.Space(["a", "b"], [[0.0], [0.5]])
    subject = mechanism(space, epsilon=epsilon)
    assert subject.scale == pytest.approx(epsilon, rel=1e-6)
    kept = 1 / (1 + np.exp(-epsilon / 2))
    np.testing.assert_allclose(subject.probabilities("a"), [kept, 1 - kept], rtol=1e-3, atol=1e-12)
    assert dn.verify(subject).status == "proved"


@pytest.mark.parametrize("mechanism", BOTH)
@pytest.mark.parametrize("epsilon", [0.3, 2.0, 20.0])
def test_equal_vectors_bind_nothing(twin_space, mechanism, epsilon):
    """Words that share a point share a law; the scale is that of the points alone."""
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
    def mechanism(self, request):
        return request.param

    @pytest.fixture
    def law(self, small_space, mechanism, tmp_path, monkeypatch):
        """Return a function that finds the law anew, the first time with a cold cache in tmp_path / cache."""
        monkeypatch.setenv("DENIABLE_CACHE", str(tmp_path / "cache"))

        def find():
            subject = mechanism(small_space, epsilon=2.5)
            return subject.scale.hex(), subject.probabilities("baran").tobytes(), dn.verify(subject).epsilon

        return find

    def test_cached(self, law, tmp_path):
        """A law read from the cache is the one found cold, and was written there with its proof."""
        cold = law()
        kinds = {file.name.split("-")[0] for file in entries(tmp_path / "cache")}
        assert {"scale", "worst"} <= kinds
        assert law() == cold

    def test_cached_law_is_not_searched_again(self, law, monkeypatch):
        """With a warm cache nothing is calibrated, fitted or proved."""
        cold = law()

        def fail(*_, **__):
            raise AssertionError("computed again")

        for place in (
            "calibrated_exponential.calibrate_scale",
            "calibrated_exponential.find_worst_pairs",
            "tight_exponential.fit_weights",
        ):
            monkeypatch.setattr(f"deniable.words.{place}", fail)
        monkeypatch.setattr("deniable.words.laws.exponential.prove_exact_epsilon", fail)
        assert law() == cold

    @pytest.mark.parametrize("content", [b"", b"{", b"\x00" * 40, b'{"scale": "1"}', b"\x93NUMPY"])
    def test_corrupted(self, law, tmp_path, content):
        """Files that are cut off or hold something else are computed anew."""
        cold = law()
        for damaged in (lambda _: content, lambda file: authentic(file, content)):
            for file in entries(tmp_path / "cache"):
                file.write_bytes(damaged(file))
            assert law() == cold
            anew = [file for file in entries(tmp_path / "cache") if "worst" not in file.name]
            assert anew
            assert all(file.read_bytes() != damaged(file) for file in anew)

    def test_unwritable(self, law, tmp_path, monkeypatch):
        """Where the folder cannot be made the law is found every time, and is the same."""
        cold = law()
        (tmp_path / "file").write_text("in the way")
        monkeypatch.setenv("DENIABLE_CACHE", str(tmp_path / "file"))
        assert law() == law() == cold


@pytest.mark.parametrize("scale", [50.0, 4.0, -1.0, 0.5, float("nan"), float("inf")])
def test_cached_scale_is_proved_before_it_is_used(small_space, tmp_path, monkeypatch, scale):
    """A scale in the cache that does not suit, whoever wrote it, is found again."""
    monkeypatch.setenv("DENIABLE_CACHE", str(tmp_path))
    true = dn.CalibratedExponential(small_space, epsilon=2.0).scale
    (path,) = tmp_path.glob("scale-*")
    path.write_bytes(authentic(path, json.dumps({"scale": scale}).encode()))
    subject = dn.CalibratedExponential(small_space, epsilon=2.0)
    assert subject.scale == true
    assert dn.verify(subject).status == "proved"
    assert json.loads(content_of(path)) == {"scale": true}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 1e9, -5.0, 0.5])
def test_cached_finding_that_cannot_be_is_found_again(small_space, tmp_path, monkeypatch, value):
    """A cached proof with numbers that make no sense is computed anew."""
    monkeypatch.setenv("DENIABLE_CACHE", str(tmp_path))
    subject = dn.TEM(small_space, epsilon=2.0)
    verdict = dn.verify(subject)
    (path,) = tmp_path.glob("worst-*")
    path.write_bytes(authentic(path, json.dumps(dict.fromkeys(json.loads(content_of(path)), value)).encode()))
    again = dn.verify(subject)
    assert (again.status, again.epsilon, again.witness) == (verdict.status, verdict.epsilon, verdict.witness)
