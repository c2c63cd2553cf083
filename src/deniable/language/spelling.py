r"""The words of a vocabulary in the tokens of a language model, and texts as tokens in which each word has its place.

A model predicts tokens, and a word is one or several of them. With t its first token and pi how frequent words are, a
word w in its place after h is about as likely as::

    P(w | h)  ~  P(t | h) pi(w) / (the sum of pi over the words that begin with t)

and exactly its tokens one after the other, where no letter follows: see `deniable.language.branches`.
"""

import dataclasses
import functools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from deniable.core.arrays import BoolArray, FloatArray, IntArray
from deniable.language.model import LanguageModel

if TYPE_CHECKING:
    import torch

MAX_PIECE = 16
"""Tokens that are read of one word, or of what stands between two of them."""
_CERTAIN_SHARE = 0.98
"""A token that is a word, and of which the words that begin with it make no more than the rest, is that word."""
_SPACE = " "


@dataclasses.dataclass(frozen=True, eq=False)
class Spelling:
    """How n words are spelled, either after a space or after anything else.

    Attributes:
        tokens: of each word.
        firsts: (n,) the first token of each.
        log_shares: (n,) ln of each word's share of the words that begin with its first token.
        is_certain: (n,) whether the word is that token alone, and all but all of the words that begin with it.
    """

    tokens: list[tuple[int, ...]]
    firsts: IntArray
    log_shares: FloatArray
    is_certain: BoolArray

    @classmethod
    def of(cls, model: LanguageModel, words: Sequence[str], weights: FloatArray) -> "Spelling":
        """Return how words of some frequencies (n,), which are all above 0, are spelled."""
        tokens = [tuple(spelled[:MAX_PIECE]) or (0,) for spelled in model.encode_inside(words)]
        firsts = np.array([spelled[0] for spelled in tokens], dtype=np.int64)
        shares = weights / np.bincount(firsts, weights, model.card.vocabulary)[firsts]
        is_single = np.array([len(spelled) == 1 for spelled in tokens])
        return cls(tokens, firsts, np.log(shares), is_single & (shares >= _CERTAIN_SHARE))


@dataclasses.dataclass(frozen=True)
class TokenizedText:
    """A text as tokens.

    Attributes:
        tokens: of the text, an opening before it.
        starts: (L,) where the tokens of each of its L words begin.
        is_spaced: (L,) whether a word is spelled as after a space.
    """

    tokens: list[int]
    starts: IntArray
    is_spaced: BoolArray


class Speller:
    """Spells the words of a vocabulary, and texts.

    Args:
        model: whose tokens.
        words: n words in lower case.
        weights: (n,) how frequent they are.
        opening: what stands before each text, such as "A film review:".
    """

    def __init__(self, model: LanguageModel, words: Sequence[str], weights: FloatArray, opening: str = "") -> None:
        self.model = model
        self._words = list(words)
        self._weights = np.maximum(weights, np.finfo(np.float64).tiny)
        self.opening = _find_start(model, is_needed=not opening) + model.encode([opening])[0][:MAX_PIECE]
        self._pieces: dict[str, list[int]] = {}

    @functools.cached_property
    def spaced(self) -> Spelling:
        """How words are spelled after a space, and at the beginning of a text."""
        return Spelling.of(self.model, [f"{_SPACE}{word}" for word in self._words], self._weights)

    @functools.cached_property
    def bare(self) -> Spelling:
        """How words are spelled after anything else."""
        return Spelling.of(self.model, self._words, self._weights)

    @functools.cached_property
    def endings(self) -> "torch.Tensor":
        """(V,) True for the tokens that begin with no letter or digit: one of them follows a word."""
        import torch

        decoded = self.model.decode_tokens()
        endings = torch.zeros(self.model.card.vocabulary, dtype=torch.bool)
        endings[: len(decoded)] = torch.tensor([not (text[:1].isalnum() or text[:1] == "'") for text in decoded])
        endings[sorted(self.model.end_tokens)] = True
        return endings.to(self.model.network.device)

    def tokenize(self, gaps: Sequence[str], words: Sequence[str]) -> TokenizedText:
        """Return a text as tokens.

        Args:
            gaps: L or L + 1 of them, one before each word.
            words: L words, in lower case.
        """
        cuts = [_cut_gap(gap, is_first=not number) for number, gap in enumerate(gaps[: len(words)])]
        spelled = [f"{_SPACE}{word}" if is_spaced else word for word, (_, is_spaced) in zip(words, cuts, strict=True)]
        self._learn([*(gap for gap, _ in cuts if gap), *spelled])
        tokens = list(self.opening)
        starts = []
        for word, (gap, _) in zip(spelled, cuts, strict=True):
            tokens += self._pieces[gap][-MAX_PIECE:] if gap else []
            starts.append(len(tokens))
            tokens += self._pieces[word][:MAX_PIECE] or [0]
        is_spaced = np.array([is_spaced for _, is_spaced in cuts], dtype=np.bool_)
        return TokenizedText(tokens, np.array(starts, dtype=np.int64), is_spaced)

    def spell_gap(self, gap: str, *, is_first: bool) -> tuple[list[int], bool]:
        """Return the tokens of what stands before a word, and whether the word is spelled as after a space."""
        rest, is_spaced = _cut_gap(gap, is_first=is_first)
        self._learn([rest] if rest else [])
        return (self._pieces[rest][-MAX_PIECE:] if rest else []), is_spaced

    def _learn(self, pieces: Iterable[str]) -> None:
        """Look up the tokens of pieces that have not been seen before."""
        new = [piece for piece in dict.fromkeys(pieces) if piece not in self._pieces]
        self._pieces |= zip(new, self.model.encode_inside(new), strict=True)


def _find_start(model: LanguageModel, *, is_needed: bool) -> list[int]:
    """Return the token with which a text begins; none where none is needed and the tokenizer puts none there."""
    if model.start_tokens or not is_needed:
        return list(model.start_tokens)
    start = model.tokenizer.bos_token_id
    return [min(model.end_tokens, default=0) if start is None else int(start)]


def _cut_gap(gap: str, *, is_first: bool) -> tuple[str, bool]:
    """Return what stands before a word without the space that belongs to it, and whether there is one."""
    is_spaced = gap.endswith(_SPACE) or (is_first and not gap)
    return gap.removesuffix(_SPACE), is_spaced
