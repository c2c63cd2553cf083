"""The search for the text, of those that a certificate covers, which a smoothed classifier finds hardest."""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from deniable.randomness import Streams
from deniable.robust.text.documents import Texts, Words, texts
from deniable.robust.text.network import Scorer
from deniable.robust.text.smoothing.sampling import scored, versions
from deniable.robust.text.substitutions import Substitutions
from deniable.space import Space
from deniable.space.metrics import Array
from deniable.words import WordMechanism

_WORDS = 1 << 21
"""Words drawn at a time, which bounds memory."""
_TINY = 1e-12


@dataclasses.dataclass(frozen=True, eq=False)
class Moves:
    """What may be done to one text: m single replacements, and how much of them.

    Attributes:
        text: (L,) words.
        places: (m,) positions.
        words: (m,) what is put there.
        distances: (m,) from the word that was there.
        prices: (m,) of the budget.
        budget: what the prices of a text's replacements may add up to.
    """

    text: Words
    places: npt.NDArray[np.int64]
    words: Words
    distances: Array
    prices: Array
    budget: float

    def done(self, chosen: Sequence[int]) -> Words:
        """Return the text after some moves."""
        out = self.text.copy()
        out[self.places[list(chosen)]] = self.words[list(chosen)]
        return out

    def filled(self, order: Sequence[int]) -> list[int]:
        """Return moves taken in an order, at most one for a position, while the budget lasts."""
        left, taken, used = self.budget, [], set()
        for move in order:
            if self.prices[move] <= left and self.places[move] not in used:
                left -= self.prices[move]
                used.add(self.places[move])
                taken.append(move)
        return taken


@dataclasses.dataclass(frozen=True, eq=False)
class Search:
    """How versions of one text are compared: by their mean margin over the same noise."""

    mechanism: WordMechanism
    scorer: Scorer
    label: int
    streams: Streams
    draws: int
    workers: int | None

    def leads(self, tried: Texts) -> Array:
        """Return (n,) by how much the label leads, in [-1, 1]: the mean of tanh of half the margin of logits."""
        out = np.empty(len(tried))
        step = max(1, _WORDS // (self.draws * max(int(tried.lengths.max()), 1)))
        for first in range(0, len(tried), step):
            some = tried.take(np.arange(first, min(first + step, len(tried))))
            # The same stream for each: what differs between two of them is the replacement, not the noise.
            streams = dataclasses.replace(self.streams, starts=[self.streams.starts[0]] * len(some))
            drawn = versions(self.mechanism, some, [self.draws] * len(some), streams, self.workers)
            logits = np.concatenate([part for _, part in scored(self.scorer, drawn, np.zeros(len(drawn), np.int64))])
            others = np.delete(logits, self.label, axis=1).max(axis=1)
            margins = np.tanh((logits[:, self.label] - others) / 2)
            out[first : first + len(some)] = margins.reshape(len(some), self.draws).mean(axis=1)
        return out


def attack(search: Search, moves: Moves, tries: int, coins: np.random.Generator) -> tuple[Words, float]:
    """Return the text with the least lead that was found, and its distance."""
    if not len(moves.places):
        return moves.text, 0.0
    singles = [moves.done([move]) for move in range(len(moves.places))]
    gains = search.leads(texts([moves.text]))[0] - search.leads(texts(singles))  # (m,)
    rates = gains / np.maximum(moves.prices, _TINY)
    # The best first, then the best for their price, then these with the odds changed at random.
    orders = [np.argsort(-gains), *(np.argsort(-rates * odds) for odds in (1, *coins.random((tries, len(rates)))))]
    chosen = [[int(move) for move in order if gains[move] > 0] for order in orders]
    plans = [moves.filled(order) for order in chosen]
    leads = search.leads(texts([moves.done(plan) for plan in plans]))
    best = plans[int(np.argmin(leads))]
    return moves.done(best), float(moves.distances[best].sum())


def moves_within(space: Space, text: Words, distance: float, options: int, coins: np.random.Generator) -> Moves:
    """Return replacements by any word, of a total distance below one: the nearest, and others at random.

    Args:
        space: of the mechanism.
        text: (L,) words.
        distance: that may be used up.
        options: most replacements of one position.
        coins: choose among them.
    """

    def near(word: int, row: Array) -> Words:
        order = np.argsort(row, kind="stable")[: int((row < distance).sum())]
        order = order[(row[order] > 0) & (order != word)]
        far = coins.permutation(order[options // 2 :])
        return np.concatenate([order[: options // 2], far[: options - options // 2]])

    places, words, apart = _listed(space, text, near)
    return Moves(text, places, words, apart, apart, distance * (1 - _TINY))


def moves_among(
    space: Space,
    text: Words,
    replacements: Substitutions | None,
    changes: int,
    options: int,
    coins: np.random.Generator,
) -> Moves:
    """Return replacements by the words of sets, or by any, of so many words of a text; see `moves_within`."""

    def allowed(word: int, row: Array) -> Words:
        held = np.arange(len(row)) if replacements is None else replacements.of(word)
        return coins.permutation(held[held != word])[:options]

    places, words, apart = _listed(space, text, allowed)
    return Moves(text, places, words, apart, np.ones(len(places)), changes)


def _listed(
    space: Space, text: Words, choices: Callable[[int, Array], Words]
) -> tuple[npt.NDArray[np.int64], Words, Array]:
    """Return places, words and distances of all replacements of every position, from those of a word (V,)."""
    kinds, inverse = np.unique(text, return_inverse=True)
    rows = space.distances(space.point_of[kinds])[:, space.point_of]  # (kinds, V)
    found = [choices(int(kinds[kind]), rows[kind]) for kind in inverse]
    apart = [rows[kind, some] for kind, some in zip(inverse, found, strict=True)]
    places = np.repeat(np.arange(len(text)), [len(some) for some in found])
    return places, np.concatenate(found).astype(np.int32), np.concatenate(apart)
