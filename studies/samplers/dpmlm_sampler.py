"""Adapter for `dpmlm`: the law of one word of a text that `DPMLM.dpmlm_rewrite` writes.

The method runs unchanged, with a RoBERTa of one layer with drawn weights and the default clip of the package. For the
duration of a call numpy's `choice` notes its probabilities, word by word; a word that is copied has a law of certainty.
The law is over the words that can come out, and the end of a text. Words are drawn independently of those before, so
that of a prefix only the length counts.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
from law_protocol import main
from toy_models import find_nltk_data, save_masked_model

if TYPE_CHECKING:
    from pathlib import Path

    from law_protocol import Source

EPSILON = 25.0
"""Of a word, as in the package's README."""
CLIP = {"clip_min": -3.2093127, "clip_max": 16.304797887802124, "sensitivity": 16.304797887802124 + 3.2093127}
"""The default of the package."""
END = "<end>"


def open_sources(folder: Path) -> tuple[dict[str, Source], dict[str, Any]]:
    """Return the source, and the epsilon of a word."""
    find_nltk_data()
    model = save_masked_model(folder)
    core = importlib.import_module("dpmlm.core")
    rewriter = core.DPMLM(MODEL=str(model), calibration=CLIP)
    decoded = [rewriter.tokenizer.decode(token).strip() for token in range(len(rewriter.tokenizer))]
    fixed = [*core.stop, *core.string.punctuation]
    words = sorted({form for text in (*decoded, *fixed) for form in (text.lower(), text.capitalize())} | {END})
    numbers = {word: number for number, word in enumerate(words)}

    def law(text: str, prefix: list[int]) -> Any:  # noqa: ANN401 - an array
        place = len(prefix)
        drawn: list[list[Any]] = []
        tokens = importlib.import_module("nltk").word_tokenize(text)
        privatize = rewriter.privatize

        def choose(_: Any, p: Any) -> int:  # noqa: ANN401 - arrays
            drawn[-1][1] = p
            return 0

        def note_place(token_list: list[str], target: str, index: int, **options: Any) -> Any:  # noqa: ANN401 - theirs
            drawn.append([index, None])
            return privatize(token_list, target, index, **options)

        with mock.patch.object(np.random, "choice", choose), mock.patch.object(rewriter, "privatize", note_place):
            rewriter.dpmlm_rewrite(text, EPSILON)
        found = np.zeros(len(words), dtype=np.float32)
        if place >= len(tokens):
            found[numbers[END]] = 1
            return found
        of_place: dict[int, Any] = dict(drawn)
        is_capital = tokens[place][0].isupper()
        if place not in of_place:
            found[numbers[tokens[place].capitalize() if is_capital else tokens[place]]] = 1
            return found
        for word, probability in zip(decoded, of_place[place], strict=True):
            found[numbers[word.capitalize() if is_capital else word.lower()]] += probability
        return found

    return {"law": law}, {"epsilon": EPSILON}


if __name__ == "__main__":
    main("dpmlm", open_sources)
