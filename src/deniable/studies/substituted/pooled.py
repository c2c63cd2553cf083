"""A simulated mechanism whose draws for a word are made once and then used again."""

import hashlib

import numpy as np
import numpy.typing as npt

from deniable.core.errors import InputError
from deniable.core.guarantees import MetricDP
from deniable.core.randomness import Streams, derive_key_from_seed, derive_stream_start
from deniable.space import Space
from deniable.studies.ledger import Ledger
from deniable.studies.study import derived
from deniable.words import WordMechanism
from deniable.words.laws import SimulatedLaw, Simulation

Words = npt.NDArray[np.int32]


class Pooled(WordMechanism):
    """Draws uniformly from a pool of a word's draws.

    Over pools, each draw has the law of the mechanism; draws of one word are not independent, so that nothing of this
    class is private. It is for studies, where one mechanism draws many millions of words.

    Args:
        mechanism: whose draws are pooled.
        pool: (N,) draws of all words, those of one word side by side, in the order of words.
        sizes: (V,) how many each word has.
    """

    name = "pooled"

    def __init__(self, mechanism: WordMechanism, pool: Words, sizes: npt.NDArray[np.int64]) -> None:
        super().__init__(mechanism.space, epsilon=mechanism.epsilon)
        if len(mechanism.space.points) != len(mechanism.space):
            raise InputError("A pool needs a space without words of equal vectors: leave one of each such pair out.")
        self.mechanism, self._pool, self._sizes = mechanism, pool, sizes

    @property
    def guarantee(self) -> MetricDP:
        """That of one draw; nothing is proved of several."""
        claim = self.mechanism.guarantee
        return MetricDP(claim.epsilon, claim.metric, f"{claim.source}, of a single draw", status="claimed")

    @property
    def fingerprint(self) -> str:
        """Of the mechanism and of the pool."""
        digest = hashlib.blake2b(self._pool.tobytes() + self._sizes.tobytes(), digest_size=8).hexdigest()
        return f"{self.name}({digest}) {self.mechanism.fingerprint}"

    def build_law(self) -> SimulatedLaw:
        """Return the law of draws from the pool."""
        return SimulatedLaw(self.space, _PoolDraws(self.space, self._pool, self._sizes))


class _PoolDraws(Simulation):
    """Draws uniformly from a pool of a word's draws."""

    def __init__(self, space: Space, pool: Words, sizes: npt.NDArray[np.int64]) -> None:
        self._space, self._sizes = space, sizes
        self._points = space.point_by_word[pool]
        self._word_by_point = np.argsort(space.point_by_word)
        self._starts = np.cumsum(sizes) - sizes

    def draw(self, points: Words, streams: Streams, workers: int | None = None) -> Words:
        """Return one of the pool's draws for each point (N,).

        Raises:
            InputError: a word without a pool.
        """
        del workers
        words = self._word_by_point[points]
        sizes = self._sizes[words]
        if len(words) and not sizes.all():
            lacking = self._space.words[words[int(np.argmin(sizes))]]
            raise InputError(f"No draws of {lacking!r} are in the pool: count it among the words that are used.")
        drawn: Words = self._points[self._starts[words] + streams.uniform_below(sizes)]
        return drawn


def pooled(
    mechanism: WordMechanism, uses: npt.NDArray[np.int64], most: int, purpose: str, seed: int, ledger: Ledger
) -> Pooled:
    """Return a mechanism with a pool for every word that is used; the ledger keeps the pool.

    Args:
        mechanism: whose draws are pooled.
        uses: (V,) how often each word will be drawn for: of a rare word no more draws are made than that.
        most: draws of a word.
        purpose: pools of different purposes share no draws.
        seed: public.
        ledger: of the study.
    """
    sizes = np.minimum(uses, most).astype(np.int64)
    key = derive_key_from_seed(derived(seed, "pool", purpose))
    made_of = f"{mechanism.fingerprint} {purpose} {seed}".encode() + sizes.tobytes()
    name = f"pool-{hashlib.blake2b(made_of, digest_size=12).hexdigest()}"

    def compute() -> Words:
        # A record for every word: its draws do not depend on the other words of the pool.
        words = np.flatnonzero(sizes)
        starts = [derive_stream_start(key, mechanism.fingerprint, str(word)) for word in words.tolist()]
        streams = Streams(key, starts, sizes[words].tolist())
        return mechanism.draw_words(np.repeat(words, sizes[words]).astype(np.int32), streams)

    return Pooled(mechanism, ledger.array(name, compute), sizes)
