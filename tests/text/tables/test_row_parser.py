"""Rows as they stand in a csv or tsv, with and without quotes."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable import InputError
from deniable.text.tables.decoding import DecodedSource
from deniable.text.tables.layout import TableLayout
from deniable.text.tables.row_parser import RowParser
from tests.text.helpers import buffers


def parse(text, chunk=1 << 22, **options):
    """Return the rows of a text."""
    layout = TableLayout("the table", **options)
    with buffers(chunk):
        return list(RowParser(DecodedSource(io.BytesIO(text.encode()), layout), layout).parse())


@given(st.text(st.sampled_from('a",\n\r'), min_size=1, max_size=30), st.integers(1, 9), st.sampled_from([None, "none"]))
def test_rows_join_to_the_text(text, chunk, quoting):
    """Rows joined are the text, or what follows them is named; without quotes every text has rows."""
    try:
        rows = parse(text, chunk, quoting=quoting)
    except InputError:
        assert quoting is None
        return
    assert "".join(row.raw for row in rows) == text
    if quoting == "none":
        assert all(row.raw.strip("\r\n").count(",") + 1 == len(row.spans) for row in rows)


@pytest.mark.parametrize("text", ['a,"b', 'a,"b\nc,d\n', 'a,"b"c\n'])
def test_quotes_that_do_not_close(text):
    """A quote that is not closed, or text behind one, is refused, and the option that reads it is named."""
    with pytest.raises(InputError, match=r"line 1: .*give --quoting none"):
        parse(text)
    assert parse(text, quoting="none")[0].cell(1) == text.splitlines()[0][2:]
