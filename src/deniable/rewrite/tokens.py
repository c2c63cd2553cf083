"""Texts as numbers of words and punctuation marks, and back."""

import collections
import dataclasses
import functools
from collections.abc import Iterable, Mapping, Sequence

from deniable.errors import InputError
from deniable.space import grammar

PAD, START, END, UNKNOWN = range(4)
"""Numbers of the tokens that no text holds: behind its end, before it, its end, and a word that is not listed."""
SPECIAL = ("<pad>", "<start>", "<end>", "[unknown]")
"""How they are spelled; `split` never gives one of them."""
_BEFORE, _BEHIND = frozenset("([{$£€#"), frozenset(".,!?;:%)]}")
"""Marks that stand right before the next token, and right behind the one before."""


def split(text: str) -> list[str]:
    """Return the tokens of a text: words, folded as `deniable.space.grammar.fold` does, and single punctuation marks.

    A contraction is two tokens (what|'s, do|n't). White space and capitals are lost.
    """
    found: list[str] = []
    # Folded first: without an invisible character that held it together, a token would be several.
    for place, part in enumerate(grammar.split(grammar.fold(text))):
        found.extend([part] if place % 2 else "".join(part.split()))
    return found


def joined(tokens: Iterable[str]) -> str:
    """Return a text: of tokens that `split` gave, one that has the same again; of any others, one that has no more.

    A decoder may put the second part of a contraction where no first part is; its apostrophe is then left out.
    """
    parts: list[str] = []
    run: list[str] = []  # tokens since the last space
    beside = True  # whether the next token follows without a space
    for token in tokens:
        written = token
        if token in _BEHIND:
            beside = True
        elif grammar.is_clitic(token):
            attached = split("".join(run) + token) == [*run, token]
            beside, written = beside or attached, token if attached else token.lstrip("'")
        parts.append(written if beside else f" {written}")
        run = [*run, written] if beside else [written]
        beside = token in _BEFORE
    return "".join(parts)


def truncate(text: str, limit: int) -> str:
    """Return a text itself, or, where it has more tokens than the limit, one of its first ones.

    A function of the text alone: whatever is promised of any two texts of up to ``limit`` tokens then holds for any two
    texts.
    """
    tokens = split(text)
    return text if len(tokens) <= limit else joined(tokens[:limit])


@dataclasses.dataclass(frozen=True)
class Vocabulary:
    """The tokens that a model knows. They are a part of its file: whoever is given the model can read them.

    Attributes:
        words: by their numbers; the first are `SPECIAL`.

    Raises:
        InputError: the first are others, or a word is there twice.
    """

    words: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.words[: len(SPECIAL)] != SPECIAL or len({*self.words}) < len(self.words):
            raise InputError("The words of a vocabulary must be distinct, and begin with the special ones: train anew.")

    def __len__(self) -> int:
        """Return the number of tokens, the special ones among them."""
        return len(self.words)

    @functools.cached_property
    def _index(self) -> Mapping[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    def numbers(self, text: str) -> list[int]:
        """Return the numbers of the tokens of a text, without start and end; `UNKNOWN` for what is not listed."""
        return [self._index.get(token, UNKNOWN) for token in split(text)]

    def text(self, numbers: Sequence[int]) -> str:
        """Return the text of some numbers, up to the first `END`; `PAD` and `START` are left out."""
        kept: list[str] = []
        for number in numbers:
            if number == END:
                break
            if number not in {PAD, START}:
                kept.append(self.words[number])
        return joined(kept)

    @classmethod
    def built(cls, texts: Iterable[str], least_count: int = 1, most: int = 20_000) -> "Vocabulary":
        """Return the vocabulary of some texts, the most frequent tokens first.

        Args:
            texts: whose tokens are listed.
            least_count: how often a token must occur.
            most: tokens besides the special ones.
        """
        counts = collections.Counter(token for text in texts for token in split(text))
        found = sorted((token for token in counts if counts[token] >= least_count), key=lambda one: (-counts[one], one))
        return cls((*SPECIAL, *found[:most]))


def numbered(vocabulary: Vocabulary, texts: Sequence[str], limit: int) -> list[list[int]]:
    """Return the numbers of the tokens of texts.

    Raises:
        InputError: a text has more tokens than the limit; nothing is ever cut off.
    """
    rows = [vocabulary.numbers(text) for text in texts]
    for row, numbers in enumerate(rows):
        if len(numbers) > limit:
            raise InputError(
                f"Text {row + 1} has {len(numbers):,} tokens, and the model takes {limit:,}: split it, or leave it out."
            )
    return rows
