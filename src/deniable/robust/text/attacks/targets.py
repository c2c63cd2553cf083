"""The documents that are attacked together, each with streams of its own."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from deniable.randomness import Streams, derive_stream_start, make_generator
from deniable.robust.text.attacks.outcome import Margins
from deniable.robust.text.documents import Documents, IndexedTexts, RowIndices


@dataclasses.dataclass(frozen=True, eq=False)
class AttackTargets:
    """Documents to attack.

    Attributes:
        texts: R texts.
        margins: (R,) of these texts.
        stream_names: of what each document says. All that is drawn for one follows from key and name, so neither from the
            documents beside it nor from its place among them.
        key: 32 bytes.
    """

    texts: IndexedTexts
    margins: Margins
    stream_names: Sequence[str]
    key: bytes = dataclasses.field(repr=False)

    def make_streams(self, purpose: str, lengths: Sequence[int]) -> Streams:
        """Return each document's stream for one purpose, with so many draws of each."""
        return Streams(
            self.key, [derive_stream_start(self.key, "attack", purpose, name) for name in self.stream_names], lengths
        )

    def make_generators(self, purpose: str) -> list[np.random.Generator]:
        """Return a generator for each document, for one purpose."""
        return [make_generator(self.key, "attack", purpose, name) for name in self.stream_names]


def select_targets(documents: Documents, rows: RowIndices, margins: Margins, key: bytes) -> AttackTargets:
    """Return some of the documents as targets.

    Args:
        documents: all of them.
        rows: (R,) the rows of those to attack.
        margins: (n,) of all documents.
        key: 32 bytes.
    """
    parts = [documents.texts] if documents.premises is None else [documents.texts, documents.premises]
    stream_names = ["/".join(texts[row].astype("<i4").tobytes().hex() for texts in parts) for row in rows.tolist()]
    return AttackTargets(documents.texts.take(rows), margins[rows], stream_names, key)
