"""From text to word numbers and back: everything but the words themselves is preserved.

Texts as words and punctuation marks, and back: what generators, rewriters and linear classifiers read.
"""

import abc
import dataclasses
from collections.abc import Collection, Container, Iterable, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import BoolArray, IntArray
from deniable.core.errors import InputError
from deniable.space import Space, grammar
from deniable.space.grammar import fold_word, has_trailing_word, is_clitic, split_words
from deniable.text.encoded import EncodedTexts

UnknownPolicy = Literal["draw", "mask", "drop"]
CasePolicy = Literal["lower", "copy"]
MASK_TOKEN = "[unknown]"  # noqa: S105 - no password

UNKNOWN, KEEP, UNLISTED = -1, -2, -3
"""What spellings have in place of the number of a word; `UNLISTED` - n for one of a hidden class that is read as n."""
CASE_PATTERNS = LOWER_PATTERN, TITLE_PATTERN, UPPER_PATTERN = 0, 1, 2
"""Capitals of a word: none, the first letter, or all of several letters."""
MAX_CACHED_SPELLINGS = 1_000_000
"""Spellings in the cache at a time."""


@dataclasses.dataclass(frozen=True, slots=True)
class LexedText:
    """One text, split into words and what stands between them.

    Attributes:
        gaps: L + 1 strings around the L words, which pass through, kept words included.
        words: (L,) word numbers, unknown words already read as the public one.
        case_patterns: L capital patterns, or None where they are not copied.
        unknown_count: how many words of the text are not in the space, those of hidden classes among them.
        kept_count: how many words of the text pass through as public ones.
        unknown_mask: (L,) True where a word stands for one that the space does not have: the public word for an unknown
            one, the first of a hidden class for another of its words.
    """

    gaps: list[str]
    words: npt.NDArray[np.int32]
    case_patterns: list[int] | None
    unknown_count: int
    kept_count: int
    unknown_mask: BoolArray


@dataclasses.dataclass(frozen=True)
class LexedTexts(abc.ABC):
    """R texts, split; see `LexedText`.

    Attributes:
        words: (N,) word numbers of all texts, end to end.
        offsets: (R + 1,) where the words of each text begin.
        unknown_mask: (N,) True where a word stands for one that the space does not have.
        unknown_count: how many words of all texts are not in the space.
        kept_counts: (R,) how many words of each text pass through as public ones.
    """

    words: npt.NDArray[np.int32]
    offsets: IntArray
    unknown_mask: BoolArray
    unknown_count: int
    kept_counts: IntArray

    @abc.abstractmethod
    def write(self, words: npt.NDArray[np.int32]) -> EncodedTexts:
        """The texts with the given words (N,) in place of their own."""


@dataclasses.dataclass(frozen=True)
class _ListedTexts(LexedTexts):
    """Texts that were split one by one."""

    lexer: "Lexer"
    texts: Sequence[LexedText]

    def write(self, words: npt.NDArray[np.int32]) -> EncodedTexts:
        """The texts with the given words (N,) in place of their own."""
        bounds, listed = self.offsets.tolist(), words.tolist()
        return EncodedTexts.of(
            [
                self.lexer.rebuild_text(text, listed[start:end])
                for text, start, end in zip(self.texts, bounds[:-1], bounds[1:], strict=True)
            ]
        )


class Lexer:
    """Splits texts into words of one space, and caches the number of every spelling.

    Args:
        space: where words are looked up, folded.
        unknown: ``draw`` reads an unknown word as ``space.unknown``; ``mask`` writes "[unknown]"
            in its place; ``drop`` leaves it out with the white space before it. No word of a hidden class is
            unknown.
        case: ``lower`` writes words as the space has them, ``copy`` with the capitals of the
            original.
        keep: public words that pass through as they are, see `check_kept_words`.
    """

    def __init__(self, space: Space, unknown: UnknownPolicy, case: CasePolicy, keep: Collection[str]) -> None:
        self.space = space
        self.unknown = unknown
        self.case = case
        self.keep: dict[str, list[str]] = {}
        for word in check_kept_words(keep):
            self.keep.setdefault(word.lower(), []).append(word)
        self.unknown_number = space.index_of(space.unknown_word)
        self._code_of_spelling: dict[str, int] = {}

    def lex(self, text: str) -> LexedText:
        """One text, split."""
        parts = self.space.split_words(text)
        gaps, spellings = parts[0::2], parts[1::2]
        numbers, is_lacking = self.number_spellings(spellings)
        unknown_count, kept_count = int(np.count_nonzero(is_lacking)), int(np.count_nonzero(numbers == KEEP))
        is_drawn = numbers >= 0
        if not is_drawn.all():
            is_lacking = is_lacking[is_drawn]
            gaps, spellings, numbers = self._merge_into_gaps(gaps, spellings, numbers)
        case_patterns = [get_case_pattern(word) for word in spellings] if self.case == "copy" else None
        return LexedText(gaps, numbers, case_patterns, unknown_count, kept_count, is_lacking)

    def lex_texts(self, texts: EncodedTexts) -> LexedTexts:
        """Texts, split."""
        lexed = [self.lex(text) for text in texts.decode_all()]
        return _ListedTexts(
            np.concatenate([np.empty(0, dtype=np.int32), *(text.words for text in lexed)]),
            np.cumsum([0, *(len(text.words) for text in lexed)]),
            np.concatenate([np.empty(0, dtype=np.bool_), *(text.unknown_mask for text in lexed)]),
            sum(text.unknown_count for text in lexed),
            np.array([text.kept_count for text in lexed], dtype=np.int64),
            self,
            lexed,
        )

    def number_spellings(self, spellings: Sequence[str]) -> tuple[npt.NDArray[np.int32], BoolArray]:
        """What words are read as: (L,) numbers, `KEEP` or `UNKNOWN`, and (L,) whether the space lacks each."""
        codes = list(map(self._code_of_spelling.get, spellings))
        if None in codes:
            codes = [self._look_up(word) if code is None else code for word, code in zip(spellings, codes, strict=True)]
        numbers = np.array(codes, dtype=np.int32)
        is_unlisted = numbers <= UNLISTED
        if is_unlisted.any():
            numbers[is_unlisted] = UNLISTED - numbers[is_unlisted]
        is_unknown = numbers == UNKNOWN
        if self.unknown == "draw":
            numbers[is_unknown] = self.unknown_number
        return numbers, is_unknown | is_unlisted

    def _look_up(self, spelling: str) -> int:
        """Find and remember the number of the word that a spelling is read as, or what stands in its place."""
        if len(self._code_of_spelling) >= MAX_CACHED_SPELLINGS:
            self._code_of_spelling.clear()
        number = self.space.find_number(spelling)
        if self.keep and any(_is_spelling_of(spelling, word) for word in self.keep.get(spelling.lower(), ())):
            code = KEEP
        elif number is None:
            code = UNKNOWN
        else:
            code = number if fold_word(spelling) in self.space.index_by_word else UNLISTED - number
        self._code_of_spelling[spelling] = code
        return code

    def _merge_into_gaps(
        self, gaps: list[str], spellings: list[str], numbers: npt.NDArray[np.int32]
    ) -> tuple[list[str], list[str], npt.NDArray[np.int32]]:
        """Make kept, masked and dropped words part of the gaps around them."""
        merged_gaps, remaining_spellings = [gaps[0]], []
        is_after_dropped = False
        for spelling, number, gap in zip(spellings, numbers.tolist(), gaps[1:], strict=True):
            if number >= 0:
                remaining_spellings.append(spelling)
                merged_gaps.append(gap)
                is_after_dropped = False
                continue
            literal = spelling if number == KEEP else MASK_TOKEN if self.unknown == "mask" else ""
            if not literal and merged_gaps[-1].isspace():
                merged_gaps[-1] = ""
            follows_word = (
                is_after_dropped and has_trailing_word(merged_gaps[-1])
                if merged_gaps[-1]
                else bool(remaining_spellings)
            )
            if literal and follows_word and not is_clitic(fold_word(literal)):
                literal = " " + literal
            merged_gaps[-1] += literal + gap
            is_after_dropped = not gap and (is_after_dropped or not literal)
        return merged_gaps, remaining_spellings, numbers[numbers >= 0]

    def rebuild_text(self, lexed: LexedText, words: Iterable[int]) -> str:
        """Return the text with the given words (L numbers) in place of its own.

        Two words that touched (do|n't) are written apart unless the second is a contraction's.
        """
        output_words = list(map(self.space.words.__getitem__, words))
        gaps = lexed.gaps
        adjacent_words = self._find_adjacent_words(gaps)
        if adjacent_words:
            gaps = gaps.copy()
            for position in adjacent_words:
                if not is_clitic(output_words[position]):
                    gaps[position] += " "
        if lexed.case_patterns is not None:
            output_words = [
                apply_case_pattern(word, pattern)
                for word, pattern in zip(output_words, lexed.case_patterns, strict=True)
            ]
        parts = [""] * (2 * len(output_words) + 1)
        parts[0::2] = gaps
        parts[1::2] = output_words
        return "".join(parts)

    def _find_adjacent_words(self, gaps: list[str]) -> list[int]:
        """Return the words (by number) that stand right behind another word, drawn, kept or masked."""
        may_end_in_word = bool(self.keep) or self.unknown != "draw"
        return [
            position
            for position, gap in enumerate(gaps[:-1])
            if (position if not gap else may_end_in_word and (has_trailing_word(gap) or gap.endswith(MASK_TOKEN)))
        ]


def check_kept_words(words: Collection[str]) -> tuple[str, ...]:
    """Return public words that pass through, sorted, each once.

    Raises:
        InputError: one of them is no single word.
    """
    for word in words:
        if not isinstance(word, str) or not (is_clitic(word) or split_words(word) == ["", word, ""]):
            raise InputError(
                f"The list of words to keep must hold single words. Got {word!r}: give each word by itself."
            )
    return tuple(sorted(set(words)))


def refuse_hidden_words(words: Collection[str], space: Space) -> None:
    """Raise `InputError` for a word to keep of a hidden class: it would tell itself from the others of the class."""
    for word in words:
        folded = fold_word(word)
        for word_class in space.hide:  # also those of which the space has no word
            if folded in word_class:
                raise InputError(
                    f"The word {word!r} cannot be kept: it is one of the hidden class of {word_class.name}. Take it "
                    "out of the list, or do not hide the class."
                )


def _is_spelling_of(spelling: str, word: str) -> bool:
    """Return whether a spelling is the listed word, its letters one by one the listed ones or their other case.

    No other difference is allowed: a look-alike such as the Kelvin sign, another composition of an accent, or an
    invisible character can carry a payload.
    """
    return len(spelling) == len(word) and all(
        letter in (listed, listed.lower(), listed.upper()) for letter, listed in zip(spelling, word, strict=True)
    )


def get_case_pattern(word: str) -> int:
    """Return the capital pattern of a word."""
    if word[:1] == word[:1].lower():
        return LOWER_PATTERN
    return UPPER_PATTERN if len(word) > 1 and word == word.upper() else TITLE_PATTERN


def apply_case_pattern(word: str, pattern: int) -> str:
    """Return a word with the capitals of a pattern."""
    if pattern == LOWER_PATTERN:
        return word
    return word.upper() if pattern == UPPER_PATTERN else word[:1].upper() + word[1:]


_OPENING_MARKS, _CLOSING_MARKS = frozenset("([{$£€#"), frozenset(".,!?;:%)]}")
"""Marks that attach to the next token, and marks that attach to the previous one."""


def split_tokens(text: str) -> list[str]:
    """Return the tokens of a text: words, folded by `deniable.space.grammar.fold_word`, and single punctuation marks.

    A contraction is two tokens (what|'s, do|n't). White space and capitals are lost.
    """
    tokens: list[str] = []
    # Folded first: without an invisible character that held it together, a token would be several.
    for place, part in enumerate(grammar.split_words(grammar.fold_word(text))):
        tokens.extend([part] if place % 2 else "".join(part.split()))
    return tokens


def count_unknown_words(texts: Iterable[str], vocabulary: Container[str]) -> tuple[int, int]:
    """Return how many words of some texts a vocabulary lacks, and how many words there are; marks do not count.

    Args:
        texts: private ones.
        vocabulary: words, as `split_tokens` spells them.
    """
    words = [token for text in texts for token in split_tokens(text) if token[0].isalnum()]
    return sum(word not in vocabulary for word in words), len(words)


def join_tokens(tokens: Iterable[str]) -> str:
    """Return a text of some tokens, without spaces before punctuation and inside contractions.

    Tokens from `split_tokens` give a text with the same tokens; any others give one with no more tokens than these. A
    decoder may emit the second part of a contraction without a first part; its apostrophe is then left out.
    """
    parts: list[str] = []
    run: list[str] = []  # tokens since the last space
    is_attached = True  # whether the next token follows without a space
    for token in tokens:
        written = token
        if token in _CLOSING_MARKS:
            is_attached = True
        elif grammar.is_clitic(token):
            rejoins = split_tokens("".join(run) + token) == [*run, token]
            is_attached, written = is_attached or rejoins, token if rejoins else token.lstrip("'")
        parts.append(written if is_attached else f" {written}")
        run = [*run, written] if is_attached else [written]
        is_attached = token in _OPENING_MARKS
    return "".join(parts)
