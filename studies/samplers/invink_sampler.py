"""Adapter for `invink`: the law of the next token that `invink.generate` passes to numpy's `choice`.

The function runs unchanged, with SmolLM2-135M-Instruct, for one text of at most 100 tokens at epsilon 1. For the
duration of a call `choice` gives the tokens of the prefix, and then notes its probabilities. Sources:

- law, public: probabilities, and the logits that it calls public;
- draws: the first tokens of a text with no seed given.

The model has the package's default type, bfloat16, as on a GPU that has it: without CUDA the package would take
float16, which is too slow here.
"""

from __future__ import annotations

import functools
import importlib
import sys
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
import torch
from law_protocol import EnoughError, main, save_smollm2

if TYPE_CHECKING:
    from pathlib import Path

    from law_protocol import Source

EPSILON, TOKENS, DRAWN = 1.0, 100, 6
DESCRIPTION = "Short notes of a doctor about the visit of a patient."


def open_sources(folder: Path) -> tuple[dict[str, Source], dict[str, Any]]:
    """Return the sources, and the claim."""
    model = str(save_smollm2(folder))
    importlib.import_module("invink")
    module: Any = sys.modules["invink.generate"]
    module.load_hf_model = functools.cache(module.load_hf_model)

    def run(records: list[str], choose: Any, note: dict[str, Any], **options: Any) -> None:  # noqa: ANN401 - functions
        original = module.get_topk

        def note_public(pub_logits: Any, **more: Any) -> Any:  # noqa: ANN401 - arrays
            note["public"] = pub_logits
            return original(pub_logits=pub_logits, **more)

        with (
            mock.patch.object(module, "get_topk", note_public),
            mock.patch.object(np.random, "choice", choose),
            mock.patch.object(torch.cuda, "is_bf16_supported", return_value=True),
        ):
            try:
                module.generate(
                    records, model, DESCRIPTION, epsilon=EPSILON, num=1, max_toks=TOKENS, device_map=-1,
                    drop_empty=False, batch_size=len(records) + 1, **options,
                )  # fmt: skip
            except EnoughError:
                note["enough"] = True

    def read(records: list[str], prefix: list[int]) -> dict[str, Any]:
        """Return the law after a prefix, and the public logits."""
        note: dict[str, Any] = {}
        forced = iter(prefix)

        def choose(values: Any, p: Any) -> Any:  # noqa: ANN401 - arrays
            token = next(forced, None)
            if token is None:
                note["law"] = p
                raise EnoughError
            note["law"] = np.eye(1, len(values), token)[0]  # of a text that ended with it
            return np.int64(token)

        run(records, choose, note)
        return note

    def draw(records: list[str], _: list[int]) -> Any:  # noqa: ANN401 - an array
        original, drawn = np.random.choice, []

        def choose(values: Any, p: Any) -> Any:  # noqa: ANN401 - arrays
            drawn.append(original(values, p=p))
            if len(drawn) == DRAWN:
                raise EnoughError
            return drawn[-1]

        run(records, choose, {})
        return np.array(drawn)

    sources: dict[str, Source] = {
        "law": lambda records, prefix: read(records, prefix)["law"],
        "public": lambda records, prefix: read(records, prefix)["public"],
        "draws": draw,
    }
    return sources, {"epsilon": EPSILON, "delta": 1e-5, "tokens": TOKENS}


if __name__ == "__main__":
    main("invink", open_sources)
