"""Tables rewritten, extended and read in memory, with releases whose new texts a test chooses, and tiny buffers."""

import contextlib
import dataclasses
import io
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings

from deniable.text.tables import TABLE_EXTENDERS, TABLE_FORMATS, columns, decoding, layout, rows

CHUNK, WINDOW = decoding.CHUNK_BYTES, layout.MAX_BATCH_CHARACTERS
NEW_COLUMNS = {"predicted": str, "probability": float}


few = settings(max_examples=25)
"""Enough to show that a property holds at all."""


def many(test, *strategies, count=400, **named):
    """Return a deep test that tries so many examples of what a test tries few of."""
    return pytest.mark.deep(settings(max_examples=count)(given(*strategies, **named)(test.hypothesis.inner_test)))


def identity(one):
    """Release every text as it is."""
    return rows.ReleasedRows(one.columns)


def constant(new):
    """Return a release that replaces every text that is not empty."""

    def replace(one):
        cells = {name: [new if text else text for text in rows.list_column(one.columns[name])] for name in one.columns}
        return rows.ReleasedRows(cells)

    return replace


def giving(make_texts):
    """Return a release whose new texts of the column "text" a function makes of the rows."""
    return lambda one: rows.ReleasedRows({"text": make_texts(one)})


def dropping(is_left_out, release=identity):
    """Return a release that leaves out the rows for which a function says so."""

    def release_rest(one):
        is_released = np.array([not is_left_out(row) for row in one])
        return dataclasses.replace(release(one.filter(is_released)), is_released=is_released)

    return release_rest


def recording(seen, release=identity):
    """Return a release that notes the rows that it is given."""

    def noting(one):
        seen.extend(one)
        return release(one)

    return noting


@contextlib.contextmanager
def buffers(chunk=CHUNK, window=WINDOW, row=None):
    """Read that many bytes at a time, release that many characters together, and take rows of so many at most."""
    limits = {"CHUNK_BYTES": chunk} | ({} if row is None else {"MAX_ROW_CHARACTERS": row})
    with mock.patch.multiple(decoding, **limits), mock.patch.object(layout, "MAX_BATCH_CHARACTERS", window):
        yield


def mirrored(one):
    """Return for each row its first text, and a share that follows from its length; nothing where there is no text."""
    texts = [row.cells[0][1] for row in one]
    return [(text, len(text) / 7 % 1.0) if text else (None, None) for text in texts]


def extended(kind, data, make=mirrored, chunk=CHUNK, window=WINDOW, **options):
    """Return a table with two columns more."""
    sink = io.BytesIO()
    with buffers(chunk, window):
        TABLE_EXTENDERS[kind](io.BytesIO(data), sink, layout.TableLayout("the table", **options), NEW_COLUMNS, make)
    return sink.getvalue()


def released(kind, data, release=identity, chunk=CHUNK, window=WINDOW, **options):
    """Return a table rewritten in memory, and what was copied unchanged."""
    sink, options = io.BytesIO(), layout.TableLayout("the table", **options)
    options.check_text_columns()
    with buffers(chunk, window):
        copied = TABLE_FORMATS[kind](io.BytesIO(data), sink, options, release)
    return sink.getvalue(), copied


def rewritten(kind, data, release=identity, chunk=CHUNK, window=WINDOW, **options):
    """Return a table rewritten in memory, and the columns copied unchanged."""
    out, copied = released(kind, data, release, chunk, window, **options)
    return out, list(copied.columns)


def read_table(path, names=("text",), kind=None, **options):
    """Return columns of a file as commands that only read a table get them."""
    return columns.read_columns(str(path), layout.TableLayout("the table", names, **options), kind)
