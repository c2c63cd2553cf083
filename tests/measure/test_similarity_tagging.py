"""Parts of speech by whichever tagger is installed, tried with stand-ins for spaCy and NLTK."""

import sys
import types

import pytest

from deniable.measure.similarity import find_tagger


@pytest.fixture(autouse=True)
def neither(monkeypatch):
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


def test_nothing_installed():
    """Without either library there is no tagger."""
    assert find_tagger() is None


def test_spacy(monkeypatch):
    """The smallest English model is loaded, and its universal tags get plain names."""
    monkeypatch.setitem(sys.modules, "spacy", fake_spacy(["de_core_news_sm", "en_core_web_sm", "en_core_web_long"]))
    assert find_tagger()(["cats", "could", "if", "??"]) == ["noun", "verb", "conjunction", "other"]


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


def test_nltk_without_its_data(monkeypatch):
    """NLTK without the data of its tagger is as good as not installed."""
    monkeypatch.setitem(sys.modules, "nltk", fake_nltk(data=False))
    assert find_tagger() is None
