"""Small documents, sets of substitutions, and classifiers whose worst text is known."""

import itertools

import numpy as np

from deniable.core.randomness import derive_key_from_seed
from deniable.models.text.attacks.replacements import select_targets
from deniable.models.text.documents import Documents, concatenate_texts
from deniable.models.text.substitutions import Substitutions

KEY = derive_key_from_seed(1)


def sets(given, words=60):
    """Return sets of substitutions over so many words from word number -> numbers of substitutes."""
    most = max(map(len, given.values()), default=0)
    choices = np.repeat(np.arange(words, dtype=np.int32)[:, None], 1 + most, axis=1)
    for own, others in given.items():
        choices[own, 1 : 1 + len(others)] = others
    return Substitutions("toy", choices)


def documents(words, labels=None, classes=2, premises=None):
    """Return documents of class 0, or of given labels."""
    labels = np.zeros(len(words), np.int64) if labels is None else np.array(labels)
    names = tuple(map(str, range(classes)))
    return Documents(concatenate_texts(words), labels, names, None if premises is None else concatenate_texts(premises))


def aims(held, margins=None, key=KEY):
    """Return all of some documents as targets."""
    margins = np.ones(len(held)) if margins is None else margins
    return select_targets(held, np.arange(len(held)), margins, key)


def everything(words, substitutions):
    """Return all texts (c, L) that sets allow for one text."""
    return np.array(list(itertools.product(*[substitutions.choices_of(word) for word in words])), dtype=np.int32)


class Asked:
    """A scorer of two classes that writes down what it is asked.

    The margin of class 0 is a function of the words of a text.
    """

    def __init__(self, margin):
        self.margin = margin
        self.calls = []

    def __call__(self, versions, rows):
        assert len(versions) == len(rows)
        self.calls.append([(int(row), text.copy()) for text, row in zip(versions, rows, strict=True)])
        margins = np.array([self.margin(text) for text in versions], dtype=np.float32)
        return np.stack([margins, np.zeros_like(margins)], axis=1)

    def of(self, row):
        """Return all texts (c, L) asked about for one document, in order."""
        return np.array([text for call in self.calls for asked, text in call if asked == row])

    def texts(self, row):
        """Return the different texts asked about for one document."""
        return {tuple(text) for text in self.of(row).tolist()}


def linear(values, bias=0.0):
    """Return the scorer whose margin is a sum of values (V,) over words; whole numbers leave no rounding."""
    return Asked(lambda text: values[text].sum() + bias)


def rough(seed=0):
    """Return a scorer whose margin, of 1 / 1,024 to 1, follows no rule: a digest of the text."""

    def margin(text):
        mixed = np.dot(text.astype(np.int64) + 17 * seed + 3, 2654435761 ** np.arange(1, len(text) + 1, dtype=object))
        return (1 + int(mixed) * 40503 % 65537 % 1024) / 1024

    return Asked(margin)
