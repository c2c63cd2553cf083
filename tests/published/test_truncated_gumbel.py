"""Truncated Gumbel: the paper's two algorithms taken literally, the exact law, the corrected bound."""

import itertools
import math
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.published.truncated_gumbel import law as law_module
from deniable.published.truncated_gumbel import mechanism as module
from deniable.published.truncated_gumbel import simulation
from deniable.published.truncated_gumbel.law import GumbelQuadrature, compute_gumbel_scale
from deniable.published.truncated_gumbel.mechanism import compute_min_epsilon
from deniable.published.truncated_gumbel.quadrature import integrate_row
from deniable.published.truncated_gumbel.simulation import invert_truncated_gumbel
from tests.contracts import reference
from tests.contracts.statistics import DRAWS, THRESHOLD, fit, sample, streams
from tests.contracts.word_mechanism import WordMechanismContract
from tests.refusals import refuses


def masses(subject):
    """Return the Poisson masses of the mechanism's number of candidates."""
    return GumbelQuadrature(subject.space, subject.epsilon).poisson_masses


def law_at_scale(subject, word, share):
    """Return the exact law of one word at a multiple of the mechanism's scale."""
    row = reference.distances(subject.space.vectors)[subject.space.index_of(word)]
    return integrate_row(row, masses(subject), share * subject.scale, subject.space.diameter)


class TestTruncatedGumbel(WordMechanismContract):
    """Truncated Gumbel holds the contract."""

    mechanism = dn.TruncatedGumbel
    epsilon = 250.0
    twin_epsilon = 20.0
    glove_epsilon = 150.0
    tolerance = 1e-9
    theorem = ("Xu et al. 2021", "Theorem 1", "proof has gaps")
    status = "claimed"

    def law_off(self, subject, word):
        """Return the law of a noise 30 % narrower: the law moves little with epsilon itself."""
        return law_at_scale(subject, word, 0.7)


def algorithm_1(distances, scale, limit, generator):
    """Return the index of the least noisy distance of each row (k, m); infinite distances are no candidates.

    Truncation is by rejection: Gumbel noise is drawn anew until it lies in [-limit, limit].
    """
    noise = generator.gumbel(0.0, scale, size=distances.shape)
    while (outside := np.abs(noise) > limit).any():
        noise[outside] = generator.gumbel(0.0, scale, size=int(outside.sum()))
    return (distances + noise).argmin(axis=1)


def truncated_poisson(count, generator, draws=DRAWS):
    """Return draws of TruncatedPoisson(ln n; 1, n) by its definition."""
    k = generator.poisson(math.log(count), size=draws)
    return np.where((k >= 1) & (k < count), k, count)


def algorithm_2(row, scale, limit, generator, draws=DRAWS):
    """Return (n,) counts of the paper's Algorithm 2 for one row of distances."""
    order = np.argsort(row, kind="stable")
    counts = np.zeros(len(row), dtype=np.int64)
    for ks in np.array_split(truncated_poisson(len(row), generator, draws), 20):
        distances = np.where(np.arange(len(row)) < ks[:, None], row[order], np.inf)
        counts += np.bincount(order[algorithm_1(distances, scale, limit, generator)], minlength=len(row))
    return counts


def poisson_law(count):
    """Return (n,) P(K = 1), ..., P(K = n) of the truncated Poisson law."""
    masses = stats.poisson.pmf(np.arange(1, count + 1), math.log(count))
    masses[-1] = 1 - masses[:-1].sum()
    return masses


@pytest.fixture(scope="module")
def few(small_space):
    """Return five words, so few that the Poisson law is cut off in its middle."""
    return dn.Space(small_space.words[:5], small_space.vectors[:5])


@pytest.fixture(scope="module")
def many(alphabetic):
    """Return 300 words of GloVe: more than the neighbours that are listed for each word."""
    return alphabetic(300)


@pytest.mark.parametrize(
    ("name", "epsilon"),
    [
        ("small_space", 250.0),
        *(pytest.param(*case, marks=pytest.mark.deep) for case in (("few", 50.0), ("many", 300.0))),
    ],
)
def test_algorithms_have_the_exact_law(request, name, epsilon):
    """Algorithms 1 and 2, as the paper writes them, follow `probabilities`, and not a law of 0.7 the scale."""
    space = request.getfixturevalue(name)
    subject = dn.TruncatedGumbel(space, epsilon=epsilon)
    word = space.words[3]
    row = reference.distances(space.vectors)[3]
    counts = algorithm_2(row, subject.scale, space.diameter, np.random.default_rng(21))
    assert fit(counts, subject.probabilities(word)) > THRESHOLD
    assert fit(counts, law_at_scale(subject, word, 0.7)) < THRESHOLD


@pytest.fixture
def simulated(monkeypatch):
    """Make the mechanism draw as it does in large spaces."""
    monkeypatch.setattr(module, "MAX_TABULATED_POINTS", 0)


@pytest.mark.usefixtures("simulated")
@pytest.mark.parametrize(("name", "epsilon"), [("few", 50.0), pytest.param("many", 300.0, marks=pytest.mark.deep)])
def test_simulation_fits_the_law_where_the_poisson_tail_matters(request, name, epsilon):
    """Simulated draws fit the law with 5 words, and with 300, where k = n takes the path beside neighbour lists."""
    check_fit(request.getfixturevalue(name), epsilon, tabulated=False)


@pytest.mark.parametrize(("name", "epsilon"), [("few", 50.0), pytest.param("many", 300.0, marks=pytest.mark.deep)])
def test_tables_fit_the_law(request, name, epsilon):
    """Draws from tables fit the law with 5 words, and with 300."""
    check_fit(request.getfixturevalue(name), epsilon, tabulated=True)


def check_fit(space, epsilon, *, tabulated):
    """Compare draws with the law, which they must fit, and with one of 0.7 the scale, which they must not."""
    subject = dn.TruncatedGumbel(space, epsilon=epsilon)
    assert subject.law.is_tabulated is tabulated
    word = space.words[3]
    counts = sample(subject, word)
    assert fit(counts, subject.probabilities(word)) > THRESHOLD
    assert fit(counts, law_at_scale(subject, word, 0.7)) < THRESHOLD


@pytest.mark.deep
@pytest.mark.usefixtures("simulated")
@pytest.mark.parametrize("name", ["few", "small_space", "many"])
def test_number_of_candidates_follows_the_truncated_poisson_law(request, monkeypatch, name):
    """k follows TruncatedPoisson(ln n; 1, n), which the test tells from one of 1.3 times the mean."""
    space = request.getfixturevalue(name)
    seen = []
    choose = simulation._choose_noisy_nearest

    def spy(points, near, distances, ends, *rest):
        seen.append(np.diff(ends, prepend=0))
        return choose(points, near, distances, ends, *rest)

    monkeypatch.setattr(simulation, "_choose_noisy_nearest", spy)
    subject = dn.TruncatedGumbel(space, epsilon=300.0)
    subject.draw_words(np.zeros(30_000, dtype=np.int32), streams(30_000, "k"))
    ks = np.concatenate(seen)
    count = len(space)
    assert len(ks) == 30_000
    assert ks.min() >= 1
    assert ks.max() <= count
    counts = np.bincount(ks, minlength=count + 1)[1:]
    assert fit(counts, poisson_law(count)) > THRESHOLD
    off = stats.poisson.pmf(np.arange(1, count + 1), 1.3 * math.log(count))
    off[-1] = 1 - off[:-1].sum()
    assert fit(counts, off) < THRESHOLD
    if name == "many":
        assert (ks == count).sum() > 50


@pytest.mark.deep
@pytest.mark.parametrize(("size", "epsilon", "tabulated"), [
    (3000, 100.0, True), (3001, 100.0, False), (3000, math.exp(50), True), (3000, math.exp(60), False),
])  # fmt: skip
def test_where_draws_come_from_tables(size, epsilon, tabulated):
    """Up to 3,000 words and the largest epsilon of the paper draws come from tables; beyond they are simulated."""
    vectors = np.random.default_rng(1).uniform(size=(size, 4)).round(2) + np.arange(size)[:, None]
    subject = dn.TruncatedGumbel(dn.Space([f"w{i}" for i in range(size)], vectors), epsilon=epsilon)
    assert subject.law.is_tabulated is tabulated


def test_draws_come_from_the_tables_that_are_verified(small_space):
    """Every draw is the entry of the integer table under its 62 bits, and that table is the law."""
    subject = dn.TruncatedGumbel(small_space, epsilon=250.0)
    words = np.arange(60, dtype=np.int32).repeat(50)
    record = streams(len(words), "tables")
    tables = subject.law.tables(range(60)).cumsum(axis=1)
    bits = (record.bits() >> np.uint64(2)).astype(np.int64)
    expected = [np.searchsorted(tables[word], one, side="right") for word, one in zip(words, bits, strict=True)]
    np.testing.assert_array_equal(subject.draw_words(words, streams(len(words), "tables")), expected)
    np.testing.assert_allclose(np.diff(tables, prepend=0) / 2.0**62, subject.law.rows(range(60)), rtol=1e-8, atol=1e-11)


def test_rows_are_the_same_from_the_cache_and_one_by_one(small_space, monkeypatch, tmp_path):
    """A law that was kept, computed row by row or computed at once is the same to the last bit."""
    monkeypatch.setenv("DENIABLE_CACHE", str(tmp_path))
    single = dn.TruncatedGumbel(small_space, epsilon=250.0)
    alone = np.concatenate([single.law.rows([point]) for point in (0, 59, 7)])
    whole = dn.TruncatedGumbel(small_space, epsilon=250.0)
    fingerprint = whole.law.fingerprint
    assert [path.name[:4] for path in tmp_path.iterdir() if path.suffix == ".f64"] == ["law-"]
    np.testing.assert_array_equal(whole.law.rows(range(60))[[0, 59, 7]], alone)
    monkeypatch.setattr(law_module, "integrate_row", lambda *_: pytest.fail("computed again"))
    again = dn.TruncatedGumbel(small_space, epsilon=250.0)
    assert again.law.fingerprint == fingerprint
    np.testing.assert_array_equal(again.law.rows(range(60)), whole.law.rows(range(60)))


@pytest.mark.parametrize(("scale", "limit"), [(1.0, 4.0), (5.0, 4.0), (0.3, 2.0), (1e4, 3.0), (0.05, 10.0)])
def test_noise_is_a_truncated_gumbel(scale, limit):
    """The noise lies in [-Delta, Delta] and has the truncated Gumbel distribution there."""
    uniform = np.random.default_rng(6).uniform(size=50_000)
    noise = invert_truncated_gumbel(uniform, scale, limit)
    assert np.abs(noise).max() <= limit
    inner = stats.gumbel_r(scale=scale)

    def cdf(values, inner=inner):
        return (inner.cdf(values) - inner.cdf(-limit)) / (inner.cdf(limit) - inner.cdf(-limit))

    assert stats.kstest(noise, cdf).pvalue > THRESHOLD
    wrong = stats.gumbel_r(scale=0.7 * scale) if scale <= limit else stats.uniform(-0.7 * limit, 1.4 * limit)
    assert stats.kstest(noise, lambda values: cdf(values, wrong)).pvalue < THRESHOLD


@pytest.mark.parametrize(("raw", "least"), [(0, True), (2**64 - 1, False)])
def test_uniform_draws_never_reach_an_end_point(raw, least):
    """The uniform draws lie in the open interval, whatever 64 bits the keystream gives."""

    class Stuck:
        def random_raw(self, count):
            return np.full(count, raw, dtype=np.uint64)

    value = simulation._draw_uniform(Stuck(), 1)[0]
    assert value > 0
    assert value < 1
    assert (value < 0.5) is np.bool_(least)


@pytest.mark.deep
def test_law_gives_every_word_a_chance(many):
    """With probability P(K = n) all words are candidates, so that none has probability 0."""
    subject = dn.TruncatedGumbel(many, epsilon=120.0)
    assert subject.probabilities("the").min() > 0


def test_law_is_the_one_of_two_words():
    """With two words the law is one convolution, computed here on a fine grid."""
    space = dn.Space(["near", "far"], [[0.0], [1.5]])
    subject = dn.TruncatedGumbel(space, epsilon=9.0)
    inner = stats.gumbel_r(scale=subject.scale)
    low, high = inner.cdf(-1.5), inner.cdf(1.5)
    grid = np.linspace(-1.5, 1.5, 200_001)
    survival = (high - inner.cdf(np.clip(grid + 1.5, -1.5, 1.5))) / (high - low)
    moves = np.trapezoid(inner.pdf(grid) / (high - low) * survival, grid)
    both = 1 - math.log(2) / 2
    assert subject.probabilities("near")[1] == pytest.approx(both * moves, abs=1e-8)


@pytest.mark.parametrize("epsilon", [130.0, 400.0, 1e4, 1e6, 1e8])
def test_scale_is_the_formula(small_space, epsilon):
    """b is 2 Delta / min{W0(2 alpha Delta), ln(alpha Delta0)}, with W0 found by its equation."""
    low, high = small_space.separation, small_space.diameter
    alpha = (epsilon - 2 * (1 + math.log(60)) / low) / 3
    least, most = 0.0, 100.0
    for _ in range(200):
        middle = (least + most) / 2
        least, most = (middle, most) if middle * math.exp(middle) < 2 * alpha * high else (least, middle)
    assert compute_gumbel_scale(epsilon, 60, high, low) == pytest.approx(
        2 * high / min(most, math.log(alpha * low)), rel=1e-12
    )
    assert dn.TruncatedGumbel(small_space, epsilon=epsilon).scale == compute_gumbel_scale(epsilon, 60, high, low)


@pytest.mark.deep
@pytest.mark.parametrize(
    ("epsilon", "output", "word", "other", "exact"),
    [(79.6, "billion", "year", "came", 13.394), (398.0, "least", "five", "three", 8.672)],
)
def test_exact_epsilon_of_400_words_of_glove(alphabetic, epsilon, output, word, other, exact):
    """The exact epsilon is far below the claim: the worst pair of 400 words reaches the published figure."""
    space = alphabetic(400)
    subject = dn.TruncatedGumbel(space, epsilon=epsilon)
    words = [word, other, "the", "percent", "million", "four", "united", "monday"]
    laws = np.log([subject.probabilities(one) for one in words])
    distances = reference.distances(space.vectors)[[space.index_of(one) for one in words]]
    distances = distances[:, [space.index_of(one) for one in words]]
    loss = (laws[0] - laws[1])[space.index_of(output)] / distances[0, 1]
    assert loss == pytest.approx(exact, abs=5e-4)
    np.fill_diagonal(distances, np.inf)
    assert ((laws[:, None] - laws[None]).max(axis=2) / distances).max() == pytest.approx(loss, rel=1e-12)


@pytest.mark.deep
@pytest.mark.parametrize("epsilon", [150.0, 1e3, 1e4, 1e6, math.exp(50)])
def test_law_is_computed_over_the_range_of_the_paper(alphabetic, few, epsilon):
    """The law is found to 1e-9 for epsilon up to e^50, the paper's largest, with few words and with many."""
    for space in (few, alphabetic(400)):
        subject = dn.TruncatedGumbel(space, epsilon=epsilon)
        for word in space.words[::80]:
            assert subject.probabilities(word).sum() == pytest.approx(1, abs=1e-9)


@pytest.mark.deep
def test_threads_share_the_listed_neighbours():
    """Threads that draw at once give what one alone does: none reads neighbours while another lists them."""
    side = 56
    vectors = np.stack(np.meshgrid(*2 * [np.arange(float(side))]), axis=-1).reshape(-1, 2)
    names = ["".join(letters) for letters in itertools.product("abcdefgh", repeat=4)][: len(vectors)]
    space = dn.Space(names, vectors)
    epsilon = 30 + compute_min_epsilon(len(vectors), 1.0)
    coins = np.random.default_rng(0)
    texts = [" ".join(names[word] for word in coins.integers(0, len(names), 3000)) for _ in range(4)]

    def release():
        subject = dn.TruncatedGumbel(space, epsilon=epsilon)
        assert not subject.law.is_tabulated
        return dn.Release(subject, key=bytes(32))

    alone = release().batch(texts, list("abcd")).texts
    for _ in range(3):
        together, start = release(), threading.Barrier(4)

        def draw(place, together=together, start=start):
            start.wait()
            return together.batch([texts[place]], ["abcd"[place]], workers=1).texts[0]

        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(draw, range(4))) == alone


def test_what_is_refused(small_space, small_vectors):
    """An epsilon up to the corrected bound (5 + 2 ln n) / Delta0, not the paper's smaller one, and other metrics."""
    bound = (5 + 2 * math.log(60)) / small_space.separation
    assert compute_min_epsilon(60, small_space.separation) == pytest.approx(bound, rel=1e-14)
    for epsilon in (3.0, (bound + (2 + 2 * math.log(60)) / small_space.separation) / 2, bound):
        with refuses(epsilon):
            dn.TruncatedGumbel(small_space, epsilon=epsilon)
    assert dn.TruncatedGumbel(small_space, epsilon=1.0001 * bound).scale > 0
    with refuses("angular"):
        dn.TruncatedGumbel(dn.Space(small_space.words, small_vectors, metric="angular"), epsilon=300.0)
