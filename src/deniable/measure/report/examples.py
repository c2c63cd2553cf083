"""Rows of a table before and after, in pieces, so that changed words can be marked."""

import dataclasses
import itertools
from collections.abc import Sequence

from deniable.measure.labels import RowNumbers
from deniable.space import Space
from deniable.text.batches import PrivatizedBatch

MarkedText = tuple[tuple[str, bool], ...]
"""The consecutive pieces of a text, each with whether it is a changed word."""

MAX_SHOWN_WORDS = 60
"""Maximum number of words shown of a text."""


@dataclasses.dataclass(frozen=True)
class RowExample:
    """One row before and after.

    Attributes:
        row: row number in the table, from 1 on.
        before: the original text.
        after: the private text.
    """

    row: int
    before: MarkedText
    after: MarkedText


def build_examples(
    space: Space, texts: Sequence[str], batch: PrivatizedBatch, rows: RowNumbers, row_numbers: RowNumbers
) -> tuple[RowExample, ...]:
    """Return rows before and after, up to `MAX_SHOWN_WORDS` words of each.

    Args:
        space: the space of the mechanism.
        texts: R original texts.
        batch: the private texts, from `deniable.measure.batches.privatize_texts`.
        rows: (k,) indices among the R texts.
        row_numbers: (R,) the texts' row numbers in the table, from 0 on.
    """
    examples = []
    for row in rows.tolist():
        word_range = slice(batch.offsets[row], batch.offsets[row + 1])
        outputs = [space.words[word] for word in batch.outputs[word_range].tolist()]
        changed = batch.changed_mask[word_range].tolist()
        pieces = space.split_words(texts[row])
        examples.append(
            RowExample(
                int(row_numbers[row]) + 1,
                _mark_changes(texts[row], pieces[1::2], pieces[0::2], changed),
                _mark_changes(batch.texts[row], outputs, pieces[0::2], changed),
            )
        )
    return tuple(examples)


def _mark_changes(text: str, words: Sequence[str], gaps: Sequence[str], changed: Sequence[bool]) -> MarkedText:
    """Return a text in pieces; the space that a release may add after a gap belongs to the gap."""
    marked: list[tuple[str, bool]] = []
    position = 0
    for word, gap, differs in itertools.islice(zip(words, gaps, changed, strict=False), MAX_SHOWN_WORDS):
        start = text.index(word, position + len(gap))
        marked += [(text[position:start], False), (word, differs)]
        position = start + len(word)
    marked.append((text[position:] if len(words) <= MAX_SHOWN_WORDS else " …", False))
    return tuple((piece, differs) for piece, differs in marked if piece)
