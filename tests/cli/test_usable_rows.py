"""Rows that a command cannot use: how they are counted and named."""

import pytest

from deniable.cli.usable_rows import describe_rows, format_row_numbers, select_usable_rows
from deniable.core.errors import InputError


@pytest.mark.parametrize(
    ("rows", "named"),
    [
        ([0], "row 1"),
        ([2, 6], "rows 3 and 7"),
        ([0, 1, 2, 3, 1233], "rows 1, 2, 3, 4 and 1,234"),
        ([0, 1, 2, 3, 4, 5], "rows 1, 2, 3, 4, 5 and 1 more"),
        (range(5000), "rows 1, 2, 3, 4, 5 and 4,995 more"),
    ],
)
def test_rows_are_named_from_one_on(rows, named):
    """A few rows are all named; of many the first five are, and the others counted."""
    assert format_row_numbers(list(rows)) == named


def test_no_rows_have_no_line():
    """Nothing is said of no rows."""
    assert describe_rows("t.csv", [], "left out") == []
    assert describe_rows("t.csv", [3], "left out") == ["t.csv: 1 row left out: row 4"]


def test_a_row_is_counted_once():
    """A row with several faults is left out once, under the first."""
    usable, lines = select_usable_rows(
        "t.csv", 6, {"without a label": [1, 4], "without a text": [4, 5], "too long": [1]}
    )
    assert usable == [0, 2, 3]
    assert lines == [
        "t.csv: 2 rows without a label left out: rows 2 and 5",
        "t.csv: 1 row without a text left out: row 6",
    ]


def test_no_row_is_left():
    """Where no row can be used the reasons are told with their counts, in one line."""
    with pytest.raises(InputError, match=r"'t.csv' can be used \(2 rows without a text; 1 row too long\)"):
        select_usable_rows("t.csv", 3, {"without a text": [0, 2], "too long": [1]})
