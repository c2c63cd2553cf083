"""Tables made up for tests: texts whose words tell their class, texts that tell nothing, releases by hand."""

import dataclasses

import numpy as np

import deniable as dn
from deniable.text.encoded import EncodedTexts

FILLER = ("the", "and", "it", "was", "a", "very", "of", "in", "this", "that")


def table(rows, classes=2, seed=0, telling=3):
    """Return texts of 12 words, of which ``telling`` are peculiar to the class, and their classes."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.arange(rows) % classes)
    texts = []
    for code in codes:
        words = [*rng.choice(FILLER, 12 - telling), *(f"class{code}word{n}" for n in rng.integers(0, 5, telling))]
        texts.append(" ".join(rng.permutation(words)))
    return texts, codes


def noise(rows, seed=1):
    """Return texts of filler alone."""
    return [" ".join(np.random.default_rng((seed, row)).choice(FILLER, 12)) for row in range(rows)]


def chain(space, count, length, seed=0, loyal=0.9):
    """Return texts in which a word is mostly followed by the one that is its partner's number."""
    generator = np.random.default_rng(seed)
    size = len(space)
    partner = np.random.default_rng(99).permutation(size)
    out = []
    for _ in range(count):
        words = [int(generator.integers(size))]
        for _ in range(length - 1):
            words.append(int(partner[words[-1]]) if generator.random() < loyal else int(generator.integers(size)))
        out.append(" ".join(space.words[word] for word in words))
    return out


def predict(model, history):
    """Return the probability of every symbol of a language model after a history."""
    size = len(model.frequencies)
    return np.exp(model.score_words([[*history, symbol] for symbol in range(size)]).reshape(size, -1)[:, -1])


def zipf(count):
    """Return the weights of Zipf's law."""
    weights = 1 / np.arange(1, count + 1)
    return weights / weights.sum()


def drawn_as(space, texts, outputs):
    """Return texts for which the given words of the space were drawn, as if by a mechanism."""
    batch = dn.measure.privatize_texts(dn.TEM(space, epsilon=1.0), texts, seed=0)
    numbers = np.array([space.index_of(word) for text in outputs for word in text.split()], dtype=np.int32)
    return dataclasses.replace(batch, new_texts=EncodedTexts.of(outputs), outputs=numbers)
