"""Quotes that no writer meant are refused, quotes that one meant are not, and without quotes nothing spans lines."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

import deniable as dn
from tests.refusals import refuses
from tests.text.tables.helpers import constant, extended, few, giving, many, read_table, recording, rewritten

ROWS = [[f"{number}", f"a secret text {number}", "neg" if number % 2 else "pos"] for number in range(12)]


def render(delimiter, first, last, column, end="\n"):
    """Return a table by a writer that knows no quotes, with a quote before one cell and one behind a later one."""
    rows = [list(row) for row in ROWS]
    rows[first][column] = '"' + rows[first][column]
    rows[last][column] += '"'
    return end.join(delimiter.join(row) for row in [["id", "text", "label"], *rows, []]).encode()


@pytest.mark.parametrize(("kind", "delimiter", "end"), [("csv", ",", "\n"), ("tsv", "\t", "\r\n"), ("csv", ";", "\r")])
@pytest.mark.parametrize("column", [0, 1, 2])
def test_swallowed_rows_are_refused(tmp_path, kind, delimiter, end, column):
    """Wherever the quotes stand, the table is refused by its line with the option, and no text has passed."""
    data, names = render(delimiter, 3, 8, column, end), ["text", "label", "id"]
    for chunk in (7, 1 << 22):
        seen = []
        with refuses("line 5"):
            rewritten(kind, data, recording(seen), chunk, window=1, delimiter=delimiter)
        if column != 1:
            assert [row.cells[0][1] for row in seen] == [row[1] for row in ROWS[: len(seen)]]
    with refuses("--quoting none"):
        extended(kind, data, delimiter=delimiter)
    assert rewritten(kind, data, delimiter=delimiter, quoting="none")[0] == data
    (tmp_path / "in.csv").write_bytes(data)
    for count in (1, 2, 3):
        with refuses("--quoting none"):
            read_table(tmp_path / "in.csv", names[:count], delimiter=delimiter)
    counts = [
        len(read_table(tmp_path / "in.csv", delimiter=delimiter, quoting=quoting)["text"])
        for quoting in ("none", "standard")
    ]
    assert counts[1] < counts[0] == len(ROWS)


@pytest.mark.parametrize(
    "table",
    [
        'text,note\nhello,"a\nbye,b\nmore,c\nrest,d"\n',
        'text,note\nhello,"a\n\nbye,b"\n',
        'text,"note\nhello,a\nbye,b"\nmore,c\n',
        'id,text,note\n"1,hello, world,x\n2",bye,y\n',
        'id,text,note\n1,hello,"x\n2,short\n3,bye,y"\n',
        'id,text,note\n1,"hello, world","x\n2,"",y"\n',
        'text\n"one\ntwo"\nthree "four"\n',
    ],
)
def test_no_text_leaves_in_a_copied_cell(table):
    """Blank and malformed lines among the swallowed ones, and a header that swallows, do not let texts pass."""
    with refuses("--quoting none"):
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
        'id,text\n1,"one\ntwo"\n2,three ""quoted"" "words"\n',
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
TABLES = st.lists(st.tuples(TEXTS, TEXTS), min_size=3, max_size=8) | st.lists(
    st.tuples(TEXTS.filter(bool)), min_size=1, max_size=6
)
STYLES = st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])


@few
@given(TABLES, STYLES)
def test_what_the_csv_module_writes_is_read_or_refused(rows, style):
    """A table by a writer of quotes gives its rows; where they look like a mistake it is refused, never misread."""
    sink = io.StringIO()
    csv.writer(sink, quoting=style).writerows([("text", "note")[: len(rows[0])], *rows])
    seen = []
    try:
        rewritten("csv", sink.getvalue().encode(), recording(seen))
    except dn.InputError:
        assert len(rows[0]) == 2
        seen.clear()
        rewritten("csv", sink.getvalue().encode(), recording(seen), quoting="standard")
    assert [row.cells[0][1] for row in seen] == [row[0] for row in rows]


CELLS = st.text(st.characters(exclude_characters="\t\r\n\0", exclude_categories=["Cs"]), max_size=6)


@few
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


test_many_written_tables = many(test_what_the_csv_module_writes_is_read_or_refused, TABLES, STYLES)


def test_new_texts_never_hold_the_delimiter():
    """Without quotes a delimiter that a new text brings is a space, or an underscore where the space delimits."""
    for delimiter, new, expected in ((",", "1,000", "1 000"), (" ", "1,000", "1,000"), ("0", "1,000", "1,   ")):
        data = delimiter.join(["x", "text"]) + "\n" + delimiter.join(["y", "a"]) + "\n"
        out, _ = rewritten("csv", data.encode(), constant(new), delimiter=delimiter, quoting="none")
        assert out.decode().splitlines()[1] == f"y{delimiter}{expected}"
    out, _ = rewritten("csv", b"x text\ny a\n", constant("b c"), delimiter=" ", quoting="none")
    assert out == b"x text\ny b_c\n"


def test_new_columns_without_quotes():
    """A class that holds the delimiter is refused without quotes: another cell would begin in it."""
    data = b'text,n\n"a,1\nb",2\n'
    assert extended("csv", data, quoting="none") == (
        b'text,n,predicted,probability\n"a,1,"a,0.285714\nb",2,b",0.285714\n'
    )
    with refuses("'a,b'"):
        extended("csv", data, lambda rows: [("a,b", 0.5)] * len(rows), quoting="none")


def test_a_column_that_is_left_has_as_many_records():
    """Without quotes a text that is empty is a blank line, which is a record of a table of one column."""
    out, _ = rewritten("csv", b"text,n\na,1\nb,2\n", giving(lambda _: ["", "x"]), quoting="none", copied=[])
    assert out == b"text\n\nx\n"


def test_what_was_swallowed_all_the_same_is_named():
    """Where other cells show that quotes are meant, cells that look like rows are counted for the owner."""
    remarks = []
    table = b'text,n\n"a, b",1\n"c, d",2\n"e,3\nf",4\n'
    assert rewritten("csv", table, remarks=remarks)[0] == table
    (remark,) = remarks
    assert "line 4" in remark


def test_quotes_that_do_not_close():
    """A quote that is not closed, or text behind one, is refused, and the option that reads it is named."""
    for table in (b'n,text\na,"b', b'n,text\na,"b\nc,d\n', b'n,text\na,"b"c\n'):
        with refuses("--quoting none"):
            rewritten("csv", table)
        assert rewritten("csv", table, quoting="none")[0] == table


@pytest.mark.parametrize("first", ["sep=;", "SEP=;", '"sep=;"'])
def test_excels_first_line(first):
    """The line in which Excel names the delimiter stays, and is no header; another delimiter is refused."""
    data = f"{first}\r\ntext;n\r\na,b;1\r\n".encode()
    for quoting in (None, "standard", "none"):
        assert rewritten("csv", data, delimiter=";", quoting=quoting) == (data, ["n"])
    with refuses("--delimiter ';'"):
        rewritten("csv", data)
    with refuses(r"--delimiter '\t'"):
        rewritten("csv", b"sep=\t\ntext\tn\n")
