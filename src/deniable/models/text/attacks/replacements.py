"""The words by which an attack may replace those of a document, and how it draws them.

Every draw replaces a word of the *original* document, and a text has at most one draw per position. Under a mechanism
each attacked text is therefore one that the mechanism can release, word by word. Xu et al. 2021 (section 6.3) perturb
the current word of a child again and again: the last word of such a chain follows another law than the mechanism's,
about which epsilon says nothing.
"""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from deniable.core.randomness import Streams, derive_stream_start, make_generator
from deniable.models.text.documents import Documents, IndexedTexts, RowIndices, WordIds
from deniable.models.text.substitutions import SubstituteSource, Substitutions
from deniable.words import WordMechanism

Margins = npt.NDArray[np.float64]
"""(k,) margins of texts: the logit of the true class minus the largest other; a text is classified right above 0."""


@dataclasses.dataclass(frozen=True, eq=False)
class AttackTargets:
    """Documents to attack.

    Attributes:
        texts: R texts.
        margins: (R,) of these texts.
        stream_names: derived from the words of each document. All draws for it depend on key and name alone, and not
            on the other documents or their order.
        key: 32 bytes.
    """

    texts: IndexedTexts
    margins: Margins
    stream_names: Sequence[str]
    key: bytes = dataclasses.field(repr=False)

    def make_streams(self, purpose: str, lengths: Sequence[int]) -> Streams:
        """Return each document's stream for one purpose, with a number of draws for each."""
        return Streams(
            self.key, [derive_stream_start(self.key, "attack", purpose, name) for name in self.stream_names], lengths
        )

    def make_generators(self, purpose: str) -> list[np.random.Generator]:
        """Return a generator for each document, for one purpose."""
        return [make_generator(self.key, "attack", purpose, name) for name in self.stream_names]


def select_targets(documents: Documents, rows: RowIndices, margins: Margins, key: bytes) -> AttackTargets:
    """Return some of the documents as targets.

    Args:
        documents: all of them.
        rows: (R,) the rows of those to attack.
        margins: (n,) of all documents.
        key: 32 bytes.
    """
    parts = [documents.texts] if documents.premises is None else [documents.texts, documents.premises]
    stream_names = ["/".join(texts[row].astype("<i4").tobytes().hex() for texts in parts) for row in rows.tolist()]
    return AttackTargets(documents.texts.take(rows), margins[rows], stream_names, key)


@dataclasses.dataclass(frozen=True, eq=False)
class WordChanges:
    """Single words of one text to replace.

    Attributes:
        positions: (c,) in the text.
        words: (c,) the new words.
    """

    positions: RowIndices
    words: WordIds

    def apply_each(self, text: WordIds, start: int, stop: int) -> WordIds:
        """Return versions (stop - start, L) of a text (L,), each with one of the changes start ... stop - 1."""
        versions = np.repeat(text[None], len(self.positions[start:stop]), axis=0)
        versions[np.arange(len(versions)), self.positions[start:stop]] = self.words[start:stop]
        return versions


class Replacements(Protocol):
    """The words that may replace a word."""

    @property
    def vocabulary_size(self) -> int:
        """Number of words."""

    def is_replaceable(self, words: WordIds) -> npt.NDArray[np.bool_]:
        """Return whether each word (N,) can become another one."""

    def draw_replacements(self, words: WordIds, streams: Streams, workers: int | None) -> WordIds:
        """Return another word for each of replaceable words (N,)."""

    def redraw_words(self, words: WordIds, streams: Streams, workers: int | None) -> WordIds:
        """Return a draw for each word (N,), possibly the word itself."""

    def list_single_changes(self, targets: AttackTargets, tries: int, workers: int | None) -> list[WordChanges]:
        """Return the distinct changes of one word to try on each text.

        Args:
            targets: R texts.
            tries: number of draws for each position, where replacements are drawn and not listed.
            workers: threads; the result does not depend on them.
        """


@dataclasses.dataclass(frozen=True, eq=False)
class SetReplacements:
    """Replacements listed by sets, all equally likely."""

    sets: Substitutions

    @functools.cached_property
    def _choice_counts(self) -> RowIndices:
        """(V,): number of distinct choices of each word, which come first in its row, the word itself at the front."""
        return self.sets.choice_counts

    @property
    def vocabulary_size(self) -> int:
        """Number of words."""
        return len(self.sets.choices)

    def is_replaceable(self, words: WordIds) -> npt.NDArray[np.bool_]:
        """Return whether each word (N,) has another choice."""
        replaceable: npt.NDArray[np.bool_] = self._choice_counts[words] > 1
        return replaceable

    def draw_replacements(self, words: WordIds, streams: Streams, workers: int | None) -> WordIds:
        """Return another choice of each word (N,)."""
        del workers
        return self.sets.choices[words, 1 + streams.uniform_below(self._choice_counts[words] - 1)]

    def redraw_words(self, words: WordIds, streams: Streams, workers: int | None) -> WordIds:
        """Return a choice of each word (N,)."""
        del workers
        return self.sets.choices[words, streams.uniform_below(self._choice_counts[words])]

    def list_single_changes(self, targets: AttackTargets, tries: int, workers: int | None) -> list[WordChanges]:
        """Return every change of one word."""
        del tries, workers
        return [self._list_all_changes(text) for text in targets.texts]

    def _list_all_changes(self, text: WordIds) -> WordChanges:
        is_substitute = np.arange(1, self.sets.choices.shape[1]) < self._choice_counts[text][:, None]  # (L, k - 1)
        return WordChanges(np.nonzero(is_substitute)[0], self.sets.choices[text, 1:][is_substitute])


@dataclasses.dataclass(frozen=True, eq=False)
class MechanismReplacements:
    """Replacements drawn by a mechanism, possibly the word itself."""

    mechanism: WordMechanism

    @property
    def vocabulary_size(self) -> int:
        """Number of words."""
        return len(self.mechanism.space)

    def is_replaceable(self, words: WordIds) -> npt.NDArray[np.bool_]:
        """Return True for each word (N,): a mechanism gives every word of a space some probability."""
        return np.ones(len(words), dtype=np.bool_)

    def draw_replacements(self, words: WordIds, streams: Streams, workers: int | None) -> WordIds:
        """Return the mechanism's draw for each word (N,)."""
        return self.mechanism.draw_words(words, streams, workers)

    redraw_words = draw_replacements

    def list_single_changes(self, targets: AttackTargets, tries: int, workers: int | None) -> list[WordChanges]:
        """Return the distinct changes among ``tries`` draws for every position."""
        originals = np.repeat(targets.texts.words, tries)
        streams = targets.make_streams("singles", (tries * targets.texts.lengths).tolist())
        draws = IndexedTexts(self.mechanism.draw_words(originals, streams, workers), tries * targets.texts.offsets)
        return [
            _collect_distinct_changes(text, words.reshape(-1, tries))
            for text, words in zip(targets.texts, draws, strict=True)
        ]


def _collect_distinct_changes(text: WordIds, draws: WordIds) -> WordChanges:
    """Return the changes among draws (L, tries) for a text (L,), each once."""
    positions, draw_indices = np.nonzero(draws != text[:, None])
    pairs = np.unique(np.stack([positions, draws[positions, draw_indices]], axis=1), axis=0)  # (c, 2)
    return WordChanges(pairs[:, 0], pairs[:, 1].astype(np.int32))


def make_replacements(source: SubstituteSource) -> Replacements:
    """Return the replacements that sets or a mechanism allow."""
    return SetReplacements(source) if isinstance(source, Substitutions) else MechanismReplacements(source)


def draw_mutations(
    replacements: Replacements, targets: AttackTargets, count: int, workers: int | None
) -> list[WordChanges]:
    """Return a number of changes of each text: of a word drawn uniformly among the replaceable ones, by a draw for it.

    All are drawn at once: a mechanism then computes the law of a word once for all texts.
    """
    counts = [count] * len(targets.texts)
    replaceable_positions = [np.flatnonzero(replacements.is_replaceable(text)) for text in targets.texts]
    choices = targets.make_streams("positions", counts).uniform_below(
        np.repeat([len(candidates) for candidates in replaceable_positions], count)
    )
    positions = [
        candidates[indices]
        for candidates, indices in zip(replaceable_positions, choices.reshape(-1, count), strict=True)
    ]
    originals = np.concatenate([text[indices] for text, indices in zip(targets.texts, positions, strict=True)])
    words = replacements.draw_replacements(originals, targets.make_streams("words", counts), workers).reshape(-1, count)
    return [WordChanges(indices, new_words) for indices, new_words in zip(positions, words, strict=True)]


def redraw_texts(replacements: Replacements, targets: AttackTargets, count: int, workers: int | None) -> list[WordIds]:
    """Return copies (count, L) of each text with every word drawn again."""
    originals = np.concatenate([np.tile(text, count) for text in targets.texts])
    streams = targets.make_streams("redraws", (count * targets.texts.lengths).tolist())
    redrawn = IndexedTexts(replacements.redraw_words(originals, streams, workers), count * targets.texts.offsets)
    return [copies.reshape(count, -1) for copies in redrawn]
