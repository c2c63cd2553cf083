"""Privatizing many texts at once: every distinct word's row is computed once for all of them."""

import dataclasses
from collections import Counter
from collections.abc import Sequence

import numpy as np

from deniable.randomness import Streams, stream_start
from deniable.text.tokens import Lexer
from deniable.words import WordMechanism


@dataclasses.dataclass
class Tally:
    """Counts over everything released.

    `records`, `words` and `lengths` show in the released text itself; `changed` and `unknown` are
    statistics of the private text, for its owner only.

    Attributes:
        records: number of records.
        words: number of words drawn.
        lengths: how many records have so many words drawn.
        changed: words that differ from the private ones.
        unknown: words that the vocabulary lacks.
    """

    records: int = 0
    words: int = 0
    lengths: Counter[int] = dataclasses.field(default_factory=Counter)
    changed: int = 0
    unknown: int = 0

    def median(self) -> int:
        """Return the median number of words of a record (the lower one of two)."""
        half = (sum(self.lengths.values()) + 1) // 2
        for length in sorted(self.lengths):
            half -= self.lengths[length]
            if half <= 0:
                return length
        return 0


def start_of(key: bytes, mechanism: WordMechanism, record_id: str, column: str, text: str) -> bytes:
    """Return where the stream of one text starts, a function of everything that its noise must depend on."""
    return stream_start(key, mechanism.fingerprint, record_id, column, text)


def privatize_texts(
    mechanism: WordMechanism,
    lexer: Lexer,
    texts: Sequence[str],
    key: bytes,
    starts: Sequence[bytes],
    tally: Tally,
    workers: int | None = None,
) -> tuple[list[str], list[int]]:
    """Return each text privatized with noise from its own stream, and its number of words.

    Args:
        mechanism: draws the words.
        lexer: cuts and writes the texts.
        texts: any texts.
        key: the run's key.
        starts: where the stream of each text starts.
        tally: `words`, `changed` and `unknown` are counted up.
        workers: threads; the result does not depend on them.
    """
    lexed = [lexer.lex(text) for text in texts]
    lengths = [len(cut.words) for cut in lexed]
    words = np.concatenate([cut.words for cut in lexed]) if lexed else np.empty(0, dtype=np.int32)
    drawn = mechanism.draw(words, Streams(key, starts, lengths), workers) if len(words) else words
    tally.words += len(words)
    tally.changed += int(np.count_nonzero(drawn != words))
    out, start = [], 0
    for cut, length in zip(lexed, lengths, strict=True):
        new = drawn[start : start + length]
        tally.unknown += cut.unknown
        # An unknown word is changed even where the draw is its stand-in.
        tally.changed += int(np.count_nonzero(new[cut.stand_ins] == cut.words[cut.stand_ins]))
        out.append(lexer.write(cut, new.tolist()))
        start += length
    return out, lengths
