"""Privatizing many texts at once: every distinct word's row is computed once for all of them."""

import dataclasses
from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from deniable.randomness import Streams, stream_start
from deniable.text.tokens import Lexer
from deniable.words import WordMechanism


@dataclasses.dataclass(frozen=True)
class Drawn:
    """What became of a batch of texts; all but `texts` is for their owner only.

    Attributes:
        texts: R private texts.
        offsets: (R + 1,) where the words of each text begin among the N words of all.
        words: (N,) numbers of the words that were read, the public word in place of unknown ones.
        outputs: (N,) numbers of the words that were drawn for them.
        stand_ins: (N,) True where the public word stands for an unknown one.
        unknown: words that the vocabulary lacks, those masked or dropped among them.
    """

    texts: list[str]
    offsets: npt.NDArray[np.int64]
    words: npt.NDArray[np.int32]
    outputs: npt.NDArray[np.int32]
    stand_ins: npt.NDArray[np.bool_]
    unknown: int

    @property
    def lengths(self) -> list[int]:
        """Number of words of each text."""
        lengths: list[int] = np.diff(self.offsets).tolist()
        return lengths

    @property
    def changed(self) -> npt.NDArray[np.bool_]:
        """(N,) True where another word came out; an unknown word is changed even where the draw is its stand-in."""
        differs: npt.NDArray[np.bool_] = (self.outputs != self.words) | self.stand_ins
        return differs


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

    def add(self, drawn: Drawn) -> None:
        """Count up the words of a batch."""
        self.words += len(drawn.words)
        self.changed += int(drawn.changed.sum())
        self.unknown += drawn.unknown


def start_of(key: bytes, mechanism: WordMechanism, record_id: str, column: str, text: str) -> bytes:
    """Return where the stream of one text starts, a function of everything that its noise must depend on."""
    return stream_start(key, mechanism.fingerprint, record_id, column, text)


def privatize_texts(
    mechanism: WordMechanism,
    lexer: Lexer,
    texts: Sequence[str],
    key: bytes,
    starts: Sequence[bytes],
    workers: int | None = None,
) -> Drawn:
    """Return each text privatized with noise from its own stream.

    Args:
        mechanism: draws the words.
        lexer: cuts and writes the texts.
        texts: any texts.
        key: the run's key.
        starts: where the stream of each text starts.
        workers: threads; the result does not depend on them.
    """
    lexed = [lexer.lex(text) for text in texts]
    lengths = [len(cut.words) for cut in lexed]
    offsets = np.cumsum([0, *lengths])
    words = np.concatenate([cut.words for cut in lexed]) if lexed else np.empty(0, dtype=np.int32)
    outputs = mechanism.draw(words, Streams(key, starts, lengths), workers) if len(words) else words
    stand_ins = np.zeros(len(words), dtype=np.bool_)
    out = []
    for cut, start, end in zip(lexed, offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        stand_ins[start + cut.stand_ins] = True
        out.append(lexer.write(cut, outputs[start:end].tolist()))
    return Drawn(out, offsets, words, outputs, stand_ins, sum(cut.unknown for cut in lexed))
