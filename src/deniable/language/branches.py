r"""What a language model says of many continuations of a text, which is read once.

A *trunk* is a list of tokens, and a *branch* other tokens that follow its first k. With t_1 ... t_m the tokens of the
branch and h the k tokens before::

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

_CPU_LOGITS, _GPU_LOGITS = 50_000_000, 1_600_000_000
"""Logits in memory at a time: tokens that are read together, times the vocabulary."""
_CPU_TOKENS, _GPU_TOKENS = 8_192, 32_768
"""Tokens before branches that are kept for them at a time."""
_LOGITS_AT_A_TIME = 512


@dataclasses.dataclass(frozen=True)
class Branch:
    """Tokens that may follow a part of a trunk.

    Attributes:
        trunk: its number.
        place: number of tokens of the trunk that come before, at least 1.
        tokens: of the branch, at least 1.
    """

    trunk: int
    place: int
    tokens: tuple[int, ...]


def predict_tokens(
    model: LanguageModel, trunks: Sequence[Sequence[int]], places: Sequence[IntArray]
) -> "Iterator[tuple[list[int], torch.Tensor]]":
    """Yield trunks and the log-probabilities (k, V) of the token at each of k places of theirs, in float32.

    Args:
        model: public.
        trunks: lists of tokens, not longer than the context.
        places: of each trunk, the numbers of tokens after which the next one is predicted, at least 1 each.

    Yields:
        The numbers of some trunks, in their order, and the rows of their places, one after the other.
    """
    import torch

    for numbers in _cut(list(map(len, trunks)), _limit_cells(model)):
        width = max(len(trunks[number]) for number in numbers)
        padded = [[*trunks[number], *[0] * (width - len(trunks[number]))] for number in numbers]
        rows = np.repeat(np.arange(len(numbers)), [len(places[number]) for number in numbers])
        columns = np.concatenate([places[number] for number in numbers]) - 1
        device = model.network.device
        with torch.inference_mode():
            # What pads a row stands after it, where no token of it looks.
            logits = model.network(input_ids=torch.tensor(padded, device=device), use_cache=False).logits
            chosen = logits[torch.as_tensor(rows, device=device), torch.as_tensor(columns, device=device)]
            del logits
            logs = torch.log_softmax(chosen.float(), dim=1)
            del chosen
        yield numbers, logs


def score_branches(
    model: LanguageModel, trunks: Sequence[Sequence[int]], branches: Sequence[Branch], endings: "torch.Tensor | None"
) -> FloatArray:
    """Return ln P (k,) of each branch after its part of the trunk.

    Args:
        model: public.
        trunks: lists of tokens.
        branches: k of them; trunk and branch together are not longer than the context.
        endings: (V,) True for the tokens one of which must follow a branch; None where any may.
    """
    import torch

    scores = np.zeros(len(branches))
    read = Readings(model.network, len(trunks))
    if any(len(trunk) > 1 for trunk in trunks):
        read.read([trunk[:-1] for trunk in trunks])
    for numbers in _group(branches, _limit_cells(model), _GPU_TOKENS if _is_gpu(model) else _CPU_TOKENS):
        group = [branches[number] for number in numbers]
        targets = [[*branch.tokens, *([-1] if endings is not None else [])] for branch in group]
        before = [trunks[branch.trunk][branch.place - 1] for branch in group]
        readings = read.choose([branch.trunk for branch in group], [branch.place - 1 for branch in group])
        logits = readings.read(
            [[first, *wanted[:-1]] for first, wanted in zip(before, targets, strict=True)], everywhere=True
        )
        which = np.repeat(numbers, [len(wanted) for wanted in targets])
        target = torch.tensor([*itertools.chain.from_iterable(targets)], device=logits.device)
        for first in range(0, len(target), _LOGITS_AT_A_TIME):
            part = slice(first, first + _LOGITS_AT_A_TIME)
            chosen = logits[part].float()
            logs = chosen.gather(1, target[part].clamp(min=0)[:, None])[:, 0]
            if endings is not None:
                ending = torch.logsumexp(chosen.masked_fill(~endings, -torch.inf), dim=1)
                logs = torch.where(target[part] < 0, ending, logs)
            np.add.at(scores, which[part], (logs - torch.logsumexp(chosen, dim=1)).double().cpu().numpy())
    return scores


def _is_gpu(model: LanguageModel) -> bool:
    return str(model.network.device.type) != "cpu"


def _limit_cells(model: LanguageModel) -> int:
    return (_GPU_LOGITS if _is_gpu(model) else _CPU_LOGITS) // model.card.vocabulary


def _cut(lengths: Sequence[int], cells: int) -> Iterator[list[int]]:
    """Yield consecutive numbers whose rows, padded to the longest, have at most so many tokens together."""
    group: list[int] = []
    width = 0
    for number, length in enumerate(lengths):
        if group and max(width, length) * (len(group) + 1) > cells:
            yield group
            group, width = [], 0
        group.append(number)
        width = max(width, length)
    if group:
        yield group


def _group(branches: Sequence[Branch], cells: int, kept: int) -> Iterator[list[int]]:
    """Yield the numbers of branches that are read together: near each other, and not too long."""
    order = sorted(range(len(branches)), key=lambda number: (branches[number].trunk, branches[number].place))
    group: list[int] = []
    size = longest = 0
    for number in order:
        branch = branches[number]
        size, longest = size + len(branch.tokens) + 1, max(longest, branch.place)
        if group and (size > cells or longest * (len(group) + 1) > kept):
            yield group
            group, size, longest = [], len(branch.tokens) + 1, branch.place
        group.append(number)
    if group:
        yield group
