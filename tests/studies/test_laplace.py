"""Quick draws of multivariate Laplace: the very outputs of the exact search, from bfloat16 products."""

import numpy as np
import pytest
import torch

import deniable as dn
from deniable.core.randomness import Streams, derive_key_from_seed
from deniable.words.multivariate_laplace import MultivariateLaplace, NearestNoisyPoint
from studies import laplace
from studies.laplace import QuickLaplace, QuickNearestPoint

EPSILONS = (0.01, 1.0, 8.0, 40.0, 1000.0)


def drawn(cls, space, epsilon, words):
    """Return the outputs of a mechanism for words in two records, from streams of a fixed key."""
    mechanism = cls(space, epsilon=epsilon)
    lengths = [len(words) // 3, len(words) - len(words) // 3]
    return mechanism.draw_words(words, Streams(derive_key_from_seed(1), [bytes(16), bytes([1] * 16)], lengths), 1)


def nearest(space, noisy):
    """Return the first of the nearest points, from all distances."""
    return ((space.points[None] - noisy[:, None]) ** 2).sum(axis=2).argmin(axis=1)


def by_bfloat16(quick, noisy):
    """Return the points that a bfloat16 product alone would name."""
    mean, columns, _, _ = quick._rounded
    given = np.hstack([noisy - mean, np.full((len(noisy), 2), -1.0)])
    return (torch.from_numpy(given).bfloat16() @ columns).argmax(dim=1).numpy()


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", ["small_space", "twin_space", "glove_2000"])
def test_the_same_draws(request, name, epsilon):
    """From the same streams the outputs are those of the exact mechanism, twins included."""
    space = request.getfixturevalue(name)
    words = np.random.default_rng(3).integers(0, len(space), 1_500).astype(np.int32)
    np.testing.assert_array_equal(
        drawn(QuickLaplace, space, epsilon, words), drawn(MultivariateLaplace, space, epsilon, words)
    )


@pytest.mark.parametrize("dimensions", [1, 2, 7, 100, 300])
@pytest.mark.parametrize("shift", [0.0, 50.0])
def test_dimensions(dimensions, shift):
    """The same holds in few and many dimensions, and for vectors far from the origin."""
    vectors = np.random.default_rng(dimensions).normal(size=(300, dimensions)) + shift
    space = dn.Space([f"w{number}" for number in range(300)], vectors)
    words = np.arange(900, dtype=np.int32) % 300
    for epsilon in (0.01, dimensions / 3, 1000.0):
        np.testing.assert_array_equal(
            drawn(QuickLaplace, space, epsilon, words), drawn(MultivariateLaplace, space, epsilon, words)
        )


@pytest.fixture(scope="module")
def grid():
    """Return a space of 900 points on a grid of step 2^-9, and 2,500 vectors that are nearly between two of them."""
    rng = np.random.default_rng(0)
    spots = np.stack(np.meshgrid(np.arange(30.0), np.arange(30.0)), axis=-1).reshape(-1, 2) * 2.0**-9
    space = dn.Space([f"w{number}" for number in range(len(spots))], np.hstack([spots, np.ones((900, 1))]))
    noisy = space.points[rng.integers(0, 900, 2_500)]
    noisy[:, :2] += (
        rng.choice([-1.0, 1.0], (2_500, 2)) * 2.0**-10 * (1 + rng.choice([-1.0, 0.0, 1.0], (2_500, 2)) * 1e-9)
    )
    noisy[:, 2] += rng.normal(size=2_500)
    return space, noisy


def test_near_ties(grid):
    """Between points of a fine grid, where bfloat16 alone names other points, the nearest is still found."""
    space, noisy = grid
    quick, exact = QuickNearestPoint(space, 1.0), NearestNoisyPoint(space, 1.0)
    found = quick._find_nearest(noisy)
    np.testing.assert_array_equal(found, exact._find_nearest(noisy))
    np.testing.assert_array_equal(found, nearest(space, noisy))
    assert (by_bfloat16(quick, noisy) != found).mean() > 0.3


def test_bfloat16_alone_would_differ(glove_2000):
    """On real vectors, at an epsilon in use, a bfloat16 product alone is wrong for some, and the draws are not."""
    rng = np.random.default_rng(0)
    noisy = glove_2000.points[rng.integers(0, 2_000, 1_500)] + rng.normal(size=(1_500, 50)) * 0.8
    quick = QuickNearestPoint(glove_2000, 10.0)
    found = quick._find_nearest(noisy)
    np.testing.assert_array_equal(found, NearestNoisyPoint(glove_2000, 10.0)._find_nearest(noisy))
    wrong = (by_bfloat16(quick, noisy) != found).mean()
    assert 0 < wrong < 0.2


@pytest.mark.parametrize("reach", [0.0, 1e-6, 1.0])
def test_scores_that_are_negative_or_zero(reach):
    """Near the mean of points on a circle every score is negative, or zero for the mean itself."""
    angles = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    noisy = np.random.default_rng(1).normal(size=(300, 2)) * reach
    for vectors in (circle, np.vstack([circle, np.zeros((1, 2))])):
        space = dn.Space([f"w{number}" for number in range(len(vectors))], vectors)
        found = QuickNearestPoint(space, 1.0)._find_nearest(noisy)
        np.testing.assert_array_equal(found, NearestNoisyPoint(space, 1.0)._find_nearest(noisy))


def test_more_vectors_than_one_product_takes(small_space):
    """Vectors beyond one product's share are searched alike."""
    noisy = np.random.default_rng(2).normal(size=(2 * laplace._TOKENS + 5, 4))
    found = QuickNearestPoint(small_space, 1.0)._find_nearest(noisy)
    np.testing.assert_array_equal(found, nearest(small_space, noisy))


@pytest.mark.parametrize("bound", [-3.0, -1e-30, 0.0, 1e-30, 0.5, 0.50001, 3.0, 1e30])
def test_scores_that_reach_a_bound(bound):
    """Comparing bits chooses what comparing numbers does, and at most the next number below the bound."""
    rng = np.random.default_rng(4)
    scores = torch.from_numpy(rng.normal(size=(5, 400)) * np.array([[1e-30], [0.3], [1.0], [5.0], [1e30]])).bfloat16()
    scores[0, :4] = torch.tensor([0.0, -0.0, bound, -bound])
    rows, columns = laplace._find_scores_above(scores, np.full(5, bound))
    chosen = np.zeros((5, 400), dtype=bool)
    chosen[rows, columns] = True
    numbers = scores.double().numpy()
    assert chosen[numbers >= bound].all()
    assert not chosen[numbers < bound - 2.0**-7 * abs(bound)].any()


def test_the_quick_search_is_the_one_that_draws(small_space, monkeypatch):
    """Draws of the quick mechanism go through the quick search."""
    calls = []
    search = QuickNearestPoint._find_nearest
    monkeypatch.setattr(
        QuickNearestPoint, "_find_nearest", lambda self, noisy: calls.append(len(noisy)) or search(self, noisy)
    )
    drawn(QuickLaplace, small_space, 1.0, np.arange(30, dtype=np.int32))
    assert sum(calls) == 30
