"""The compiled half of the grammar: where the words of many texts begin and end, without the interpreter lock.

It finds what `deniable.space.grammar.split_words` finds, and knows of characters what that says of them; tests hold
the two side by side. Texts with a sign of an address are left to the expressions there.
"""

import dataclasses
import functools
import itertools
import threading
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import BoolArray, IntArray
from deniable.core.parallel import compile_loop
from deniable.space.grammar import (
    ANY_CASE,
    DIGIT_BIT,
    LABEL_BIT,
    LATER_SYMBOL_BIT,
    LETTER_BIT,
    ONE_CASE,
    PLAIN_SEPARATOR_BIT,
    SIGN,
    SYMBOL_BIT,
    WHOLE_SEPARATOR_BIT,
    Grammar,
    classify_stand_ins,
    find_stand_ins,
    list_domain_ends,
    split_words,
)
from deniable.text.encoded import ByteArray, EncodedTexts

MAX_TEXT_BYTES = 1 << 30
"""Places in a part of the texts are 32-bit numbers; a part is no longer than its longest text or `split`'s size."""
_CODE_POINTS, _PAGE = 0x110000, 256
SPACE_BIT, STAND_IN_MASK = 0x80, 0x7F
"""What the table of characters says of one: its stand-in, and whether Python calls it white space."""
_JOINER, _APOSTROPHE, _DOT, _SLASH, _COLON, _AT_SIGN = 0x02, ord("'"), ord("."), ord("/"), ord(":"), ord("@")
_ASCII_END, _CASE_BIT, _SIGN = 0x80, 0x20, ord(SIGN)
_MAX_DOMAIN_LETTERS = 13
"""A name of 13 letters is a number of 64 bits to the base 27."""


class ScanTables(NamedTuple):
    """What compiled loops know of the grammar.

    Attributes:
        kinds: (128,) bits of each stand-in.
        characters: (0x110000,) stand-in of each character, and whether it is white space.
        domain_codes: names at the end of domains, as numbers, sorted.
        domain_cases: in which capitals each counts.
    """

    kinds: ByteArray
    characters: ByteArray
    domain_codes: npt.NDArray[np.uint64]
    domain_cases: ByteArray


@dataclasses.dataclass(frozen=True)
class ScannedTexts:
    """Texts and their words; places are counted from the first byte of the first text.

    Attributes:
        texts: R texts.
        starts: (T,) where each word begins; those of one text stand together, the texts in any order.
        ends: (T,) where it ends.
        first_words: (R,) the first of each text's words.
        word_counts: (R,) number of each text's words.
    """

    texts: EncodedTexts
    starts: npt.NDArray[np.int32]
    ends: npt.NDArray[np.int32]
    first_words: IntArray
    word_counts: IntArray

    @property
    def data(self) -> ByteArray:
        """Bytes of the texts."""
        return self.texts.data[self.texts.offsets[0] : self.texts.offsets[-1]]

    @property
    def offsets(self) -> IntArray:
        """(R + 1,) where each text begins and ends in `data`."""
        offsets: IntArray = self.texts.offsets - self.texts.offsets[0]
        return offsets


class _CharacterTable:
    """The stand-ins of all characters, found by pages when they are first met."""

    def __init__(self) -> None:
        self.characters = np.zeros(_CODE_POINTS, dtype=np.uint8)
        self._is_known = np.zeros(_CODE_POINTS // _PAGE, dtype=np.bool_)
        self._lock = threading.Lock()
        self.extend(np.arange(1))

    def extend(self, pages: IntArray) -> None:
        """Look up the characters of pages."""
        with self._lock:
            for page in pages[~self._is_known[pages]].tolist():
                codes = range(page * _PAGE, (page + 1) * _PAGE)
                stand_ins = find_stand_ins("".join(map(chr, codes))).encode()
                spaces = [SPACE_BIT * chr(code).isspace() for code in codes]
                self.characters[codes.start : codes.stop] = np.frombuffer(stand_ins, dtype=np.uint8) | spaces
                self._is_known[page] = True

    def extend_to(self, data: ByteArray) -> None:
        """Look up the characters of texts."""
        if not is_own_stand_in(data, 0, len(data)):
            is_met = np.zeros(_CODE_POINTS // _PAGE, dtype=np.bool_)
            mark_pages(data, is_met)
            self.extend(np.flatnonzero(is_met))


@functools.cache
def get_character_table() -> _CharacterTable:
    """Return the table of this process."""
    return _CharacterTable()


@functools.cache
def get_scan_tables() -> ScanTables:
    """Return what compiled loops know of the grammar, which has it from `deniable.space.grammar`."""
    code_of_name = {_encode_domain(name): case for name, case in list_domain_ends().items()}
    return ScanTables(
        np.array(classify_stand_ins(), dtype=np.uint8),
        get_character_table().characters,
        np.array(sorted(code_of_name), dtype=np.uint64),
        np.array([code_of_name[code] for code in sorted(code_of_name)], dtype=np.uint8),
    )


def _encode_domain(name: str) -> int:
    """Return a name of small letters as a number to the base 27."""
    if len(name) > _MAX_DOMAIN_LETTERS:
        raise ValueError(f"{name!r} is longer than {_MAX_DOMAIN_LETTERS} letters")
    return functools.reduce(lambda code, letter: 27 * code + ord(letter) - ord("a") + 1, name, 0)


def scan_texts(texts: EncodedTexts, grammar: Grammar) -> ScannedTexts:
    """Return where the words of texts are.

    Args:
        texts: of at most `MAX_TEXT_BYTES` together, in valid UTF-8 but for lone surrogates.
        grammar: by which words are cut.
    """
    scanned = ScannedTexts(texts, *_allocate_places(texts.size), *np.zeros((2, len(texts)), dtype=np.int64))
    data, offsets = scanned.data, scanned.offsets
    get_character_table().extend_to(data)
    has_sign = np.zeros(len(texts), dtype=np.bool_)
    scratch = np.empty(int(np.diff(offsets).max(initial=0)), dtype=np.uint8)
    places = np.empty(len(scratch) + 1, dtype=np.int32)
    count = _scan_texts(
        data,
        offsets,
        get_scan_tables(),
        grammar == "whole",
        scratch,
        places,
        scanned.starts,
        scanned.ends,
        scanned.first_words,
        scanned.word_counts,
        has_sign,
    )
    starts, ends = [scanned.starts[:count].copy()], [scanned.ends[:count].copy()]
    for row in np.flatnonzero(has_sign).tolist():
        text_starts, text_ends = _split_text(texts.decode(row), grammar, int(offsets[row]))
        starts.append(text_starts)
        ends.append(text_ends)
        scanned.first_words[row], scanned.word_counts[row] = count, len(text_starts)
        count += len(text_starts)
    return dataclasses.replace(scanned, starts=np.concatenate(starts), ends=np.concatenate(ends))


def _allocate_places(size: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return room for the words of so many bytes, which are no more than these."""
    return np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32)


def _split_text(text: str, grammar: Grammar, offset: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return where the words of one text begin and end, by the expressions of the grammar."""
    parts = split_words(text, grammar)
    lengths = map(len, parts if text.isascii() else (part.encode("utf-8", "surrogatepass") for part in parts))
    bounds = np.array(list(itertools.accumulate(lengths, initial=offset)), dtype=np.int32)
    return bounds[1:-1:2], bounds[2::2]


@compile_loop
def is_own_stand_in(data: ByteArray, start: int, end: int) -> bool:  # pragma: no cover - compiled
    """Return whether each character of a text stands for itself: all are ASCII, and none is the vertical tab."""
    bits = np.uint8(0)
    for at in range(start, end):
        bits |= data[at] | np.uint8(_ASCII_END * (data[at] == _SIGN))
    return bool(bits < _ASCII_END)


@compile_loop
def mark_pages(data: ByteArray, is_met: BoolArray) -> None:  # pragma: no cover - compiled
    """Mark the pages of the table of characters that texts need."""
    at = 0
    while at < len(data):
        if data[at] < _ASCII_END:
            at += 1
        else:
            code, at = read_character(data, at)
            is_met[code // _PAGE] = True


@compile_loop
def read_character(data: ByteArray, at: int) -> tuple[np.int64, int]:  # pragma: no cover - compiled
    """Return the character at a place of valid UTF-8, and where the next one is."""
    first = np.int64(data[at])
    if first < 0x80:  # noqa: PLR2004 - the forms of UTF-8
        return first, at + 1
    if first < 0xE0:  # noqa: PLR2004
        return (first & 0x1F) << 6 | np.int64(data[at + 1]) & 0x3F, at + 2
    if first < 0xF0:  # noqa: PLR2004
        return (first & 0x0F) << 12 | (np.int64(data[at + 1]) & 0x3F) << 6 | np.int64(data[at + 2]) & 0x3F, at + 3
    high = (first & 0x07) << 18 | (np.int64(data[at + 1]) & 0x3F) << 12
    return high | (np.int64(data[at + 2]) & 0x3F) << 6 | np.int64(data[at + 3]) & 0x3F, at + 4


@compile_loop
def _scan_texts(
    data: ByteArray,
    offsets: IntArray,
    tables: ScanTables,
    is_whole: bool,  # noqa: FBT001 - compiled
    scratch: ByteArray,
    places: npt.NDArray[np.int32],
    starts: npt.NDArray[np.int32],
    ends: npt.NDArray[np.int32],
    first_words: IntArray,
    word_counts: IntArray,
    has_sign: BoolArray,
) -> int:  # pragma: no cover - compiled
    """Fill in the words of every text but for those with a sign of an address, and return how many there are."""
    count = 0
    for row in range(len(offsets) - 1):
        start, end = offsets[row], offsets[row + 1]
        is_direct = is_own_stand_in(data, start, end)
        stand_ins, first, last = data, start, end
        if not is_direct:
            first, last = 0, _write_stand_ins(data, start, end, tables.characters, scratch, places)
            stand_ins = scratch
        first_words[row] = count
        word_end = _scan_text(stand_ins, first, last, tables, is_whole, starts, ends, count)
        if word_end < 0:
            has_sign[row] = True
            continue
        count = word_end
        word_counts[row] = count - first_words[row]
        if not is_direct:
            for word in range(first_words[row], count):
                starts[word], ends[word] = places[starts[word]], places[ends[word]]
    return count


@compile_loop
def _write_stand_ins(
    data: ByteArray,
    start: int,
    end: int,
    characters: ByteArray,
    scratch: ByteArray,
    places: npt.NDArray[np.int32],
) -> int:  # pragma: no cover - compiled
    """Write the stand-in of every character of a text, and where the character is; return how many there are."""
    count, at = 0, start
    while at < end:
        places[count] = at
        code, at = read_character(data, at)
        scratch[count] = characters[code] & STAND_IN_MASK
        count += 1
    places[count] = end
    return count


@compile_loop
def _is_address_sign(
    text: ByteArray, start: int, at: int, end: int, tables: ScanTables
) -> bool:  # pragma: no cover - compiled
    """Return whether a character is one that every address has: an at sign, or part of a scheme, of www. or a domain.

    None of these stands inside another word: in numbers, a digit follows a point.
    """
    if text[at] == _AT_SIGN:
        return True
    if text[at] == _SLASH:
        return at - start > 1 and text[at - 1] == _SLASH and text[at - 2] == _COLON
    if text[at] != _DOT or at == start:
        return False
    w_letters = 0
    while w_letters < len("www") and w_letters < at - start and text[at - 1 - w_letters] | _CASE_BIT == ord("w"):
        w_letters += 1
    is_label = tables.kinds[text[at - 1]] & LABEL_BIT != 0
    return w_letters == len("www") or (is_label and _is_domain_end(text, at + 1, end, tables))


@compile_loop
def _is_domain_end(text: ByteArray, start: int, end: int, tables: ScanTables) -> bool:  # pragma: no cover - compiled
    """Return whether the name at a place is one at the end of domains."""
    code, upper_letters, at = np.uint64(0), 0, start
    while at < end and ord("a") <= text[at] | _CASE_BIT <= ord("z") and at - start <= _MAX_DOMAIN_LETTERS:
        code = code * np.uint64(27) + np.uint64((text[at] | _CASE_BIT) - ord("a") + 1)
        upper_letters += text[at] & _CASE_BIT == 0
        at += 1
    letters = at - start
    while at < end and text[at] == _JOINER:
        at += 1
    is_cut = at < end and tables.kinds[text[at]] & LETTER_BIT != 0
    if is_cut or letters > _MAX_DOMAIN_LETTERS:
        return False
    entry = np.searchsorted(tables.domain_codes, code)
    if entry == len(tables.domain_codes) or tables.domain_codes[entry] != code:
        return False
    case = tables.domain_cases[entry]
    return case == ANY_CASE or upper_letters == 0 or (case == ONE_CASE and upper_letters == letters)


@compile_loop
def _scan_text(
    text: ByteArray,
    start: int,
    end: int,
    tables: ScanTables,
    is_whole: bool,  # noqa: FBT001 - compiled
    starts: npt.NDArray[np.int32],
    ends: npt.NDArray[np.int32],
    count: int,
) -> int:  # pragma: no cover - compiled
    """Append the words of a text of stand-ins, and return how many there are now; -1 where it may hold an address."""
    kinds, at = tables.kinds, start
    while at < end:
        kind, stop = kinds[text[at]], at
        if kind & LETTER_BIT and not kind & DIGIT_BIT and text[at] != _JOINER:
            # Most words are letters alone, and are found without a call.
            while stop < end and kinds[text[stop]] & LETTER_BIT:
                stop += 1
            if stop < end and text[stop] == _APOSTROPHE:
                stop = _find_word_end(text, at, end, kinds)
        elif kind & (LETTER_BIT | SYMBOL_BIT) or text[at] == _APOSTROPHE:
            stop = _find_other_end(text, start, at, end, kinds, is_whole)
        if stop > at:
            starts[count], ends[count] = at, stop
            count += 1
            at = stop
        elif is_whole and _DOT <= text[at] <= _AT_SIGN and _is_address_sign(text, start, at, end, tables):
            return -1
        else:
            at += 1
    return count


@compile_loop
def _find_other_end(
    text: ByteArray,
    start: int,
    at: int,
    end: int,
    kinds: ByteArray,
    is_whole: bool,  # noqa: FBT001 - compiled
) -> int:  # pragma: no cover - compiled
    """Return where a number, a contraction or a word of symbols ends, the place itself where there is none."""
    stop = at
    if text[at] == _APOSTROPHE:
        follows_letter = at > start and kinds[text[at - 1]] & LETTER_BIT != 0
        return _find_clitic_end(text, at, end, kinds) if follows_letter else at
    if kinds[text[at]] & SYMBOL_BIT:
        while stop < end and kinds[text[stop]] & LATER_SYMBOL_BIT:
            stop += 1
        return stop
    if is_whole:  # noqa: SIM108 - a line of 120 characters has no room
        stop = _find_whole_number_end(text, at, end, kinds)
    else:
        stop = _find_plain_number_end(text, at, end, kinds)
    return stop if stop > at else _find_word_end(text, at, end, kinds)


@compile_loop
def _find_word_end(text: ByteArray, at: int, end: int, kinds: ByteArray) -> int:  # pragma: no cover - compiled
    """Return where the word ends that begins with a letter: letters, inner apostrophes, or n't."""
    stop = _find_letters_end(text, at, end, kinds)
    if stop == at:
        return at + 3  # n't
    while stop < end and text[stop] == _APOSTROPHE and _find_clitic_end(text, stop, end, kinds) == stop:
        later_stop = _find_letters_end(text, stop + 1, end, kinds)
        if later_stop == stop + 1:
            break
        stop = later_stop
    return stop


@compile_loop
def _find_letters_end(text: ByteArray, at: int, end: int, kinds: ByteArray) -> int:  # pragma: no cover - compiled
    """Return where a run of letters ends, which leaves its last n to n't."""
    stop = at
    while stop < end and kinds[text[stop]] & LETTER_BIT:
        stop += 1
    if (
        at < stop
        and stop + 1 < end
        and text[stop] == _APOSTROPHE
        and text[stop - 1] | _CASE_BIT == ord("n")
        and text[stop + 1] | _CASE_BIT == ord("t")
        and _is_word_end(text, stop + 2, end, kinds)
    ):
        return stop - 1
    return stop


@compile_loop
def _find_clitic_end(text: ByteArray, at: int, end: int, kinds: ByteArray) -> int:  # pragma: no cover - compiled
    """Return where the contraction ends that an apostrophe begins, the place itself where there is none."""
    if at + 1 >= end:
        return at
    first = text[at + 1] | _CASE_BIT
    if (first == ord("s") or first == ord("d") or first == ord("m")) and _is_word_end(text, at + 2, end, kinds):
        return at + 2
    if at + 2 >= end or not _is_word_end(text, at + 3, end, kinds):
        return at
    second = text[at + 2] | _CASE_BIT
    has_e = (first == ord("r") or first == ord("v")) and second == ord("e")
    return at + 3 if has_e or (first == ord("l") and second == ord("l")) else at


@compile_loop
def _is_word_end(text: ByteArray, at: int, end: int, kinds: ByteArray) -> bool:  # pragma: no cover - compiled
    """Return whether no letter stands at a place."""
    return at >= end or not kinds[text[at]] & LETTER_BIT


@compile_loop
def _find_plain_number_end(text: ByteArray, at: int, end: int, kinds: ByteArray) -> int:  # pragma: no cover - compiled
    """Return where a number with inner points ends, the place itself where there is none."""
    stop = at
    while stop < end and kinds[text[stop]] & DIGIT_BIT:
        stop += 1
    number_end = at
    while stop + 1 < end and kinds[text[stop]] & PLAIN_SEPARATOR_BIT and kinds[text[stop + 1]] & DIGIT_BIT:
        stop += 1
        while stop < end and kinds[text[stop]] & DIGIT_BIT:
            stop += 1
        number_end = stop
    return number_end


@compile_loop
def _find_whole_number_end(text: ByteArray, at: int, end: int, kinds: ByteArray) -> int:  # pragma: no cover - compiled
    """Return where a number of the whole grammar ends, the place itself where there is none."""
    stop = at
    while stop < end and text[stop] == _JOINER:
        stop += 1
    if stop == end or not kinds[text[stop]] & DIGIT_BIT:
        return at
    while stop < end and kinds[text[stop]] & LETTER_BIT:
        stop += 1
    while stop < end and kinds[text[stop]] & WHOLE_SEPARATOR_BIT:
        later = stop + 1
        while later < end and text[later] == _JOINER:
            later += 1
        if later == end or not kinds[text[later]] & DIGIT_BIT:
            break
        stop = later
        while stop < end and kinds[text[stop]] & LETTER_BIT:
            stop += 1
    return stop
