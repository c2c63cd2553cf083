"""The documents that are attacked together, each with streams of its own."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from deniable.randomness import Streams, generator, stream_start
from deniable.robust.text.attacks.outcome import Margins
from deniable.robust.text.documents import Documents, Rows, Texts


@dataclasses.dataclass(frozen=True, eq=False)
class Targets:
    """Documents to attack.

    Attributes:
        texts: R texts.
        margins: (R,) of these texts.
        names: of what each document says. All that is drawn for one follows from key and name, so neither from the
            documents beside it nor from its place among them.
        key: 32 bytes.
    """

    texts: Texts
    margins: Margins
    names: Sequence[str]
    key: bytes = dataclasses.field(repr=False)

    def streams(self, purpose: str, lengths: Sequence[int]) -> Streams:
        """Return each document's stream for one purpose, with so many draws of each."""
        return Streams(self.key, [stream_start(self.key, "attack", purpose, name) for name in self.names], lengths)

    def coins(self, purpose: str) -> list[np.random.Generator]:
        """Return a generator for each document, for one purpose."""
        return [generator(self.key, "attack", purpose, name) for name in self.names]


def targets(documents: Documents, rows: Rows, margins: Margins, key: bytes) -> Targets:
    """Return some of the documents as targets.

    Args:
        documents: all of them.
        rows: (R,) the rows of those to attack.
        margins: (n,) of all documents.
        key: 32 bytes.
    """
    parts = [documents.texts] if documents.premises is None else [documents.texts, documents.premises]
    names = ["/".join(held[row].astype("<i4").tobytes().hex() for held in parts) for row in rows.tolist()]
    return Targets(documents.texts.take(rows), margins[rows], names, key)
