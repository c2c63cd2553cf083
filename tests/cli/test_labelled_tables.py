"""Tables of labelled texts: read once, unusable rows left out, and a fingerprint of what was read."""

import dataclasses

import pytest

from deniable.cli.labelled_tables import LabelledColumns, LabelledTable, build_documents, read_labelled_table
from deniable.cli.tables import TableFormat
from deniable.core.errors import InputError
from deniable.text.remarks import OTHER_VECTORS
from tests.text.helpers import SPACE

CSV = TableFormat(None, None, "utf-8")
COLUMNS = LabelledColumns("text", "label", None, CSV)
TEXTS = ["the food", "the zork", "zork", None, "london", "the dog"]
LABELS = ["good", "bad", "good", "good", " ", "mixed"]


def table(texts=TEXTS, labels=LABELS):
    return LabelledTable("t.csv", COLUMNS, list(texts), list(labels), None)


def test_rows_that_cannot_be_used():
    """Rows are left out by the first reason that holds, and the remarks name them; unknown words are counted."""
    rows = build_documents(table(), SPACE, 100, ("bad", "good"))
    assert rows.row_numbers.tolist() == [0, 1]
    assert rows.left_out_count == 4
    assert [rows.documents.classes[code] for code in rows.documents.labels] == ["good", "bad"]
    assert [remark.split(" left out: ")[-1] for remark in rows.remarks] == [
        "row 5",
        "row 6",
        "row 4",
        "row 3",
        f"t.csv: 25.0 % of the words are not in the vocabulary and were ignored. {OTHER_VECTORS}",
    ]


def test_advice_where_many_words_are_unknown():
    """Up to a fifth of unknown words is told without advice."""
    for text, advice in (("the food the food zork", ""), ("the food the zork", f". {OTHER_VECTORS}")):
        (remark,) = build_documents(table([text, text], ["good", "bad"]), SPACE, 100).remarks
        assert remark.endswith(f"were ignored{advice}")


def test_classes_come_from_the_labels():
    """Without classes of a model the labels make them, sorted."""
    assert build_documents(table(), SPACE, 100).documents.classes == ("bad", "good", "mixed")


def test_one_class_is_too_few():
    """The refusal of a single class names the rows that were left out."""
    with pytest.raises(InputError, match=r"at least 2 classes\. Got only 'good'.* left out: row 2"):
        build_documents(table(["the", "food"], ["good", ""]), SPACE, 100)


def test_the_fingerprint_is_of_the_cells(tmp_path):
    """Equal cells have one fingerprint in any format, and any other cell, label or order another."""
    (tmp_path / "t.csv").write_text("note,text,label\nx,the food,good\ny,,bad\n")
    (tmp_path / "t.tsv").write_text("text\tlabel\nthe food\tgood\n\tbad\n")
    first, second = (read_labelled_table(str(tmp_path / name), COLUMNS) for name in ("t.csv", "t.tsv"))
    assert first.fingerprint == second.fingerprint
    others = [
        dataclasses.replace(first, texts=["the dog", None]),
        dataclasses.replace(first, labels=["bad", "bad"]),
        dataclasses.replace(first, premises=["the", "the"]),
        dataclasses.replace(first, texts=first.texts[::-1], labels=first.labels[::-1]),
    ]
    assert len({first.fingerprint, *(other.fingerprint for other in others)}) == 5


def test_limits_and_empty_tables(tmp_path):
    """A limit takes the first rows; a table without rows is refused."""
    (tmp_path / "t.csv").write_text("text,label\nthe,good\nfood,bad\n")
    (tmp_path / "empty.csv").write_text("text,label\n")
    assert read_labelled_table(str(tmp_path / "t.csv"), COLUMNS, 1).texts == ["the"]
    with pytest.raises(InputError, match="has no rows: give one with texts"):
        read_labelled_table(str(tmp_path / "empty.csv"), COLUMNS)


def test_one_column_for_two_purposes():
    """Classes and premises cannot be one column."""
    with pytest.raises(InputError, match="The column 'kind' cannot be classes and premises at once"):
        LabelledColumns("text", "kind", "kind", CSV)
