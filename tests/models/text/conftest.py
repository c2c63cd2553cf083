import numpy as np
import pytest

from deniable.models.text.documents import Documents, tokenize_texts
from deniable.models.text.substitutions import build_substitutions
from deniable.space import Space

WORDS = ["good", "great", "fine", "bad", "awful", "poor", "film", "movie", "plot", "the", "a", "was", "not", "very"]


@pytest.fixture(scope="session")
def words_space():
    """Fourteen words with vectors that lie by meaning: good words high, bad words low in the first number."""
    coins = np.random.default_rng(0)
    vectors = 0.3 * coins.normal(size=(len(WORDS), 6))
    vectors[:3, 0] += 2.0
    vectors[3:6, 0] -= 2.0
    vectors[6:9, 1] += 2.0
    return Space(WORDS, vectors, source="fourteen words")


@pytest.fixture(scope="session")
def word_sets(words_space):
    """Substitutes of a few of the words."""
    given = {"good": ["great", "fine"], "bad": ["awful", "poor"], "film": ["movie"], "very": ["not"]}
    return build_substitutions(words_space, given, "small sets")


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
    return Documents(tokenize_texts(words_space, lines).texts, np.array(labels), ("bad", "good"))
