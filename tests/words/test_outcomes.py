"""What words become, by brute force: bands of frequency, rare words, and the word that is exposed most."""

import numpy as np
import pytest

import deniable as dn
from tests.refusals import refuses

MECHANISMS = [dn.TEM, dn.CalibratedExponential, dn.TightExponential, dn.TruncatedGumbel]


@pytest.fixture(scope="module")
def space(tmp_path_factory):
    """Return 299 words, of which every seventh is hidden with others, some lie at one place; and that of addresses."""
    vectors = np.random.default_rng(4).normal(size=(299, 3))
    vectors[[50, 51, 52]] = vectors[[10, 10, 200]]
    words = [f"{chr(97 + number // 26)}{chr(97 + number % 26)}x" for number in range(299)]
    file = tmp_path_factory.mktemp("classes") / "sevenths.txt"
    file.write_text("\n".join(words[3::7]))
    return dn.Space(words, vectors, hide=[file])


@pytest.fixture(scope="module")
def counts():
    """Return uneven counts of 300 words, a fifth of which do not occur."""
    generator = np.random.default_rng(8)
    return np.where(generator.uniform(size=300) < 0.2, 0.0, generator.pareto(1.0, size=300))


def guess_all(mechanism, prior):
    """Return the chance (n,) of each word to be guessed, from the matrix of words by words."""
    matrix = np.array([mechanism.probabilities(word) for word in mechanism.space.words])
    guesses = (prior[:, None] * matrix).argmax(axis=0)
    return np.array([matrix[word, guesses == word].sum() for word in range(len(prior))]), matrix.diagonal()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_each_word_against_brute_force(mechanism, space, counts):
    """How often each word is guessed and kept is what the matrix says, and averages are over those."""
    subject = mechanism(space, epsilon=200.0 if mechanism is dn.TruncatedGumbel else 5.0)
    prior = counts / counts.sum()
    guessed, kept = guess_all(subject, prior)
    shares, outcomes = subject.word_shares(counts), subject.outcomes(counts)
    np.testing.assert_allclose(shares.guessed, guessed, atol=1e-12)
    np.testing.assert_allclose(shares.kept, kept, atol=1e-12)
    assert 0.1 < outcomes.guessed < 0.9
    assert outcomes.guessed == pytest.approx(prior @ guessed)
    assert outcomes.kept == pytest.approx(prior @ kept)
    is_open = np.array([space.find_class(number) is None for number in range(300)])
    ranked = np.argsort(-prior, kind="stable")
    assert [(band.name, band.first_rank, band.last_rank) for band in outcomes.bands] == [
        ("the 100 most frequent", 1, 100),
        ("to rank 300", 101, 300),
    ]
    for band in outcomes.bands:
        words = ranked[band.first_rank - 1 : band.last_rank]
        words = words[is_open[words]]
        assert band.kept == pytest.approx(np.average(kept[words], weights=prior[words]))
        assert band.guessed == pytest.approx(max(band.kept, np.average(guessed[words], weights=prior[words])))
    assert outcomes.rare_rank == (prior > 0).sum() // 2
    rare = ranked[outcomes.rare_rank :]
    rare = rare[is_open[rare]]
    averages = [np.average(share[rare], weights=prior[rare]) for share in (guessed, kept)]
    assert outcomes.rare_guessed == pytest.approx(max(averages))
    assert outcomes.exposed_share == pytest.approx(kept[is_open].max())
    assert outcomes.exposed_word == space.words[np.flatnonzero(is_open)[kept[is_open].argmax()]]


@pytest.mark.parametrize("mechanism", [dn.TEM, dn.TightExponential])
def test_who_knows_no_frequencies_guesses_the_output(mechanism, glove_2000):
    """Where all words are equally likely, the word that is guessed most often is so as often as it is kept."""
    subject = mechanism(glove_2000, epsilon=3.0)
    shares = subject.word_shares(np.ones(2000))
    np.testing.assert_allclose(shares.guessed, shares.kept, rtol=1e-9)
    assert subject.outcomes().exposed_share == pytest.approx(shares.guessed.max(), rel=1e-9)


@pytest.mark.parametrize("law", [dn.laws.ExponentialLaw, dn.laws.TabulatedLaw])
def test_of_equal_guesses_the_first_counts(law, small_space):
    """Where the output tells nothing, the first of the most frequent words is guessed, and none without weight."""
    kernel = dn.laws.ExponentialKernel(1e-300)
    part = kernel if law is dn.laws.ExponentialLaw else lambda _, distances: kernel(None, distances)
    prior = np.array([0, 2, 1, 2, *[1] * 56]) / 61
    assert law(small_space, part).outcomes(prior).guessed == pytest.approx([0, 1, *[0] * 58], abs=1e-12)


def test_bands_end_where_words_do(glove):
    """Five bands of 50,000 words; one of a word that has all the weight; none where all words are hidden."""
    outcomes = dn.TEM(glove, epsilon=3.0).outcomes()
    assert [(band.first_rank, band.last_rank) for band in outcomes.bands] == [
        (1, 100), (101, 1_000), (1_001, 5_000), (5_001, 20_000), (20_001, 50_000),
    ]  # fmt: skip
    assert outcomes.rare_rank == 1_000
    rare = outcomes.bands[2:]
    assert min(band.guessed for band in rare) < outcomes.rare_guessed < max(band.guessed for band in rare)


def test_words_without_weight_are_in_no_band(small_space, tmp_path):
    """A prior of one word leaves one band; where that word is hidden, there is none, and no rare word either."""
    only = {small_space.words[4]: 3}
    outcomes = dn.TEM(small_space, epsilon=2.0).outcomes(only)
    (band,) = outcomes.bands
    assert outcomes.guessed == band.guessed == outcomes.rare_guessed == pytest.approx(1.0)
    file = tmp_path / "one.txt"
    file.write_text(small_space.words[4])
    hiding = dn.Space(small_space.words, small_space.vectors, hide=[file])
    outcomes = dn.TEM(hiding, epsilon=2.0).outcomes(only)
    assert outcomes.bands == ()
    assert outcomes.rare_guessed is None
    assert outcomes.exposed_word not in {None, small_space.words[4]}


def test_no_word_is_exposed_where_all_are_hidden(tmp_path):
    """A space of hidden words has no word that comes out, though it has averages."""
    files = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for file, listed in zip(files, (["one", "two"], ["red", "blue"]), strict=True):
        file.write_text("\n".join(listed))
    space = dn.Space(["one", "two", "red", "blue"], np.eye(4), hide=files)
    outcomes = dn.TEM(space, epsilon=2.0).outcomes()
    assert (outcomes.exposed_word, outcomes.exposed_share, outcomes.bands) == (None, 0.0, ())
    assert 0 < outcomes.kept < outcomes.guessed < 1
    assert "hidden" in outcomes.describe_bands()
    assert "hidden" in outcomes.describe_exposed()


def test_unknown_laws_have_no_outcomes(small_space):
    """Of a mechanism that is only simulated nothing exact is said."""
    subject = dn.MultivariateLaplace(small_space, epsilon=2.0)
    for ask in (subject.outcomes, subject.word_shares):
        with refuses("", dn.NotTractable):
            ask()
