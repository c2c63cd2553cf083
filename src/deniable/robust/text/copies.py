"""Copies of texts with every word drawn anew: what augmented training adds, and what smoothing votes over."""

import numpy as np

from deniable.randomness import Streams, generator, stream_start
from deniable.robust.text.documents import Rows, Texts, Words
from deniable.robust.text.substitutions import Substitutions
from deniable.words import WordMechanism

Source = Substitutions | WordMechanism
"""Where a word's stand-in comes from: uniformly from its choices, or by a mechanism."""
WINDOW = 4_000_000
"""Words drawn together, at most, but for a longer text: a mechanism computes the law of a word type once for them."""


def copies(held: Texts, rows: Rows, source: Source, key: bytes, number: int = 0) -> Texts:
    """Return a copy of texts in which every word is drawn anew.

    Args:
        held: R texts.
        rows: (R,) a number for each; a text's draws follow from key, row and copy, whatever stands beside it.
        source: of the stand-ins.
        key: 32 bytes.
        number: of the copy.
    """
    if isinstance(source, Substitutions):
        drawn = [_chosen(words, row, source, key, number) for words, row in zip(held, rows.tolist(), strict=True)]
        return Texts(np.concatenate([held.words[:0], *drawn]), held.offsets)
    starts = [stream_start(key, "copy", str(number), str(row)) for row in rows.tolist()]
    lengths = held.lengths.tolist()
    out = np.empty_like(held.words)
    for first, last in Streams(key, starts, lengths).batches(WINDOW):
        here = slice(held.offsets[first], held.offsets[last])
        out[here] = source.draw(held.words[here], Streams(key, starts[first:last], lengths[first:last]))
    return Texts(out, held.offsets)


def _chosen(words: Words, row: int, sets: Substitutions, key: bytes, number: int) -> Words:
    """Return one choice of each word, all choices alike."""
    choices, sizes = sets.choices[words], sets.sizes[words]
    at = generator(key, "copy", str(number), str(row)).integers(sizes)
    # The distinct choices of a word come first in its row, itself at the front.
    picked: Words = choices[np.arange(len(words)), at]
    return picked
