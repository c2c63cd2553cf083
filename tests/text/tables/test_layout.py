"""What table formats share: batches, and which columns a table must have."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.core.errors import InputError
from deniable.text.tables import layout
from deniable.text.tables.layout import (
    RECORD_OVERHEAD,
    TableLayout,
    apply_edits,
    batch_records,
    find_cuts,
    format_share,
)


def test_batches_keep_every_record_in_order(monkeypatch):
    """All records come out, in order, in lists that are closed as soon as they hold enough."""
    monkeypatch.setattr(layout, "MAX_BATCH_CHARACTERS", 3 * RECORD_OVERHEAD + 30)
    records = ["a" * size for size in (10, 20, 1, 5000, 1, 1, 1, 1, 1)]
    batches = list(batch_records(records, len))
    assert [record for batch in batches for record in batch] == records
    assert [len(batch) for batch in batches] == [3, 1, 4, 1]
    assert list(batch_records([], len)) == []


def test_batches_are_made_as_records_come():
    """A batch is given before the next record is read, so that a stream need not end."""

    def read():
        yield "x" * layout.MAX_BATCH_CHARACTERS
        pytest.fail("read on")

    assert len(next(batch_records(read(), len))) == 1


def test_columns_that_lack_are_named_with_those_that_are_there():
    """Text and id columns must be there; of many columns the first thirty are listed."""
    table = TableLayout("t.csv", columns=["text", "notes"], id_column="key")
    table.check_columns(["key", "notes", "text", "other"])
    with pytest.raises(InputError, match=r"^t\.csv has no column 'notes'\. Its columns: 'text', 'key'\.$"):
        table.check_columns(["text", "key"])
    with pytest.raises(InputError, match="has no column 'key'"):
        table.check_columns(["text", "notes"])
    with pytest.raises(InputError, match=r"'c29', \.\.\.\.$"):
        table.check_columns([f"c{number}" for number in range(40)])


def test_columns_of_one_name_cannot_be_told_apart():
    """A name that is asked for and stands twice is refused; other names may."""
    with pytest.raises(InputError, match="several columns called 'text': rename them"):
        TableLayout("t.csv").check_columns(["text", "a", "text"])
    TableLayout("t.csv").check_columns(["text", "a", "a"])


def test_texts_are_released_once_and_never_as_ids():
    """A text column named twice, or as the column of public ids, is refused."""
    TableLayout("t.csv", columns=["a", "b"], id_column="key").check_text_columns()
    with pytest.raises(InputError, match=r"text column 'a' of t\.csv is named twice"):
        TableLayout("t.csv", columns=["a", "a"]).check_text_columns()
    with pytest.raises(InputError, match=r"'a' of t\.csv cannot hold both texts and record ids"):
        TableLayout("t.csv", columns=["a"], id_column="a").check_text_columns()


def test_other_columns_are_what_is_left():
    """The id column is copied too, and in the order of the table."""
    table = TableLayout("t.csv", columns=["b"], id_column="c")
    assert table.list_other_columns(["c", "b", "a"]) == ("c", "a")


@given(st.lists(st.text("ab", max_size=3), min_size=1, max_size=6), st.data())
def test_cut_parts_go_each_with_one_delimiter(parts, data):
    """A line without some of its parts is the other parts, joined as before."""
    flags = st.lists(st.booleans(), min_size=len(parts), max_size=len(parts))
    is_dropped = data.draw(flags.filter(lambda drop: not all(drop)))
    ends = list(itertools.accumulate(len(part) + 1 for part in parts))
    spans = [(end - 1 - len(part), end - 1) for part, end in zip(parts, ends, strict=True)]
    kept = [part for part, drop in zip(parts, is_dropped, strict=True) if not drop]
    assert apply_edits(",".join(parts) + "\n", find_cuts(spans, is_dropped)) == ",".join(kept) + "\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dropped": ["text"]}, "The text column 'text' of t cannot be dropped"),
        ({"dropped": ["id"], "id_column": "id"}, "The id column 'id' of t cannot be dropped"),
        ({"copied": ["text"]}, "The text column 'text' of t is never copied as it is"),
        ({"dropped": ["a"], "copied": []}, "Name the columns to drop, or those to copy, not both"),
    ],
)
def test_columns_to_drop_are_at_odds_with_none(options, message):
    """Texts and ids cannot be dropped, texts cannot be copied, and one way to choose columns is enough."""
    with pytest.raises(InputError, match=message):
        TableLayout("t", **options).check_copied_columns()


@pytest.mark.parametrize(("option", "verb"), [("dropped", "drop"), ("copied", "copy")])
def test_a_column_to_drop_or_copy_must_be_there(option, verb):
    """A misspelled name is told, so that no column leaves by mistake."""
    with pytest.raises(InputError, match=f"t has no column 'nmae' to {verb}. Its columns: 'text', 'name'"):
        TableLayout("t", **{option: ["nmae"]}).check_columns(["text", "name"])


def test_a_new_column_must_not_be_there():
    """A column that would be there twice is named, with what to do."""
    TableLayout("t").check_new_columns(["text"], ["predicted"])
    with pytest.raises(InputError, match="t has a column 'predicted', which would be added: rename it, or leave it"):
        TableLayout("t").check_new_columns(["text", "predicted"], ["probability", "predicted"])


@pytest.mark.parametrize(("share", "text"), [(0.0, "0.000000"), (1 / 3, "0.333333"), (0.9999999, "1.000000")])
def test_shares_have_six_digits(share, text):
    """A share is written with six digits behind the point, rounded, without an exponent."""
    assert format_share(share) == text


def test_the_columns_that_are_read():
    """Texts, ids and persons are read, each once, and a column of texts cannot say whose they are."""
    layout = TableLayout("t", ["a", "b"], "id", person_column="who")
    assert layout.read_columns == ["a", "b", "id", "who"]
    assert TableLayout("t", ["a"], "who", person_column="who").read_columns == ["a", "who"]
    with pytest.raises(InputError, match="t has no column 'who'"):
        layout.check_columns(["a", "b", "id"])
    with pytest.raises(InputError, match="The column 'a' of t cannot hold both texts and persons"):
        TableLayout("t", ["a"], person_column="a").check_text_columns()
