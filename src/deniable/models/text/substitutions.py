"""The words that may replace a word: sets of substitutions, and copies of texts with every word drawn again."""

import dataclasses
import functools
import gzip
import hashlib
import io
import json
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from deniable.core.archives import limit_reader
from deniable.core.errors import InputError, shorten_text
from deniable.core.numbers import format_exact
from deniable.core.randomness import Streams, derive_stream_start, make_generator
from deniable.models.text.documents import IndexedTexts, RowIndices, WordIds
from deniable.space import Space
from deniable.space.grammar import fold_word
from deniable.words import WordMechanism

_OPENERS: dict[str, Callable[[BinaryIO], Any]] = {".xz": lzma.open, ".gz": gzip.open}


@dataclasses.dataclass(frozen=True, eq=False)
class Substitutions:
    """For every word of a space the words that may replace it.

    Attributes:
        name: of the sets, with a digest, for certificates.
        choices: int32 (V, k), the ids of a word's choices: the word itself first, then its substitutes, then the word
            itself again up to k.
        notes: remarks about how they were read.
    """

    name: str
    choices: npt.NDArray[np.int32]
    notes: tuple[str, ...] = ()

    def choices_of(self, word: int) -> npt.NDArray[np.int32]:
        """Return the distinct choices of a word, itself first."""
        row = self.choices[word]
        return np.concatenate([row[:1], row[1:][row[1:] != word]])

    @functools.cached_property
    def choice_counts(self) -> npt.NDArray[np.int64]:
        """Number of distinct choices of each word (V,), the word itself included."""
        word_ids = np.arange(len(self.choices))[:, None]
        counts: npt.NDArray[np.int64] = 1 + (self.choices != word_ids).sum(axis=1)
        return counts


def build_substitutions(space: Space, substitute_lists: dict[str, list[str]], name: str) -> Substitutions:
    """Return the sets of a mapping from words to their substitutes, restricted to words of the space.

    Args:
        space: of the classifier.
        substitute_lists: word -> substitutes.
        name: of the sets.

    Raises:
        InputError: the space contains no word of it together with a substitute.
    """
    sets: dict[int, list[int]] = {}
    missing, pairs = 0, 0
    for word, others in substitute_lists.items():
        word_id = space.index_by_word.get(fold_word(word))
        numbers = [number for other in others if (number := space.index_by_word.get(fold_word(other))) is not None]
        pairs += len(others)
        missing += len(others) if word_id is None else len(others) - len(numbers)
        if word_id is not None:
            listed = sets.setdefault(word_id, [])
            listed += [number for number in dict.fromkeys(numbers) if number != word_id and number not in listed]
    max_size = max(map(len, sets.values()), default=0)
    if not max_size:
        raise InputError(
            f"The substitutions {name} have no word of {space.source} with a substitute of it: "
            "choose other substitutions, or another space."
        )
    choices = np.repeat(np.arange(len(space), dtype=np.int32)[:, None], 1 + max_size, axis=1)
    for word_id, numbers in sets.items():
        choices[word_id, 1 : 1 + len(numbers)] = numbers
    notes = (f"{missing:,} of {pairs:,} substitutes have no vector, or their word has none, and were left out",)
    return Substitutions(name, choices, notes if missing else ())


def read_substitutions(path: Path, space: Space) -> Substitutions:
    """Read a file of substitutions, restricted to words of a space; see `read_substitute_lists`.

    Raises:
        InputError: the file cannot be read or has another form, or the space contains none of its words.
    """
    return build_substitutions(space, *read_substitute_lists(path))


def read_substitute_lists(path: Path) -> tuple[dict[str, list[str]], str]:
    """Read a JSON object of word -> list of substitutes, which may be compressed (.xz, .gz), and return it with a name.

    Raises:
        InputError: the file cannot be read, or has another form.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"The substitutions {str(path)!r} cannot be read: {error.strerror}.") from None
    try:
        open_packed, stream = _OPENERS.get(path.suffix.lower()), io.BytesIO(content)
        substitute_lists = json.loads(limit_reader(open_packed(stream) if open_packed else stream, len(content)).read())
    except (ValueError, OSError, EOFError, lzma.LZMAError, zlib.error, RecursionError) as error:
        reason = shorten_text(str(error), 100)
        raise InputError(f"The substitutions {str(path)!r} are not valid JSON: {reason}.") from None
    expected = 'an object of word: [substitute, ...], for example {"film": ["movie"]}'
    if not isinstance(substitute_lists, dict) or not substitute_lists:
        raise InputError(f"The substitutions {str(path)!r} must be {expected}. Got {type(substitute_lists).__name__}.")
    for word, others in substitute_lists.items():
        if not isinstance(others, list) or not all(isinstance(other, str) for other in others):
            shown = " ".join(repr(others).split())[:50]
            raise InputError(f"The substitutions {str(path)!r} must be {expected}. Got {shown} for {word!r}.")
    digest = hashlib.blake2b(content, digest_size=8).hexdigest()
    return substitute_lists, f"{path.name} ({digest})"


SubstituteSource = Substitutions | WordMechanism
"""Source of the word that replaces another: drawn uniformly from its choices, or by a mechanism."""
MAX_DRAWN_WORDS = 4_000_000
"""Maximum number of words drawn together, but for a longer text: a mechanism computes the law of a word type once."""


def describe_source(source: SubstituteSource) -> str:
    """Return substitutions or a mechanism in words."""
    if isinstance(source, Substitutions):
        return source.name
    return f"{source.name} at {', '.join(f'{name} {format_exact(value)}' for name, value in source.parameters.items())}"


def fingerprint_source(source: SubstituteSource) -> str:
    """Return a text that differs between any two sources: `describe_source` rounds, and trusts names."""
    if isinstance(source, Substitutions):
        shape = repr((source.name, source.choices.shape)).encode()
        return hashlib.blake2b(shape + source.choices.tobytes(), digest_size=16).hexdigest()
    return f"{type(source).__qualname__} {source.fingerprint}"


def find_replaceable_words(source: SubstituteSource, words: WordIds) -> npt.NDArray[np.bool_]:
    """Return whether each word (N,) can become another one; a mechanism gives every word some probability."""
    if isinstance(source, Substitutions):
        replaceable: npt.NDArray[np.bool_] = source.choice_counts[words] > 1
        return replaceable
    return np.ones(len(words), dtype=np.bool_)


def draw_replacements(
    source: SubstituteSource, words: WordIds, streams: Streams, workers: int | None, *, is_own_allowed: bool
) -> WordIds:
    """Return a draw for each word (N,): one of its choices, all equally likely, or the mechanism's.

    Args:
        source: of the replacement words.
        words: (N,) replaceable ones unless their own are allowed.
        streams: of the draws.
        workers: threads that draw for a mechanism; the result does not depend on them.
        is_own_allowed: whether the word itself is one of the choices; a mechanism may always draw it.
    """
    if isinstance(source, Substitutions):
        first = 0 if is_own_allowed else 1
        return source.choices[words, first + streams.uniform_below(source.choice_counts[words] - first)]
    return source.draw_words(words, streams, workers)


def draw_copies(
    texts: IndexedTexts, rows: RowIndices, source: SubstituteSource, key: bytes, copy_number: int = 0
) -> IndexedTexts:
    """Return a copy of texts in which every word is drawn again.

    Args:
        texts: R texts.
        rows: (R,) an index for each; a text's draws depend on key, row and copy, and not on the other texts.
        source: of the replacement words.
        key: 32 bytes.
        copy_number: of the copy.
    """
    if isinstance(source, Substitutions):
        copies = [texts.words[:0]]
        for words, row in zip(texts, rows.tolist(), strict=True):
            # The distinct choices of a word come first in its row, itself at the front.
            indices = make_generator(key, "copy", str(copy_number), str(row)).integers(source.choice_counts[words])
            copies.append(source.choices[words, indices])
        return IndexedTexts(np.concatenate(copies), texts.offsets)
    starts = [derive_stream_start(key, "copy", str(copy_number), str(row)) for row in rows.tolist()]
    lengths = texts.lengths.tolist()
    redrawn = np.empty_like(texts.words)
    for first, last in Streams(key, starts, lengths).batches(MAX_DRAWN_WORDS):
        window = slice(texts.offsets[first], texts.offsets[last])
        redrawn[window] = source.draw_words(texts.words[window], Streams(key, starts[first:last], lengths[first:last]))
    return IndexedTexts(redrawn, texts.offsets)
