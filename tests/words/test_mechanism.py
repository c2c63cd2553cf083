"""What all word mechanisms share: the base class, the registry and the shares that certificates state."""

import math

import numpy as np
import pytest

import deniable as dn
from deniable.words.laws import SimulatedLaw, Simulation
from deniable.words.mechanism import KEPT_SHARE_DRAWS, KeptShare
from deniable.words.prior import compute_zipf_prior
from tests.contracts.statistics import streams


class UniformDraws(Simulation):
    """Draws from all points alike."""

    def __init__(self, count):
        self._count = count

    def draw(self, points, streams, workers=None):
        del points, workers
        return (streams.bits() % np.uint64(self._count)).astype(np.int32)


class CopiedInput(Simulation):
    """Returns the input."""

    def draw_chunk(self, points, generator):
        del generator
        return points


class Uniform(dn.WordMechanism):
    """The least that a mechanism must give: a guarantee and draws."""

    name = "uniform"

    @property
    def guarantee(self):
        return dn.MetricDP(self.epsilon, self.space.metric.name, "a constant law")

    def build_law(self):
        return SimulatedLaw(self.space, UniformDraws(len(self.space.points)))


def test_new_mechanism_needs_only_a_guarantee_and_draws(small_space):
    """A subclass with two members privatizes, has a fingerprint and an expected share, and no law."""
    subject = Uniform(small_space, epsilon=1.0)
    assert len(set(subject.sample(["baran"] * 2000))) == 60
    assert subject.fingerprint == f"uniform(epsilon=1.0)@{small_space.fingerprint}"
    with pytest.raises(dn.NotTractable, match=r"No exact output law of Uniform is known. Draw samples instead"):
        subject.probabilities("baran")
    share = subject.expected_kept_share()
    assert share.draws == KEPT_SHARE_DRAWS
    assert abs(share.value - 1 / 60) < 6 * math.sqrt(1 / 60 / KEPT_SHARE_DRAWS)


def test_abstract_mechanism_cannot_be_made(small_space):
    """The base class itself has no draws and cannot be made."""
    with pytest.raises(TypeError, match="abstract"):
        dn.WordMechanism(small_space, epsilon=1.0)


def test_twins_are_chosen_evenly_within_a_point(twin_space):
    """Each word of the point drawn comes out, and no word of another point does."""

    class Stay(Uniform):
        def build_law(self):
            return SimulatedLaw(self.space, CopiedInput())

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


def test_expected_kept_of_a_law_is_exact(small_space):
    """With a table it is the prior's mean of the diagonal of the law, and no sample."""
    subject = dn.TEM(small_space, epsilon=3.0)
    diagonal = [subject.probabilities(word)[number] for number, word in enumerate(small_space.words)]
    share = subject.expected_kept_share()
    assert share == KeptShare(pytest.approx(float(compute_zipf_prior(60) @ diagonal), abs=1e-12), 0)


def test_expected_kept_of_draws_of_another_is_simulated(small_space):
    """Where a subclass draws otherwise than from the tables, the share is of its draws, and no table's."""

    class Leak(dn.TEM):
        def build_law(self):
            return SimulatedLaw(self.space, CopiedInput())

    assert Leak(small_space, epsilon=0.1).expected_kept_share() == KeptShare(1.0, KEPT_SHARE_DRAWS)


def test_expected_kept_is_the_same_in_every_process(small_space, own_cache_folder):
    """A simulated share comes from a fixed public stream, cached or not."""
    subject = dn.MultivariateLaplace(small_space, epsilon=4.0)
    first = subject.expected_kept_share()
    for file in own_cache_folder.glob("kept-*"):
        file.unlink()
    assert subject.expected_kept_share(workers=1) == first
    assert list(own_cache_folder.glob("kept-*"))
    assert dn.MultivariateLaplace(small_space, epsilon=4.0).expected_kept_share() == first


@pytest.mark.parametrize("mechanism", [dn.TEM, dn.TruncatedGumbel])
def test_nothing_is_kept_under_a_prior_of_ones_own(small_space, tmp_path, monkeypatch, mechanism):
    """Frequencies of words may be of a private text: what follows from them is in no file, and names none."""
    monkeypatch.setenv("DENIABLE_CACHE", str(tmp_path))
    subject = mechanism(small_space, epsilon=300.0)
    public = subject.outcomes()
    before = set(tmp_path.iterdir())
    assert any(path.name.startswith("outcomes-") for path in before)
    counts = np.arange(60.0)
    assert subject.outcomes(counts / counts.sum()) != public
    assert dn.recovery(subject, prior=counts) != public[1]
    assert set(tmp_path.iterdir()) == before
    assert subject.outcomes(compute_zipf_prior(60)) == pytest.approx(public, abs=1e-12)


def test_expected_kept_is_not_cached_for_a_function_of_the_users_own(small_vectors, small_space, own_cache_folder):
    """A metric without a fingerprint leaves nothing in the cache."""

    def twice(left, right):
        return 2 * np.linalg.norm(left[:, None] - right[None], axis=2)

    space = dn.Space(small_space.words, small_vectors, metric=twice)
    before = set(own_cache_folder.iterdir())
    share = dn.TEM(space, epsilon=1.5).expected_kept_share()
    assert set(own_cache_folder.iterdir()) == before
    plain = dn.TEM(small_space, epsilon=3.0, gamma=dn.TEM(space, epsilon=1.5).gamma / 2).expected_kept_share()
    assert share.value == pytest.approx(plain.value, abs=1e-9)


def test_share_states_its_margin():
    """An exact share stands alone, a simulated one has its 95 % interval and number of draws."""
    assert str(KeptShare(0.5021)) == "50.2 %"
    assert str(KeptShare(0.5, 20_000)) == "50.0 % (+- 0.7, 20,000 simulated draws)"
    assert str(KeptShare(0.0, 20_000)) == "0.0 % (+- 0.1, 20,000 simulated draws)"


def test_a_mechanism_without_a_name_is_refused(small_space):
    """A class that sets no name is told how to, before noise is named by it."""

    class Nameless(dn.TEM):
        """A mechanism whose name is none."""

        name = None

    with pytest.raises(
        TypeError, match=r'^Nameless needs a name, by which noise is keyed: write name = "\.\.\." in it\.$'
    ):
        Nameless(small_space, epsilon=1.0)
