"""Similarity: how near private texts are to their originals."""

import itertools

import numpy as np
import pytest

import deniable as dn
from tests.conftest import SMALL_WORDS
from tests.measure.toy import drawn_as
from tests.refusals import refuses

TEXTS = ["Baran dotel, baran qqq.", "", "fevim kuzor", "zzz", "Ligus mopen naran"]


def measure(space, texts, epsilon=1.0):
    """Return the similarity of texts after some noise."""
    drawn = dn.measure.privatize_texts(dn.TEM(space, epsilon=epsilon), texts, seed=4)
    return dn.measure.measure_similarity(space, texts, drawn)


def test_nothing_changed(small_space):
    """Texts that came out as they were are as similar as can be."""
    texts = ["baran dotel", "fevim fevim kuzor"]
    found = dn.measure.measure_similarity(small_space, texts, drawn_as(small_space, texts, texts))
    assert (found.unchanged.value, found.moved.value, found.overlap.value) == (1.0, 0.0, 1.0)
    assert found.cosine.value == pytest.approx(1.0)
    assert found.unrelated.value < 0.99
    assert (found.texts, found.words) == (2, 5)


def test_by_hand(small_space):
    """Two texts whose measures are computed by hand."""
    texts, outputs = ["baran dotel baran", "fevim"], ["baran kuzor dotel", "ligus"]
    found = dn.measure.measure_similarity(small_space, texts, drawn_as(small_space, texts, outputs))
    assert found.unchanged.value == 1 / 4
    apart = itertools.starmap(small_space.distance, (("dotel", "kuzor"), ("baran", "dotel"), ("fevim", "ligus")))
    assert found.moved.value == pytest.approx(sum(apart) / 4)
    assert found.overlap.value == pytest.approx((2 / 3 + 0) / 2)

    def cosine(*pair):
        x, y = (
            np.mean([small_space.vectors[small_space.index_of(word)] for word in text.split()], axis=0) for text in pair
        )
        return x @ y / np.linalg.norm(x) / np.linalg.norm(y)

    assert found.cosine.value == pytest.approx(np.mean(list(map(cosine, texts, outputs))))
    assert found.unrelated.value == pytest.approx(np.mean(list(map(cosine, texts, outputs[::-1]))))


def test_unknown_words_count_as_changed(small_space):
    """A word for which the public one was read is changed whatever came out, and moved from nowhere."""
    drawn = drawn_as(small_space, ["qqq baran"], [f"{small_space.unknown_word} baran"])
    found = dn.measure.measure_similarity(small_space, ["qqq baran"], drawn)
    assert (found.unchanged.value, found.moved.value, found.unrelated) == (0.5, 0.0, None)
    assert found.overlap.value == pytest.approx(1 / 3)
    assert found.cosine.value < 1


def own_metric(rows, points):
    return np.abs(rows[:, None] - points[None]).sum(axis=2)


@pytest.mark.parametrize(
    "metric",
    [
        "euclidean",
        own_metric,
        *(pytest.param(name, marks=pytest.mark.deep) for name in ("manhattan", "angular", "steps")),
    ],
)
def test_distances_in_every_metric(small_vectors, metric):
    """The distance moved is that of the space's own metric, for the words as they were drawn."""
    space = dn.Space(SMALL_WORDS, small_vectors, metric=metric)
    drawn = dn.measure.privatize_texts(dn.TEM(space, epsilon=1.0), TEXTS, seed=4)
    found = dn.measure.measure_similarity(space, TEXTS, drawn)
    known = ~drawn.unknown_mask
    pairs = zip(drawn.words[known], drawn.outputs[known], strict=True)
    expected = np.mean([space.distance(space.words[word], space.words[output]) for word, output in pairs])
    assert found.moved.value == pytest.approx(expected)
    assert found.moved.low >= 0


def test_texts_without_words(small_space):
    """Empty texts count for nothing but their number; the unrelated pair is the next text that has words."""
    found = measure(small_space, [*TEXTS, "", "..."])
    assert (found.texts, found.words) == (4, 10)
    assert found.unchanged.count == found.overlap.count == 4
    assert found.moved.count == found.cosine.count == 3
    texts = [text for word in SMALL_WORDS[:10] for text in (word, "")]
    assert measure(small_space, texts).unrelated.count == 10
    assert measure(small_space, [SMALL_WORDS[0], "", ""]).unrelated is None


def test_more_privacy_is_less_similar(small_space):
    """Every measure falls with epsilon, and the distance grows."""
    texts = [" ".join(np.random.default_rng(row).choice(SMALL_WORDS, 12)) for row in range(60)]
    weak, strong = (measure(small_space, texts, epsilon) for epsilon in (8, 1))
    assert weak.unchanged.low > strong.unchanged.high
    assert weak.moved.high < strong.moved.low
    assert weak.cosine.low > strong.cosine.high
    assert weak.overlap.low > strong.overlap.high


def test_what_does_not_match(small_space):
    """Texts of another table, and texts of unknown words alone are refused."""
    drawn = drawn_as(small_space, ["baran"], ["baran"])
    with refuses("originals"):
        dn.measure.measure_similarity(small_space, TEXTS, drawn)
    for texts, value in ((["qqq zzz"], "2 words"), ([""], "0 words")):
        with refuses(value):
            measure(small_space, texts)
