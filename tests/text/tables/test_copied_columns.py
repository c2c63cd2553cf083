"""Which copied columns look like texts, or like identifiers."""

import csv
import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.text.tables.helpers import few, released

NOTES = ["refund requested", "message to Dr. Park", "ok", "sent to A&E", "spam?", "callback", "Jane Doe rang twice"]


def judge(cells, **options):
    """Return whether a copied column of cells looks like texts, and whether like identifiers."""
    sink = io.StringIO()
    csv.writer(sink, quoting=csv.QUOTE_ALL).writerows([("note", "text"), *((cell, "x") for cell in cells)])
    _, copied = released("csv", sink.getvalue().encode(), quoting="standard", **options)
    return bool(copied.texts), bool(copied.identifiers)


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
    assert judge(cells) == judge(cells[::-1]) == (True, False)


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
    assert judge(cells) == judge(cells[::-1]) == (False, True)


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
        [str(row) for row in range(10)],
        ["1", "2", "3", "4", "5"] * 20,
        [f"{row}.37" for row in range(100)],
        ["2024-01-03", "03.01.2024", "1/2/2024"],
        ["1234567", "7654321"],
        ["@home", "a@b", "x@y."],
        ["12 345 678 901 234 567 890 123 456"],
    ],
)
def test_neither(cells):
    """Categories that recur, numbers, times, dates, ratings, handles and a single remark among many cells are none."""
    assert judge(cells) == (False, False)


@pytest.mark.parametrize(
    ("ids", "kinds"),
    [
        ([f"Jane Doe {row}" for row in range(9)], (True, False)),
        ([f"p{row}@example.org" for row in range(9)], (False, True)),
        ([f"2024-{row:06}" for row in range(40)], (False, False)),
        ([str(row) for row in range(40)], (False, False)),
    ],
)
def test_ids_that_name_people(ids, kinds):
    """Record ids tell rows apart, and are told of only where they are names or addresses."""
    assert judge(ids, id_column="note") == kinds


def test_a_table():
    """The declared column of ids is expected to tell rows apart; texts, and what is left out, are not copied."""
    lines = ["id,who,text,note,left,key,stars"]
    lines += [f"r{n},ann,{NOTES[n % 7]},{NOTES[n % 7]} {n},a secret remark {n},{n + 100},{n % 5}" for n in range(40)]
    _, content = released("csv", "\n".join(lines).encode(), id_column="id", copied=["who", "note", "key", "stars"])
    assert content.columns == ("id", "who", "note", "key", "stars")
    assert (content.texts, content.identifiers, content.is_selection) == (("note",), ("key",), True)


@pytest.mark.parametrize(
    ("cell", "is_text"),
    [
        ("Zoë rang twice".encode(), True),
        (b"abcdef " + "Zoë rang ".encode() * 1000, True),
        (b"\xff\xd8 Ann Smith", False),
    ],
)
def test_bytes(cell, is_text):
    """Bytes are judged as the text that they are; other bytes, such as images, are none."""
    for kind in (pa.binary(), pa.large_binary(), pa.struct({"b": pa.binary()})):
        sink, is_flat = io.BytesIO(), not pa.types.is_struct(kind)
        pq.write_table(pa.table({"text": ["x"], "note": pa.array([cell if is_flat else {"b": cell}], kind)}), sink)
        assert released("parquet", sink.getvalue())[1].texts == (("note",) if is_text and is_flat else ())


@few
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30), max_size=30))
def test_any_cells(cells):
    """No cell is an error, and the order of the cells decides nothing."""
    assert judge(cells) == judge(cells[::-1])


@pytest.mark.parametrize("cell", ["a" * 10**5, "a@" * 10**4, "1-" * 10**4, "aa " * 10**4, "a@b." * 10**4, "@" * 10**5])
def test_long_cells(cell):
    """Of long cells, of which a search could take very long, some characters are judged."""
    judge([cell] * 40)
