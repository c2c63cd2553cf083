"""Smoothed classifiers of short texts whose chances are known exactly, by enumeration."""

import itertools

import numpy as np

import deniable as dn
from deniable.models.text.substitutions import Substitutions
from deniable.words.laws import ExponentialKernel, ExponentialLaw
from deniable.words.mechanism import WordMechanism


class Given(WordMechanism):
    """The exponential law of a scale, with a guarantee of a status."""

    name = "given"

    def __init__(self, space, scale, status="proved"):
        super().__init__(space, epsilon=2 * scale)
        self._family, self._standing = ExponentialKernel(scale), status

    def build_law(self):
        return ExponentialLaw(self.space, self._family)

    @property
    def guarantee(self):
        return dn.MetricDP(self.epsilon, self.space.metric.name, "twice the scale", self._standing)


def mean_scorer(table):
    """Return a scorer whose logits are the mean over words of a table (V, K), as FastText's are."""

    def scorer(held, rows):
        del rows
        sums = np.add.reduceat(table[held.words], held.offsets[:-1], axis=0)
        return (sums / held.lengths[:, None]).astype(np.float32)

    return scorer


def tables(mechanism):
    """Return the law of every word as it is sampled (n, n), in a space without twins."""
    space = mechanism.space
    return mechanism.law.tables(np.arange(len(space))) / 2.0**62


def chances(mechanism, table, length):
    """Return the chance (n, ..., n, K) of every class for every text of a length."""
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


def sets(space, size):
    """Return for every word the set of its nearest others."""
    order = np.argsort(space.distances(np.arange(len(space))), axis=1, kind="stable")
    own = np.arange(len(space))[:, None]
    nearest = np.array([row[row != word][:size] for word, row in enumerate(order)])
    return Substitutions("the nearest words", np.concatenate([own, nearest], axis=1).astype(np.int32))
