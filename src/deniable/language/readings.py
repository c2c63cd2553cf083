"""Texts that a model reads on side by side, each by its own next tokens, without padding.

The new tokens of all texts go through the network as one row, and `attend` lets each of them see its own text alone.
"""

import contextvars
import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from deniable.core.errors import import_extra

if TYPE_CHECKING:
    import torch

ATTENTION = "deniable-readings"
"""Name of `attend` among the attentions of transformers."""
_ROOM = 32
"""Tokens that room is made for at a time."""
_WIDTH = 128
"""New tokens of each text that look back at a time."""
_CURRENT: contextvars.ContextVar["Readings | None"] = contextvars.ContextVar("readings", default=None)


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
    """

    def __init__(self, network: Any, count: int) -> None:  # noqa: ANN401 - of transformers
        import torch

        self._network = network
        self._kept: dict[tuple[Any, str], torch.Tensor] = {}
        self._lengths = torch.zeros(count, dtype=torch.int64, device=network.device)

    def read(self, tokens: Sequence[Sequence[int]], *, everywhere: bool = False) -> "torch.Tensor":
        """Read more tokens of each text, and return the logits (k, V) after those k texts that have any.

        Args:
            tokens: R lists, not all of them empty.
            everywhere: return the logits after each of k tokens instead, those of a text after another's.
        """
        import torch

        device = self._lengths.device
        counts = torch.tensor(list(map(len, tokens)), device=device)
        flat = torch.tensor([*itertools.chain.from_iterable(tokens)], device=device)
        ends = counts.cumsum(0)
        self._rows = torch.arange(len(counts), device=device).repeat_interleave(counts)
        self._columns = torch.arange(len(flat), device=device) - (ends - counts)[self._rows]
        self._width, self._size = int(counts.max()), _round_up(int((self._lengths + counts).max()))
        self._places = self._lengths[self._rows] + self._columns
        token = _CURRENT.set(self)
        try:
            with torch.inference_mode():
                output = self._network(
                    input_ids=flat[None],
                    position_ids=self._places[None],
                    use_cache=False,
                    logits_to_keep=0 if everywhere else ends[counts > 0] - 1,
                )
        finally:
            _CURRENT.reset(token)
        self._lengths = self._lengths + counts
        logits: torch.Tensor = output.logits[0]
        return logits

    def choose(self, rows: Sequence[int], lengths: Sequence[int] | None = None) -> "Readings":
        """Return what was read of some texts, each as often as it is named, to be read on.

        Args:
            rows: numbers of texts.
            lengths: after how many tokens each is read on; all by default.
        """
        import torch

        numbers = torch.tensor(rows, dtype=torch.int64, device=self._lengths.device)
        chosen = Readings(self._network, len(rows))
        chosen._lengths = self._lengths[numbers] if lengths is None else torch.tensor(lengths, device=numbers.device)
        size = _round_up(int(chosen._lengths.max()))
        chosen._kept = {name: kept[:, :, :size].index_select(0, numbers) for name, kept in self._kept.items()}
        return chosen

    def attend(
        self,
        module: Any,  # noqa: ANN401 - of transformers
        query: "torch.Tensor",
        key: "torch.Tensor",
        value: "torch.Tensor",
        settings: dict[str, Any],
    ) -> "torch.Tensor":
        """Return what each of N new tokens takes from its own text, (1, N, H, D).

        Args:
            module: a layer of the network.
            query: (1, H, N, D).
            key: (1, G, N, D), of G groups of heads.
            value: (1, G, N, D).
            settings: of the layer.
        """
        import torch

        _, heads, _, size = query.shape
        groups, texts = key.shape[1], len(self._lengths)
        keys, values = self._keep((module, "keys"), key[0]), self._keep((module, "values"), value[0])
        padded = query.new_zeros((texts, self._width, heads, size))
        padded[self._rows, self._columns] = query[0].transpose(0, 1)
        taken = value.new_empty((texts, self._width, heads, value.shape[-1]))
        for first in range(0, self._width, _WIDTH):
            part = slice(first, first + _WIDTH)
            # Heads of one group are rows of one product, in place of a copy of their keys for each.
            asking = padded[:, part].transpose(1, 2).reshape(texts, groups, -1, size)
            scores = (asking @ keys.transpose(-1, -2)).float() * (settings.get("scaling") or size**-0.5)
            places = self._lengths[:, None] + torch.arange(self._width, device=query.device)[part]
            distances = places[:, :, None] - torch.arange(self._size, device=query.device)
            is_seen = (distances >= 0) & (distances < (settings.get("sliding_window") or math.inf))
            scores = scores.view(texts, heads, -1, self._size).masked_fill(~is_seen[:, None], -torch.inf)
            shares = torch.softmax(scores, dim=-1).to(value.dtype).view((*asking.shape[:3], -1))
            taken[:, part] = (shares @ values).view(texts, heads, -1, value.shape[-1]).transpose(1, 2)
        return taken[self._rows, self._columns][None]

    def _keep(self, name: tuple[Any, str], part: "torch.Tensor") -> "torch.Tensor":
        """Return the keys or values (R, G, T, D) of all that was read, the new ones (G, N, D) included."""
        texts, (groups, _, size) = len(self._lengths), part.shape
        kept = self._kept.get(name)
        if kept is None or kept.shape[2] < self._size:
            grown = part.new_zeros((texts, groups, self._size, size))
            if kept is not None:
                grown[:, :, : kept.shape[2]] = kept
            self._kept[name] = kept = grown
        kept[self._rows, :, self._places] = part.transpose(0, 1)
        return kept


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
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    readings = _CURRENT.get()
    if readings is None:
        found: tuple[torch.Tensor, None] = sdpa_attention_forward(module, query, key, value, attention_mask, **settings)
        return found
    return readings.attend(module, query, key, value, settings), None


def _make_mask(*arguments: Any, **settings: Any) -> Any:  # noqa: ANN401 - of transformers
    from transformers.masking_utils import sdpa_mask

    return None if _CURRENT.get() is not None else sdpa_mask(*arguments, **settings)
