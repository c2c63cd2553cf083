r"""What a language model says of many continuations of a text, which is read once.

A *trunk* is a list of tokens, and a *branch* other tokens that may follow its first k. With t_1 ... t_m the tokens of
the branch and h the k tokens before::

    ln P(branch | h) = sum over j of ln P(t_j | h, t_1, ..., t_j-1)
"""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from deniable.core.arrays import FloatArray, IntArray
from deniable.language.model import LanguageModel
from deniable.language.readings import Readings

if TYPE_CHECKING:
    import torch

_ROWS = 128
"""Rows of logits that are in float32 at a time."""


@dataclasses.dataclass(frozen=True)
class _Limits:
    """How much is in memory at a time.

    Attributes:
        trunks: that are read together.
        tokens: of these, as if each were as long as the longest.
        logits: of places, or of tokens of branches, times the vocabulary.
        looks: of tokens of branches at those of trunks, by all heads, as if all trunks had as many of both.
    """

    trunks: int
    tokens: int
    logits: int
    looks: int


_CPU, _GPU = _Limits(16, 4_096, 50_000_000, 10_000_000), _Limits(64, 32_768, 1_600_000_000, 200_000_000)


@dataclasses.dataclass(frozen=True)
class Branch:
    """Tokens that may stand at a place.

    Attributes:
        place: its number among the k places of the trunks.
        tokens: at least 1.
    """

    place: int
    tokens: tuple[int, ...]


class Trunks:
    """Texts that are read once, and asked what may follow k places of theirs.

    Args:
        model: public.
        trunks: lists of tokens, not longer than the context; they are read up to the last place.
        places: of each trunk, the numbers of tokens, ascending, after which something is asked, at least 1 each; see
            `cut_trunks`.
    """

    def __init__(self, model: LanguageModel, trunks: Sequence[Sequence[int]], places: Sequence[IntArray]) -> None:
        import torch

        self._limits, self._vocabulary = _get_limits(model), model.card.vocabulary
        self._heads = int(model.network.config.get_text_config().num_attention_heads)
        self._trunks = np.repeat(np.arange(len(trunks)), list(map(len, places)))
        self._places = np.concatenate(places)
        lengths = [int(own[-1]) for own in places]
        offsets = np.cumsum([0, *lengths])
        self._readings = Readings(model.network, len(trunks))
        read = [trunk[:length] for trunk, length in zip(trunks, lengths, strict=True)]
        self._logits = self._readings.read(read, after=offsets[self._trunks] + self._places - 1)
        self._totals = torch.cat([torch.logsumexp(part.float(), dim=1) for part in torch.split(self._logits, _ROWS)])

    def predict(self, part: slice = slice(None)) -> "torch.Tensor":
        """Return the log-probabilities (j, V) of the token at j of the places, in float32."""
        return self._logits[part].float() - self._totals[part, None]

    def score(self, branches: Sequence[Branch], endings: "torch.Tensor | None") -> FloatArray:
        """Return ln P (B,) of each branch at its place.

        Args:
            branches: B of them; the tokens before a branch and its own are together not longer than the context.
            endings: (V,) True for the tokens one of which must follow a branch; None where any may.
        """
        import torch

        places = np.array([branch.place for branch in branches], dtype=np.int64)
        rows = torch.as_tensor(places, device=self._logits.device)
        firsts = torch.tensor([branch.tokens[0] for branch in branches], dtype=torch.int64, device=rows.device)
        scores: FloatArray = (self._logits[rows, firsts].float() - self._totals[rows]).double().cpu().numpy()
        rests = [[*branch.tokens[1:], *([-1] if endings is not None else [])] for branch in branches]
        for numbers in self._group(places, list(map(len, rests))):
            logits = self._readings.read_branches(
                self._trunks[places[numbers]].tolist(),
                self._places[places[numbers]].tolist(),
                [branches[number].tokens[: len(rests[number])] for number in numbers],
            )
            which = np.repeat(numbers, [len(rests[number]) for number in numbers])
            targets = itertools.chain.from_iterable(rests[number] for number in numbers)
            np.add.at(scores, which, _score_rows(logits, torch.tensor([*targets], device=logits.device), endings))
            del logits  # before the next ones are there
        return scores

    def _group(self, places: IntArray, sizes: Sequence[int]) -> Iterator[list[int]]:
        """Yield the numbers of branches with any tokens that are read together: near each other, and not too many."""
        group: list[int] = []
        size = begin = last = width = widest = longest = 0
        for number in np.argsort(places, kind="stable").tolist():
            own, trunk, before = sizes[number], int(self._trunks[places[number]]), int(self._places[places[number]])
            if not own:
                continue
            width = width + own if trunk == last else own  # tokens of the branches of one trunk
            size, widest, longest = size + own, max(widest, width), max(longest, before)
            looks = (trunk + 1 - begin) * widest * longest * self._heads
            if group and (size * self._vocabulary > self._limits.logits or looks > self._limits.looks):
                yield group
                group = []
            if not group:
                size = width = widest = own
                begin, longest = trunk, before
            group.append(number)
            last = trunk
        if group:
            yield group


def cut_trunks(model: LanguageModel, places: Sequence[IntArray]) -> Iterator[slice]:
    """Yield consecutive trunks that are read together.

    Args:
        model: public.
        places: asked of each trunk, ascending.
    """
    limits = _get_limits(model)
    first = longest = asked = 0
    for number, own in enumerate(places):
        longest, asked, count = max(longest, int(own[-1])), asked + len(own), number + 1 - first
        is_much = longest * count > limits.tokens or asked * model.card.vocabulary > limits.logits
        if number > first and (is_much or count > limits.trunks):
            yield slice(first, number)
            first, longest, asked = number, int(own[-1]), len(own)
    if len(places):
        yield slice(first, len(places))


def _get_limits(model: LanguageModel) -> _Limits:
    return _CPU if str(model.network.device.type) == "cpu" else _GPU


def _score_rows(logits: "torch.Tensor", targets: "torch.Tensor", endings: "torch.Tensor | None") -> FloatArray:
    """Return the log-probability (k,) of a token in each row; of any ending, for -1."""
    import torch

    parts = []
    for rows, wanted in zip(torch.split(logits, _ROWS), torch.split(targets, _ROWS), strict=True):
        scores = rows.float() - rows.amax(dim=1, keepdim=True)
        own = scores.gather(1, wanted.clamp(min=0)[:, None])[:, 0]
        shares = scores.exp_()
        if endings is not None:
            ending = (shares @ endings.float()).clamp(min=torch.finfo(torch.float32).tiny).log()
            own = torch.where(wanted < 0, ending, own)
        parts.append(own - shares.sum(dim=1).log())
    found: FloatArray = torch.cat(parts).double().cpu().numpy()
    return found
