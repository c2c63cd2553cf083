"""Small documents, sets of substitutions, and classifiers whose worst text or whose chances are known."""

import itertools

import numpy as np

import deniable as dn

KEY = bytes(range(32))
_NO_TEXTS = dn.texts.tokenize_texts(dn.Space(["a", "b"], [[0.0], [1.0]]), []).texts


def join(texts):
    """Return texts from the word numbers of each."""
    arrays = [np.asarray(text, dtype=np.int32) for text in texts]
    offsets = np.cumsum([0, *map(len, arrays)], dtype=np.int64)
    return type(_NO_TEXTS)(np.concatenate([np.empty(0, np.int32), *arrays]), offsets)


def certify_texts(mechanism, scorer, texts, **given):
    """Return what is certified of texts, with any options by their names."""
    names = {"alpha", "selection", "estimation"} & {*given}
    options = dn.texts.SmoothingOptions(**{name: given.pop(name) for name in names})
    return dn.texts.certify_texts(mechanism, scorer, texts, options, **given)


def sets(given, words=60):
    """Return sets of substitutions over so many words from word number -> numbers of substitutes."""
    most = max(map(len, given.values()), default=0)
    choices = np.repeat(np.arange(words, dtype=np.int32)[:, None], 1 + most, axis=1)
    for own, others in given.items():
        choices[own, 1 : 1 + len(others)] = others
    return dn.texts.Substitutions("toy", choices)


def nearest_sets(space, size):
    """Return for every word the set of its nearest others."""
    order = np.argsort(space.distances(np.arange(len(space))), axis=1, kind="stable")
    own = np.arange(len(space))[:, None]
    nearest = np.array([row[row != word][:size] for word, row in enumerate(order)])
    return dn.texts.Substitutions("the nearest words", np.concatenate([own, nearest], axis=1).astype(np.int32))


def documents(words, labels=None, classes=2, premises=None):
    """Return documents of class 0, or of given labels."""
    labels = np.zeros(len(words), np.int64) if labels is None else np.array(labels)
    names = tuple(map(str, range(classes)))
    return dn.texts.Documents(join(words), labels, names, None if premises is None else join(premises))


def everything(words, substitutions):
    """Return all texts (c, L) that sets allow for one text."""
    return np.array(list(itertools.product(*[substitutions.choices_of(word) for word in words])), dtype=np.int32)


def versions(given, row, substitutions):
    """Return all texts that substitutions make of one document, as documents."""
    words = everything(given.texts[row], substitutions)
    many = given.take(np.full(len(words), row))
    return dn.texts.Documents(join(words), many.labels, many.classes, many.premises)


class Asked:
    """A scorer of two classes that writes down what it is asked.

    The margin of class 0 is a function of the words of a text.
    """

    def __init__(self, margin):
        self.margin = margin
        self.calls = []

    def __call__(self, some, rows):
        assert len(some) == len(rows)
        self.calls.append([(int(row), text.copy()) for text, row in zip(some, rows, strict=True)])
        margins = np.array([self.margin(text) for text in some], dtype=np.float32)
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


def mean_scorer(table):
    """Return a scorer whose logits are the mean over words of a table (V, K), as FastText's are."""

    def scorer(held, rows):
        del rows
        sums = np.add.reduceat(table[held.words], held.offsets[:-1], axis=0)
        return (sums / held.lengths[:, None]).astype(np.float32)

    return scorer


def tables(mechanism):
    """Return the law of every word as it is sampled (n, n), in a space without twins."""
    return mechanism.law.tables(np.arange(len(mechanism.space))) / 2.0**62


def chances(mechanism, table, length):
    """Return the chance (n, ..., n, K) of every class for every text of a length, by enumeration."""
    matrix = tables(mechanism)
    votes = sum(
        np.expand_dims(table, [axis for axis in range(length) if axis != place]) for place in range(length)
    ).argmax(axis=-1)  # (n, ..., n)
    out = []
    for label in range(table.shape[1]):
        held = (votes == label).astype(float)
        for place in range(length):
            held = np.moveaxis(np.tensordot(matrix, held, axes=(1, place)), 0, place)
        out.append(held)
    return np.stack(out, axis=-1)


def all_texts(count, length):
    """Return all texts (count ** length, length) in the order of `chances`."""
    return np.array(list(itertools.product(range(count), repeat=length)), dtype=np.int32)
