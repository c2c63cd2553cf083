"""TEM: the closed form, Algorithm 2 taken literally, Theorems 2 and 3."""

import hashlib
import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn
from tests.contracts import reference
from tests.contracts.statistics import FEW_DRAWS, THRESHOLD, fit, streams
from tests.contracts.steps import StepSpaces
from tests.contracts.word_mechanism import WordMechanismContract
from tests.refusals import refuses

NAMES = ("euclidean", "steps", "manhattan", "chebyshev", "angular")
METRICS = tuple(pytest.param(name, marks=[pytest.mark.deep] if at > 1 else []) for at, name in enumerate(NAMES))


class TestTEM(WordMechanismContract):
    """TEM holds the contract."""

    mechanism = dn.TEM
    epsilon = 3.0
    twin_epsilon = 2.0
    glove_epsilon = 3.0
    theorem = ("Carvalho et al. 2021", "Theorem 2")


@pytest.mark.deep
class TestStepsTEM(StepSpaces, TestTEM):
    """The mechanism holds the contract under distance in steps."""


def laws(subject):
    """Return the law (n, n) of all words of a space without twins, which `probabilities` gives row by row."""
    return subject.law.rows(range(len(subject.space)))


def closed_form(vectors, epsilon, gamma, metric="euclidean"):
    """Return the law (n, n) straight from the formula."""
    weights = np.exp(-(epsilon / 2) * np.minimum(reference.distances(vectors, metric), gamma))
    return weights / weights.sum(axis=1, keepdims=True)


def algorithm_2(row, epsilon, gamma, generator, draws=FEW_DRAWS):
    """Return (n,) counts of the paper's Algorithm 2, line by line, for one row of distances."""
    near = np.flatnonzero(row <= gamma)
    far = np.flatnonzero(row > gamma)
    scores = -row[near]
    if len(far):
        scores = np.append(scores, -gamma + 2 * np.log(len(far)) / epsilon)
    noisy = scores + generator.gumbel(0.0, 2 / epsilon, size=(draws, len(scores)))
    winner = noisy.argmax(axis=1)
    bottom = winner == len(near)
    out = np.empty(draws, dtype=np.int64)
    out[~bottom] = near[winner[~bottom]]
    if len(far):
        out[bottom] = generator.choice(far, size=int(bottom.sum()))
    return np.bincount(out, minlength=len(row))


@pytest.mark.parametrize("metric", METRICS)
def test_law_is_the_formula_and_keeps_theorem_2(small_space, small_vectors, metric):
    """Probabilities are the closed form's, and epsilon-metric-DP over all pairs and outputs; so are the tables."""
    space = dn.Space(small_space.words, small_vectors, metric=metric)
    distances = reference.distances(small_vectors, metric)
    for epsilon, gamma in ((0.1, None), (3.0, 1.2), (12.0, 0.8), (12.0, math.inf)):
        subject = dn.TEM(space, epsilon=epsilon, gamma=gamma)
        np.testing.assert_allclose(
            laws(subject), closed_form(small_vectors, epsilon, subject.cutoff, metric), rtol=0, atol=1e-9
        )
        log_law = np.log(laws(subject))
        assert reference.exceeds(log_law, epsilon, distances) <= 1e-9
        # The inequality is one that a law can fail: less than half of the exponent's rate is not covered.
        assert reference.exceeds(log_law, 0.35 * epsilon, distances) > 0
        log_table = np.log(subject.law.tables(range(60)).astype(float))
        assert reference.exceeds(log_table, epsilon, distances) <= 2 / 2**24 + 1e-9
        assert subject.guarantee == dn.Guarantee.of_words(epsilon, metric, subject.guarantee.source)


@pytest.mark.deep
def test_law_on_glove(euclidean_glove):
    """Rows of 50,000 words are the formula, and the same to the last bit alone, among others, on 1 or 2 workers."""
    glove = euclidean_glove
    subject = dn.TEM(glove, epsilon=3.0)
    points = np.array([0, 49_999, 123, 7, 31_000])
    alone = [subject.law.rows([point])[0] for point in points]
    for point, row in zip(points, alone, strict=True):
        distances = np.linalg.norm(glove.vectors - glove.vectors[point], axis=1)
        weights = np.exp(-1.5 * np.minimum(distances, subject.cutoff))
        np.testing.assert_allclose(row, weights / weights.sum(), rtol=1e-6, atol=1e-9)
    crowd = np.concatenate([np.arange(1000, 1061), points, np.arange(2000, 2009)])
    for workers in (1, 2):
        blocks = subject.law.map_rows(lambda _, rows: rows.copy(), crowd, workers)
        np.testing.assert_array_equal(np.concatenate(blocks)[61:66], alone)
    np.testing.assert_array_equal(subject.law.rows(points[::-1]), alone[::-1])


@pytest.mark.parametrize("gamma", [1.5, 2.5, 100.0])
def test_algorithm_2_has_the_closed_form_as_its_law(small_space, small_vectors, gamma):
    """Noisy scores with a bottom element, as the paper writes them, follow the closed form."""
    row = reference.distances(small_vectors)[7]
    counts = algorithm_2(row, 3.0, gamma, np.random.default_rng(11))
    word = small_space.words[7]
    assert fit(counts, dn.TEM(small_space, epsilon=3.0, gamma=gamma).probabilities(word)) > THRESHOLD
    assert fit(counts, dn.TEM(small_space, epsilon=3.9, gamma=gamma).probabilities(word)) < THRESHOLD


def test_wrong_bottom_score_is_told_from_the_law(small_space, small_vectors):
    """Truncating at 30 % less than gamma gives another law, which the test of fit rejects."""
    counts = algorithm_2(reference.distances(small_vectors)[7], 3.0, 1.5, np.random.default_rng(12))
    law_off = dn.TEM(small_space, epsilon=3.0, gamma=0.7 * 1.5).probabilities(small_space.words[7])
    assert fit(counts, law_off) < THRESHOLD


@settings(max_examples=30)
@given(
    vectors=st.lists(st.tuples(*[st.integers(-4, 4)] * 2), min_size=2, max_size=7, unique=True),
    epsilon=st.floats(0.05, 20),
    gamma=st.one_of(st.just(math.inf), st.floats(0.1, 20)),
    metric=st.sampled_from(("euclidean", "manhattan", "chebyshev")),
)
def test_theorem_2_on_any_space(vectors, epsilon, gamma, metric):
    """The law is epsilon-metric-DP on any small space."""
    matrix = np.array(vectors, dtype=float)
    space = dn.Space([f"w{number}" for number in range(len(matrix))], matrix, metric=metric)
    subject = dn.TEM(space, epsilon=epsilon, gamma=gamma)
    log_law = np.log(laws(subject))
    assert reference.exceeds(log_law, epsilon, reference.distances(matrix, metric)) <= 1e-9


@pytest.mark.parametrize("epsilon", [0.5, 3.0, 20.0])
@pytest.mark.parametrize("beta", [0.001, 0.1, 0.5])
def test_theorem_3(small_space, small_vectors, epsilon, beta):
    """An output farther than the default gamma has probability at most beta, for every input."""
    far_apart = dn.Space(small_space.words, small_vectors * 20 / epsilon)
    subject = dn.TEM(far_apart, epsilon=epsilon, beta=beta)
    beyond = reference.distances(far_apart.vectors) > subject.cutoff
    assert beyond.any()
    assert (laws(subject) * beyond).sum(axis=1).max() <= beta + 1e-12


def test_theorem_3_is_tight_where_all_other_words_are_far():
    """Where only the input lies within gamma, an output beyond it has probability exactly beta."""
    space = dn.Space([f"w{number}" for number in range(30)], 1000 * np.eye(30))
    subject = dn.TEM(space, epsilon=2.0, beta=0.07)
    assert subject.probabilities("w4")[4] == pytest.approx(0.93, abs=1e-12)


def test_gamma_formula(small_space):
    """Gamma is (2 / epsilon) ln((1 - beta)(n - 1) / beta), with beta 0.001 by default."""
    assert dn.TEM(small_space, epsilon=3.0).cutoff == pytest.approx((2 / 3) * math.log(0.999 * 59 / 0.001), rel=1e-14)
    assert dn.TEM(small_space, epsilon=0.5, beta=0.2).cutoff == pytest.approx(4 * math.log(0.8 * 59 / 0.2), rel=1e-14)


def test_bad_thresholds_are_refused(small_space):
    """A beta outside (0, 1), or so large that Theorem 3 asks for no truncation, and a gamma outside (0, inf]."""
    for beta in (0, 1, -0.1, 1.5, float("nan"), float("inf"), True, "0.1", None, 0.99):
        with refuses(repr(beta)):
            dn.TEM(small_space, epsilon=3.0, beta=beta)
    for gamma in (0, -1.0, float("nan"), -float("inf"), True, "2"):
        with refuses(repr(gamma)):
            dn.TEM(small_space, epsilon=3.0, gamma=gamma)


def test_infinite_gamma_is_no_truncation(small_space, small_vectors):
    """With gamma = inf the law is the plain exponential mechanism, as it is for any gamma above the diameter."""
    unlimited = dn.TEM(small_space, epsilon=3.0, gamma=math.inf)
    assert unlimited.parameters == {"epsilon": 3.0, "gamma": math.inf}
    wide = dn.TEM(small_space, epsilon=3.0, gamma=2 * small_space.diameter)
    np.testing.assert_array_equal(unlimited.probabilities("baran"), wide.probabilities("baran"))
    np.testing.assert_allclose(
        unlimited.probabilities("baran"), closed_form(small_vectors, 3.0, np.inf)[0], rtol=0, atol=1e-12
    )


def test_extreme_epsilon_still_gives_words(small_space):
    """At the ends of the range the law is uniform, or all on the input, and draws still work."""
    flat = dn.TEM(small_space, epsilon=1e-300)
    np.testing.assert_allclose(flat.probabilities("baran"), 1 / 60, rtol=1e-12)
    sharp = dn.TEM(small_space, epsilon=1e300, gamma=math.inf)
    assert sharp.probabilities("baran")[0] == 1.0
    assert sharp.sample(["baran"] * 50) == ["baran"] * 50


def test_parallel_vectors_are_one_point_under_the_angular_metric():
    """Under the angle words in one direction share a point, and its probability evenly."""
    vectors = np.array([[1.0, 2.0], [3.0, 6.0], [0.1, 0.2], [-1.0, 1.0], [2.0, -1.0]])
    space = dn.Space(["a", "b", "c", "d", "e"], vectors, metric="angular")
    assert space.point_by_word.tolist() == [0, 0, 0, 1, 2]
    subject = dn.TEM(space, epsilon=2.0)
    weights = np.exp(-np.minimum(reference.distances(vectors[[0, 3, 4]], "angular")[0], subject.cutoff))
    weights /= weights.sum()
    expected = [weights[0] / 3] * 3 + [weights[1], weights[2]]
    for word in "abc":
        np.testing.assert_allclose(subject.probabilities(word), expected, rtol=0, atol=1e-9)
    drawn = subject.draw_words(np.ones(FEW_DRAWS, dtype=np.int32), streams(FEW_DRAWS, "parallel"))
    assert fit(np.bincount(drawn, minlength=5), np.array(expected)) > THRESHOLD


def test_noise_is_named_by_gamma(small_space):
    """Two thresholds are two mechanisms; no threshold is one float, whatever number it came as."""
    names = {
        dn.TEM(small_space, epsilon=3, gamma=infinity).fingerprint
        for infinity in (math.inf, np.float64("inf"), np.float32("inf"), Decimal("Infinity"))
    }
    assert len(names) == 1
    others = {dn.TEM(small_space, epsilon=3.0, gamma=gamma).fingerprint for gamma in (None, 2.0)}
    assert len(names | others) == 3


@pytest.mark.parametrize(("metric", "drawn"), [("euclidean", "e1c9ff8b115a8f38"), ("steps", "9b50fa216ff01492")])
def test_draws_are_those_of_every_processor(metric, drawn):
    """Under one key TEM draws the words that every processor must draw."""
    space = dn.Space.glove(2000, metric=metric)
    release = dn.Release(dn.TEM(space, epsilon=4.0), key="seed:0")
    texts = [" ".join(space.words[number : number + 50]) for number in range(0, 2000, 50)]
    outputs = release.batch(texts, ids=range(len(texts))).texts
    assert hashlib.blake2b("\n".join(outputs).encode(), digest_size=8).hexdigest() == drawn
