"""Rows of a table, column by column."""

import numpy as np
import pyarrow as pa
import pytest

from deniable.text.encoded import EncodedTexts, list_texts
from deniable.text.tables.rows import (
    TextRow,
    TextRows,
    list_column,
    measure_texts,
    replace_texts,
    select_texts,
)

TEXTS = ["the food", None, "", "é"]
COLUMNS = {"list": TEXTS, "arrow": pa.array(TEXTS, type=pa.large_string())}


def test_rows_become_columns_and_rows_again():
    """Rows whose cells stand in any order become columns, which give the rows in the order of the first."""
    rows = [TextRow("a", [("x", "1"), ("y", None)], "p"), TextRow("b", [("y", "4"), ("x", "3")])]
    columns = TextRows.of(rows)
    assert columns.columns == {"x": ["1", "3"], "y": [None, "4"]}
    assert list(columns) == [rows[0], TextRow("b", [("x", "3"), ("y", "4")])]
    assert list(columns.select(1, 2)) == list(columns)[1:]
    assert list(TextRows.of([])) == []


@pytest.mark.parametrize("kind", COLUMNS)
def test_columns_of_either_kind(kind):
    """Texts are listed, measured, selected and replaced alike in a list and in an Arrow array; null stays null."""
    column = COLUMNS[kind]
    assert list_column(column) == TEXTS
    lengths = measure_texts(column)
    assert lengths.tolist()[:3] == [8, -1, 0]
    is_selected = lengths > 0
    assert list_texts(select_texts(column, is_selected)) == ["the food", "é"]
    for new_texts in (["a", "bé"], EncodedTexts.of(["a", "bé"])):
        assert list_column(replace_texts(column, is_selected, new_texts)) == ["a", None, "", "bé"]


@pytest.mark.parametrize("kind", COLUMNS)
def test_whole_columns(kind):
    """A column without nulls is selected and replaced as a whole, a slice of an array too."""
    column = COLUMNS[kind][2:]
    everything = np.ones(2, dtype=np.bool_)
    assert list_texts(select_texts(column, everything)) == ["", "é"]
    assert list_column(replace_texts(column, everything, EncodedTexts.of(["x", "y"]))) == ["x", "y"]
