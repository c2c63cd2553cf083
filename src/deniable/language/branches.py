r"""What a language model says of many continuations of a text: each text is read once, with all that may follow.

A *trunk* is a list of tokens, and a *branch* other tokens that follow its first k. With t_1 ... t_m the tokens of the
branch and h the k tokens before::

    ln P(branch | h) = sum over j of ln P(t_j | h, t_1, ..., t_j-1)

Trunk and branches stand in one row, where each branch sees the tokens before it and its own, and no other branch.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from deniable.core.arrays import FloatArray, IntArray
from deniable.core.errors import InputError
from deniable.language.model import LanguageModel

if TYPE_CHECKING:
    import torch

_CPU_LOGITS, _GPU_LOGITS = 100_000_000, 1_600_000_000
"""Logits in memory at a time: tokens that are read together, times the vocabulary."""
_CPU_ROW, _GPU_ROW = 768, 1_536
"""Tokens of a row beside which branches are put in another one: attention takes the square of it."""
_LOGITS_AT_A_TIME = 512
_TOLERANCE = 0.3
"""Share of the spread of logits by which a token of a branch may differ from the same one in a plain row: bfloat16."""


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


@dataclasses.dataclass(frozen=True)
class _Row:
    """Tokens that are read together, and where each branch of them stands."""

    trunk: Sequence[int]
    branches: list[int]
    length: int


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
    scores = np.zeros(len(branches))
    rows = list(_fill_rows(trunks, branches, _GPU_ROW if _is_gpu(model) else _CPU_ROW))
    for numbers in _cut([row.length for row in rows], _limit_cells(model)):
        _score_rows(model, [rows[number] for number in numbers], branches, endings, scores)
    return scores


def check_branches(model: LanguageModel) -> None:
    """Check that a model reads branches as it reads the same tokens in a row.

    Raises:
        InputError: it takes no masks of attention.
    """
    trunk = [number % model.card.vocabulary for number in range(3, 11)]
    branch = Branch(0, 4, (trunk[1], trunk[2], trunk[0]))
    beside = [branch, Branch(0, 8, (trunk[5], trunk[3]))]
    try:
        (found, _) = score_branches(model, [trunk], beside, None)
        ((_, logs),) = predict_tokens(model, [[*trunk[:4], *branch.tokens]], [np.arange(4, 7)])
    except (TypeError, ValueError, RuntimeError):
        found, logs = np.nan, None
    wanted = np.nan if logs is None else sum(float(row[token]) for row, token in zip(logs, branch.tokens, strict=True))
    if logs is None or not abs(found - wanted) <= _TOLERANCE * len(branch.tokens) * float(logs.std()):
        raise InputError(
            f"The model {model.card.name!r} takes no attention masks, which are needed to read words in context: take "
            "one of the Llama family, such as smollm2."
        )


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


def _fill_rows(trunks: Sequence[Sequence[int]], branches: Sequence[Branch], width: int) -> Iterator[_Row]:
    """Yield rows: of one trunk, as far as any of its branches needs it, and as many branches as there is room for."""
    order = sorted(range(len(branches)), key=lambda number: (branches[number].trunk, branches[number].place))
    chosen: list[int] = []
    size = 0
    for number in order:
        branch = branches[number]
        is_other = bool(chosen) and branches[chosen[-1]].trunk != branch.trunk
        if chosen and (is_other or branch.place + size + len(branch.tokens) > width):
            yield _make_row(trunks, branches, chosen, size)
            chosen, size = [], 0
        chosen.append(number)
        size += len(branch.tokens)
    if chosen:
        yield _make_row(trunks, branches, chosen, size)


def _make_row(trunks: Sequence[Sequence[int]], branches: Sequence[Branch], chosen: list[int], size: int) -> _Row:
    last = branches[chosen[-1]]
    return _Row(trunks[last.trunk][: last.place], chosen, last.place + size)


def _score_rows(
    model: LanguageModel,
    rows: Sequence[_Row],
    branches: Sequence[Branch],
    endings: "torch.Tensor | None",
    scores: FloatArray,
) -> None:
    """Add to each branch of some rows the log-probabilities of its tokens."""
    import torch

    width = max(row.length for row in rows)
    tokens, positions = np.zeros((2, len(rows), width), dtype=np.int64)
    is_seen = np.zeros((len(rows), 1, width, width), dtype=np.bool_)
    is_seen[:, 0, :, 0] = True  # what pads a row sees its first token, so that nothing is divided by zero
    found: list[tuple[int, int, int, int]] = []  # branch, row, where it is predicted from, token; -1 for an ending
    for number, row in enumerate(rows):
        length = len(row.trunk)
        tokens[number, :length], positions[number, :length] = row.trunk, np.arange(length)
        is_seen[number, 0, :length, :length] = np.tri(length, dtype=np.bool_)
        start = length
        for one in row.branches:
            branch = branches[one]
            stop = start + len(branch.tokens)
            tokens[number, start:stop] = branch.tokens
            positions[number, start:stop] = branch.place + np.arange(stop - start)
            is_seen[number, 0, start:stop, : branch.place] = True
            is_seen[number, 0, start:stop, start:stop] = np.tri(stop - start, dtype=np.bool_)
            sources = [branch.place - 1, *range(start, stop)]
            targets = [*branch.tokens, -1] if endings is not None else branch.tokens
            found += [(one, number, source, target) for source, target in zip(sources, targets, strict=False)]
            start = stop
    network, device = model.network, model.network.device
    with torch.inference_mode():
        seen = torch.as_tensor(is_seen, device=device)
        mask = torch.zeros(seen.shape, dtype=network.dtype, device=device)
        mask.masked_fill_(~seen, torch.finfo(network.dtype).min)
        logits = network(
            input_ids=torch.as_tensor(tokens, device=device),
            position_ids=torch.as_tensor(positions, device=device),
            attention_mask=mask,
            use_cache=False,
        ).logits
        which, at_row, at_column, target = np.array(found).T
        for first in range(0, len(found), _LOGITS_AT_A_TIME):
            part = slice(first, first + _LOGITS_AT_A_TIME)
            place = [torch.as_tensor(numbers[part], device=device) for numbers in (at_row, at_column, target)]
            chosen = logits[place[0], place[1]].float()
            logs = chosen.gather(1, place[2].clamp(min=0)[:, None])[:, 0]
            if endings is not None:
                ending = torch.logsumexp(chosen.masked_fill(~endings, -torch.inf), dim=1)
                logs = torch.where(place[2] < 0, ending, logs)
            np.add.at(scores, which[part], (logs - torch.logsumexp(chosen, dim=1)).double().cpu().numpy())
