"""Batches of texts of like length."""

import numpy as np
import numpy.typing as npt

from deniable.randomness import generator

Rows = npt.NDArray[np.int64]
_ALIKE = 100
"""Batches whose texts are put in order of length together: short texts are not padded to the length of long ones."""


class Deal:
    """Batches of texts of like length: every epoch deals all texts anew.

    Args:
        lengths: (n,) of the texts.
        size: of a batch; the last ones may be smaller.
        key: 32 bytes, from which the order follows.
    """

    def __init__(self, lengths: Rows, size: int, key: bytes) -> None:
        self._lengths, self._size, self._key = lengths, size, key
        self.batches = -(-len(lengths) // size)
        self._epoch, self._dealt = -1, list[Rows]()

    def __call__(self, number: int) -> Rows:
        """Return the rows of step ``number``."""
        epoch, place = divmod(number, self.batches)
        if epoch != self._epoch:
            self._epoch, self._dealt = epoch, self._deal(generator(self._key, "epoch", str(epoch)))
        return self._dealt[place]

    def _deal(self, coins: np.random.Generator) -> list[Rows]:
        order = coins.permutation(len(self._lengths))
        together = self._size * _ALIKE
        runs = [order[at : at + together] for at in range(0, len(order), together)]
        alike = np.concatenate([run[np.argsort(self._lengths[run], kind="stable")] for run in runs])
        cut = [alike[at : at + self._size] for at in range(0, len(alike), self._size)]
        return [cut[place] for place in coins.permutation(len(cut))]
