"""The FastText form (Joulin et al. 2017): the mean of learned embeddings, and one linear layer."""

import math

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from deniable.measure.fasttext import Net
from deniable.robust.text.documents import Documents, Rows, Texts
from deniable.robust.text.intervals import SLACK
from deniable.robust.text.models.pieces import in_pieces
from deniable.robust.text.models.words import distinct, total, with_nothing
from deniable.robust.text.network import Batch, Scorer, TextNetwork
from deniable.robust.text.substitutions import Substitutions

DIMENSIONS = 16


class FastText(TextNetwork):
    """The network of `deniable.measure.fasttext.FastText` over the words of a space, whose vectors it does not use.

    It is linear, so a text's logits are the means of its words' scores, and its margins are exact but for the
    slack for rounding: a text has its least one where every word is the worst of its choices.
    """

    longest = 20_000
    paired = False

    def __init__(self, vectors: Tensor, classes: int) -> None:
        super().__init__()
        # The start of a linear layer is uniform in -+ 1 / sqrt(inputs), and drawn where all first weights are.
        start = nn.Linear(DIMENSIONS, len(vectors), bias=False).weight.detach() / math.sqrt(DIMENSIONS)
        self.net = Net(start, classes)

    def forward(self, given: Batch) -> Tensor:
        """Return logits (b, K)."""
        starts = given.present.sum(dim=1).cumsum(dim=0).roll(1)
        starts[:1] = 0
        logits: Tensor = self.net(given.words[given.present], starts)
        return logits

    def both(self, given: Batch, sets: Substitutions, scale: float = 1.0) -> tuple[Tensor, Tensor]:
        """See `TextNetwork.both`; the bound is the mean over words of the least z_y - z_k among the choices of each."""
        found = distinct(given.words, given.present)
        choices = torch.from_numpy(sets.choices)[found.numbers.cpu()].to(found.numbers)  # (D, k)
        candidates, rows = torch.unique(choices, return_inverse=True)
        scores = self.net.output(self.net.embeddings.weight[candidates])  # (C, K)
        classes = scores.shape[1]
        ahead = (scores.unsqueeze(2) - scores.unsqueeze(1)).view(-1, classes**2)  # (C, K K): z_y - z_k, of y before k
        ahead = ahead - SLACK * ahead.abs()
        own = ahead[rows[:, 0]]
        least = torch.lerp(own, ahead[rows].amin(dim=1), scale)  # (D, K K)
        lengths = given.present.sum(dim=1, keepdim=True)
        means = (total(with_nothing(least), found.places) / lengths).view(-1, classes, classes)  # (b, K, K)
        bounds = means[torch.arange(len(means), device=means.device), given.labels]
        logits = total(with_nothing(scores[rows[:, 0]]), found.places) / lengths
        return logits, bounds

    @torch.no_grad()
    def scorer(self, documents: Documents) -> Scorer:  # noqa: ARG002 - a text has no premise
        """See `TextNetwork.scorer`; a text is the mean of the scores of its words."""
        table = self.net.output(self.net.embeddings.weight).cpu()  # (V, K)

        def score(versions: Texts, rows: Rows) -> npt.NDArray[np.float32]:  # noqa: ARG001 - as above
            logits = np.empty((len(versions), table.shape[1]), dtype=np.float32)

            def work(piece: slice) -> None:
                offsets = versions.offsets[piece.start : piece.stop + 1]
                words = torch.from_numpy(versions.words[offsets[0] : offsets[-1]])  # int32, as their starts then are
                starts = torch.from_numpy((offsets[:-1] - offsets[0]).astype(np.int32))
                logits[piece] = nn.functional.embedding_bag(words, table, starts, mode="mean").numpy()

            in_pieces(work, versions)
            return logits

        return score
