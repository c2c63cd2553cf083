"""Words with a meaning, reviews that hold one of them, and models of these."""

import functools

import numpy as np
import pytest

import deniable as dn

WORDS = ["good", "great", "fine", "bad", "awful", "poor", "film", "movie", "plot", "the", "a", "was", "not", "very"]


@pytest.fixture(scope="session")
def words_space():
    """Fourteen words with vectors that lie by meaning: good words high, bad words low in the first number."""
    coins = np.random.default_rng(0)
    vectors = 0.3 * coins.normal(size=(len(WORDS), 6))
    vectors[:3, 0] += 2.0
    vectors[3:6, 0] -= 2.0
    vectors[6:9, 1] += 2.0
    return dn.Space(WORDS, vectors, source="fourteen words")


@pytest.fixture(scope="session")
def word_sets(words_space):
    """Substitutes of a few of the words."""
    given = {"good": ["great", "fine"], "bad": ["awful", "poor"], "film": ["movie"], "very": ["not"]}
    return dn.texts.build_substitutions(words_space, given, "small sets")


@pytest.fixture(scope="session")
def reviews(words_space):
    """Two hundred texts of three to nine words; the class is that of the one word with a meaning in it."""
    coins = np.random.default_rng(1)
    lines, labels = [], []
    for number in range(200):
        label = number % 2
        filler = coins.choice(WORDS[6:], coins.integers(2, 9)).tolist()
        filler.insert(int(coins.integers(len(filler) + 1)), str(coins.choice(WORDS[:3] if label else WORDS[3:6])))
        lines.append(" ".join(filler))
        labels.append(label)
    return dn.texts.Documents(dn.texts.tokenize_texts(words_space, lines).texts, np.array(labels), ("bad", "good"))


@pytest.fixture(scope="session")
def pairs(words_space):
    """Return pairs whose class says whether both texts tell of the same thing."""
    coins = np.random.default_rng(2)
    abouts = [[str(coins.choice(["good", "bad"])) for _ in range(2)] for _ in range(200)]
    sides = ([f"the film was {about[at]}" for about in abouts] for at in (0, 1))
    premises, held = (dn.texts.tokenize_texts(words_space, lines).texts for lines in sides)
    labels = np.array([int(one == other) for one, other in abouts])
    return dn.texts.Documents(held, labels, ("differ", "agree"), premises)


@pytest.fixture(scope="session")
def fit(words_space, word_sets, reviews, pairs):
    """Return a function from the name of a network to a model, which learned little unless told otherwise."""

    def fitted(name, method="normal", documents=None, source=word_sets, seed=1, **options):
        documents = documents or (pairs if name == "attention" else reviews)
        chosen = dn.texts.TextTrainingOptions(**{"method": method, "epochs": 1, **options})
        source = None if method == "normal" else source
        return dn.texts.fit_text_model(name, words_space, documents, chosen, source=source, seed=seed)

    return fitted


@pytest.fixture(scope="session")
def fitted(fit):
    """Return `fit`, which makes each model once: not to be changed."""
    return functools.cache(fit)
