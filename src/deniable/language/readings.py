"""Texts that a model reads on side by side, each by its own next tokens, without padding each to the longest.

The new tokens of all texts go through the network as one row, and `attend` lets each of them see its own text alone.
"""

import contextvars
import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from deniable.core.arrays import IntArray
from deniable.core.errors import import_extra

if TYPE_CHECKING:
    import torch

ATTENTION = "deniable-readings"
"""Name of `attend` among the attentions of transformers."""
_ROOM = 32
"""Tokens that room is made for at a time."""
_WIDTH = 128
"""New tokens of each text that look back at a time."""
_CURRENT: contextvars.ContextVar["Readings | _Branches | None"] = contextvars.ContextVar("readings", default=None)


def prepare_readings(network: Any) -> None:  # noqa: ANN401 - of transformers
    """Let a network of transformers ask `attend`.

    Raises:
        ValueError: it looks back in a way of its own.
    """
    transformers = import_extra("transformers", "A language model", "lm")
    transformers.AttentionInterface.register(ATTENTION, attend)
    transformers.AttentionMaskInterface.register(ATTENTION, _make_mask)
    if network.config._attn_implementation != "sdpa":  # noqa: SLF001 - it has no other name
        raise ValueError("its attention is not that of transformers: give one of the Llama family, such as smollm2")
    network.set_attn_implementation(ATTENTION)


class Readings:
    """What a network has read of R texts.

    Args:
        network: see `prepare_readings`.
        count: R; nothing is read yet.

    Attributes:
        places: (N,) of the tokens that were read last, in their texts.
    """

    places: "torch.Tensor"

    def __init__(self, network: Any, count: int) -> None:  # noqa: ANN401 - of transformers
        import torch

        self._network = network
        self._kept: dict[tuple[object, str], torch.Tensor] = {}
        self._lengths = torch.zeros(count, dtype=torch.int64, device=network.device)

    def read(self, tokens: Sequence[Sequence[int]], *, after: IntArray | None = None) -> "torch.Tensor":
        """Read more tokens of each text, and return the logits (k, V) after those k texts that have any.

        Args:
            tokens: R lists, not all of them empty.
            after: (k,) numbers among all these tokens, those of a text after another's; the logits after each of them
                are returned instead.
        """
        import torch

        device = self._lengths.device
        counts = torch.tensor(list(map(len, tokens)), device=device)
        flat = torch.tensor([*itertools.chain.from_iterable(tokens)], device=device)
        self._rows, self._columns = _number_rows(counts)
        self._width, self._size = int(counts.max()), _round_up(int((self._lengths + counts).max()))
        self.places = self._lengths[self._rows] + self._columns
        asked = counts.cumsum(0)[counts > 0] - 1 if after is None else torch.as_tensor(after, device=device)
        logits = _ask(self._network, self, flat, self.places, asked)
        self._lengths = self._lengths + counts
        return logits

    def read_branches(
        self, rows: Sequence[int], lengths: Sequence[int], tokens: Sequence[Sequence[int]]
    ) -> "torch.Tensor":
        """Return the logits (k, V) after each of k tokens that may follow beginnings of texts; nothing is kept of them.

        Args:
            rows: (B,) numbers of texts, ascending.
            lengths: (B,) after how many tokens of its text each branch begins.
            tokens: of each branch, at least one.
        """
        import torch

        device = self._lengths.device
        first, last = rows[0], rows[-1] + 1
        texts = torch.tensor(rows, device=device) - first
        kept = {name: one[first:last, :, : max(lengths)] for name, one in self._kept.items()}
        branches = _Branches(
            kept, texts, torch.tensor(lengths, device=device), torch.tensor(list(map(len, tokens)), device=device)
        )
        flat = torch.tensor([*itertools.chain.from_iterable(tokens)], device=device)
        return _ask(self._network, branches, flat, branches.places, torch.arange(len(flat), device=device))

    def choose(self, rows: Sequence[int]) -> "Readings":
        """Return what was read of some texts, by their numbers, each as often as it is named, to be read on."""
        import torch

        numbers = torch.tensor(rows, dtype=torch.int64, device=self._lengths.device)
        chosen = Readings(self._network, len(rows))
        chosen._lengths = self._lengths[numbers]
        size = _round_up(int(chosen._lengths.max()))
        chosen._kept = {name: kept[:, :, :size].index_select(0, numbers) for name, kept in self._kept.items()}
        return chosen

    def attend(
        self, module: object, query: "torch.Tensor", key: "torch.Tensor", value: "torch.Tensor", look: "_Look"
    ) -> "torch.Tensor":
        """Return what each of N new tokens takes from its own text, (N, H, D).

        Args:
            module: a layer of the network.
            query: (N, H, D).
            key: (N, G, D), of G groups of heads.
            value: (N, G, D).
            look: of the layer.
        """
        import torch

        keys, values = self._keep((module, "keys"), key), self._keep((module, "values"), value)
        padded = _pad(query, self._rows, self._columns, (len(self._lengths), self._width))
        taken = value.new_empty((*padded.shape[:3], value.shape[-1]))
        for first in range(0, self._width, _WIDTH):
            part = slice(first, first + _WIDTH)
            places = self._lengths[:, None] + torch.arange(self._width, device=query.device)[part]
            distances = places[:, :, None] - torch.arange(keys.shape[2], device=query.device)
            shares = look.share(_score(padded[:, part], keys), distances[:, None])
            taken[:, part] = _mix(shares, values)
        return taken[self._rows, self._columns]

    def _keep(self, name: tuple[object, str], part: "torch.Tensor") -> "torch.Tensor":
        """Return the keys or values (R, G, T, D) of all that was read, the new ones (N, G, D) included."""
        texts, (_, groups, size) = len(self._lengths), part.shape
        kept = self._kept.get(name)
        if kept is None or kept.shape[2] < self._size:
            grown = part.new_zeros((texts, groups, self._size, size))
            if kept is not None:
                grown[:, :, : kept.shape[2]] = kept
            self._kept[name] = kept = grown
        kept[self._rows, :, self.places] = part
        return kept


class _Branches:
    """Tokens that may follow beginnings of texts, each of which sees its own beginning and its own branch.

    Args:
        kept: keys and values (R, G, T, D) of the texts in each layer.
        texts: (B,) the text of each branch, ascending.
        lengths: (B,) after how many tokens of it the branch begins.
        counts: (B,) tokens of each branch.

    Attributes:
        places: (N,) of the tokens, in their texts.
    """

    def __init__(
        self,
        kept: dict[tuple[object, str], "torch.Tensor"],
        texts: "torch.Tensor",
        lengths: "torch.Tensor",
        counts: "torch.Tensor",
    ) -> None:
        import torch

        self._kept = kept
        self._branches, self._columns = _number_rows(counts)
        texts = texts[self._branches]
        self._texts, self._seats = _number_rows(torch.bincount(texts))
        self._shapes = (int(texts[-1]) + 1, int(self._seats.max()) + 1), (len(counts), int(counts.max()))
        lengths = lengths[self._branches]
        self.places = lengths + self._columns
        before, own = (torch.arange(size, device=texts.device) for size in (int(lengths.max()), self._shapes[1][1]))
        distances = torch.where(before < lengths[:, None], self.places[:, None] - before, -1)
        self._distances = torch.cat([distances, self._columns[:, None] - own], dim=1)  # (N, T + L)

    def attend(
        self, module: object, query: "torch.Tensor", key: "torch.Tensor", value: "torch.Tensor", look: "_Look"
    ) -> "torch.Tensor":
        """Return what each of N tokens takes, (N, H, D), see `Readings.attend`."""
        import torch

        text, branch = (self._texts, self._seats), (self._branches, self._columns)
        of_text, of_branch = self._shapes
        keys, values = self._kept[module, "keys"], self._kept[module, "values"]
        own_keys, own_values = (_pad(one, *branch, of_branch).transpose(1, 2) for one in (key, value))
        before = _score(_pad(query, *text, of_text), keys)[self._texts, :, self._seats]
        own = _score(_pad(query, *branch, of_branch), own_keys)[self._branches, :, self._columns]
        shares = look.share(torch.cat([before, own], dim=2), self._distances[:, None])
        size = keys.shape[2]
        taken = _mix(_pad(shares[..., :size], *text, of_text).transpose(1, 2), values)[text]
        return taken + _mix(_pad(shares[..., size:], *branch, of_branch).transpose(1, 2), own_values)[branch]


@dataclasses.dataclass(frozen=True)
class _Look:
    """How a layer looks back.

    Attributes:
        scale: of its scores.
        window: tokens that it looks back at, itself included.
    """

    scale: float
    window: float

    def share(self, scores: "torch.Tensor", distances: "torch.Tensor") -> "torch.Tensor":
        """Return the shares of tokens, at some distances; none of later ones, which are below 0. Overwrites scores."""
        import torch

        is_seen = (distances >= 0) & (distances < self.window)
        return torch.softmax(scores.mul_(self.scale).masked_fill_(~is_seen, -torch.inf), dim=-1)


def _ask(
    network: Any,  # noqa: ANN401 - of transformers
    reader: "Readings | _Branches",
    tokens: "torch.Tensor",
    places: "torch.Tensor",
    asked: "torch.Tensor",
) -> "torch.Tensor":
    """Return the logits after those tokens (N,) that are asked, whose attention is a reader's."""
    import torch

    token = _CURRENT.set(reader)
    try:
        with torch.inference_mode():
            # Rows have few lengths: what a processor needs for a product of a new shape is prepared, and kept.
            extra = -len(tokens) % (1 << max(len(tokens).bit_length() - 4, 0))
            tokens, places = (torch.nn.functional.pad(one, (0, extra))[None] for one in (tokens, places))
            output = network(input_ids=tokens, position_ids=places, use_cache=False, logits_to_keep=asked)
    finally:
        _CURRENT.reset(token)
    logits: torch.Tensor = output.logits[0]
    return logits if len(logits) == len(asked) else logits[asked]  # some networks return those of all tokens


def _number_rows(counts: "torch.Tensor") -> "tuple[torch.Tensor, torch.Tensor]":
    """Return the row and the place in it (N,) of all that stands in rows of some lengths, one row after the other."""
    import torch

    rows = torch.arange(len(counts), device=counts.device).repeat_interleave(counts)
    return rows, torch.arange(len(rows), device=counts.device) - (counts.cumsum(0) - counts)[rows]


def _pad(part: "torch.Tensor", rows: "torch.Tensor", columns: "torch.Tensor", shape: tuple[int, int]) -> "torch.Tensor":
    padded = part.new_zeros((*shape, *part.shape[1:]))
    padded[rows, columns] = part
    return padded


def _score(query: "torch.Tensor", keys: "torch.Tensor") -> "torch.Tensor":
    """Return the products (R, H, W, T) of queries (R, W, H, D) and the keys (R, G, T, D) of their groups of heads."""
    texts, width, heads, size = query.shape
    # Heads of one group are rows of one product, in place of a copy of their keys for each.
    grouped = query.transpose(1, 2).reshape(texts, keys.shape[1], -1, size)
    return (grouped @ keys.transpose(-1, -2)).float().view(texts, heads, width, -1)


def _mix(shares: "torch.Tensor", values: "torch.Tensor") -> "torch.Tensor":
    """Return the sums (R, W, H, D) of values (R, G, T, D) by shares (R, H, W, T)."""
    texts, heads, width, size = shares.shape
    grouped = shares.to(values.dtype).reshape(texts, values.shape[1], -1, size)
    return (grouped @ values).view(texts, heads, width, -1).transpose(1, 2)


def _round_up(length: int) -> int:
    return -(-length // _ROOM) * _ROOM


def attend(
    module: Any,  # noqa: ANN401 - of transformers
    query: "torch.Tensor",
    key: "torch.Tensor",
    value: "torch.Tensor",
    attention_mask: "torch.Tensor | None",
    **settings: Any,  # noqa: ANN401
) -> "tuple[torch.Tensor, None]":
    """Return what tokens take from those before, (B, S, H, D), as transformers asks for it."""
    import torch
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    reader = _CURRENT.get()
    if reader is None:
        found: tuple[torch.Tensor, None] = sdpa_attention_forward(module, query, key, value, attention_mask, **settings)
        return found
    look = _Look(settings.get("scaling") or query.shape[-1] ** -0.5, settings.get("sliding_window") or math.inf)
    size = len(reader.places)
    extra = query.shape[2] - size
    query, key, value = (one[0, :, :size].transpose(0, 1) for one in (query, key, value))
    taken = reader.attend(module, query, key, value, look)
    return torch.nn.functional.pad(taken, (0, 0, 0, 0, 0, extra))[None], None


def _make_mask(*arguments: Any, **settings: Any) -> Any:  # noqa: ANN401 - of transformers
    from transformers.masking_utils import sdpa_mask

    return None if _CURRENT.get() is not None else sdpa_mask(*arguments, **settings)
