"""The distinct words of a batch: each is projected once, however often it stands there."""

import dataclasses

import torch
from torch import Tensor, nn
from torch.nn import functional

from deniable.robust.text.intervals import TensorBox
from deniable.robust.text.substitutions import Substitutions


@dataclasses.dataclass(frozen=True, eq=False)
class DistinctWords:
    """Which words stand in a batch, and where.

    Attributes:
        word_ids: int64 (D,) of the words.
        places: int64 (b, L), the row of ``word_ids`` that stands there; D where there is no word.
    """

    word_ids: Tensor
    places: Tensor


def find_distinct_words(words: Tensor, present: Tensor) -> DistinctWords:
    """Return the distinct words of a batch.

    Args:
        words: int64 (b, L).
        present: bool (b, L).
    """
    word_ids, rows = torch.unique(words[present], return_inverse=True)
    places = torch.full_like(words, len(word_ids))
    places[present] = rows
    return DistinctWords(word_ids, places)


def append_zero_row(rows: Tensor) -> Tensor:
    """Return rows (D, h) and one of zeros behind them, which is what stands where there is no word."""
    return functional.pad(rows, (0, 0, 0, 1))


def sum_rows_at(rows: Tensor, places: Tensor) -> Tensor:
    """Return the sums (b, h) of the rows (D, h) at places (b, L)."""
    return functional.embedding_bag(places, rows, mode="sum")


class Projection(nn.Module):
    """Frozen word vectors and a linear layer on them.

    Args:
        vectors: float32 (V, d).
        size: h.
    """

    vectors: Tensor

    def __init__(self, vectors: Tensor, size: int) -> None:
        super().__init__()
        self.register_buffer("vectors", vectors, persistent=False)
        self.linear = nn.Linear(vectors.shape[1], size)

    def forward(self, word_ids: Tensor) -> Tensor:
        """Return the projections (D, h) of words (D,)."""
        projected: Tensor = self.linear(self.vectors.index_select(0, word_ids))
        return projected

    def project_boxes(self, word_ids: Tensor, sets: Substitutions, scale: float) -> tuple[Tensor, TensorBox]:
        """Return the projections (D, h) of words and the smallest boxes around those of their choices.

        A box around the projections is tighter than the projection of a box around the vectors (Jia et al. 2019,
        section 3.2).

        Args:
            word_ids: int64 (D,).
            sets: the choices of every word.
            scale: in [0, 1], see `deniable.robust.text.network.TextNetwork.compute_logits_and_bounds`.
        """
        choices = torch.from_numpy(sets.choices)[word_ids.cpu()].to(word_ids)  # (D, k)
        candidates, rows = torch.unique(choices.mT, return_inverse=True)  # (C,), (k, D)
        projected = self(candidates)  # (C, h)
        own, (low, high) = projected.index_select(0, rows[0]), _find_extremes(projected, rows)
        # Interpolation is exact at both ends, so that a full box holds every choice.
        return own, TensorBox(torch.lerp(own, low, scale), torch.lerp(own, high, scale))


def _find_extremes(projected: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    """Return the least and the greatest (D, h) in each column of some rows (k, D) of projections (C, h).

    They are looked up where they stand, so that (D, h) gradients go back and not the (k, D, h) of `Tensor.amin`.
    """
    choices = projected.detach().index_select(0, rows.flatten()).view(*rows.shape, -1)  # (k, D, h)
    slots = torch.arange(len(rows)).to(choices).view(-1, 1, 1)

    def look_up(values: Tensor, extreme: Tensor) -> Tensor:  # (k, D, h), which is written to, and (D, h) -> (D, h)
        slot = values.eq_(extreme).mul_(slots).amax(dim=0)  # of numbers, which are faster than bools here
        return projected.gather(0, rows.mT.gather(1, slot.long()))

    lowest, highest = choices.amin(dim=0), choices.amax(dim=0)
    return look_up(choices.clone(), lowest), look_up(choices, highest)
