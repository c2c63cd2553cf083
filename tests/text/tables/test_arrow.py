"""Text columns in Arrow's memory."""

import pyarrow as pa
import pytest

from deniable import InputError
from deniable.text.tables.arrow import (
    extract_rows,
    is_text_type,
    list_head,
    list_values,
    read_texts,
    release_texts,
    widen_dictionary_indices,
)
from deniable.text.tables.layout import TableLayout
from tests.text.helpers import buffers, constant

LAYOUT = TableLayout("the table", ("text",), "id")
TEXT_TYPES = (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string()))


def make_table(data_type=None):
    """Return three rows, one without a text."""
    texts = pa.array(["a dog", None, "a cat"]).cast(data_type or pa.string())
    return pa.table({"id": pa.array([7, 8, 9]), "text": texts})


@pytest.mark.parametrize("data_type", TEXT_TYPES, ids=str)
@pytest.mark.parametrize("window", [1, 10_000])
def test_texts_keep_their_type(data_type, window):
    """Texts of every type that holds texts are released in any windows, and come back as that type."""
    assert is_text_type(data_type)
    table = make_table(data_type)
    schema = widen_dictionary_indices(table.schema, "text")
    with buffers(window=window):
        new, is_released = release_texts(extract_rows([table], LAYOUT), schema, LAYOUT, constant("new"))
    assert is_released is None
    assert new["text"].type == schema.field("text").type
    assert new["text"].to_pylist() == ["new", None, "new"]


@pytest.mark.parametrize("data_type", [pa.binary(), pa.int64(), pa.null(), pa.list_(pa.string())], ids=str)
def test_other_types_hold_no_texts(data_type):
    """Bytes, numbers, nulls and lists are no texts."""
    assert not is_text_type(data_type)


def test_a_dictionary_has_room_for_new_texts():
    """New texts may be more than the old: indices are widened, other columns stay."""
    schema = make_table(pa.dictionary(pa.int8(), pa.string())).schema
    widened = widen_dictionary_indices(schema, "text")
    assert widened.field("text").type == pa.dictionary(pa.int32(), pa.string())
    assert widen_dictionary_indices(schema, "id") == schema


def test_ids_are_read_as_texts():
    """Ids come as texts, in the order of the rows of all tables."""
    rows = extract_rows([make_table(), make_table().slice(1, 1)], LAYOUT)
    assert rows.record_ids == ["7", "8", "9", "8"]
    assert len(rows) == 4


def test_a_row_without_an_id_is_refused():
    """A null among the ids is an error that names the column."""
    table = make_table().set_column(0, "id", pa.array([1, None, 3]))
    with pytest.raises(InputError, match=r"^The id column 'id' of the table holds a null or a blank: give every row "):
        extract_rows([table], LAYOUT)


def test_values_that_python_lacks_are_refused():
    """A time out of Python's range is one line, with the fix."""
    table = pa.table({"id": pa.array([2**62], pa.timestamp("s"))})
    with pytest.raises(InputError, match=r"Convert it to strings\.$"):
        list_values(table, "id", LAYOUT)


def test_bytes_that_are_no_utf8_are_refused():
    """A column that only claims to be text is an error of decoding."""
    buffers_of_text = pa.array([b"\xff\xfe"]).buffers()
    table = pa.table({"text": pa.Array.from_buffers(pa.string(), 1, buffers_of_text)})
    with pytest.raises(UnicodeDecodeError):
        read_texts(table, "text", LAYOUT)


def test_bytes_are_looked_at():
    """Of cells of bytes the beginning is looked at, and of what has them in its parts nothing."""
    bytes_ = pa.array([b"Ann Smith rang", None, b"x" * 10**6])
    table = pa.table({"b": bytes_, "l": bytes_.cast(pa.large_binary()), "s": pa.array([{"b": b"x"}] * 3)})
    head = dict(list_head(table))
    for name in ("b", "l"):
        assert head[name][:2] == [b"Ann Smith rang", None]
        assert len(head[name][2]) < 10**4
    assert head["s"] == [None] * 3
