"""Parts of speech, where spaCy or NLTK is installed with a model for English; neither is required."""

import importlib
from collections.abc import Callable

PartOfSpeechTagger = Callable[[list[str]], list[str]]
"""Maps the words of one text, as they are spelled in it, to their parts of speech."""

_UNIVERSAL_TAG_NAMES = {
    "ADJ": "adjective",
    "ADP": "preposition",
    "ADV": "adverb",
    "AUX": "verb",
    "CCONJ": "conjunction",
    "DET": "determiner",
    "INTJ": "interjection",
    "NOUN": "noun",
    "NUM": "number",
    "PART": "particle",
    "PRON": "pronoun",
    "PROPN": "proper noun",
    "SCONJ": "conjunction",
    "VERB": "verb",
}
"""Universal part-of-speech tag -> name."""

_PENN_TAG_NAMES = {
    "CC": "conjunction",
    "CD": "number",
    "DT": "determiner",
    "EX": "pronoun",
    "IN": "preposition",
    "JJ": "adjective",
    "MD": "verb",
    "NN": "noun",
    "NNP": "proper noun",
    "NNPS": "proper noun",
    "PDT": "determiner",
    "POS": "particle",
    "PRP": "pronoun",
    "RB": "adverb",
    "RP": "particle",
    "TO": "particle",
    "UH": "interjection",
    "VB": "verb",
    "WDT": "determiner",
    "WP": "pronoun",
    "WRB": "adverb",
}
"""Penn Treebank tag, or the two letters that it begins with -> name."""


def find_tagger() -> PartOfSpeechTagger | None:
    """Return a function that names the parts of speech of a text's words, or None where nothing is installed.

    spaCy with a small model for English is looked for first, then NLTK with its perceptron. They see the words
    alone, without the punctuation between them, so that they err a little more often than on whole sentences.
    """
    return _load_spacy_tagger() or _load_nltk_tagger()


def _load_spacy_tagger() -> PartOfSpeechTagger | None:
    try:
        spacy = importlib.import_module("spacy")
        models = [name for name in spacy.util.get_installed_models() if name.startswith("en_core_web")]
        if not models:
            return None
        model = spacy.load(min(models, key=len), exclude=["parser", "ner", "lemmatizer"])
    except (ImportError, OSError):
        return None

    def tag_words(words: list[str]) -> list[str]:
        document = model(spacy.tokens.Doc(model.vocab, words=words))
        return [_UNIVERSAL_TAG_NAMES.get(token.pos_, "other") for token in document]

    return tag_words


def _load_nltk_tagger() -> PartOfSpeechTagger | None:
    try:
        nltk = importlib.import_module("nltk")
        nltk.pos_tag(["a"])
    except (ImportError, LookupError):  # LookupError: the data of the perceptron are not there
        return None

    def tag_words(words: list[str]) -> list[str]:
        tags = [tag.removesuffix("$") for _, tag in nltk.pos_tag(words)]  # PRP$ is his, WP$ is whose
        return [_PENN_TAG_NAMES.get(tag, _PENN_TAG_NAMES.get(tag[:2], "other")) for tag in tags]

    return tag_words
