"""Tables rewritten, extended and read in memory, with releases whose new texts a test chooses, and tiny buffers."""

import contextlib
import dataclasses
import io
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings

from deniable.text import tables
from deniable.text.tables import decoding, layout, rows

CHUNK, WINDOW = decoding.CHUNK_BYTES, layout.MAX_BATCH_CHARACTERS
NEW_COLUMNS = {"predicted": str, "probability": float}


@dataclasses.dataclass(frozen=True)
class Row:
    """One row as a release gets it."""

    record_id: str | None
    cells: list[tuple[str, str | None]]
    person: str | None = None


def list_rows(one):
    """Return the rows of a window one by one."""
    texts = zip(*(rows.list_texts(column) for column in one.columns.values()), strict=True)
    nulls = [None] * len(one)
    ids, persons = one.record_ids or nulls, one.persons or nulls
    return [Row(i, list(zip(one.columns, t, strict=True)), p) for i, t, p in zip(ids, texts, persons, strict=True)]


few = settings(max_examples=25)
"""Enough to show that a property holds at all."""


def many(test, *strategies, count=400, **named):
    """Return a deep test that tries so many examples of what a test tries few of."""
    return pytest.mark.deep(settings(max_examples=count)(given(*strategies, **named)(test.hypothesis.inner_test)))


def give(columns, count):
    """Return texts as those that all rows get."""
    return rows.ReleasedRows({name: rows.make_column(texts) for name, texts in columns.items()}, np.ones(count, bool))


def identity(one):
    """Release every text as it is."""
    return rows.ReleasedRows(one.columns, np.ones(len(one), dtype=bool))


def constant(new):
    """Return a release that replaces every text that is not empty."""

    def replace(one):
        texts = {name: rows.list_texts(column) for name, column in one.columns.items()}
        return give({name: [new if text else text for text in texts[name]] for name in texts}, len(one))

    return replace


def giving(make_texts):
    """Return a release whose new texts of the column "text" a function makes of the rows."""
    return lambda one: give({"text": make_texts(one)}, len(one))


def dropping(is_left_out, release=identity):
    """Return a release that leaves out the rows for which a function says so."""

    def release_rest(one):
        is_released = np.array([not is_left_out(row) for row in list_rows(one)])
        return dataclasses.replace(release(one.filter(is_released)), is_released=is_released)

    return release_rest


def recording(seen, release=identity):
    """Return a release that notes the rows that it is given."""

    def noting(one):
        seen.extend(list_rows(one))
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
    texts = [row.cells[0][1] for row in list_rows(one)]
    return [(text, len(text) / 7 % 1.0) if text else (None, None) for text in texts]


def extended(kind, data, make=mirrored, chunk=CHUNK, window=WINDOW, **options):
    """Return a table with two columns more."""
    sink = io.BytesIO()
    with buffers(chunk, window):
        place = layout.TableLayout("the table", **options)
        tables.extend_table(kind, io.BytesIO(data), sink, place, NEW_COLUMNS, make)
    return sink.getvalue()


def released(kind, data, release=identity, chunk=CHUNK, window=WINDOW, **options):
    """Return a table rewritten in memory, and what was copied unchanged."""
    sink, options = io.BytesIO(), layout.TableLayout("the table", **options)
    options.check_text_columns()
    with buffers(chunk, window):
        copied = tables.release_table(kind, io.BytesIO(data), sink, options, release)
    return sink.getvalue(), copied


def rewritten(kind, data, release=identity, chunk=CHUNK, window=WINDOW, **options):
    """Return a table rewritten in memory, and the columns copied unchanged."""
    out, copied = released(kind, data, release, chunk, window, **options)
    return out, list(copied.columns)


def read_table(path, names=("text",), kind=None, **options):
    """Return columns of a file as commands that only read a table get them."""
    return tables.read_table(str(path), layout.TableLayout("the table", names, **options), kind)
