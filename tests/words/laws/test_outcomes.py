"""What words become under a law, against the whole matrix of words by words."""

import math

import numpy as np
import pytest

import deniable as dn
from deniable.words.laws.kernel import ExponentialKernel, compute_normalisers
from deniable.words.laws.outcomes import _find_peaks, _sift_peaks, compute_exponential_outcomes, compute_row_outcomes
from deniable.words.prior import compute_zipf_prior


def compute_rows(mechanism):
    """Return the rows of a mechanism of the exponential family as a function."""
    return lambda _, distances: mechanism.kernel.rows(distances)


def found(space, laws, prior, workers=None):
    """Return what becomes of words under several laws at once."""
    logs = [np.log(sums) for sums in compute_normalisers(space, laws)]
    return compute_exponential_outcomes(space, laws, logs, prior, workers)


def matrix(space, one):
    """Return the law of words by words (n, n)."""
    points = one.rows(space.distances(range(len(space.points))))
    return (points / np.bincount(space.point_by_word))[np.ix_(space.point_by_word, space.point_by_word)]


@pytest.mark.parametrize("name", ["small_space", "twin_space"])
@pytest.mark.parametrize("cutoff", [math.inf, 1.1])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("workers", [1, 2])
def test_against_brute_force(request, name, cutoff, weighted, workers):
    """Shares kept and recovered are those of the matrix of words by words, twins included."""
    space = request.getfixturevalue(name)
    generator = np.random.default_rng(7)
    weights = generator.uniform(0.2, 3, size=len(space.points)) if weighted else None
    one = ExponentialKernel(1.3, cutoff, weights)
    prior = generator.dirichlet(np.full(len(space), 0.5))
    ((kept, recovered),) = found(space, [one], prior, workers)
    whole = matrix(space, one)
    np.testing.assert_allclose(kept, whole.diagonal(), rtol=1e-12)
    assert recovered == pytest.approx((prior[:, None] * whole).max(axis=0).sum(), rel=1e-12)
    slow_kept, slow_recovered = compute_row_outcomes(space, lambda _, distances: one.rows(distances), prior, workers)
    np.testing.assert_allclose(kept, slow_kept, rtol=1e-12)
    assert recovered == pytest.approx(slow_recovered, rel=1e-12)


def test_over_several_tiles(glove_2000):
    """The same holds for 2,000 points, and where some words have no prior at all."""
    one = ExponentialKernel(1.4, 6.0)
    prior = compute_zipf_prior(2000) * (np.arange(2000) % 3 > 0)
    prior /= prior.sum()
    ((kept, recovered),) = found(glove_2000, [one], prior)
    whole = one.rows(glove_2000.distances(range(2000)))
    np.testing.assert_allclose(kept, whole.diagonal(), rtol=1e-11)
    assert recovered == pytest.approx((prior[:, None] * whole).max(axis=0).sum(), rel=1e-11)


@pytest.mark.parametrize("name", ["twin_space", "glove_2000"])
@pytest.mark.parametrize("order", [1, -1])
def test_several_laws(request, name, order):
    """Several laws at once give for each the very numbers that it gives alone, in the order asked for."""
    space = request.getfixturevalue(name)
    weights = np.random.default_rng(2).uniform(0.2, 3, size=len(space.points))
    laws = [
        ExponentialKernel(1.3),
        ExponentialKernel(0.3, 2.0),
        ExponentialKernel(2.5, weights=weights),
        ExponentialKernel(1.0, 4.0, weights),
    ]
    prior = compute_zipf_prior(len(space))
    together = found(space, laws[::order], prior)
    alone = [found(space, [one], prior)[0] for one in laws[::order]]
    assert [recovered for _, recovered in together] == [recovered for _, recovered in alone]
    for (kept, _), (kept_alone, _) in zip(together, alone, strict=True):
        np.testing.assert_array_equal(kept, kept_alone)
    assert len({recovered for _, recovered in together}) == 4


@pytest.mark.parametrize("scale", [1e-22, 1e-13, 5e-10, 1e-5, 0.05, 1.0, 3.0, 60.0, 1e7, 1e200])
@pytest.mark.parametrize("cutoff", [math.inf, 4.0, 0.1])
def test_sifted_guesses_are_those_of_all_pairs(glove_2000, scale, cutoff):
    """What float32 sifts and float64 decides is what float64 alone finds, also of words without a prior."""
    kernels = [ExponentialKernel(scale, cutoff), ExponentialKernel(2 * scale, cutoff)]
    with np.errstate(divide="ignore"):
        priors = np.log(compute_zipf_prior(2000) * (np.arange(2000) % 7 > 0))
    heights = [priors - np.log(sums) for sums in compute_normalisers(glove_2000, kernels)]
    for workers in (1, 2):
        sifted = _sift_peaks(glove_2000, kernels, heights, workers)
        for one, exact in zip(sifted, _find_peaks(glove_2000, kernels, heights, workers), strict=True):
            np.testing.assert_allclose(one, exact, rtol=1e-11, atol=1e-11)


def test_no_laws(small_space):
    """No laws have no outcomes."""
    assert found(small_space, [], compute_zipf_prior(60)) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_kept_is_the_diagonal_of_the_law(small_space, workers):
    """The share kept of each word is its own entry in its own row of the law."""
    subject = dn.TEM(small_space, epsilon=3.0)
    expected = [subject.probabilities(word)[number] for number, word in enumerate(small_space.words)]
    np.testing.assert_array_equal(
        compute_row_outcomes(small_space, compute_rows(subject), compute_zipf_prior(60), workers)[0], expected
    )


def test_kept_counts_twins_as_changes(twin_space):
    """A word at a shared point is kept only where its own twin is drawn."""
    subject = dn.TEM(twin_space, epsilon=2.0)
    expected = [subject.probabilities(word)[number] for number, word in enumerate(twin_space.words)]
    np.testing.assert_allclose(
        compute_row_outcomes(twin_space, compute_rows(subject), compute_zipf_prior(12))[0], expected, rtol=1e-14
    )


@pytest.mark.parametrize(("epsilon", "share"), [(2, "10.2"), (3, "50.2"), (4, "83.7")])
def test_kept_on_glove_is_the_published_share(glove_2000, epsilon, share):
    """TEM without truncation on the 2,000 most frequent alphabetic words keeps the shares worked out before."""
    subject = dn.TEM(glove_2000, epsilon=epsilon, gamma=math.inf)
    assert (
        f"{100 * compute_row_outcomes(glove_2000, compute_rows(subject), compute_zipf_prior(2000))[0].mean():.1f}"
        == share
    )


@pytest.mark.parametrize("workers", [1, 2])
def test_recovered_is_the_sum_of_the_best_guesses(small_space, workers):
    """The Bayes success is the sum over outputs of the largest prior times law, by any number of workers."""
    subject = dn.TEM(small_space, epsilon=3.0)
    prior = np.random.default_rng(4).dirichlet(np.ones(60))
    matrix = np.array([subject.probabilities(word) for word in small_space.words])
    expected = (prior[:, None] * matrix).max(axis=0).sum()
    assert compute_row_outcomes(small_space, compute_rows(subject), prior, workers)[1] == pytest.approx(
        expected, rel=1e-13
    )
