"""The distinct words of a batch: each is projected once, however often it stands there."""

import dataclasses

import torch
from torch import Tensor, nn
from torch.nn import functional

from deniable.robust.text.intervals import Box
from deniable.robust.text.substitutions import Substitutions


@dataclasses.dataclass(frozen=True, eq=False)
class Distinct:
    """Which words stand in a batch, and where.

    Attributes:
        numbers: int64 (D,) of the words.
        places: int64 (b, L), the row of ``numbers`` that stands there; D where there is no word.
    """

    numbers: Tensor
    places: Tensor


def distinct(words: Tensor, present: Tensor) -> Distinct:
    """Return the distinct words of a batch.

    Args:
        words: int64 (b, L).
        present: bool (b, L).
    """
    numbers, rows = torch.unique(words[present], return_inverse=True)
    places = torch.full_like(words, len(numbers))
    places[present] = rows
    return Distinct(numbers, places)


def with_nothing(rows: Tensor) -> Tensor:
    """Return rows (D, h) and one of zeros behind them, which is what stands where there is no word."""
    return functional.pad(rows, (0, 0, 0, 1))


def total(rows: Tensor, places: Tensor) -> Tensor:
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

    def forward(self, numbers: Tensor) -> Tensor:
        """Return the projections (D, h) of words (D,)."""
        projected: Tensor = self.linear(self.vectors.index_select(0, numbers))
        return projected

    def box(self, numbers: Tensor, sets: Substitutions, scale: float) -> tuple[Tensor, Box]:
        """Return the projections (D, h) of words and the smallest boxes around those of their choices.

        A box around the projections is tighter than the projection of a box around the vectors (Jia et al. 2019,
        section 3.2).

        Args:
            numbers: int64 (D,).
            sets: the choices of every word.
            scale: in [0, 1], see `deniable.robust.text.network.TextNetwork.both`.
        """
        choices = torch.from_numpy(sets.choices)[numbers.cpu()].to(numbers)  # (D, k)
        candidates, rows = torch.unique(choices.mT, return_inverse=True)  # (C,), (k, D)
        projected = self(candidates)  # (C, h)
        own, (low, high) = projected.index_select(0, rows[0]), _extremes(projected, rows)
        # Interpolation is exact at both ends, so that a full box holds every choice.
        return own, Box(torch.lerp(own, low, scale), torch.lerp(own, high, scale))


def _extremes(projected: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    """Return the least and the greatest (D, h) in each column of some rows (k, D) of projections (C, h).

    They are looked up where they stand, so that (D, h) gradients go back and not the (k, D, h) of `Tensor.amin`.
    """
    held = projected.detach().index_select(0, rows.flatten()).view(*rows.shape, -1)  # (k, D, h)
    slots = torch.arange(len(rows)).to(held).view(-1, 1, 1)

    def found(among: Tensor, extreme: Tensor) -> Tensor:  # (k, D, h), which is written to, and (D, h) -> (D, h)
        slot = among.eq_(extreme).mul_(slots).amax(dim=0)  # of numbers, which are faster than bools here
        return projected.gather(0, rows.mT.gather(1, slot.long()))

    least, most = held.amin(dim=0), held.amax(dim=0)
    return found(held.clone(), least), found(held, most)
