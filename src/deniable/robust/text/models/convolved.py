"""A convolution over the words of many texts by looking up what its taps make of each word."""

import functools

import numpy as np
import numpy.typing as npt

from deniable.parallel import compile_loop
from deniable.robust.text.documents import IndexedTexts, TextOffsets, WordIds
from deniable.robust.text.models.pieces import process_in_slices

_FloatArray = npt.NDArray[np.float32]


def average_convolutions(texts: IndexedTexts, taps: _FloatArray) -> _FloatArray:
    """Return the means (R, h) over the words of each text of max(0, taps of the word and its neighbours).

    Args:
        texts: R texts, none empty.
        taps: (V, 3, h), what the taps of the word before, the word itself and the word behind make of each word.
    """
    means = np.zeros((len(texts), taps.shape[2]), dtype=np.float32)

    def convolve_slice(part: slice) -> None:
        _add_convolved_means(texts.words, texts.offsets[part.start : part.stop + 1], taps, means[part])

    process_in_slices(convolve_slice, texts)
    return means


@functools.partial(compile_loop, relaxed=True)
def _add_convolved_means(
    words: WordIds, offsets: TextOffsets, taps: _FloatArray, out: _FloatArray
) -> None:  # pragma: no cover
    """Add the mean of each text to its row of out."""
    zeros = np.zeros(out.shape[1], dtype=np.float32)
    for text in range(offsets.size - 1):
        start, end = offsets[text], offsets[text + 1]
        sums = out[text]
        for position in range(start, end):
            before = taps[words[position - 1], 0] if position > start else zeros
            own = taps[words[position], 1]
            behind = taps[words[position + 1], 2] if position + 1 < end else zeros
            for unit in range(out.shape[1]):
                sums[unit] += max(before[unit] + own[unit] + behind[unit], np.float32(0))
        for unit in range(out.shape[1]):
            sums[unit] /= np.float32(end - start)
