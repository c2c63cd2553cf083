"""Rows before and after, in pieces."""

import numpy as np

from deniable import TEM
from deniable.measure.batches import privatize_texts
from deniable.measure.report.examples import MAX_SHOWN_WORDS, build_examples
from tests.conftest import SMALL_WORDS


def test_excerpts_of_long_and_touching_words(small_space):
    """Words that touch are found again in the private text, and long texts are cut."""
    text = f"{SMALL_WORDS[0]}n't {SMALL_WORDS[1]}_{SMALL_WORDS[2]}."
    long = " ".join(SMALL_WORDS * 2)
    drawn = privatize_texts(TEM(small_space, epsilon=0.1), [text, long], seed=1)
    first, second = build_examples(small_space, [text, long], drawn, np.array([0, 1]), np.array([6, 7]))
    assert (first.row, second.row) == (7, 8)
    assert "".join(piece for piece, _ in first.before) == text
    assert "".join(piece for piece, _ in first.after) == drawn.texts[0]
    assert [changed for _, changed in first.after].count(True) == drawn.changed_mask[: drawn.offsets[1]].sum()
    assert second.after[-1] == (" …", False)
    assert "".join(piece for piece, _ in second.before).split()[:-1] == [*SMALL_WORDS][:MAX_SHOWN_WORDS]
