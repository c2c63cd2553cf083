"""Which copied columns look like texts, or like identifiers."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.text.tables.copied_columns import MAX_JUDGED_ROWS, CopiedColumns, has_identifiers, has_texts
from deniable.text.tables.layout import TableLayout

NOTES = ["refund requested", "message to Dr. Park", "ok", "sent to A&E", "spam?", "callback", "Jane Doe rang twice"]


@pytest.mark.parametrize(
    "cells",
    [
        NOTES,
        ["GP call booked"],
        [*["fine"] * 18, "spoke to her sister"],
        [f"{name} Smith" for name in ("Ann", "Bob", "Eve", "Zoë", "José")],
        ["привет, Иван звонил", "нет ответа"],
        ["她昨天打电话来了", "没有回答我们的问题"],
        ["line\nbreak here"],
        ["{'note': 'called the customer', 'by': 'ann'}"],
    ],
)
def test_texts(cells):
    """Remarks, names of people and nested notes are texts, in any script, also among many short cells."""
    assert has_texts(cells)


@pytest.mark.parametrize(
    "cells",
    [
        [],
        ["web", "email", "phone", "web"],
        ["New York", "Los Angeles"] * 20,
        ["2024-01-03 10:22", "2024-01-04 11:30"],
        ["4.5", "12", "1 000"],
        [*["fine"] * 30, "spoke to her"],
        ["A 1", "B 2", "C 3"],
    ],
)
def test_no_texts(cells):
    """Categories that recur, numbers, times and a single remark among many cells are none."""
    assert not has_texts(cells)


@pytest.mark.parametrize(
    "cells",
    [
        ["ann@example.org", "", "x"],
        ["<bob.smith@mail.example.co.uk>"],
        ["+44 20 7946 0958", "(020) 555-0142"],
        [f"R{row:04}" for row in range(20)],
        [str(row) for row in range(1000, 1040)],
        [f"2024-01-03T10:{row:02}:17" for row in range(30)],
    ],
)
def test_identifiers(cells):
    """Addresses, phone numbers, and what nearly every row has for itself are identifiers."""
    assert has_identifiers(cells)


@pytest.mark.parametrize(
    "cells",
    [
        [],
        [str(row) for row in range(10)],
        ["1", "2", "3", "4", "5"] * 20,
        [f"{row}.37" for row in range(100)],
        ["2024-01-03", "03.01.2024", "1/2/2024"],
        ["1234567", "7654321"],
        ["@home", "a@b", "x@y."],
        ["12 345 678 901 234 567 890 123 456"],
    ],
)
def test_no_identifiers(cells):
    """A few distinct values, ratings, measurements, dates and handles are none."""
    assert not has_identifiers(cells)


def test_a_table():
    """The declared column of ids is expected to tell rows apart; texts, and what is left out, are not copied."""
    layout = TableLayout("t", ("text",), "id", dropped=("left",))
    copied = CopiedColumns(layout)
    copied.names += ["id", "who", "text", "note", "left", "key", "stars"]
    for row in range(40):
        copied.add_row(
            [
                ("id", f"r{row}"),
                ("who", "ann"),
                ("text", NOTES[row % 7]),
                ("note", f"{NOTES[row % 7]} {row}"),
                ("left", f"a secret remark {row}"),
                ("key", row),
                ("stars", None if row % 2 else row % 5 + 0.0),
            ]
        )
    content = copied.describe()
    assert content.columns == ("id", "who", "note", "key", "stars")
    assert (content.texts, content.identifiers, content.is_selection) == (("note",), ("key",), True)


@pytest.mark.parametrize(
    ("ids", "texts", "identifiers"),
    [
        ([f"Jane Doe {row}" for row in range(9)], ("id",), ()),
        ([f"p{row}@example.org" for row in range(9)], (), ("id",)),
        ([f"2024-{row:06}" for row in range(40)], (), ()),
        ([str(row) for row in range(40)], (), ()),
    ],
)
def test_ids_that_name_people(ids, texts, identifiers):
    """Record ids tell rows apart, and are told of only where they are names or addresses."""
    copied = CopiedColumns(TableLayout("t", ("text",), "id"))
    copied.names += ["id", "text"]
    for cell in ids:
        copied.add_row([("id", cell), ("text", "x")])
    assert (copied.describe().texts, copied.describe().identifiers) == (texts, identifiers)


@pytest.mark.parametrize(
    ("cell", "is_text"),
    [
        ("Zoë rang twice".encode(), True),
        (b"abcdef " + "Zoë rang ".encode() * 1000, True),
        (b"\xff\xd8 Ann Smith", False),
    ],
)
def test_bytes(cell, is_text):
    """Bytes are judged as the text that they are, wherever they are cut off; other bytes, such as images, are none."""
    copied = CopiedColumns(TableLayout("t"))
    copied.names += ["note"]
    copied.add_row([("note", cell)])
    assert copied.describe().texts == (("note",) if is_text else ())


@given(st.lists(st.text(max_size=30), max_size=30))
def test_any_cells(cells):
    """No cell is an error, and the order of the cells decides nothing."""
    assert has_texts(cells) == has_texts(cells[::-1])
    assert has_identifiers(cells) == has_identifiers(cells[::-1])


@pytest.mark.parametrize("cell", ["a" * 10**6, "a@" * 10**5, "1-" * 10**5, "aa " * 10**5, "a@b." * 10**5, "@" * 10**6])
def test_long_cells_take_no_time(cell):
    """So many rows are judged and no more, and of each cell so much that none of them occupies a run."""
    copied = CopiedColumns(TableLayout("t"))
    start = time.perf_counter()
    while copied.needs_rows:
        copied.add_row([("note", cell)])
    copied.names += ["text", "note"]
    copied.describe()
    assert time.perf_counter() - start < 5
    assert copied._judged_rows == MAX_JUDGED_ROWS
