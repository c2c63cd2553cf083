"""Rows as they were and as they became, cut so that what changed can be marked."""

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from deniable.space import Space
from deniable.space.grammar import split
from deniable.text.release import Drawn

Rows = npt.NDArray[np.int64]
Pieces = tuple[tuple[str, bool], ...]
"""A text in pieces that make it up, each with whether it is a word that was changed."""

SHOWN = 60
"""Words of a text that are shown, at most."""


@dataclasses.dataclass(frozen=True)
class Example:
    """One row.

    Attributes:
        row: its number in the table, from 1 on.
        before: the original text.
        after: the private text.
    """

    row: int
    before: Pieces
    after: Pieces


def excerpts(space: Space, texts: Sequence[str], drawn: Drawn, rows: Rows, numbers: Rows) -> tuple[Example, ...]:
    """Return rows as they were and became, up to `SHOWN` words of each.

    Args:
        space: of the mechanism that drew the words.
        texts: R original texts.
        drawn: what `deniable.measure.draws.draws` made of them.
        rows: (k,) places among the R texts.
        numbers: (R,) rows of the table that the texts stand in, from 0 on.
    """
    found = []
    for row in rows.tolist():
        here = slice(drawn.offsets[row], drawn.offsets[row + 1])
        outputs = [space.words[word] for word in drawn.outputs[here].tolist()]
        changed = drawn.changed[here].tolist()
        parts = split(texts[row])
        found.append(
            Example(
                int(numbers[row]) + 1,
                _pieces(texts[row], parts[1::2], parts[0::2], changed),
                _pieces(drawn.texts[row], outputs, parts[0::2], changed),
            )
        )
    return tuple(found)


def _pieces(text: str, words: Sequence[str], gaps: Sequence[str], changed: Sequence[bool]) -> Pieces:
    """Return a text in pieces; between its words stand the gaps, or the gaps and a space."""
    out: list[tuple[str, bool]] = []
    at = 0
    for word, gap, differs in itertools.islice(zip(words, gaps, changed, strict=False), SHOWN):
        start = text.index(word, at + len(gap))
        out += [(text[at:start], False), (word, differs)]
        at = start + len(word)
    out.append((text[at:] if len(words) <= SHOWN else " …", False))
    return tuple((piece, differs) for piece, differs in out if piece)


def part(drawn: Drawn, rows: Rows) -> Drawn:
    """Return some rows of a batch, in the order given.

    Args:
        drawn: R texts.
        rows: (k,) places among them, at least one.
    """
    places = np.concatenate([np.arange(drawn.offsets[row], drawn.offsets[row + 1]) for row in rows])
    lengths = np.diff(drawn.offsets)[rows]
    stand_ins = drawn.stand_ins[places]
    return Drawn(
        [drawn.texts[row] for row in rows.tolist()],
        np.concatenate([[0], np.cumsum(lengths)]),
        drawn.words[places],
        drawn.outputs[places],
        stand_ins,
        int(stand_ins.sum()),
        drawn.kept[rows],
    )
