"""The convolutional network of Jia et al. 2019, section 5.1, for classes of one text."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from deniable.robust.text.documents import Documents, Rows, Texts
from deniable.robust.text.intervals import Held, linear, monotone, relu, through
from deniable.robust.text.models.convolved import convolved
from deniable.robust.text.models.projected import Projected
from deniable.robust.text.models.words import Distinct
from deniable.robust.text.network import Batch, Scorer

HIDDEN = 100
"""Units of every layer."""


class Convolutional(Projected):
    """Linear, ReLU, a convolution of width 3, ReLU, the mean over words, dropout 0.2, linear, ReLU, linear.

    A convolution over words is the sum of what three taps make of three neighbours, so each distinct word meets each
    tap once, and a text is looked up and added. Nothing is added behind the ends of a text.
    """

    longest = 20_000
    paired = False

    def __init__(self, vectors: Tensor, classes: int) -> None:
        super().__init__(vectors, classes, projected=HIDDEN, features=HIDDEN, dropout=([HIDDEN], 0.2))
        self.convolution = nn.Conv1d(HIDDEN, HIDDEN, 3, padding=1, bias=False)
        self.bias = nn.Parameter(torch.zeros(HIDDEN))  # of the convolution, added where its taps are
        self.hidden = nn.Linear(HIDDEN, HIDDEN)

    def features(self, words: Held, found: Distinct, given: Batch, keep: Sequence[Tensor]) -> Held:
        """See `Projected.features`."""
        present, neighbours = given.present, _neighbours(found)

        def beside(taps: Tensor) -> Tensor:  # (D + 1, 3 * 100) -> (b, L, 100)
            parts = zip(taps.view(-1, 3, HIDDEN).unbind(1), neighbours, strict=True)
            before, own, behind = (part.index_select(0, rows) for part, rows in parts)  # (b L, 100) each
            return (
                before.add_(own).add_(behind).view(*present.shape, HIDDEN)
            )  # in place: memory is what takes time here

        share = (present / present.sum(dim=1, keepdim=True)).to(self.bias)  # (b, L)

        def mean(hidden: Tensor) -> Tensor:  # (b, L, 100) -> (b, 100)
            return (share.unsqueeze(1) @ hidden).squeeze(1) * keep[0]

        at_words = relu(monotone(self._taps(words), beside))
        return self._head(monotone(at_words, mean))

    def _taps(self, words: Held) -> Held:
        """Return what the three taps make of each word, (D, 100) -> (D, 300)."""
        weight = self.convolution.weight.permute(2, 0, 1).reshape(3 * HIDDEN, HIDDEN)
        return linear(relu(words), weight, functional.pad(self.bias, (HIDDEN, HIDDEN)))

    def _head(self, pooled: Held) -> Held:
        """Return the last hidden units (b, 100)."""
        return relu(through(pooled, self.hidden))

    @torch.no_grad()
    def scorer(self, documents: Documents) -> Scorer:  # noqa: ARG002 - a text has no premise
        """See `TextNetwork.scorer`; what the taps make of all words is computed once, and texts are looked up."""
        vectors = self.projection.vectors
        taps = self._taps(self.projection.linear(vectors)).view(len(vectors), 3, HIDDEN).cpu().numpy()

        @torch.no_grad()
        def score(versions: Texts, rows: Rows) -> npt.NDArray[np.float32]:  # noqa: ARG001 - as above
            pooled = torch.from_numpy(convolved(versions, taps)).to(vectors.device)
            logits: npt.NDArray[np.float32] = self.output(self._head(pooled)).cpu().numpy()
            return logits

        return score


def _neighbours(found: Distinct) -> tuple[Tensor, Tensor, Tensor]:
    """Return which of the distinct words stands before, at and behind every place (b L,)."""
    before = functional.pad(found.places, (1, -1), value=len(found.numbers))
    behind = functional.pad(found.places, (-1, 1), value=len(found.numbers))
    return before.flatten(), found.places.flatten(), behind.flatten()
