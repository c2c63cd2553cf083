"""The compiled half of the lexer, for texts whose every word is drawn.

Texts go through in parts. Compiled loops cut them and write the drawn words back; Arrow finds the spellings of a part,
and the other half says what each of them is.

Where the words of many texts begin and end, found for the most part without the interpreter lock.

No word of `deniable.space.grammar` holds white space of ASCII, a double quote or an angle bracket. What stands between
two of these is a **run**: its words depend on nothing around it. A compiled loop finds the runs, and cuts those of
ASCII letters and of punctuation that is in no word beside letters alone. Each different one of the others, with digits,
apostrophes, addresses or other scripts, is cut once, by the grammar.
"""

import dataclasses
import functools
import itertools
import string
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deniable.core.arrays import BoolArray, IntArray
from deniable.core.parallel import compile_loop, count_cores, hide_progress, parallel_map
from deniable.space.grammar import Grammar, is_clitic, split_words
from deniable.text.encoded import ByteArray, EncodedTexts
from deniable.text.tokens import CASE_PATTERNS, LOWER_PATTERN, LexedTexts, Lexer, apply_case_pattern, get_case_pattern

_LETTER, _BETWEEN, _CLOSING, _POINT, _BREAK, _OTHER = range(6)
"""What a byte is. A run of letters may hold the second anywhere before its first point, the third also behind it.

No letter may come behind a point, since "a.com" and "www.a" are addresses.
"""
_KINDS = np.full(256, _OTHER, dtype=np.uint8)
for _kind, _characters in {
    _LETTER: string.ascii_letters,
    _BETWEEN: "!#$%&()*+,-/;=?[\\]^_`{|}~",
    _CLOSING: "!(),;?[]{}",
    _POINT: ".:",
    _BREAK: '\t\n\v\f\r "<>',
}.items():
    _KINDS[list(_characters.encode())] = _kind


class ScannedTexts(NamedTuple):
    """R texts, and their T words in order.

    Attributes:
        data: bytes of the texts.
        offsets: (R + 1,) where each text begins and ends.
        word_offsets: (R + 1,) the same among the words.
        starts: (T,) where each word begins.
        ends: (T,) where it ends.
    """

    data: ByteArray
    offsets: IntArray
    word_offsets: IntArray
    starts: npt.NDArray[np.int32]
    ends: npt.NDArray[np.int32]


def scan_texts(texts: EncodedTexts, grammar: Grammar) -> ScannedTexts:
    """Where the words of texts are.

    Args:
        texts: R texts of less than 2 GB together, in valid UTF-8 but for lone surrogates.
        grammar: by which words are cut.
    """
    data, offsets = texts.data[texts.offsets[0] : texts.offsets[-1]], texts.offsets - texts.offsets[0]
    starts, ends = np.empty((2, len(data) // 2 + len(offsets)), dtype=np.int32)  # two words of a text lie apart
    run_offsets = np.zeros_like(offsets)
    count = _find_runs(data, offsets, _KINDS, starts, ends, run_offsets)
    starts, ends = starts[:count], ends[:count]
    is_other = ends < 0
    if not is_other.any():
        return ScannedTexts(data, offsets, run_offsets, starts, ends)
    first_bytes = starts[is_other]
    counts, other_starts, other_ends = _cut_runs(take_pieces(data, first_bytes, ~ends[is_other]), grammar)
    first_bytes = np.repeat(first_bytes, counts)
    word_counts = np.ones(count, dtype=np.int64)
    word_counts[is_other] = counts
    is_other = np.repeat(is_other, word_counts)
    starts, ends = np.repeat(starts, word_counts), np.repeat(ends, word_counts)
    starts[is_other], ends[is_other] = first_bytes + other_starts, first_bytes + other_ends
    word_offsets = np.concatenate([[0], np.cumsum(word_counts)])[run_offsets]
    return ScannedTexts(data, offsets, word_offsets, starts, ends)


def take_pieces(data: ByteArray, starts: npt.NDArray[np.int32], ends: npt.NDArray[np.int32]) -> pa.BinaryArray:
    """The bytes between n places and n others, none before the last, taken from what all 2 n places divide."""
    bounds = np.column_stack([starts, ends]).ravel()
    count = max(len(bounds) - 1, 0)
    pieces = pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(bounds), pa.py_buffer(data)])
    places = np.arange(0, count, 2, dtype=np.int32)
    # `pa.array` and `to_numpy` import pandas where it is installed, which takes a fifth of a second and 30 MB.
    return pieces.take(pa.Array.from_buffers(pa.int32(), len(places), [None, pa.py_buffer(places)]))


def _cut_runs(runs: pa.BinaryArray, grammar: Grammar) -> tuple[IntArray, npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """The number of words of each run, and where each of all these words begins and ends in its run."""
    encoded = runs.dictionary_encode()
    different = EncodedTexts.of_arrow(encoded.dictionary.cast(pa.large_binary()))
    joined = " ".join(different.decode_all())
    parts = split_words(joined, grammar)
    lengths = map(len, parts if joined.isascii() else (part.encode("utf-8", "surrogatepass") for part in parts))
    bounds = np.array(list(itertools.accumulate(lengths)), dtype=np.int32)[:-1]
    run_starts = different.offsets[:-1] + np.arange(len(different))
    run_of_word = np.searchsorted(run_starts, bounds[0::2], side="right") - 1
    starts, ends = (bounds[side::2] - run_starts[run_of_word].astype(np.int32) for side in (0, 1))
    word_counts = np.bincount(run_of_word, minlength=len(different))
    entries = np.from_dlpack(encoded.indices)
    counts = word_counts[entries]
    shift = np.cumsum(word_counts)[entries] - np.cumsum(counts)  # from a word's place here to that in the dictionary
    places = np.repeat(shift, counts) + np.arange(counts.sum())
    return counts, starts[places], ends[places]


@compile_loop
def _find_runs(
    data: ByteArray,
    offsets: IntArray,
    kinds: ByteArray,
    starts: npt.NDArray[np.int32],
    ends: npt.NDArray[np.int32],
    run_offsets: IntArray,
) -> int:  # pragma: no cover - compiled
    """Fill in where words begin and end, and for a run that is left where it begins and ``~`` where it ends."""
    count = 0
    for row in range(len(offsets) - 1):
        at, end = offsets[row], offsets[row + 1]
        while at < end:
            run_start, run_count = at, count
            while at < end and kinds[data[at]] <= _CLOSING:
                start = at
                while at < end and kinds[data[at]] == _LETTER:
                    at += 1
                starts[count], ends[count] = start, at
                count += at > start
                at += at == start
            while at < end and (kinds[data[at]] == _CLOSING or kinds[data[at]] == _POINT):
                at += 1
            if at < end and kinds[data[at]] != _BREAK:
                while at < end and kinds[data[at]] != _BREAK:
                    at += 1
                starts[run_count], ends[run_count] = run_start, ~at
                count = run_count + 1
            at += 1
        run_offsets[row + 1] = count
    return count


PART_BYTES = 1 << 20
"""Bytes of the texts of one part, about, at most: the work of one thread at a time."""
_SPACE = ord(" ")


class _WordBytes(NamedTuple):
    """The n words of a space as they are written.

    Attributes:
        data: bytes of all words, as they are and, where capitals are copied, with a capital letter and in capitals.
        starts: (n + 1,) or (3 n + 1,) where each begins.
        sizes: (n,) or (3 n,) number of bytes of each.
        is_clitic: (n,) whether each is the second part of a contraction.
    """

    data: ByteArray
    starts: IntArray
    sizes: IntArray
    is_clitic: BoolArray


@dataclasses.dataclass(frozen=True)
class _CompiledTexts(LexedTexts):
    """Texts that were split in parts; `case_patterns` (N,) are the capitals of their words, where these are copied."""

    lexer: Lexer
    parts: Sequence[ScannedTexts]
    case_patterns: npt.NDArray[np.int32] | None
    workers: int | None

    def write(self, words: npt.NDArray[np.int32]) -> EncodedTexts:
        """The texts with the given words (N,) in place of their own."""
        written = _encode_words(self.lexer)
        places = words if self.case_patterns is None else words + self.case_patterns * np.int32(len(self.lexer.space))
        bounds = np.cumsum([len(part.starts) for part in self.parts])[:-1]
        pieces = zip(self.parts, np.split(words, bounds), np.split(places, bounds), strict=True)
        with hide_progress():
            return EncodedTexts.join(parallel_map(lambda piece: _write_part(*piece, written), pieces, self.workers))


def lex_compiled(lexer: Lexer, texts: EncodedTexts, workers: int | None = None) -> LexedTexts:
    """Texts, split; see `deniable.text.compiled.lex_texts`."""

    def find_words(texts: EncodedTexts) -> tuple[ScannedTexts, pa.DictionaryArray]:
        part = scan_texts(texts, lexer.space.grammar)
        return part, take_pieces(part.data, part.starts, part.ends).dictionary_encode()

    threads = workers or count_cores()
    count = threads * (texts.size // (threads * PART_BYTES) + 1)  # every thread has as much to do
    split = texts.split(max(texts.size // count + 1, PART_BYTES // 8))
    with hide_progress():
        parts, words = zip(*parallel_map(find_words, split, workers), strict=True)
    spelled = pa.chunked_array(words).unify_dictionaries().combine_chunks()
    spellings = EncodedTexts.of_arrow(spelled.dictionary.cast(pa.large_binary())).decode_all()
    entries = np.from_dlpack(spelled.indices)
    numbers, is_unknown = (facts[entries] for facts in lexer.number_spellings(spellings))
    patterns = None
    if lexer.case == "copy":
        patterns = np.fromiter(map(get_case_pattern, spellings), dtype=np.int32)[entries]
    offsets = np.cumsum(np.concatenate([[0], *(np.diff(part.word_offsets) for part in parts)]))
    kept_counts = np.zeros(len(texts), dtype=np.int64)
    count = int(np.count_nonzero(is_unknown))
    return _CompiledTexts(numbers, offsets, is_unknown, count, kept_counts, lexer, parts, patterns, workers)


def _write_part(
    part: ScannedTexts, outputs: npt.NDArray[np.int32], places: npt.NDArray[np.int32], words: _WordBytes
) -> EncodedTexts:
    """The texts of a part with other words, which are written as those at `places`."""
    room = len(part.data) + int(words.sizes[places].sum()) + len(places)  # before each may stand a space
    out, out_ends = np.empty(room, dtype=np.uint8), np.zeros_like(part.offsets)
    size = _write_texts(part, outputs, places, words, out, out_ends)
    return EncodedTexts(out[:size].copy(), out_ends)


@functools.lru_cache(maxsize=4)
def _encode_words(lexer: Lexer) -> _WordBytes:
    """The words of the lexer's space as bytes."""
    words, patterns = lexer.space.words, CASE_PATTERNS if lexer.case == "copy" else (LOWER_PATTERN,)
    written = EncodedTexts.of([apply_case_pattern(word, pattern) for pattern in patterns for word in words])
    is_clitics = np.fromiter(map(is_clitic, words), dtype=np.bool_)
    return _WordBytes(written.data, written.offsets, np.diff(written.offsets), is_clitics)


@compile_loop
def _write_texts(
    part: ScannedTexts,
    outputs: npt.NDArray[np.int32],
    places: npt.NDArray[np.int32],
    words: _WordBytes,
    out: ByteArray,
    out_ends: IntArray,
) -> int:  # pragma: no cover - compiled
    """Write the texts with the words drawn for them, as `Lexer.rebuild_text` does; return their bytes."""
    data, starts, ends, word_data, word_starts = part.data, part.starts, part.ends, words.data, words.starts
    size = 0
    for row in range(len(part.offsets) - 1):
        at, first = part.offsets[row], part.word_offsets[row]
        for word in range(first, part.word_offsets[row + 1]):
            if word > first and at == starts[word] and not words.is_clitic[outputs[word]]:
                out[size] = _SPACE
                size += 1
            while at < starts[word]:
                out[size] = data[at]
                at += 1
                size += 1
            for place in range(word_starts[places[word]], word_starts[places[word] + 1]):
                out[size] = word_data[place]
                size += 1
            at = ends[word]
        while at < part.offsets[row + 1]:
            out[size] = data[at]
            at += 1
            size += 1
        out_ends[row + 1] = size
    return size
