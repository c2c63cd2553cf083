"""Lemma 1 and Appendix C of Xu et al. 2021 beside laws that are known by other ways."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import integrate

import deniable as dn
from studies import word_density
from studies.rows import find_row
from studies.runner import Context
from studies.vocabularies import Vocabulary


@pytest.fixture
def vocabulary():
    """Thirty words in five dimensions."""
    vectors = np.random.default_rng(3).normal(size=(30, 5))
    space = dn.Space([f"w{number}" for number in range(30)], vectors, metric="euclidean")
    return Vocabulary("IMDB", space, space.words[:4])


def test_two_candidates(vocabulary):
    """With one candidate a word stays, with two as often as one integral says; Lemma 1's bound is its formula."""
    space, epsilon = vocabulary.space, 60.0
    rows = word_density.measure_lemma(vocabulary, epsilon, "curve")
    assert find_row(rows, "curve", 1.0, "kept at fixed k").value == pytest.approx(1.0)
    alpha = (epsilon - 2 * (1 + math.log(30)) / space.separation) / 3
    mechanism = dn.TruncatedGumbel(space, epsilon=epsilon)
    scale, far = mechanism.scale, space.diameter
    assert alpha > 0
    low, high = (math.exp(-math.exp(-end / scale)) for end in (-far, far))
    distances = space.distances(range(30))
    np.fill_diagonal(distances, np.inf)

    def stays(apart):
        def win(t):
            other = min(max((high - math.exp(-math.exp(-(t - apart) / scale))) / (high - low), 0.0), 1.0)
            return (
                math.exp(-t / scale - math.exp(-t / scale)) / scale / (high - low) * (other if t - apart > -far else 1)
            )

        return integrate.quad(win, -far, far, points=[apart - far], epsabs=1e-12)[0]

    expected = np.mean([stays(distances[space.index_of(word)].min()) for word in vocabulary.sample])
    assert find_row(rows, "curve", 2.0, "kept at fixed k").value == pytest.approx(expected, abs=1e-7)
    assert find_row(rows, "curve", 2.0, "kept at most by Lemma 1").value == pytest.approx(
        math.exp(-math.exp(-2 * far / scale))
    )


def test_small_spaces(vocabulary):
    """The share of all words that stay is that of the law's diagonal."""
    rows = word_density.measure_small_spaces(vocabulary, 1.01, "curve")
    assert {row.x for row in rows} == {5.0, 10.0, 20.0}
    small = dn.Space(vocabulary.space.words[:5], vocabulary.space.vectors[:5], metric="euclidean")
    epsilon = 1.01 * (5 + 2 * math.log(5)) / small.separation
    mechanism = dn.TruncatedGumbel(small, epsilon=epsilon)
    kept = np.mean([mechanism.probabilities(word)[place] for place, word in enumerate(small.words)])
    assert find_row(rows, "curve", 5.0, "share kept of all words").value == pytest.approx(kept)


def test_tenths_by_density(vocabulary):
    """Tenths go from the densest words to the sparsest, and Appendix C's formula stands beside Laplace noise alone."""
    context = Context(SimpleNamespace(dense_words=3), seed=1)
    nearest = word_density.find_nearest_distances(vocabulary.space)
    apart = np.linalg.norm(vocabulary.space.vectors[:, None] - vocabulary.space.vectors[None], axis=2)
    assert nearest == pytest.approx((apart + np.diag(np.full(30, np.inf))).min(axis=1), abs=1e-6)
    laplace = dn.MultivariateLaplace(vocabulary.space, epsilon=4.0)
    rows = word_density.measure_by_density(context, vocabulary, laplace, "curve", 400)
    places = [find_row(rows, "curve", float(tenth), "distance to the nearest").value for tenth in range(1, 11)]
    assert places == sorted(places)
    assert places[0] == pytest.approx(np.sort(nearest)[:3].mean())
    formula = find_row(rows, "curve", 1.0, "share kept by Appendix C").value
    assert formula == pytest.approx(np.mean(1 - np.exp(-np.sort(nearest)[:3])))
    kept, moved = (find_row(rows, "curve", 10.0, metric).value for metric in ("share kept", "distance moved"))
    assert (1 - kept) * nearest.min() <= moved <= (1 - kept) * vocabulary.space.diameter
    difference = find_row(rows, "curve", None, "sparsest less densest")
    assert difference.value == pytest.approx(kept - find_row(rows, "curve", 1.0, "share kept").value)
    gumbel = dn.TruncatedGumbel(vocabulary.space, epsilon=60.0)
    others = word_density.measure_by_density(context, vocabulary, gumbel, "other", 20)
    assert find_row(others, "other", 1.0, "share kept by Appendix C") is None
