"""What the tests of texts and tables share: a space of plain words, releases, and tiny buffers."""

import contextlib
import dataclasses
import io
from unittest import mock

import numpy as np

from deniable import TEM, Space
from deniable.text.tables import TABLE_EXTENDERS, TABLE_FORMATS, decoding, layout
from deniable.text.tables.layout import TableLayout
from deniable.text.tables.rows import ReleasedRows, list_column

WORDS = ["the", "and", "london", "paris", "tokyo", "food", "good", "great", "bad", "was", "red", "blue", "dog", "cat"]
"""Plain words: wherever they stand between spaces they are found again as one word each."""

ODD_PIECES = [
    "\0",
    "\x02",
    "\u200b",
    "\u200d",
    "\ufe0f",
    "\u202e",
    "שלום",
    "مرحبا",
    "日本",
    "👩‍👩‍👧",
    "✓",
    "\ud800",
    "\U000e0061",
    "é",
]
"""Characters that are no letters, or of other scripts."""


def space_of(words):
    """Return a space of the given words, the same in every run."""
    return Space(words, np.random.default_rng(5).normal(size=(len(words), 3)))


SPACE = space_of(WORDS)
MECHANISM = TEM(SPACE, epsilon=1.0)


def identity(rows):
    """Release every text as it is."""
    return ReleasedRows(rows.columns)


def constant(new):
    """Return a release that replaces every text that is not empty."""

    def replace(rows):
        columns = {name: [new if text else text for text in list_column(one)] for name, one in rows.columns.items()}
        return ReleasedRows(columns)

    return replace


def giving(make_texts):
    """Return a release whose new texts of the column "text" a function makes of the rows."""
    return lambda rows: ReleasedRows({"text": make_texts(rows)})


def dropping(is_left_out, release=identity):
    """Return a release that leaves out the rows for which a function says so."""

    def release_rest(rows):
        is_released = np.array([not is_left_out(row) for row in rows])
        return dataclasses.replace(release(rows.filter(is_released)), is_released=is_released)

    return release_rest


def recording(seen, release=identity):
    """Return a release that notes the rows that it is given."""

    def noting(rows):
        seen.extend(rows)
        return release(rows)

    return noting


@contextlib.contextmanager
def buffers(chunk=decoding.CHUNK_BYTES, window=layout.MAX_BATCH_CHARACTERS):
    """Read that many bytes at a time and release that many characters together."""
    with mock.patch.object(decoding, "CHUNK_BYTES", chunk), mock.patch.object(layout, "MAX_BATCH_CHARACTERS", window):
        yield


NEW_COLUMNS = {"predicted": str, "probability": float}


def mirrored(rows):
    """Return for each row its first text, and a share that follows from its length; nothing where there is no text."""
    texts = [row.cells[0][1] for row in rows]
    return [(text, len(text) / 7 % 1.0) if text else (None, None) for text in texts]


def extended(kind, data, make=mirrored, chunk=decoding.CHUNK_BYTES, window=layout.MAX_BATCH_CHARACTERS, **options):
    """Return a table with two columns more."""
    sink = io.BytesIO()
    with buffers(chunk, window):
        TABLE_EXTENDERS[kind](io.BytesIO(data), sink, TableLayout("the table", **options), NEW_COLUMNS, make)
    return sink.getvalue()


def rewritten(kind, data, release=identity, chunk=decoding.CHUNK_BYTES, window=layout.MAX_BATCH_CHARACTERS, **options):
    """Return a table rewritten in memory, and the columns copied unchanged."""
    sink = io.BytesIO()
    with buffers(chunk, window):
        copied = TABLE_FORMATS[kind](io.BytesIO(data), sink, TableLayout("the table", **options), release)
    return sink.getvalue(), list(copied.columns)
