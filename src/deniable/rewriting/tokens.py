"""Texts as numbers of words and punctuation marks, and back."""

import collections
import dataclasses
import functools
from collections.abc import Iterable, Mapping, Sequence

from deniable.core.errors import InputError
from deniable.text.tokens import join_tokens, split_tokens

PAD, START, END, UNKNOWN = range(4)
"""Ids of the special tokens: padding, start of a text, end of a text, and a word that the vocabulary lacks."""
SPECIAL_TOKENS = ("<pad>", "<start>", "<end>", "[unknown]")
"""Their spelling; `split_tokens` never returns one of them."""


def truncate_text(text: str, limit: int) -> str:
    """Return a text as it is, or, where it has more tokens than the limit, a text of its first ones.

    It is a function of the text alone: a guarantee for any two texts of up to ``limit`` tokens then holds for any two
    texts.
    """
    tokens = split_tokens(text)
    return text if len(tokens) <= limit else join_tokens(tokens[:limit])


@dataclasses.dataclass(frozen=True)
class Vocabulary:
    """The tokens that a model knows. They are a part of its file: anybody who has the model can read them.

    Attributes:
        words: spelling of each token, by id; the first are `SPECIAL_TOKENS`.

    Raises:
        InputError: the special tokens do not come first, or a word occurs twice.
    """

    words: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.words[: len(SPECIAL_TOKENS)] != SPECIAL_TOKENS or len({*self.words}) < len(self.words):
            raise InputError("The words of a vocabulary must be distinct, and begin with the special ones: train anew.")

    def __len__(self) -> int:
        """Return the number of tokens, the special ones among them."""
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        """Return whether a token is listed."""
        return word in self._index

    @functools.cached_property
    def _index(self) -> Mapping[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    def to_ids(self, text: str) -> list[int]:
        """Return the token ids of a text, without start and end; `UNKNOWN` for words that are not listed."""
        return [self._index.get(token, UNKNOWN) for token in split_tokens(text)]

    def to_text(self, token_ids: Sequence[int]) -> str:
        """Return the text of some token ids, up to the first `END`; `PAD` and `START` are left out."""
        tokens: list[str] = []
        for token_id in token_ids:
            if token_id == END:
                break
            if token_id not in {PAD, START}:
                tokens.append(self.words[token_id])
        return join_tokens(tokens)

    @classmethod
    def build(cls, texts: Iterable[str], min_count: int = 1, max_tokens: int = 20_000) -> "Vocabulary":
        """Return the vocabulary of some texts, the most frequent tokens first.

        Args:
            texts: whose tokens are listed.
            min_count: minimum number of occurrences of a token.
            max_tokens: maximum number of tokens besides the special ones.
        """
        counts = collections.Counter(token for text in texts for token in split_tokens(text))
        tokens = sorted(
            (token for token in counts if counts[token] >= min_count), key=lambda word: (-counts[word], word)
        )
        return cls((*SPECIAL_TOKENS, *tokens[:max_tokens]))


def look_up_tokens(vocabulary: Vocabulary, texts: Sequence[str], limit: int) -> list[list[int]]:
    """Return the token ids of texts.

    Raises:
        InputError: a text has more tokens than the limit; texts are never truncated here.
    """
    rows = [vocabulary.to_ids(text) for text in texts]
    for row, token_ids in enumerate(rows):
        if len(token_ids) > limit:
            raise InputError(
                f"Text {row + 1} has {len(token_ids):,} tokens, and the model takes {limit:,}: "
                "split it, or leave it out."
            )
    return rows
