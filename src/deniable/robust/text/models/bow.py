"""The bag of words of Jia et al. 2019, section 5.1, for pairs of texts, and its like for single ones."""

from collections.abc import Sequence
from typing import cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from deniable.robust.text.documents import Documents, Rows, Texts
from deniable.robust.text.intervals import Held, concatenated, like, monotone, relu, through
from deniable.robust.text.models.projected import Projected
from deniable.robust.text.models.words import Distinct, total
from deniable.robust.text.network import Batch, Scorer

HIDDEN = 300
"""Size of a projected word."""

LAYERS = 3


class BagOfWords(Projected):
    """Linear and ReLU on every word, the mean over words, and three layers with ReLU and dropout 0.1.

    Jia et al. add the words of a sentence; those of a review are too many for that, and their mean is taken.
    """

    longest = 20_000
    paired = False

    def __init__(self, vectors: Tensor, classes: int) -> None:
        width = HIDDEN * (2 if self.paired else 1)
        super().__init__(vectors, classes, projected=HIDDEN, features=width, dropout=([width] * LAYERS, 0.1))
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(LAYERS))

    def features(self, words: Held, found: Distinct, given: Batch, keep: Sequence[Tensor]) -> Held:
        """See `Projected.features`."""
        lengths = given.present.sum(dim=1)
        pooled = monotone(relu(words), lambda rows: self._pooled(total(rows, found.places), lengths))
        if self.paired:
            premise, at, _ = self.premise(given)
            pooled = concatenated(like(pooled, total(premise.relu(), at.places)), pooled)  # (b, 600)
        return self._head(pooled, keep)

    def _pooled(self, sums: Tensor, lengths: Tensor) -> Tensor:
        """Return what is kept (b, 300) of the sums over the words of texts of such lengths (b,)."""
        return sums if self.paired else sums / lengths.unsqueeze(1)

    def _head(self, pooled: Held, keep: Sequence[Tensor]) -> Held:
        """Return the last hidden units (b, width)."""
        for layer, factors in zip(self.layers, keep, strict=True):
            pooled = monotone(relu(through(pooled, cast("nn.Linear", layer))), factors.mul)
        return pooled

    @torch.no_grad()
    def scorer(self, documents: Documents) -> Scorer:
        """See `TextNetwork.scorer`; all words and all premises are projected once."""
        table = self.projection.linear(self.projection.vectors).relu()  # (V, 300)
        keep = [torch.ones((), device=table.device)] * LAYERS
        before = table[:0] if documents.premises is None else _sums(documents.premises, table)  # (n, 300)

        @torch.no_grad()
        def score(versions: Texts, rows: Rows) -> npt.NDArray[np.float32]:
            pooled = self._pooled(_sums(versions, table), torch.from_numpy(versions.lengths).to(table.device))
            if self.paired:
                pooled = torch.cat([before[torch.from_numpy(rows)], pooled], dim=1)
            logits: npt.NDArray[np.float32] = self.output(self._head(pooled, keep)).cpu().numpy()
            return logits

        return score


class BagsOfWords(BagOfWords):
    """The network of Jia et al. for entailment: a sum for each sentence, both side by side, and layers of 600."""

    paired = True


def _sums(held: Texts, table: Tensor) -> Tensor:
    """Return the sums (R, h) over the words of texts of what a table (V, h) holds of each."""
    words = torch.from_numpy(held.words.astype(np.int64)).to(table.device)
    return functional.embedding_bag(words, table, torch.from_numpy(held.offsets[:-1]).to(table.device), mode="sum")
