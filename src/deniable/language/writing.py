r"""Texts drawn from a language model whose next-token law is tilted by a bias for each token.

With l(t|h) the model's logits after h, b_y(t) the bias of class y and tau the temperature::

    P_y(t|h)  is proportional to  exp((l(t|h) + b_y(t)) / tau)    for the most likely t of mass top_p, of at most top_k

Biases are public or released, so texts are a function of them, of the public model and of a key (post-processing).
Every token is drawn from the law of these floats by one number of 53 bits. Prompts are read once in a run, and all
batches have one shape, so that no row's logits depend on its neighbours, and a text follows from its name, the key and
the model: on one machine and version.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from deniable.core.arrays import FloatArray, IntArray
from deniable.core.errors import InputError
from deniable.core.randomness import make_generator
from deniable.language.model import LanguageModel
from deniable.language.options import WritingOptions
from deniable.language.readings import Readings

if TYPE_CHECKING:
    import torch


@dataclasses.dataclass(frozen=True)
class TextRequest:
    """One text to write.

    Attributes:
        name: of its draws: under one key, the same name gives the same numbers.
        prompt: tokens that it goes on after.
        code: its class.
    """

    name: str
    prompt: tuple[int, ...]
    code: int


def write_texts(
    model: LanguageModel,
    requests: Sequence[TextRequest],
    biases: FloatArray,
    key: bytes,
    options: WritingOptions,
    *,
    first: int = 0,
) -> Iterator[list[list[int]]]:
    """Yield the tokens of the texts asked for, those of a batch at a time.

    Args:
        model: public.
        requests: n texts.
        biases: (K, V) added to the logits of each class.
        key: 32 bytes; the draws of a text follow from it and from the text's name.
        options: see `WritingOptions`.
        first: number of texts that are not written, since they were before.

    Raises:
        InputError: prompts and texts are longer than the context.
    """
    import torch

    check_length(model, max((len(request.prompt) for request in requests), default=0), options)
    rows = {prompt: row for row, prompt in enumerate(dict.fromkeys(request.prompt[:-1] for request in requests))}
    beginnings = Readings(model.network, len(rows))
    if any(rows):
        beginnings.read(list(rows))
    bias_rows = torch.tensor(biases, dtype=torch.float32, device=model.network.device)
    for start in range(first, len(requests), options.batch):
        asked = requests[start : start + options.batch]
        filled = [*asked, *[asked[-1]] * (options.batch - len(asked))]
        codes = torch.tensor([request.code for request in filled], device=bias_rows.device)
        uniforms = np.stack([make_generator(key, request.name).random(options.max_tokens) for request in filled])
        readings = beginnings.choose([rows[request.prompt[:-1]] for request in filled])
        lasts = [request.prompt[-1] for request in filled]
        yield _draw_batch(model, readings, lasts, bias_rows[codes], uniforms, options)[: len(asked)]


def check_length(model: LanguageModel, width: int, options: WritingOptions) -> None:
    """Refuse texts that would be longer, with prompts of up to ``width`` tokens, than what the model reads.

    Raises:
        InputError: they would be.
    """
    if width + options.max_tokens > model.card.context:
        raise InputError(
            f"Prompt and text have up to {width + options.max_tokens:,} tokens, but {model.card.name} reads "
            f"{model.card.context:,}: shorten the prompt or the texts (max_tokens of dn.WritingOptions), or give "
            "another model."
        )


def _draw_batch(
    model: LanguageModel,
    readings: Readings,
    tokens: Sequence[int],
    biases: "torch.Tensor",
    uniforms: FloatArray,
    options: WritingOptions,
) -> list[list[int]]:
    """The tokens that follow each of B prompts.

    Args:
        model: public.
        readings: of the prompts without their last tokens.
        tokens: B last tokens.
        biases: (B, V) added to the logits of each row.
        uniforms: (B, T) in [0, 1).
        options: see `WritingOptions`.
    """
    import torch

    ends = sorted(model.end_tokens)
    is_open = np.ones(len(tokens), dtype=bool)
    drawn: list[list[int]] = [[] for _ in tokens]
    with torch.inference_mode():
        for place in range(uniforms.shape[1]):
            logits = readings.read([[token] for token in tokens]).float() + biases
            if place < options.min_tokens:
                logits[:, ends] = -torch.inf
            tokens = draw_tokens(logits, uniforms[:, place], options).tolist()
            is_open &= ~np.isin(tokens, ends)
            for row in np.flatnonzero(is_open).tolist():
                drawn[row].append(tokens[row])
            if not is_open.any():
                break
    return drawn


def draw_tokens(logits: "torch.Tensor", uniforms: FloatArray, options: WritingOptions) -> IntArray:
    """A token for each row, drawn from the law of its logits by inversion.

    Args:
        logits: (B, V) floats.
        uniforms: (B,) in [0, 1).
        options: temperature, top_p and top_k.
    """
    import torch

    values, tokens = torch.topk(logits, min(options.top_k, logits.shape[1]), dim=1)
    # In single precision, since it only says where top_p is reached.
    totals = torch.logsumexp(logits / options.temperature, dim=1, keepdim=True).double()
    masses = torch.exp(values.double() / options.temperature - totals).cpu().numpy()
    sums = np.cumsum(masses, axis=1)
    # A token stays where those before it have not reached top_p: the most likely one always does.
    kept = np.where(sums - masses < options.top_p, masses, 0.0)
    sums = np.cumsum(kept, axis=1)
    places = (sums <= uniforms[:, None] * sums[:, -1:]).sum(axis=1)
    chosen: IntArray = tokens.cpu().numpy()[np.arange(len(places)), np.minimum(places, (kept > 0).sum(axis=1) - 1)]
    return chosen
