"""Tests of fit that the sampler tests share. All return p-values."""

import numpy as np
from scipy import stats

import deniable as dn

DRAWS = 100_000
FEW_DRAWS = 20_000
"""Enough to tell a law 30 % off."""
THRESHOLD = 1e-6
"""Chance of a false alarm. Keys are fixed, so that a test passes always or never."""


class _Listening(dn.laws.Simulation):
    """Gives the input back, and keeps the streams that a release drew from."""

    def draw(self, points, streams, workers=None):
        del workers
        self.heard = streams
        return points


class _Listener(dn.WordMechanism):
    """A mechanism of that simulation."""

    name = "listener"

    def __init__(self, space, *, epsilon, simulation):
        super().__init__(space, epsilon=epsilon)
        self.simulation = simulation

    @property
    def guarantee(self):
        return dn.Guarantee.of_words(self.epsilon, self.space.metric.name, "none")

    def build_law(self):
        return dn.laws.SimulatedLaw(self.space, self.simulation)


def streams(draws, *parts, seed=0):
    """Return the stream of one record of so many tokens, as a release under a public seed makes it."""
    simulation = _Listening()
    mechanism = _Listener(dn.Space(["a", "b"], [[0.0], [1.0]]), epsilon=1.0, simulation=simulation)
    dn.Release(mechanism, key=f"seed:{seed}").batch(["a " * draws], ids=["/".join(map(str, parts))])
    return simulation.heard


def sample(mechanism, word, draws=DRAWS, **options):
    """Return (n,) how often each word comes out for one input word, in the order of the space."""
    space = mechanism.space
    words = np.full(draws, space.index_of(word), dtype=np.int32)
    return np.bincount(mechanism.draw_words(words, streams(draws, "sample", **options)), minlength=len(space))


def _merge(expected, *counts, least=20.0):
    """Return the cells with those of small expectation merged into one, so that each has enough."""
    order = np.argsort(expected)
    small = int(np.searchsorted(np.cumsum(expected[order]), least)) + 1
    small = max(small, int(np.searchsorted(expected[order], least)))
    if small >= len(order):
        raise AssertionError("too few draws for a test of fit")
    return [np.append(row[order[small:]], row[order[:small]].sum()) for row in (expected, *counts)]


def fit(counts, law):
    """Return the chi-square p-value of counts under a law (n,); 0 where an impossible word was drawn."""
    if counts[law <= 0].any():
        return 0.0
    expected, observed = _merge(law / law.sum() * counts.sum(), counts)
    return float(stats.chisquare(observed, expected).pvalue)


def same(counts, others):
    """Return the chi-square p-value that two rows of counts come from one law."""
    _, *table = _merge((counts + others).astype(float), counts, others)
    return float(stats.chi2_contingency(np.array(table)).pvalue)


def agreement(counts):
    """Return an unbiased estimate of the chance that two independent draws agree."""
    total = counts.sum()
    return float((counts * (counts - 1.0)).sum() / (total * (total - 1.0)))
