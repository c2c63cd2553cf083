"""Adapter for `privfill`: what `PrivFillDPBart.privatize` adds to a text's vectors, and the tokens that it writes.

The class runs unchanged, with a BART of one layer with drawn weights; without gradients, since with them torch 2.13
refuses on a CPU what the package writes in place. Sources:

- vectors: the clipped vector of each token of a text, with the noise of the package, before its decoder gets them in
  float32;
- length: the number of tokens of the text that is written.
"""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
import torch
from law_protocol import main
from toy_models import find_nltk_data, save_sequence_model

if TYPE_CHECKING:
    from pathlib import Path

    from law_protocol import Source

EPSILON = 1.0


def open_sources(folder: Path) -> tuple[dict[str, Source], dict[str, Any]]:
    """Return the sources, and the claim of a text."""
    find_nltk_data()
    model = save_sequence_model(folder)
    importlib.import_module("nltk").download = lambda *_, **__: True  # type: ignore[attr-defined]  # it is here already
    package = importlib.import_module("privfill.main")
    filler = package.PrivFillDPBart(str(model))
    calibrate = "calibrateAnalyticGaussianMechanism_precision"  # the same for every text, and slow
    setattr(filler.model, calibrate, functools.cache(getattr(filler.model, calibrate)))

    def run(text: str) -> dict[str, Any]:
        note: dict[str, Any] = {}
        bart = filler.model
        noise, generate = bart.noise, bart.decoder.generate

        def note_noise(vector: Any, **options: Any) -> Any:  # noqa: ANN401 - tensors
            noisy = noise(vector, **options)
            note.setdefault("vectors", noisy.detach().numpy())
            return noisy

        def note_length(**options: Any) -> Any:  # noqa: ANN401 - theirs
            written = generate(**options)
            note["length"] = np.array([written.shape[1]])
            return written

        with (
            mock.patch.object(bart, "noise", note_noise),
            mock.patch.object(bart.decoder, "generate", note_length),
            torch.no_grad(),
        ):
            filler.privatize(text, EPSILON)
        return note

    def get(name: str) -> Source:
        return lambda text, _: run(text)[name]

    return {name: get(name) for name in ("vectors", "length")}, {"epsilon": EPSILON, "delta": 1e-5}


if __name__ == "__main__":
    main("privfill", open_sources)
