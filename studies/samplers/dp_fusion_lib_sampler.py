"""Adapter for `dp-fusion-lib`: the law of the next token that it passes to torch's `multinomial`.

For the duration of a call `multinomial` gives the tokens of the prefix, and then notes its probabilities. Records are
two texts: the private context and the public one, with the secret blacked out. Sources:

- law, public: `DPFusion.generate(private_context, public_context)` with SmolLM2-135M-Instruct;
- law-toy: `generate_from_tokens` with a model of three tokens, made here, whose next token depends on the secret. The
  secret "raises" a rare token to the root of its public probability, or "lowers" it to the square, just so that each
  is within the divergence that is allowed;
- counted: how many tokens a run of the toy was asked for, and how many its list of divergences counts.
"""

from __future__ import annotations

import importlib
import math
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
import torch
from law_protocol import EnoughError, main, save_smollm2

if TYPE_CHECKING:
    from pathlib import Path

    from law_protocol import Source

ALPHA, BETA, DELTA = 2.0, 0.5, 1e-5
"""The first two as in the package's defaults."""
BOUND = ALPHA * BETA
ASKED = 5
RARE = 8.3e-5
MARGIN = 1e-3
PUBLIC, RAISES, LOWERS = 0, 1, 2
"""Tokens of the toy model; each stands for a whole context."""
SECRETS = {"blacked out": PUBLIC, "raises": RAISES, "lowers": LOWERS}


class ToyModel(torch.nn.Module):
    """A model whose next token follows the first token of its context."""

    def __init__(self) -> None:
        """Make three laws of three tokens."""
        super().__init__()
        raised = math.sqrt(RARE * math.expm1(BOUND)) * (1 - MARGIN)
        lowered = RARE**2 / math.expm1(BOUND) * (1 + MARGIN)
        laws = torch.tensor([[rare, 0.5, 0.5 - rare] for rare in (RARE, raised, lowered)], dtype=torch.float64)
        self.logits = torch.nn.Parameter(laws.log().float(), requires_grad=False)

    @property
    def device(self) -> torch.device:
        """Where it is."""
        return self.logits.device

    def forward(self, input_ids: torch.Tensor, past_key_values: Any = None, **_: Any) -> Any:  # noqa: ANN401 - as transformers has it
        """Return logits (B, L, 3) after each place."""
        first = input_ids[:, 0] if past_key_values is None else past_key_values
        logits = self.logits[first][:, None, :].expand(-1, input_ids.shape[1], -1)
        return SimpleNamespace(logits=logits, past_key_values=first)


def open_sources(folder: Path) -> tuple[dict[str, Source], dict[str, Any]]:
    """Return the sources, and what the package says of one token."""
    transformers = importlib.import_module("transformers")
    package = importlib.import_module("dp_fusion_lib")
    utils = importlib.import_module("dp_fusion_lib.utils")
    place = save_smollm2(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(place)
    model = transformers.AutoModelForCausalLM.from_pretrained(place, dtype=torch.float32).eval()
    real = package.DPFusion(model=model, tokenizer=tokenizer)
    toy_tokenizer = SimpleNamespace(pad_token="x", pad_token_id=0, eos_token_id=-1, decode=lambda *_, **__: "")  # noqa: S106 - a token of a model
    toy = package.DPFusion(model=ToyModel(), tokenizer=toy_tokenizer)

    def read(call: Any, prefix: list[int]) -> dict[str, Any]:  # noqa: ANN401 - a function of the package
        note: dict[str, Any] = {}
        forced, find_lambda = iter(prefix), utils.find_lambda

        def choose(probabilities: torch.Tensor, _: int) -> torch.Tensor:
            note["law"] = probabilities.detach().numpy()
            token = next(forced, None)
            if token is None:
                raise EnoughError
            return torch.tensor([token])

        def note_public(private: torch.Tensor, public: torch.Tensor, *more: Any, **options: Any) -> Any:  # noqa: ANN401 - theirs
            note["public"] = public.detach().numpy()
            return find_lambda(private, public, *more, **options)

        with mock.patch.object(torch, "multinomial", choose), mock.patch.object(utils, "find_lambda", note_public):
            try:
                call(max_new_tokens=len(prefix) + 1, alpha=ALPHA, beta=BETA)
            except EnoughError:
                note["enough"] = True
        return note

    def read_real(records: list[str], prefix: list[int]) -> dict[str, Any]:
        private, public = records
        return read(lambda **options: real.generate(private, public, **options), prefix)

    def read_toy(record: str, prefix: list[int]) -> dict[str, Any]:
        contexts = {"private_tokens": torch.tensor([SECRETS[record]]), "public_tokens": torch.tensor([PUBLIC])}
        return read(lambda **options: toy.generate_from_tokens(**contexts, **options), prefix)

    def count(record: str, _: list[int]) -> Any:  # noqa: ANN401 - an array
        tokens = {"private_tokens": torch.tensor([SECRETS[record]]), "public_tokens": torch.tensor([PUBLIC])}
        done = toy.generate_from_tokens(**tokens, alpha=ALPHA, beta=BETA, max_new_tokens=ASKED)
        return np.array([ASKED, len(done["divergences"]["PRIVATE"])])

    # What the package computes from its own bound on the divergence of a token.
    epsilon = float(package.compute_epsilon_single_group([BOUND], ALPHA, DELTA)["empirical"])
    sources: dict[str, Source] = {
        "law": lambda records, prefix: read_real(records, prefix)["law"],
        "public": lambda records, prefix: read_real(records, prefix)["public"],
        "law-toy": lambda record, prefix: read_toy(record, prefix)["law"],
        "counted": count,
    }
    return sources, {"epsilon": epsilon, "delta": DELTA}


if __name__ == "__main__":
    main("dp-fusion-lib", open_sources)
