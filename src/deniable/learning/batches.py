"""Batches of texts of similar length."""

import numpy as np
import numpy.typing as npt

from deniable.core.randomness import make_generator

IntArray = npt.NDArray[np.int64]
_BATCHES_PER_SORT = 100
"""Batches that are sorted by length together, so that short texts are not padded to the length of long ones."""


class LengthBucketSampler:
    """Batches of texts of similar length: every epoch shuffles all texts anew.

    Args:
        lengths: lengths of the texts, (n,).
        batch_size: number of texts in a batch; the last ones may be smaller.
        key: 32 bytes; the order follows from it.
    """

    def __init__(self, lengths: IntArray, batch_size: int, key: bytes) -> None:
        self._lengths, self._size, self._key = lengths, batch_size, key
        self.batches_per_epoch = -(-len(lengths) // batch_size)
        self._epoch, self._epoch_batches = -1, list[IntArray]()

    def __call__(self, step: int) -> IntArray:
        """Return the rows of step ``step``."""
        epoch, position = divmod(step, self.batches_per_epoch)
        if epoch != self._epoch:
            self._epoch, self._epoch_batches = epoch, self._draw_epoch(make_generator(self._key, "epoch", str(epoch)))
        return self._epoch_batches[position]

    def _draw_epoch(self, rng: np.random.Generator) -> list[IntArray]:
        order = rng.permutation(len(self._lengths))
        sort_span = self._size * _BATCHES_PER_SORT
        spans = [order[at : at + sort_span] for at in range(0, len(order), sort_span)]
        sorted_rows = np.concatenate([span[np.argsort(self._lengths[span], kind="stable")] for span in spans])
        batches = [sorted_rows[at : at + self._size] for at in range(0, len(sorted_rows), self._size)]
        return [batches[position] for position in rng.permutation(len(batches))]
