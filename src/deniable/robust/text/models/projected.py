"""What the networks over frozen, projected word vectors share: all but their body."""

import abc
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from deniable.robust.text.documents import Documents, Rows, Texts
from deniable.robust.text.intervals import Held, margins, monotone
from deniable.robust.text.models.words import Distinct, Projection, distinct, with_nothing
from deniable.robust.text.network import Batch, Scorer, TextNetwork, batch
from deniable.robust.text.substitutions import Substitutions

_AT_ONCE = 1 << 15
"""Words of texts and premises that are scored side by side."""


class Projected(TextNetwork):
    """A network whose body is one function of projected words, be they numbers or boxes.

    Args:
        vectors: float32 (V, d), frozen and not saved with the weights.
        classes: K.
        projected: size of a projected word.
        features: size of what the last layer takes.
        dropout: sizes of the vectors that dropout meets on the way, and its probability.
    """

    def __init__(
        self, vectors: Tensor, classes: int, *, projected: int, features: int, dropout: tuple[Sequence[int], float]
    ) -> None:
        super().__init__()
        self.projection = Projection(vectors, projected)
        self.output = nn.Linear(features, classes)
        self._dropped, self._rate = dropout

    @abc.abstractmethod
    def features(self, words: Held, found: Distinct, given: Batch, keep: Sequence[Tensor]) -> Held:
        """Return what the last layer takes (b, n).

        Args:
            words: projections (D + 1, h) of the batch's distinct words, the last of zeros.
            found: where they stand.
            given: the batch.
            keep: factors of dropout, one for each size.
        """

    def premise(self, given: Batch) -> tuple[Tensor, Distinct, Tensor]:
        """Return the premises' distinct words (D + 1, h), where they stand, and whether there is one (b, P)."""
        if given.premise is None or given.premise_present is None:
            raise TypeError(f"{type(self).__name__} takes pairs of texts")
        found = distinct(given.premise, given.premise_present)
        return with_nothing(self.projection(found.numbers)), found, given.premise_present

    def forward(self, given: Batch) -> Tensor:
        """Return logits (b, K)."""
        return self._logits(given, self._keep(given))

    def both(self, given: Batch, sets: Substitutions, scale: float = 1.0) -> tuple[Tensor, Tensor]:
        """See `TextNetwork.both`; the same projections and the same dropout serve both."""
        found, keep = distinct(given.words, given.present), self._keep(given)
        own, box = self.projection.box(found.numbers, sets, scale)
        at_own = self.features(with_nothing(own), found, given, keep)
        at_box = self.features(monotone(box, with_nothing), found, given, keep)
        logits: Tensor = self.output(at_own)
        return logits, margins(at_box, self.output.weight, self.output.bias, given.labels)

    def scorer(self, documents: Documents) -> Scorer:
        """See `TextNetwork.scorer`; versions of like length are scored side by side."""
        keep = [torch.ones((), device=self.output.weight.device)] * len(self._dropped)
        zero = np.zeros(1, dtype=np.int64)

        @torch.no_grad()
        def score(versions: Texts, rows: Rows) -> npt.NDArray[np.float32]:
            out = np.empty((len(versions), self.output.out_features), dtype=np.float32)
            sizes = versions.lengths + (0 if documents.premises is None else documents.premises.lengths[rows])
            order = np.argsort(sizes, kind="stable")
            # A text starts a new batch where the words before it, padded to its own length, fill another one.
            cuts = np.flatnonzero(np.diff(np.cumsum(sizes[order]) // _AT_ONCE, prepend=zero))
            for chosen in np.split(order, cuts):
                some = documents.take(rows[chosen])
                given = batch(
                    Documents(versions.take(chosen), some.labels, some.classes, some.premises), keep[0].device
                )
                out[chosen] = self._logits(given, keep).cpu().numpy()
            return out

        return score

    def _logits(self, given: Batch, keep: Sequence[Tensor]) -> Tensor:
        found = distinct(given.words, given.present)
        words = with_nothing(self.projection(found.numbers))
        logits: Tensor = self.output(self.features(words, found, given, keep))
        return logits

    def _keep(self, given: Batch) -> list[Tensor]:
        """Return factors (b, n) for each size: 0 with the probability of dropout in training, and 1 on average."""
        shapes = [(len(given.words), size) for size in self._dropped]
        if not self.training or self.coins is None:
            return [self.output.weight.new_ones(shape) for shape in shapes]
        kept = 1 - self._rate
        chances = [self.output.weight.new_full(shape, kept) for shape in shapes]
        return [torch.bernoulli(chance, generator=self.coins) / kept for chance in chances]
