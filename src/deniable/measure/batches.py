"""Rows as they were and as they became, cut so that what changed can be marked."""

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from deniable.space import Space
from deniable.space.grammar import split_words
from deniable.text.batches import PrivatizedBatch, TextCell
from deniable.text.release import DEFAULT_COLUMN, Release
from deniable.words import WordMechanism


def privatize_texts(
    mechanism: WordMechanism, texts: Sequence[str], *, seed: int | None = None, workers: int | None = None
) -> PrivatizedBatch:
    """Return the texts privatized as a `Release` would, unknown words read as the public one.

    Args:
        mechanism: draws the words.
        texts: R private texts.
        seed: public, for results that can be repeated; None for fresh noise.
        workers: threads; the result does not depend on them.
    """
    release = Release(mechanism, key=None if seed is None else f"seed:{seed}")
    return release.privatize_cells(
        [TextCell(str(row), DEFAULT_COLUMN, 0, text) for row, text in enumerate(texts)], workers=workers
    )


RowNumbers = npt.NDArray[np.int64]
MarkedText = tuple[tuple[str, bool], ...]
"""A text in pieces that make it up, each with whether it is a word that was changed."""

MAX_SHOWN_WORDS = 60
"""Words of a text that are shown, at most."""


@dataclasses.dataclass(frozen=True)
class RowExample:
    """One row.

    Attributes:
        row: its number in the table, from 1 on.
        before: the original text.
        after: the private text.
    """

    row: int
    before: MarkedText
    after: MarkedText


def build_examples(
    space: Space, texts: Sequence[str], batch: PrivatizedBatch, rows: RowNumbers, row_numbers: RowNumbers
) -> tuple[RowExample, ...]:
    """Return rows as they were and became, up to `MAX_SHOWN_WORDS` words of each.

    Args:
        space: of the mechanism that drew the words.
        texts: R original texts.
        batch: what `deniable.measure.batches.privatize_texts` made of them.
        rows: (k,) places among the R texts.
        row_numbers: (R,) rows of the table that the texts stand in, from 0 on.
    """
    examples = []
    for row in rows.tolist():
        word_range = slice(batch.offsets[row], batch.offsets[row + 1])
        outputs = [space.words[word] for word in batch.outputs[word_range].tolist()]
        changed = batch.changed_mask[word_range].tolist()
        pieces = split_words(texts[row])
        examples.append(
            RowExample(
                int(row_numbers[row]) + 1,
                _mark_changes(texts[row], pieces[1::2], pieces[0::2], changed),
                _mark_changes(batch.texts[row], outputs, pieces[0::2], changed),
            )
        )
    return tuple(examples)


def _mark_changes(text: str, words: Sequence[str], gaps: Sequence[str], changed: Sequence[bool]) -> MarkedText:
    """Return a text in pieces; between its words stand the gaps, or the gaps and a space."""
    marked: list[tuple[str, bool]] = []
    position = 0
    for word, gap, differs in itertools.islice(zip(words, gaps, changed, strict=False), MAX_SHOWN_WORDS):
        start = text.index(word, position + len(gap))
        marked += [(text[position:start], False), (word, differs)]
        position = start + len(word)
    marked.append((text[position:] if len(words) <= MAX_SHOWN_WORDS else " …", False))
    return tuple((piece, differs) for piece, differs in marked if piece)


def select_texts(batch: PrivatizedBatch, rows: RowNumbers) -> PrivatizedBatch:
    """Return some rows of a batch, in the order given.

    Args:
        batch: R texts.
        rows: (k,) places among them, at least one.
    """
    places = np.concatenate([np.arange(batch.offsets[row], batch.offsets[row + 1]) for row in rows])
    lengths = np.diff(batch.offsets)[rows]
    unknown_mask = batch.unknown_mask[places]
    return PrivatizedBatch(
        [batch.texts[row] for row in rows.tolist()],
        np.concatenate([[0], np.cumsum(lengths)]),
        batch.words[places],
        batch.outputs[places],
        unknown_mask,
        int(unknown_mask.sum()),
        batch.kept_counts[rows],
    )
