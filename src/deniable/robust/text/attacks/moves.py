"""Which words an attack may put in the place of a document's, and how it draws them.

Whatever is drawn stands in for a word of the *original* document, and a text holds at most one draw for a position.
Under a mechanism each attacked text is therefore one that the mechanism can release, word by word. Paper 000
(section 6.3) perturbs the current word of a child again and again: what a chain of draws ends with follows another law
than the mechanism's, about which epsilon says nothing.
"""

import dataclasses
import functools
from typing import Protocol

import numpy as np
import numpy.typing as npt

from deniable.randomness import Streams
from deniable.robust.text.attacks.targets import Targets
from deniable.robust.text.copies import Source
from deniable.robust.text.documents import Rows, Texts, Words
from deniable.robust.text.substitutions import Substitutions
from deniable.words import WordMechanism


@dataclasses.dataclass(frozen=True, eq=False)
class Changes:
    """Single words of one text to replace.

    Attributes:
        positions: (c,) places in the text.
        words: (c,) the words to put there.
    """

    positions: Rows
    words: Words

    def applied(self, text: Words, start: int, stop: int) -> Words:
        """Return a text (L,) with each of changes start ... stop - 1 alone: (stop - start, L)."""
        out = np.repeat(text[None], len(self.positions[start:stop]), axis=0)
        out[np.arange(len(out)), self.positions[start:stop]] = self.words[start:stop]
        return out


class Moves(Protocol):
    """The words that may stand in a word's place."""

    @property
    def known(self) -> int:
        """How many words there are."""

    def movable(self, words: Words) -> npt.NDArray[np.bool_]:
        """Return whether each word (N,) can become another one."""

    def change(self, words: Words, streams: Streams, workers: int | None) -> Words:
        """Return a stand-in for each of movable words (N,)."""

    def redraw(self, words: Words, streams: Streams, workers: int | None) -> Words:
        """Return a draw for each word (N,), which may be the word itself."""

    def singles(self, given: Targets, tries: int, workers: int | None) -> list[Changes]:
        """Return the changes of one word to try on each text, without two that are the same.

        Args:
            given: R texts.
            tries: draws for each position, where they are not all listed.
            workers: threads; the result does not depend on them.
        """


@dataclasses.dataclass(frozen=True, eq=False)
class FromSets:
    """Stand-ins that a set lists, all of them equally likely."""

    sets: Substitutions

    @functools.cached_property
    def _sizes(self) -> Rows:
        """(V,): distinct choices of each word, which come first in its row, itself at the front."""
        return self.sets.sizes

    @property
    def known(self) -> int:
        """How many words there are."""
        return len(self.sets.choices)

    def movable(self, words: Words) -> npt.NDArray[np.bool_]:
        """Return whether each word (N,) has another choice."""
        movable: npt.NDArray[np.bool_] = self._sizes[words] > 1
        return movable

    def change(self, words: Words, streams: Streams, workers: int | None) -> Words:
        """Return another choice of each word (N,)."""
        del workers
        return self.sets.choices[words, 1 + streams.choose(self._sizes[words] - 1)]

    def redraw(self, words: Words, streams: Streams, workers: int | None) -> Words:
        """Return a choice of each word (N,)."""
        del workers
        return self.sets.choices[words, streams.choose(self._sizes[words])]

    def singles(self, given: Targets, tries: int, workers: int | None) -> list[Changes]:
        """Return every change of one word."""
        del tries, workers
        return [self._all(text) for text in given.texts]

    def _all(self, text: Words) -> Changes:
        others = np.arange(1, self.sets.choices.shape[1]) < self._sizes[text][:, None]  # (L, k - 1)
        return Changes(np.nonzero(others)[0], self.sets.choices[text, 1:][others])


@dataclasses.dataclass(frozen=True, eq=False)
class FromMechanism:
    """Stand-ins that a mechanism draws, the word itself among them."""

    mechanism: WordMechanism

    @property
    def known(self) -> int:
        """How many words there are."""
        return len(self.mechanism.space)

    def movable(self, words: Words) -> npt.NDArray[np.bool_]:
        """Return True for each word (N,): a mechanism gives every word of a space some probability."""
        return np.ones(len(words), dtype=np.bool_)

    def change(self, words: Words, streams: Streams, workers: int | None) -> Words:
        """Return the mechanism's draw for each word (N,)."""
        return self.mechanism.draw(words, streams, workers)

    redraw = change

    def singles(self, given: Targets, tries: int, workers: int | None) -> list[Changes]:
        """Return what ``tries`` draws for every position give that differs from the text."""
        originals = np.repeat(given.texts.words, tries)
        streams = given.streams("singles", (tries * given.texts.lengths).tolist())
        drawn = Texts(self.mechanism.draw(originals, streams, workers), tries * given.texts.offsets)
        return [_distinct(text, words.reshape(-1, tries)) for text, words in zip(given.texts, drawn, strict=True)]


def _distinct(text: Words, drawn: Words) -> Changes:
    """Return the changes among draws (L, tries) for a text (L,), each once."""
    positions, tries = np.nonzero(drawn != text[:, None])
    pairs = np.unique(np.stack([positions, drawn[positions, tries]], axis=1), axis=0)  # (c, 2)
    return Changes(pairs[:, 0], pairs[:, 1].astype(np.int32))


def moves_of(source: Source) -> Moves:
    """Return the moves that sets or a mechanism allow."""
    return FromSets(source) if isinstance(source, Substitutions) else FromMechanism(source)


def mutations(moves: Moves, given: Targets, count: int, workers: int | None) -> list[Changes]:
    """Return so many changes of each text: of a word drawn uniformly among the movable ones, by its stand-in.

    All are drawn at once: a mechanism then computes the law of a word once for all texts.
    """
    counts = [count] * len(given.texts)
    places = [np.flatnonzero(moves.movable(text)) for text in given.texts]
    drawn = given.streams("positions", counts).choose(np.repeat([len(held) for held in places], count))
    positions = [held[at] for held, at in zip(places, drawn.reshape(-1, count), strict=True)]
    originals = np.concatenate([text[at] for text, at in zip(given.texts, positions, strict=True)])
    words = moves.change(originals, given.streams("words", counts), workers).reshape(-1, count)
    return [Changes(at, to) for at, to in zip(positions, words, strict=True)]


def redraws(moves: Moves, given: Targets, count: int, workers: int | None) -> list[Words]:
    """Return so many copies (count, L) of each text with every word drawn anew."""
    originals = np.concatenate([np.tile(text, count) for text in given.texts])
    streams = given.streams("redraws", (count * given.texts.lengths).tolist())
    drawn = Texts(moves.redraw(originals, streams, workers), count * given.texts.offsets)
    return [copies.reshape(count, -1) for copies in drawn]
