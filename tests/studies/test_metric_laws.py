"""Laws at a given attacker's success: stored distances, promises and draws against the package's own laws."""

import numpy as np
import pytest
from scipy.sparse import csgraph
from scipy.spatial.distance import cdist

import deniable as dn
from deniable.words.outcomes import summarize_outcomes
from deniable.words.prior import compute_zipf_prior
from studies.metric_graphs import UNIT, store_path_lengths, store_step_counts
from studies.metric_laws import StepLaw, StoredDistances, Target, draw_words, find_laws, store_distances
from tests.refusals import refuses

WORDS = [f"w{number}" for number in range(90)]
VECTORS = np.random.default_rng(6).normal(size=(90, 4))
HIDDEN = (dn.WordClass("pets", frozenset(WORDS[10:20])),)
SCALES = (0.7, 1.0, 2.0, 4.0)
PRIOR = compute_zipf_prior(len(WORDS) + 1)  # and the placeholder of addresses


def make_space(metric, hide=HIDDEN):
    return dn.Space(WORDS, VECTORS, metric=metric, hide=hide)


def store_steps(space):
    """Return the distances of a space in steps as whole numbers."""
    return StoredDistances(space, space.distances(np.arange(space.point_count)).astype(np.uint16), 1.0)


@pytest.mark.parametrize("name", ["euclidean", "angular"])
def test_stored_distances_are_those_of_the_metric(name):
    """A stored distance is off by no more than a ten-thousandth of the largest."""
    space = make_space(name)
    exact, stored = space.distances(np.arange(space.point_count)), store_distances(space)
    assert np.abs(exact - stored.steps * stored.unit).max() <= 1e-4 * exact.max()


@pytest.mark.parametrize("name", ["euclidean", "steps(neighbours=4)"])
def test_promises_are_those_of_the_package(name):
    """What words become, epsilon and the loss of any two words are those of the package's law over these distances."""
    space = make_space(name)
    stored = store_distances(space) if name == "euclidean" else store_steps(space)
    for scale, law in zip(SCALES, stored.build_laws(SCALES), strict=True):
        theirs = dn.laws.make_exponential_law(space, dn.laws.ExponentialKernel(scale))
        shares = theirs.outcomes(PRIOR)
        assert law.shares.kept == pytest.approx(shares.kept, rel=2e-3)
        assert PRIOR @ law.shares.guessed == pytest.approx(PRIOR @ shares.guessed, rel=2e-3)
        rows = np.log(theirs.rows(np.arange(space.point_count)))
        losses = (rows[:, None] - rows[None]).max(axis=2)
        epsilon, any_two = law.bound_losses()
        assert epsilon == pytest.approx(theirs.exact_epsilon().epsilon, rel=2e-3)
        assert any_two == pytest.approx(losses.max(), rel=2e-3)


def test_a_law_on_a_regular_graph_is_the_one_over_its_distances():
    """Both kinds of laws agree where both can be: promises, likelihoods, and the shares of draws."""
    space = make_space("steps(neighbours=4)")
    (stored, *_), ring = store_steps(space).build_laws(SCALES[1:] + SCALES[:1]), StepLaw(space, SCALES[1])
    assert ring.shares.kept == pytest.approx(stored.shares.kept)
    assert ring.shares.guessed == pytest.approx(stored.shares.guessed)
    assert ring.bound_losses()[0] == pytest.approx(stored.bound_losses()[0], rel=1e-6)
    assert ring.bound_losses()[1] >= stored.bound_losses()[1] * (1 - 1e-6)
    assert ring.log_likelihoods(3) == pytest.approx(stored.log_likelihoods(3))
    word = np.full(40_000, 5, dtype=np.int32)
    expected = np.exp(stored.log_likelihoods(int(space.point_by_word[5])) + stored.log_normalisers)
    expected /= expected.sum() * np.bincount(space.point_by_word)
    for law in (ring, stored):
        shares = np.bincount(draw_words(law, word, 8), minlength=len(space)) / len(word)
        assert np.abs(shares - expected[space.point_by_word]).max() < 0.01


@pytest.mark.parametrize("target", [Target("average", 0.3), Target("rare", 0.2), Target("average", 0.6)])
def test_law_has_the_success_asked_for(target):
    """The law that is found has its target within the tolerance, from whatever scale the search begins."""
    stored = store_distances(make_space("euclidean", ()))
    for start in (0.1, 2.0):
        ((law, outcomes),) = find_laws(stored.build_laws, [target], start)
        assert target.measure(outcomes) == pytest.approx(target.success, abs=6e-4)
        prior = compute_zipf_prior(len(WORDS))
        theirs = dn.laws.ExponentialLaw(law.space, dn.laws.ExponentialKernel(law.scale)).outcomes(prior)
        assert target.measure(summarize_outcomes(law.space, prior, theirs)) == pytest.approx(target.success, abs=2e-3)


def test_no_scale_below_the_blind_guess():
    """A target below the share of the most frequent word is refused in one line."""
    with refuses(0.01, dn.NotTractable):
        find_laws(store_distances(make_space("euclidean")).build_laws, [Target("average", 0.01)], 1.0)


@pytest.mark.parametrize("count", [1, 3])
def test_paths_are_the_shortest(count):
    """Lengths and steps are those of scipy's search on the same edges, all points joined."""
    space = make_space("euclidean", ())
    lengths = cdist(VECTORS, VECTORS)
    np.fill_diagonal(lengths, np.inf)
    is_edge = np.zeros(lengths.shape, dtype=bool)
    np.put_along_axis(is_edge, np.argsort(lengths, axis=1)[:, :count], values=True, axis=1)
    is_edge |= is_edge.T
    units = np.where(is_edge, np.maximum(np.rint(lengths / UNIT), 1), 0)
    expected, stored = csgraph.dijkstra(units), store_path_lengths(space, count)
    is_joined = np.isfinite(expected)
    assert (stored.steps < np.iinfo(np.uint16).max).all()
    assert is_joined.all() == (count > 1)
    assert (stored.steps[is_joined] <= expected[is_joined]).all()
    if is_joined.all():
        assert np.array_equal(stored.steps, expected)
        steps = np.minimum(csgraph.dijkstra(is_edge, unweighted=True), 4)
        assert np.array_equal(store_step_counts(space, 4, count).steps, steps)


def test_hidden_classes_are_eight_steps_away():
    """On the graph of nearest neighbours a hidden class is as far as on the package's own."""
    space = make_space("euclidean")
    stored, pet = store_step_counts(space, 5, 3), space.point_by_word[10]
    others = np.arange(space.point_count) != pet
    assert set(stored.steps[pet, others]) == set(stored.steps[others, pet]) == {8}
    assert stored.steps[pet, pet] == 0
