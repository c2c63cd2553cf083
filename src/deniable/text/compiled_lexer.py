"""The compiled half of the lexer: many texts at once, on all cores, equal byte for byte to `deniable.text.tokens`.

Texts go through in parts. Compiled loops cut them, look their words up, and write the drawn words back; the other half
is asked once for each spelling.
"""

import threading
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import BoolArray, IntArray
from deniable.core.parallel import compile_loop, parallel_map
from deniable.core.progress import hide_progress
from deniable.space.grammar import LETTER_BIT, SYMBOL_BIT, fold_word, is_clitic
from deniable.text.encoded import ByteArray, EncodedTexts
from deniable.text.scanner import (
    SPACE_BIT,
    STAND_IN_MASK,
    ScannedTexts,
    ScanTables,
    get_character_table,
    get_scan_tables,
    read_character,
    scan_texts,
)
from deniable.text.spellings import SpellingTable
from deniable.text.tokens import (
    KEEP,
    LOWER_PATTERN,
    MASK_TOKEN,
    MAX_CACHED_SPELLINGS,
    TITLE_PATTERN,
    UNKNOWN,
    UNLISTED,
    UPPER_PATTERN,
    LexedBatch,
    Lexer,
    UnknownPolicy,
    apply_case_pattern,
    get_case_pattern,
)

PART_BYTES = 1 << 20
"""Bytes of the texts of one part, about: the work of one thread at a time."""
_ASCII_END, _LATER_BYTE_MASK = 0x80, 0xC0
_SPACE = ord(" ")
_POLICIES: tuple[UnknownPolicy, ...] = ("draw", "mask", "drop")
_DRAW, _DROP = 0, 2


class WordBytes(NamedTuple):
    """The n words of a space as they are written, and what else a lexer writes.

    Attributes:
        data: bytes of all words, as they are and, where capitals are copied, with a capital letter and in capitals.
        starts: (n + 1,) or (3 n + 1,) where each begins.
        is_clitic: (n,) whether each is the second part of a contraction.
        mask: what stands for a masked word.
        policy: what becomes of unknown words, a place in `_POLICIES`.
        is_cased: whether capitals are copied.
    """

    data: ByteArray
    starts: IntArray
    is_clitic: BoolArray
    mask: ByteArray
    policy: int
    is_cased: bool


class SpellingFates(NamedTuple):
    """What becomes of S spellings.

    Attributes:
        numbers: (S,) of the word that each is read as, or what stands in its place, see `deniable.text.tokens.Lexer`.
        case_patterns: (S,) its capitals, where it is not ASCII.
        is_clitic: (S,) whether it is kept, and the second part of a contraction.
    """

    numbers: npt.NDArray[np.int32]
    case_patterns: ByteArray
    is_clitic: BoolArray


class PartTexts(NamedTuple):
    """One part of the texts and its T words, for compiled loops; see `ScannedTexts`.

    Attributes:
        data: bytes of its R texts.
        offsets: (R + 1,) where each text begins and ends.
        first_words: (R,) first word of each text.
        word_counts: (R,) number of words of each text.
        starts: (T,) where each word begins.
        ends: (T,) where it ends.
        entries: (T,) its spelling.
    """

    data: ByteArray
    offsets: IntArray
    first_words: IntArray
    word_counts: IntArray
    starts: npt.NDArray[np.int32]
    ends: npt.NDArray[np.int32]
    entries: npt.NDArray[np.int32]


class _NumberedPart(NamedTuple):
    """What is drawn for a part: its words, which of them stand for others, and counts for each text."""

    words: npt.NDArray[np.int32]
    is_unknown: BoolArray
    drawn_counts: IntArray
    unknown_counts: IntArray
    kept_counts: IntArray


class CompiledLexer:
    """Splits and writes texts as a lexer does.

    Args:
        lexer: the other half.
    """

    def __init__(self, lexer: Lexer) -> None:
        self._lexer = lexer
        self._lock = threading.Lock()
        self._words = _encode_words(lexer)
        self._begin_table()

    def lex_texts(self, texts: EncodedTexts, workers: int | None = None) -> LexedBatch:
        """Return texts, split.

        Args:
            texts: in valid UTF-8 but for lone surrogates.
            workers: threads.
        """
        parts = texts.split(PART_BYTES)
        with hide_progress():
            with self._lock:
                looked_up = self._look_up(parts, workers)
                fates = self._fates
            numbered = parallel_map(lambda part: self._number_words(part, fates), looked_up, workers)
        drawn, is_unknown, drawn_counts, unknown_counts, kept_counts = (
            np.concatenate(columns) for columns in zip(*numbered, strict=True)
        )
        offsets = np.zeros(len(texts) + 1, dtype=np.int64)
        np.cumsum(drawn_counts, out=offsets[1:])

        def rebuild(outputs: npt.NDArray[np.int32]) -> EncodedTexts:
            bounds = np.cumsum([0, *(len(part.words) for part in numbered)])
            pieces = [
                (part, outputs[first:last])
                for part, first, last in zip(looked_up, bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
            ]
            with hide_progress():
                return EncodedTexts.join(parallel_map(lambda piece: self._write_part(*piece, fates), pieces, workers))

        return LexedBatch(drawn, offsets, is_unknown, int(unknown_counts.sum()), kept_counts, rebuild)

    def _look_up(self, parts: Sequence[EncodedTexts], workers: int | None) -> list[PartTexts]:
        """Cut parts and look their words up; spellings that are met for the first time are added part by part."""
        # An interrupt in an earlier batch may have left spellings without their fates, or some that are not counted.
        is_torn = self._spellings.is_torn or len(self._fates.numbers) != len(self._spellings)
        if is_torn or len(self._spellings) >= MAX_CACHED_SPELLINGS:
            self._begin_table()
        table, grammar = self._spellings, self._lexer.space.grammar

        def find_words(part: EncodedTexts) -> PartTexts:
            scanned = scan_texts(part, grammar)
            return _join_arrays(scanned, table.find(scanned.data, scanned.starts, scanned.ends))

        def add_spellings(part: PartTexts) -> None:
            if (part.entries < 0).any():
                first = len(table)
                table.add(part.data, part.starts, part.ends, part.entries)
                self._extend_fates(self._find_fates(table.list_spellings(first)))

        looked_up: list[PartTexts] = []
        # The first part has most of what the others have.
        for group in (parts[:1], parts[1:]):
            found = parallel_map(find_words, group, workers)
            for part in found:
                add_spellings(part)
            looked_up += found
        return looked_up

    def _begin_table(self) -> None:
        """Forget all spellings but those of the space, in small letters."""
        keep, words = self._lexer.keep, self._lexer.space.words
        numbers = [number for number, word in enumerate(words) if word.isascii() and word not in keep]
        texts = EncodedTexts.of([words[number] for number in numbers])
        places = texts.offsets.astype(np.int32)
        # A letter beyond ASCII may be the other case of an ASCII one: then not all spellings of a word are kept.
        is_folding = all(word.isascii() for listed_words in keep.values() for word in listed_words)
        self._spellings = SpellingTable(is_folding=is_folding)
        self._spellings.add(texts.data, places[:-1], places[1:], np.full(len(numbers), -1, dtype=np.int32))
        no_flags = np.zeros((2, len(numbers)), dtype=np.uint8)
        self._fates = SpellingFates(np.array(numbers, dtype=np.int32), no_flags[0], no_flags[1].astype(np.bool_))

    def _find_fates(self, spellings: Sequence[str]) -> SpellingFates:
        """Ask the other half what becomes of spellings."""
        numbers = list(map(self._lexer.number_spelling, spellings))
        patterns = [LOWER_PATTERN if spelling.isascii() else get_case_pattern(spelling) for spelling in spellings]
        kept_clitics = [
            number == KEEP and is_clitic(fold_word(spelling))
            for number, spelling in zip(numbers, spellings, strict=True)
        ]
        return SpellingFates(
            np.array(numbers, dtype=np.int32),
            np.array(patterns, dtype=np.uint8),
            np.array(kept_clitics, dtype=np.bool_),
        )

    def _extend_fates(self, fates: SpellingFates) -> None:
        # New arrays: those of other batches, which may still be written, stay.
        self._fates = SpellingFates(
            np.concatenate([self._fates.numbers, fates.numbers]),
            np.concatenate([self._fates.case_patterns, fates.case_patterns]),
            np.concatenate([self._fates.is_clitic, fates.is_clitic]),
        )

    def _number_words(self, part: PartTexts, fates: SpellingFates) -> _NumberedPart:
        """Return the words of a part that are drawn."""
        count = len(part.entries)
        numbered = _NumberedPart(
            np.empty(count, dtype=np.int32),
            np.empty(count, dtype=np.bool_),
            *np.zeros((3, len(part.word_counts)), dtype=np.int64),
        )
        unknown_number = self._lexer.unknown_number if self._lexer.unknown == "draw" else UNKNOWN
        drawn = _number_words(part, fates.numbers, unknown_number, numbered)
        return numbered._replace(words=numbered.words[:drawn], is_unknown=numbered.is_unknown[:drawn])

    def _write_part(self, part: PartTexts, outputs: npt.NDArray[np.int32], fates: SpellingFates) -> EncodedTexts:
        """Return the texts of a part with other words."""
        words = self._words
        sizes = np.diff(words.starts).reshape(-1, len(words.is_clitic)).max(axis=0)
        # Before each word may stand a space, and a masked one may be longer than what it stands for.
        room = len(part.data) + int(sizes[outputs].sum()) + len(part.entries) * (1 + len(words.mask))
        out, ends = np.empty(room, dtype=np.uint8), np.zeros(len(part.offsets), dtype=np.int64)
        size = _write_texts(part, fates, words, outputs, get_scan_tables(), out, ends)
        return EncodedTexts(out[:size].copy(), ends)


def _join_arrays(scanned: ScannedTexts, entries: npt.NDArray[np.int32]) -> PartTexts:
    return PartTexts(
        scanned.data, scanned.offsets, scanned.first_words, scanned.word_counts, scanned.starts, scanned.ends, entries
    )


def _encode_words(lexer: Lexer) -> WordBytes:
    """Return the words of the lexer's space as bytes."""
    words = lexer.space.words
    patterns = (LOWER_PATTERN, TITLE_PATTERN, UPPER_PATTERN) if lexer.case == "copy" else (LOWER_PATTERN,)
    written = EncodedTexts.of([apply_case_pattern(word, pattern) for pattern in patterns for word in words])
    get_character_table().extend_to(written.data)
    return WordBytes(
        written.data,
        written.offsets,
        np.array(list(map(is_clitic, words)), dtype=np.bool_),
        np.frombuffer(MASK_TOKEN.encode(), dtype=np.uint8),
        _POLICIES.index(lexer.unknown),
        lexer.case == "copy",
    )


@compile_loop
def _number_words(
    part: PartTexts, numbers: npt.NDArray[np.int32], unknown_number: int, numbered: _NumberedPart
) -> int:  # pragma: no cover - compiled
    """Fill in the words that are drawn, in the order of the texts, and the counts; return how many are drawn."""
    drawn = 0
    for row in range(len(part.word_counts)):
        first_drawn = drawn
        for word in range(part.first_words[row], part.first_words[row] + part.word_counts[row]):
            number = numbers[part.entries[word]]
            is_unlisted, is_unknown = number <= UNLISTED, number == UNKNOWN
            if is_unlisted:
                number = UNLISTED - number
            elif is_unknown:
                number = unknown_number
            numbered.kept_counts[row] += number == KEEP
            numbered.unknown_counts[row] += is_unlisted or is_unknown
            if number >= 0:
                numbered.words[drawn], numbered.is_unknown[drawn] = number, is_unlisted or is_unknown
                drawn += 1
        numbered.drawn_counts[row] = drawn - first_drawn
    return drawn


@compile_loop
def _write_texts(
    part: PartTexts,
    fates: SpellingFates,
    words: WordBytes,
    outputs: npt.NDArray[np.int32],
    tables: ScanTables,
    out: ByteArray,
    out_ends: IntArray,
) -> int:  # pragma: no cover - compiled
    """Write the texts with the words drawn for them, as `Lexer.rebuild_text` does; return their bytes."""
    data, starts, ends, entries = part.data, part.starts, part.ends, part.entries
    size, drawn = 0, 0
    for row in range(len(part.word_counts)):
        at, gap_start, first_drawn, is_after_dropped, is_merged = part.offsets[row], size, drawn, False, False
        last_word = part.first_words[row] + part.word_counts[row]
        for word in range(part.first_words[row], last_word):
            while at < starts[word]:
                out[size] = data[at]
                at += 1
                size += 1
            at = ends[word]
            number = fates.numbers[entries[word]]
            if number >= 0 or number <= UNLISTED or (number == UNKNOWN and words.policy == _DRAW):
                output = outputs[drawn]
                is_adjacent = drawn > first_drawn and size == gap_start
                if is_merged and size > gap_start:  # what else stands between words never ends in one
                    is_adjacent = _has_trailing_word(out, gap_start, size, tables) or _ends_in_mask(
                        out, gap_start, size, words.mask
                    )
                if is_adjacent and not words.is_clitic[output]:
                    size = _write_space(out, size)
                drawn += 1
                if words.is_cased:
                    output += _find_case_pattern(part, word, fates.case_patterns) * len(words.is_clitic)
                for place in range(words.starts[output], words.starts[output + 1]):
                    out[size] = words.data[place]
                    size += 1
                gap_start, is_after_dropped, is_merged = size, False, False
                continue
            has_words = drawn > first_drawn
            size = _write_other_word(
                part, word, fates, words, tables, gap_start, size, has_words, is_after_dropped, out
            )
            gap_end = starts[word + 1] if word + 1 < last_word else part.offsets[row + 1]
            is_dropped = number == UNKNOWN and words.policy == _DROP
            is_after_dropped = gap_end == at and (is_after_dropped or is_dropped)
            is_merged = True
        size = _copy(data, at, part.offsets[row + 1], out, size)
        out_ends[row + 1] = size
    return size


@compile_loop
def _write_other_word(
    part: PartTexts,
    word: int,
    fates: SpellingFates,
    words: WordBytes,
    tables: ScanTables,
    gap_start: int,
    size: int,
    has_words: bool,  # noqa: FBT001 - compiled
    is_after_dropped: bool,  # noqa: FBT001 - compiled
    out: ByteArray,
) -> int:  # pragma: no cover - compiled
    """Make a word that is kept, masked or dropped part of the gap before it, and return how many bytes there are."""
    entry = part.entries[word]
    is_kept = fates.numbers[entry] == KEEP
    if not is_kept and words.policy == _DROP:
        return gap_start if _is_space(out, gap_start, size, tables) else size
    follows_word = has_words
    if size > gap_start:
        follows_word = is_after_dropped and _has_trailing_word(out, gap_start, size, tables)
    if follows_word and not fates.is_clitic[entry]:
        size = _write_space(out, size)
    if is_kept:
        return _copy(part.data, part.starts[word], part.ends[word], out, size)
    return _copy(words.mask, 0, len(words.mask), out, size)


@compile_loop
def _copy(source: ByteArray, start: int, end: int, out: ByteArray, size: int) -> int:  # pragma: no cover - compiled
    """Append bytes, and return how many there are now."""
    for at in range(start, end):
        out[size + at - start] = source[at]
    return size + end - start


@compile_loop
def _write_space(out: ByteArray, size: int) -> int:  # pragma: no cover - compiled
    """Append a space, and return how many bytes there are now."""
    out[size] = _SPACE
    return size + 1


@compile_loop
def _has_trailing_word(out: ByteArray, start: int, end: int, tables: ScanTables) -> bool:  # pragma: no cover - compiled
    """Return whether the last character of a gap belongs to a word."""
    at = end - 1
    while at > start and out[at] & _LATER_BYTE_MASK == _ASCII_END:
        at -= 1
    code, _ = read_character(out, at)
    kind = tables.kinds[tables.characters[code] & STAND_IN_MASK]
    return bool(kind & (LETTER_BIT | SYMBOL_BIT))


@compile_loop
def _ends_in_mask(out: ByteArray, start: int, end: int, mask: ByteArray) -> bool:  # pragma: no cover - compiled
    """Return whether a gap ends in what stands for an unknown word."""
    length = len(mask)
    if end - start < length:
        return False
    for at in range(length):  # noqa: SIM110 - compiled
        if out[end - length + at] != mask[at]:
            return False
    return True


@compile_loop
def _is_space(out: ByteArray, start: int, end: int, tables: ScanTables) -> bool:  # pragma: no cover - compiled
    """Return whether a gap is white space, and not empty."""
    at = start
    while at < end:
        code, at = read_character(out, at)
        if not tables.characters[code] & SPACE_BIT:
            return False
    return end > start


@compile_loop
def _find_case_pattern(part: PartTexts, word: int, patterns: ByteArray) -> int:  # pragma: no cover - compiled
    """Return the capital pattern of a word."""
    start, end = part.starts[word], part.ends[word]
    has_small = False
    for at in range(start, end):
        if part.data[at] >= _ASCII_END:
            return int(patterns[part.entries[word]])
        has_small |= ord("a") <= part.data[at] <= ord("z")
    if not ord("A") <= part.data[start] <= ord("Z"):
        return LOWER_PATTERN
    return UPPER_PATTERN if end - start > 1 and not has_small else TITLE_PATTERN
