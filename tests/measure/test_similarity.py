"""Similarity: how near private texts are to their originals."""

import dataclasses
import itertools
import sys
import types

import numpy as np
import pytest

import deniable as dn
from deniable import InputError
from deniable.measure.batches import privatize_texts
from deniable.measure.similarity import find_tagger, measure_similarity
from deniable.space.metrics import METRICS
from deniable.text.batches import PrivatizedBatch
from tests.conftest import SMALL_WORDS

TEXTS = ["Baran dotel, baran qqq.", "", "fevim kuzor", "zzz", "Ligus mopen naran"]


def drawn_as(space, texts, outputs):
    """Return texts of known words for which the given words were drawn, as if by a mechanism."""
    read = [text.split() for text in texts]
    written = [text.split() for text in outputs]
    numbers = [
        np.array([space.index_of(word) for words in side for word in words], dtype=np.int32) for side in (read, written)
    ]
    offsets = np.cumsum([0, *map(len, read)])
    return PrivatizedBatch(
        list(outputs), offsets, *numbers, np.zeros(len(numbers[0]), dtype=np.bool_), 0, np.zeros(len(outputs), int)
    )


def test_nothing_changed(small_space):
    """Texts that came out as they were are as similar as can be."""
    texts = ["baran dotel", "fevim fevim kuzor"]
    found = measure_similarity(small_space, texts, drawn_as(small_space, texts, texts))
    assert (found.unchanged.value, found.moved.value, found.overlap.value) == (1.0, 0.0, 1.0)
    assert found.cosine.value == pytest.approx(1.0)
    assert found.unrelated.value < 0.99
    assert (found.texts, found.words, found.parts) == (2, 5, {})


def test_by_hand(small_space):
    """Two texts whose measures are computed by hand."""
    texts, outputs = ["baran dotel baran", "fevim"], ["baran kuzor dotel", "ligus"]
    found = measure_similarity(small_space, texts, drawn_as(small_space, texts, outputs))
    assert found.unchanged.value == 1 / 4
    apart = itertools.starmap(small_space.distance, (("dotel", "kuzor"), ("baran", "dotel"), ("fevim", "ligus")))
    assert found.moved.value == pytest.approx(sum(apart) / 4)
    assert found.overlap.value == pytest.approx((2 / 3 + 0) / 2)

    def vector(text):
        return np.mean([small_space.vectors[small_space.index_of(word)] for word in text.split()], axis=0)

    def cosine(text, other):
        x, y = vector(text), vector(other)
        return x @ y / np.linalg.norm(x) / np.linalg.norm(y)

    assert found.cosine.value == pytest.approx(np.mean(list(map(cosine, texts, outputs))))
    assert found.unrelated.value == pytest.approx(np.mean(list(map(cosine, texts, outputs[::-1]))))


def test_unknown_words_count_as_changed(small_space):
    """A word for which the public one was read is changed whatever came out, and moved from nowhere."""
    texts = ["qqq baran"]
    stand_in = small_space.unknown_word
    drawn = drawn_as(small_space, [f"{stand_in} baran"], [f"{stand_in} baran"])
    drawn = dataclasses.replace(drawn, unknown_mask=np.array([True, False]))
    found = measure_similarity(small_space, texts, drawn)
    assert found.unchanged.value == 0.5
    assert found.moved.value == 0.0
    assert found.overlap.value == pytest.approx(1 / 3)
    assert found.cosine.value < 1
    assert found.unrelated is None


@pytest.mark.parametrize("metric", [*METRICS, lambda rows, all_: np.abs(rows[:, None] - all_[None]).sum(axis=2)])
def test_distances_in_every_metric(small_vectors, metric):
    """The distance moved is that of the space's own metric, for the words as they were drawn."""
    space = dn.Space(SMALL_WORDS, small_vectors, metric=metric)
    drawn = privatize_texts(dn.TEM(space, epsilon=1.0), TEXTS, seed=4)
    found = measure_similarity(space, TEXTS, drawn)
    known = ~drawn.unknown_mask
    pairs = zip(drawn.words[known], drawn.outputs[known], strict=True)
    expected = np.mean([space.distance(space.words[word], space.words[output]) for word, output in pairs])
    assert found.moved.value == pytest.approx(expected)
    assert found.moved.low >= 0


def test_texts_without_words(small_space):
    """Empty texts, the last ones too, count for nothing but their number."""
    drawn = privatize_texts(dn.TEM(small_space, epsilon=1.0), [*TEXTS, "", "..."], seed=4)
    found = measure_similarity(small_space, [*TEXTS, "", "..."], drawn)
    assert (found.texts, found.words) == (4, 10)
    assert found.unchanged.count == found.overlap.count == 4
    assert found.moved.count == found.cosine.count == 3


def test_more_privacy_is_less_similar(small_space):
    """Every measure falls with epsilon, and the distance grows."""
    texts = [" ".join(np.random.default_rng(row).choice(SMALL_WORDS, 12)) for row in range(60)]
    weak, strong = (
        measure_similarity(small_space, texts, privatize_texts(dn.TEM(small_space, epsilon=e), texts, seed=1))
        for e in (8, 1)
    )
    assert weak.unchanged.low > strong.unchanged.high
    assert weak.moved.high < strong.moved.low
    assert weak.cosine.low > strong.cosine.high
    assert weak.overlap.low > strong.overlap.high


def test_by_part_of_speech(small_space):
    """Shares of words unchanged are given by tag, most frequent first, of the words as they are spelled."""
    seen = []

    def tagger(words):
        seen.append(words)
        return ["noun" if word[0].isupper() or word in {"kuzor", "qqq"} else "verb" for word in words]

    drawn = privatize_texts(dn.TEM(small_space, epsilon=50.0), TEXTS, seed=4)
    found = measure_similarity(small_space, TEXTS, drawn, tagger=tagger)
    assert seen == [["Baran", "dotel", "baran", "qqq"], ["fevim", "kuzor"], ["zzz"], ["Ligus", "mopen", "naran"]]
    assert list(found.parts) == ["verb", "noun"]
    assert found.parts["noun"].value == pytest.approx(3 / 4)
    assert found.parts["verb"].value == pytest.approx(5 / 6)
    assert found.parts["verb"].count == 4


def test_what_does_not_match(small_space):
    """Texts of another table, a tagger that skips words, and texts of unknown words alone are refused."""
    mechanism = dn.TEM(small_space, epsilon=1.0)
    drawn = privatize_texts(mechanism, TEXTS, seed=4)
    with pytest.raises(InputError, match="not the originals of the batch"):
        measure_similarity(small_space, TEXTS[1:], drawn)
    with pytest.raises(InputError, match=r"one tag a word\. Got 4 for 10 words"):
        measure_similarity(small_space, TEXTS, drawn, tagger=lambda _: ["noun"])
    with pytest.raises(InputError, match="None of the 2 words of the texts is in the vocabulary"):
        measure_similarity(small_space, ["qqq zzz"], privatize_texts(mechanism, ["qqq zzz"], seed=1))
    with pytest.raises(InputError, match="None of the 0 words"):
        measure_similarity(small_space, [""], privatize_texts(mechanism, [""], seed=1))


def test_every_other_text_empty(small_space):
    """Where texts alternate with empty ones the unrelated pair is the next text that has words."""
    texts = [text for word in SMALL_WORDS[:10] for text in (word, "")]
    found = measure_similarity(small_space, texts, privatize_texts(dn.TEM(small_space, epsilon=1.0), texts, seed=0))
    assert found.unrelated is not None
    assert found.unrelated.count == 10
    alone = [SMALL_WORDS[0], "", ""]
    assert (
        measure_similarity(
            small_space, alone, privatize_texts(dn.TEM(small_space, epsilon=1.0), alone, seed=0)
        ).unrelated
        is None
    )


@pytest.fixture
def no_tagger(monkeypatch):
    """Hide both libraries, where they are installed."""
    for name in ("spacy", "nltk"):
        monkeypatch.setitem(sys.modules, name, None)


def fake_spacy(models, fails=False):
    """Return a module like spaCy whose model tags words by their last letter."""

    def load(name, exclude):
        if fails:
            raise OSError(name)
        assert name == "en_core_web_sm"
        assert "tagger" not in exclude
        tags = {"s": "NOUN", "d": "AUX", "?": "X"}

        def model(document):
            return [types.SimpleNamespace(pos_=tags.get(word[-1], "SCONJ")) for word in document]

        model.vocab = "vocab"
        return model

    doc = types.SimpleNamespace(Doc=lambda vocab, words: words if vocab == "vocab" else None)
    return types.SimpleNamespace(util=types.SimpleNamespace(get_installed_models=lambda: models), load=load, tokens=doc)


def fake_nltk(data=True):
    """Return a module like NLTK, with or without the data of its tagger."""

    def pos_tag(words):
        if not data:
            raise LookupError("averaged_perceptron_tagger_eng")
        tags = {"ann": "NNP", "cats": "NNS", "went": "VBD", "his": "PRP$", "#": "#"}
        return [(word, tags.get(word, "RBR")) for word in words]

    return types.SimpleNamespace(pos_tag=pos_tag)


@pytest.mark.usefixtures("no_tagger")
def test_nothing_installed():
    """Without either library there is no tagger."""
    assert find_tagger() is None


@pytest.mark.usefixtures("no_tagger")
def test_spacy(monkeypatch):
    """The smallest English model is loaded, and its universal tags get plain names."""
    monkeypatch.setitem(sys.modules, "spacy", fake_spacy(["de_core_news_sm", "en_core_web_sm", "en_core_web_long"]))
    assert find_tagger()(["cats", "could", "if", "??"]) == ["noun", "verb", "conjunction", "other"]


@pytest.mark.usefixtures("no_tagger")
@pytest.mark.parametrize(
    "spacy", [fake_spacy([]), fake_spacy(["de_core_news_sm"]), fake_spacy(["en_core_web_sm"], True)]
)
def test_nltk(monkeypatch, spacy):
    """Where spaCy has no model for English, or one that does not load, NLTK's Penn tags get the same names."""
    monkeypatch.setitem(sys.modules, "spacy", spacy)
    assert find_tagger() is None
    monkeypatch.setitem(sys.modules, "nltk", fake_nltk())
    words = ["ann", "cats", "went", "his", "more", "#"]
    assert find_tagger()(words) == ["proper noun", "noun", "verb", "pronoun", "adverb", "other"]


@pytest.mark.usefixtures("no_tagger")
def test_nltk_without_its_data(monkeypatch):
    """NLTK without the data of its tagger is as good as not installed."""
    monkeypatch.setitem(sys.modules, "nltk", fake_nltk(data=False))
    assert find_tagger() is None
