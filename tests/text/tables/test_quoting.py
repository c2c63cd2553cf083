"""Quotes that no writer meant are refused, quotes that one meant are not, and without quotes nothing spans lines."""

import csv
import io

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from deniable import InputError
from deniable.text.tables.columns import read_columns
from deniable.text.tables.layout import TableLayout
from tests.text.helpers import constant, extended, giving, identity, recording, rewritten

ROWS = [[f"{number}", f"a secret text {number}", "neg" if number % 2 else "pos"] for number in range(12)]


def render(delimiter, first, last, column, end="\n"):
    """Return a table by a writer that knows no quotes, with a quote before one cell and one behind a later one."""
    rows = [list(row) for row in ROWS]
    rows[first][column] = '"' + rows[first][column]
    rows[last][column] += '"'
    return end.join(delimiter.join(row) for row in [["id", "text", "label"], *rows, []]).encode()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(("kind", "delimiter"), [("csv", ","), ("tsv", "\t"), ("csv", ";")])
@pytest.mark.parametrize("column", [0, 1, 2])
@pytest.mark.parametrize("chunk", [7, 1 << 22])
def test_swallowed_rows_are_refused(kind, delimiter, column, end, chunk):
    """Wherever the quotes stand, the table is refused by its line with the option, and no text has passed."""
    data = render(delimiter, 3, 8, column, end)
    seen = []
    with pytest.raises(InputError, match=r"(?s)line 5: .*--quoting none .*--quoting standard"):
        rewritten(kind, data, recording(seen), chunk, window=1, delimiter=delimiter)
    if column != 1:
        assert [row.cells[0][1] for row in seen] == [row[1] for row in ROWS[: len(seen)]]
    with pytest.raises(InputError, match="rows of their own"):
        extended(kind, data, delimiter=delimiter)
    out, _ = rewritten(kind, data, delimiter=delimiter, quoting="none")
    assert out == data
    for columns in (["text"], ["text", "label"], ["text", "label", "id"]):
        layout = TableLayout("the table", columns, delimiter=delimiter)
        with pytest.raises(InputError, match="rows of their own"):
            read_table(data, layout)
    assert len(read_table(data, TableLayout("the table", delimiter=delimiter, quoting="none"))["text"]) == len(ROWS)
    assert len(read_table(data, TableLayout("the table", delimiter=delimiter, quoting="standard"))["text"]) < len(ROWS)


def read_table(data, layout, kind="csv"):
    """Return columns as commands that only read a table get them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        return read_columns("-", layout, kind)


@pytest.mark.parametrize(
    "table",
    [
        'text,note\nhello,"a\nbye,b\nmore,c\nrest,d"\n',
        'text,note\nhello,"a\n\nbye,b"\n',
        'text,"note\nhello,a\nbye,b"\nmore,c\n',
        'id,text,note\n"1,hello, world,x\n2",bye,y\n',
        'id,text,note\n1,hello,"x\n2,short\n3,bye,y"\n',
        'id,text,note\n1,"hello, world","x\n2,"",y"\n',
    ],
)
def test_no_text_leaves_in_a_copied_cell(table):
    """Blank and malformed lines among the swallowed ones, and a header that swallows, do not let texts pass."""
    with pytest.raises(InputError, match="rows of their own"):
        rewritten("csv", table.encode())


@pytest.mark.parametrize(
    "table",
    [
        'id,text,note\n1,"Hello, dear\nworld, of, words",x\n',
        'id,text,note\n1,"one\ntwo\n\nthree",x\n2,"four, five\nsix",y\n',
        'id,text,note\n1,fine,"12 Main St\nSpringfield"\n',
        'text,note\n"Hello, I am\nthanks",x\n"yes, yes",y\n"no, no",z\n',
        '"a\nname",text\n1,fine\n',
        'text\n"one\ntwo"\nthree\n',
        'id\ttext\n1\t"one\ntwo"\n2\tthree ""quoted"" "words"\n'.replace("\t", ","),
    ],
)
def test_cells_that_a_writer_meant_pass(table):
    """Cells of several lines that are not rows, and those that look so among many that need their quotes, are read."""
    rows = list(csv.reader(io.StringIO(table)))
    seen = []
    out, _ = rewritten("csv", table.encode(), recording(seen))
    assert len(seen) == len(rows) - 1
    assert list(csv.reader(io.StringIO(out.decode()))) == rows


TEXTS = st.text(st.sampled_from('ab "\n,;\r'), max_size=8)


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=3, max_size=8), st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
def test_what_the_csv_module_writes_is_read_or_refused(rows, style):
    """A table by a writer of quotes gives its rows; where they look like a mistake it is refused, never misread."""
    sink = io.StringIO()
    csv.writer(sink, quoting=style).writerows([("text", "note"), *rows])
    seen = []
    try:
        rewritten("csv", sink.getvalue().encode(), recording(seen))
    except InputError:
        seen.clear()
        rewritten("csv", sink.getvalue().encode(), recording(seen), quoting="standard")
    assert [row.cells[0][1] for row in seen] == [text for text, _ in rows]


CELLS = st.text(st.characters(exclude_characters="\t\r\n\0", exclude_categories=["Cs"]), max_size=6)


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=6), st.integers(1, 40))
def test_without_quotes_nothing_spans_lines(rows, chunk):
    """Every byte stays, every line is a row with its cells as they stand, and new cells begin no others."""
    data = "".join("\t".join(row) + "\n" for row in [("id", "text", "n"), *rows]).encode()
    seen = []
    out, _ = rewritten("tsv", data, recording(seen), chunk, delimiter="\t", quoting="none")
    assert out == data
    assert [row.cells[0][1] for row in seen] == [row[1] for row in rows]
    new, _ = rewritten("tsv", data, constant('a\tb"\n\r,c'), chunk, delimiter="\t", quoting="none")
    assert [line.split("\t") for line in new.decode().split("\n")[1:-1]] == [
        [row[0], 'a b"  ,c' if row[1] else "", row[2]] for row in rows
    ]


def test_new_texts_never_hold_the_delimiter():
    """Without quotes a delimiter that a new text brings is a space, or an underscore where the space delimits."""
    for delimiter, expected in ((",", "1 000"), (" ", "1,000"), ("0", "1,   ")):
        data = delimiter.join(["x", "text"]) + "\n" + delimiter.join(["y", "a"]) + "\n"
        out, _ = rewritten("csv", data.encode(), constant("1,000"), delimiter=delimiter, quoting="none")
        assert out.decode().splitlines()[1] == f"y{delimiter}{expected}"
    out, _ = rewritten("csv", b"x text\ny a\n", constant("b c"), delimiter=" ", quoting="none")
    assert out == b"x text\ny b_c\n"


def test_new_columns_without_quotes():
    """A class that holds the delimiter is refused without quotes: another cell would begin in it."""
    data = b'text,n\n"a,1\nb",2\n'
    assert extended("csv", data, quoting="none") == (
        b'text,n,predicted,probability\n"a,1,"a,0.285714\nb",2,b",0.285714\n'
    )
    with pytest.raises(InputError, match="holds the delimiter"):
        extended("csv", data, lambda rows: [("a,b", 0.5)] * len(rows), quoting="none")


def test_a_column_that_is_left_has_as_many_records():
    """Without quotes a text that is empty is a blank line, which is a record of a table of one column."""
    out, _ = rewritten("csv", b"text,n\na,1\nb,2\n", giving(lambda _: ["", "x"]), quoting="none", dropped=["n"])
    assert out == b"text\n\nx\n"


def test_what_was_swallowed_all_the_same_is_named():
    """Where other cells show that quotes are meant, cells that look like rows are counted for the owner."""
    remarks = []
    table = b'text,n\n"a, b",1\n"c, d",2\n"e,3\nf",4\n'
    assert rewritten("csv", table, remarks=remarks)[0] == table
    (remark,) = remarks
    assert remark.startswith("the table line 4: a quoted cell of 'text' with lines that would be rows without quotes")
    assert remark.endswith("give --quoting none")


@pytest.mark.parametrize("first", ["sep=;", "SEP=;", '"sep=;"'])
def test_excels_first_line(first):
    """The line in which Excel names the delimiter stays, and is no header; another delimiter is refused."""
    data = f"{first}\r\ntext;n\r\na,b;1\r\n".encode()
    for quoting in (None, "standard", "none"):
        assert rewritten("csv", data, delimiter=";", quoting=quoting) == (data, ["n"])
    with pytest.raises(InputError, match="--delimiter ';'"):
        rewritten("csv", data)
    with pytest.raises(InputError, match=r"--delimiter '\\t'"):
        rewritten("csv", b"sep=\t\ntext\tn\n")


@given(st.lists(TEXTS, min_size=1, max_size=6))
def test_one_column(texts):
    """A table of one column by a writer of quotes gives its records."""
    assume(all(texts))
    sink = io.StringIO()
    csv.writer(sink).writerows([("text",), *((text,) for text in texts)])
    seen = []
    rewritten("csv", sink.getvalue().encode(), recording(seen, identity))
    assert [row.cells[0][1] for row in seen] == texts


def test_a_bare_quote_in_one_column():
    """A cell with a quote that no writer of quotes leaves bare shows that those of another are not meant."""
    with pytest.raises(InputError, match="rows of their own"):
        rewritten("csv", b'text\n"one\ntwo"\nthree "four"\n')
