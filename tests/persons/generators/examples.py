"""A small released knowledge that the tests of generators share."""

import numpy as np

from deniable.persons.generators.knowledge import ReleasedKnowledge
from deniable.text.tokenization import split_tokens

WORDS = ("good", "bad", "film", "plot", "fine", "dull")
WEIGHTS = np.array([1.0, -1.0, 0.0, 0.0, 0.7, -0.7])
PUBLIC_TEXTS = (
    "the film is good.",
    "the film is bad.",
    "a fine film with a good plot!",
    "a dull film with a bad plot.",
    "the plot is long. the film is short.",
    "good and bad films, fine and dull plots.",
    "the cast is fine.",
    "what a dull cast.",
)


class CountingClassifier:
    """Adds the weights of all words of a text."""

    def predict_probabilities(self, texts):
        """See `ReleasedClassifier`."""
        weights = dict(zip(WORDS, WEIGHTS, strict=True))
        scores = np.array([sum(weights.get(token, 0.0) for token in split_tokens(text)) for text in texts])
        return np.stack([1 / (1 + np.exp(scores)), 1 / (1 + np.exp(-scores))], axis=1)


KNOWLEDGE = ReleasedKnowledge(
    classes=("negative", "positive"),
    class_shares=np.array([0.4, 0.6]),
    length_edges=np.array([5, 15, 40]),
    length_shares=np.array([0.3, 0.7]),
    classifier=CountingClassifier(),
    words=WORDS,
    word_weights=np.stack([-WEIGHTS, WEIGHTS], axis=1),
)


def count_share(texts, words):
    """Return the share of tokens of texts that are among some words."""
    tokens = [token for text in texts for token in split_tokens(text)]
    return sum(token in words for token in tokens) / len(tokens)
