"""New texts out of a corpus, so that a small one teaches more of its words in other company."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from deniable.learning.deal import Deal
from deniable.randomness import generator

Numbers = Sequence[Sequence[int]]
"""Numbers of the tokens of each text."""


class Varied:
    """The texts of a corpus and new ones made of them, others in every epoch, dealt into batches.

    Args:
        numbers: of the corpus.
        count: new texts for each text of it, see `spliced`; none are longer than the longest of it.
        share: of the tokens of a new text that are exchanged, see `exchanged`.
        size: of a batch.
        key: 32 bytes, from which everything follows.
    """

    def __init__(self, numbers: Numbers, count: int, share: float, size: int, key: bytes) -> None:
        self._numbers, self._count, self._share, self._size, self._key = numbers, count, share, size, key
        self._longest = max(map(len, numbers))
        self._begin(0)
        self.batches = self._deal.batches
        """Of an epoch."""

    def __call__(self, number: int) -> Numbers:
        """Return the texts of step ``number``, from 0."""
        epoch, place = divmod(number, self.batches)
        if epoch != self._epoch:
            self._begin(epoch)
        return [self._texts[row] for row in self._deal(place)]

    def _begin(self, epoch: int) -> None:
        key = generator(self._key, "texts", str(epoch)).bytes(32)
        made = spliced(self._numbers, self._count * len(self._numbers), key, self._longest)
        self._epoch, self._texts = epoch, [*self._numbers, *exchanged(made, self._numbers, self._share, key)]
        self._deal = Deal(np.array([len(text) for text in self._texts]), self._size, key)


def spliced(numbers: Numbers, count: int, key: bytes, longest: int) -> list[list[int]]:
    """Return texts that begin as one text of a corpus and end as another, which share the token where they are joined.

    The text, the place where it is cut, and the place in the corpus where that token stands again are drawn evenly:
    "flights from boston to denver" and "i go to dallas" make "flights from boston to dallas". Two neighbouring tokens
    of what comes out are neighbours somewhere in the corpus, so this is a draw from a bigram model of it that keeps
    long runs of words whole.

    Args:
        numbers: of a corpus.
        count: how many texts.
        key: 32 bytes, from which the draws follow.
        longest: most tokens of a text; longer ones are drawn anew.

    Returns:
        ``count`` texts; none where the corpus has no tokens.
    """
    coins = generator(key, "splices")
    whole = [text for text in numbers if 0 < len(text) <= longest]
    places = defaultdict(list)
    for row, text in enumerate(whole):
        for place, token in enumerate(text):
            places[token].append((row, place))
    found: list[list[int]] = []
    while whole and len(found) < count:
        begun = whole[coins.integers(len(whole))]
        cut = int(coins.integers(len(begun)))
        again = places[begun[cut]]
        row, place = again[coins.integers(len(again))]
        made = [*begun[:cut], *whole[row][place:]]
        if len(made) <= longest:
            found.append(made)
    return found


def exchanged(numbers: Numbers, corpus: Numbers, share: float, key: bytes) -> list[list[int]]:
    """Return texts in which some tokens are others, drawn by the square roots of their counts in a corpus.

    Nothing in what surrounds such a token tells it: whoever is to say it has to have read it.

    Args:
        numbers: of the texts.
        corpus: whose tokens are drawn.
        share: chance of every token to be drawn anew, in [0, 1].
        key: 32 bytes, from which the draws follow.
    """
    if not any(map(len, numbers)) or not any(map(len, corpus)):
        return [[*text] for text in numbers]
    coins, ends = generator(key, "exchanged"), np.cumsum([len(text) for text in numbers])
    known, counts = np.unique(np.concatenate([np.asarray(text, np.int64) for text in corpus]), return_counts=True)
    held = np.concatenate([np.asarray(text, np.int64) for text in numbers])
    anew = np.flatnonzero(coins.random(len(held)) < share)
    roots = np.sqrt(counts)
    held[anew] = coins.choice(known, size=len(anew), p=roots / roots.sum())
    return [text.tolist() for text in np.split(held, ends[:-1])]
