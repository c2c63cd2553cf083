"""IMDB as word numbers, original and privatized: what the studies of utility train on."""

import dataclasses
import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from deniable.core.randomness import Streams, derive_key_from_seed, derive_stream_start
from deniable.measure.labels import ClassCodes
from deniable.space import Space
from deniable.studies.ledger import Ledger
from deniable.studies.study import derived
from deniable.text.tokens import Lexer
from deniable.words import WordMechanism

Words = npt.NDArray[np.int32]
Offsets = npt.NDArray[np.int64]


@dataclasses.dataclass(frozen=True)
class Corpus:
    """Labelled texts as word numbers.

    Attributes:
        name: tells corpora of one study apart.
        words: (N,) the words of all texts end to end, the public word in place of unknown ones.
        offsets: (R + 1,) where each text begins.
        stand_ins: (N,) True for an unknown word.
        codes: (R,) classes.
    """

    name: str
    words: Words
    offsets: Offsets
    stand_ins: npt.NDArray[np.bool_]
    codes: ClassCodes

    def original(self) -> tuple[Words, Offsets]:
        """Return words and offsets of the original texts, without words that the space lacks."""
        known = np.concatenate([[0], np.cumsum(~self.stand_ins)])
        return self.words[~self.stand_ins], known[self.offsets]

    def head(self, texts: int) -> "Corpus":
        """Return the first texts alone."""
        end = self.offsets[texts]
        return Corpus(self.name, self.words[:end], self.offsets[: texts + 1], self.stand_ins[:end], self.codes[:texts])

    @property
    def fingerprint(self) -> str:
        """A text that differs between corpora."""
        state = hashlib.blake2b(self.words.tobytes(), digest_size=8)
        state.update(self.offsets.tobytes())
        return state.hexdigest()


def reviews(path: Path, space: Space, order: Sequence[int], name: str) -> Corpus:
    """Return the IMDB reviews with the given row numbers, of a parquet file with columns text and label."""
    table = pq.read_table(path, columns=["text", "label"])
    texts, labels = table.column("text").to_pylist(), np.array(table.column("label").to_pylist(), dtype=np.int64)
    lexer = Lexer(space, "draw", "lower", ())
    lexed = [lexer.lex(texts[row]) for row in order]
    offsets = np.cumsum([0, *[len(cut.words) for cut in lexed]], dtype=np.int64)
    stand_ins = np.zeros(offsets[-1], dtype=np.bool_)
    for cut, start in zip(lexed, offsets.tolist(), strict=False):
        stand_ins[start + cut.unknown_positions] = True
    words = np.concatenate([cut.words for cut in lexed])
    return Corpus(name, words, offsets, stand_ins, labels[np.asarray(order)])


def rows(path: Path) -> int:
    """Return the number of rows of a parquet file."""
    return int(pq.ParquetFile(path).metadata.num_rows)


def privatized(mechanism: WordMechanism, corpus: Corpus, copies: int, seed: int, ledger: Ledger) -> Words:
    """Return (copies, N) the words of so many independent releases of a corpus; kept by the ledger.

    All copies are drawn together, so that a word's law is computed once for all of them.
    """

    def draw() -> Words:
        key = derive_key_from_seed(derived(seed, "corpus"))
        texts = len(corpus.codes)
        starts = [
            derive_stream_start(key, mechanism.fingerprint, corpus.name, str(copy), str(text))
            for copy in range(copies)
            for text in range(texts)
        ]
        lengths = np.tile(np.diff(corpus.offsets), copies).tolist()
        drawn = mechanism.draw_words(np.tile(corpus.words, copies), Streams(key, starts, lengths))
        small = np.uint16 if len(mechanism.space) <= 2**16 else np.uint32
        return drawn.reshape(copies, -1).astype(small)

    made_of = (mechanism.fingerprint, corpus.fingerprint, corpus.name, str(copies), str(seed))
    name = hashlib.blake2b("\0".join(made_of).encode(), digest_size=12).hexdigest()
    return ledger.array(f"{mechanism.name}-{name}", draw).astype(np.int32)
