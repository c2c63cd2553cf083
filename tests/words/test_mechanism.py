"""What all word mechanisms share: the base class, the registry and the shares that certificates state."""

import math

import numpy as np
import pytest

import deniable as dn
from tests.contracts.statistics import streams
from tests.refusals import refuses

ZIPF = 1 / np.arange(1, 61) / (1 / np.arange(1, 61)).sum()


class UniformDraws(dn.laws.Simulation):
    """Draws from all points alike."""

    def __init__(self, count):
        self._count = count

    def draw(self, points, streams, workers=None):
        del points, workers
        return (streams.bits() % np.uint64(self._count)).astype(np.int32)


class CopiedInput(dn.laws.Simulation):
    """Returns the input."""

    def draw_chunk(self, points, generator):
        del generator
        return points


class Uniform(dn.WordMechanism):
    """The least that a mechanism must give: a guarantee and draws."""

    name = "uniform"

    @property
    def guarantee(self):
        return dn.Guarantee.of_words(self.epsilon, self.space.metric.name, "a constant law")

    def build_law(self):
        return dn.laws.SimulatedLaw(self.space, UniformDraws(self.space.point_count))


def test_new_mechanism_needs_only_a_guarantee_and_draws(small_space):
    """A subclass with two members privatizes, has a fingerprint and an expected share, and no law."""
    subject = Uniform(small_space, epsilon=1.0)
    assert len(set(subject.sample(["baran"] * 2000))) == 60
    assert subject.fingerprint == f"uniform(epsilon=1.0)@{small_space.fingerprint}"
    with refuses("No exact output law", dn.NotTractable):
        subject.probabilities("baran")
    share = subject.expected_kept_share()
    assert share.draws == 20_000
    assert abs(share.value - 1 / 60) < 6 * math.sqrt(1 / 60 / 20_000)


def test_twins_are_chosen_evenly_within_a_point(twin_space):
    """Each word of the point drawn comes out, and no word of another point does."""

    class Stay(Uniform):
        def build_law(self):
            return dn.laws.SimulatedLaw(self.space, CopiedInput())

    subject = Stay(twin_space, epsilon=1.0)
    words = np.repeat(np.arange(12, dtype=np.int32), 4000)
    drawn = subject.draw_words(words, streams(len(words), "twins"))
    np.testing.assert_array_equal(twin_space.point_by_word[drawn], twin_space.point_by_word[words])
    sizes = np.bincount(twin_space.point_by_word)[twin_space.point_by_word[words]]
    for word in range(12):
        group = drawn[words == word]
        size = sizes[words == word][0]
        counts = np.bincount(group, minlength=12)
        assert (counts > 0).sum() == size
        spread = 6 * math.sqrt(4000 / size)
        assert np.abs(counts[counts > 0] - 4000 / size).max() <= spread


def test_expected_kept(small_space):
    """It is the prior's mean of the diagonal of a law with tables, and simulated where a subclass draws otherwise."""
    subject = dn.TEM(small_space, epsilon=3.0)
    diagonal = subject.law.rows(range(60)).diagonal()
    share = subject.expected_kept_share()
    assert (share.value, share.draws) == (pytest.approx(float(ZIPF @ diagonal), abs=1e-12), 0)

    class Leak(dn.TEM):
        def build_law(self):
            return dn.laws.SimulatedLaw(self.space, CopiedInput())

    share = Leak(small_space, epsilon=0.1).expected_kept_share()
    assert (share.value, share.draws) == (1.0, 20_000)
    assert "+-" in str(share)
    assert str(dn.TEM(small_space, epsilon=1e6, gamma=math.inf).expected_kept_share()) == "100.0%"


def test_expected_kept_is_the_same_in_every_process(small_space):
    """A simulated share comes from a fixed public stream."""
    subject = dn.MultivariateLaplace(small_space, epsilon=4.0)
    first = subject.expected_kept_share()
    assert subject.expected_kept_share(workers=1) == first
    assert dn.MultivariateLaplace(small_space, epsilon=4.0).expected_kept_share() == first


@pytest.mark.parametrize("mechanism", [dn.TEM, dn.TruncatedGumbel])
def test_no_outcome_is_kept_under_a_prior_of_ones_own(small_space, own_cache_folder, mechanism):
    """Frequencies of words may be of a private text: what follows from them is in no file, and names none."""
    subject, counts = mechanism(small_space, epsilon=300.0), np.arange(60.0)
    public = subject.outcomes()
    before = set(own_cache_folder.iterdir())
    assert any(path.name.startswith("outcomes-") for path in before)
    assert subject.outcomes(counts / counts.sum()) != public
    assert dn.recovery(subject, prior=counts) != public.guessed
    assert set(own_cache_folder.iterdir()) == before
    assert subject.outcomes(ZIPF).guessed == pytest.approx(public.guessed, abs=1e-12)


def test_expected_kept_is_not_cached_for_a_function_of_the_users_own(small_vectors, small_space, own_cache_folder):
    """A metric without a fingerprint leaves nothing in the cache."""

    def twice(left, right):
        return 2 * np.linalg.norm(left[:, None] - right[None], axis=2)

    space = dn.Space(small_space.words, small_vectors, metric=twice)
    before = set(own_cache_folder.iterdir())
    share = dn.TEM(space, epsilon=1.5).expected_kept_share()
    assert set(own_cache_folder.iterdir()) == before
    plain = dn.TEM(small_space, epsilon=3.0, gamma=dn.TEM(space, epsilon=1.5).cutoff / 2).expected_kept_share()
    assert share.value == pytest.approx(plain.value, abs=1e-9)


def test_a_mechanism_without_a_name_or_a_law_is_refused(small_space):
    """Noise is keyed by the name, and drawn from the law."""

    class Nameless(dn.TEM):
        """A mechanism whose name is none."""

        name = None

    with refuses("Nameless", TypeError):
        Nameless(small_space, epsilon=1.0)
    with refuses("abstract", TypeError):
        dn.WordMechanism(small_space, epsilon=1.0)


def test_scikit_learn_reaches_the_parameters(small_space):
    """A clone is the mechanism itself, which never changes; set_params of a transformer puts in another."""
    base, subject = pytest.importorskip("sklearn.base"), dn.TEM(small_space, epsilon=3.0)
    assert base.clone(subject) is subject
    privatizer = dn.TextPrivatizer(subject)
    assert privatizer.get_params()["mechanism__epsilon"] == 3.0
    changed = base.clone(privatizer).set_params(mechanism__epsilon=6.0)
    assert changed.mechanism.fingerprint == subject.replace(epsilon=6.0).fingerprint
    assert privatizer.mechanism is subject


@pytest.mark.parametrize("epsilon", [0.3, 1.2, 8.0])
def test_auto_is_tight_exactly_where_calibrated_keeps_enough(small_space, small_vectors, epsilon):
    """The choice follows from the share of 5 % that calibrated keeps; a metric of one's own leaves TEM."""

    def own(left, right):
        return np.abs(left[:, None] - right[None]).sum(axis=2)

    kept = dn.CalibratedExponential(small_space, epsilon=epsilon).law.rows(range(60)).diagonal().mean()
    chosen = dn.mechanism("auto", small_space, epsilon=epsilon)
    assert type(chosen) is (dn.TightExponential if kept >= 0.05 else dn.CalibratedExponential)
    assert chosen.epsilon == epsilon
    space = dn.Space(small_space.words, small_vectors, metric=own)
    assert type(dn.mechanism("auto", space, epsilon=epsilon)) is dn.TEM
    with refuses("-1.0"):
        dn.mechanism("auto", small_space, epsilon=-1.0)
