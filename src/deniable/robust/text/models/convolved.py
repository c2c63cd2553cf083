"""A convolution over the words of many texts by looking up what its taps make of each word."""

import functools

import numpy as np
import numpy.typing as npt

from deniable.parallel import compiled
from deniable.robust.text.documents import Offsets, Texts, Words
from deniable.robust.text.models.pieces import in_pieces

Array = npt.NDArray[np.float32]


def convolved(held: Texts, taps: Array) -> Array:
    """Return the means (R, h) over the words of each text of max(0, taps of the word and its neighbours).

    Args:
        held: R texts, none empty.
        taps: (V, 3, h), what the taps of the word before, the word itself and the word behind make of each word.
    """
    out = np.zeros((len(held), taps.shape[2]), dtype=np.float32)

    def work(piece: slice) -> None:
        _convolve(held.words, held.offsets[piece.start : piece.stop + 1], taps, out[piece])

    in_pieces(work, held)
    return out


@functools.partial(compiled, relaxed=True)
def _convolve(words: Words, offsets: Offsets, taps: Array, out: Array) -> None:  # pragma: no cover
    """Add the mean of each text to its row of out."""
    nothing = np.zeros(out.shape[1], dtype=np.float32)
    for text in range(offsets.size - 1):
        start, end = offsets[text], offsets[text + 1]
        sums = out[text]
        for at in range(start, end):
            before = taps[words[at - 1], 0] if at > start else nothing
            own = taps[words[at], 1]
            behind = taps[words[at + 1], 2] if at + 1 < end else nothing
            for unit in range(out.shape[1]):
                sums[unit] += max(before[unit] + own[unit] + behind[unit], np.float32(0))
        for unit in range(out.shape[1]):
            sums[unit] /= np.float32(end - start)
