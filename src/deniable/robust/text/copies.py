"""Copies of texts with every word drawn anew: what augmented training adds, and what smoothing votes over."""

import numpy as np

from deniable.randomness import Streams, derive_stream_start, make_generator
from deniable.robust.text.documents import IndexedTexts, RowIndices, WordIds
from deniable.robust.text.substitutions import Substitutions
from deniable.words import WordMechanism

SubstituteSource = Substitutions | WordMechanism
"""Where a word's stand-in comes from: uniformly from its choices, or by a mechanism."""
MAX_DRAWN_WORDS = 4_000_000
"""Words drawn together, at most, but for a longer text: a mechanism computes the law of a word type once for them."""


def draw_copies(
    texts: IndexedTexts, rows: RowIndices, source: SubstituteSource, key: bytes, copy_number: int = 0
) -> IndexedTexts:
    """Return a copy of texts in which every word is drawn anew.

    Args:
        texts: R texts.
        rows: (R,) a number for each; a text's draws follow from key, row and copy, whatever stands beside it.
        source: of the stand-ins.
        key: 32 bytes.
        copy_number: of the copy.
    """
    if isinstance(source, Substitutions):
        chosen_words = [
            _choose_words(words, row, source, key, copy_number) for words, row in zip(texts, rows.tolist(), strict=True)
        ]
        return IndexedTexts(np.concatenate([texts.words[:0], *chosen_words]), texts.offsets)
    starts = [derive_stream_start(key, "copy", str(copy_number), str(row)) for row in rows.tolist()]
    lengths = texts.lengths.tolist()
    redrawn = np.empty_like(texts.words)
    for first, last in Streams(key, starts, lengths).batches(MAX_DRAWN_WORDS):
        window = slice(texts.offsets[first], texts.offsets[last])
        redrawn[window] = source.draw_words(texts.words[window], Streams(key, starts[first:last], lengths[first:last]))
    return IndexedTexts(redrawn, texts.offsets)


def _choose_words(words: WordIds, row: int, sets: Substitutions, key: bytes, copy_number: int) -> WordIds:
    """Return one choice of each word, all choices alike."""
    choices, sizes = sets.choices[words], sets.choice_counts[words]
    indices = make_generator(key, "copy", str(copy_number), str(row)).integers(sizes)
    # The distinct choices of a word come first in its row, itself at the front.
    chosen: WordIds = choices[np.arange(len(words)), indices]
    return chosen
