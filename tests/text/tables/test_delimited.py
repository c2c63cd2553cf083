"""csv and tsv: which bytes change, which do not, and what is refused."""

import csv
import dataclasses
import io

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.refusals import refuses
from tests.text.tables.helpers import (
    buffers,
    constant,
    dropping,
    extended,
    few,
    giving,
    identity,
    many,
    mirrored,
    recording,
    rewritten,
)

CONTENT = ["the food", "", "01", "1e5", " x ", 'a "b"', '"', "a,b", "a;b", "a\tb", "two\nlines", "two\r\nlines", "\r"]
CONTENT += ["é✓", "NA", "'"]


@dataclasses.dataclass(frozen=True)
class Cell:
    """One cell as it stands in a file, and what it means."""

    text: str
    raw: str


@dataclasses.dataclass(frozen=True)
class Table:
    """A table as it stands in a file: rows of cells with their line ends, blank lines without cells."""

    delimiter: str
    mark: str
    texts: tuple[int, ...]
    rows: tuple[tuple[tuple[Cell, ...], str], ...]

    def render(self, release=lambda text: text):
        """Return the file with every text cell below the header put through ``release``."""
        parts = [self.mark]
        for number, (cells, end) in enumerate(self.rows):
            out = [
                self.quoted(release(cell.text), cell.raw) if number and index in self.texts else cell.raw
                for index, cell in enumerate(cells)
            ]
            parts += [self.delimiter.join(out), end]
        return "".join(parts).encode()

    def quoted(self, text, raw):
        """Return a new text as it must stand: quoted if it must be, whatever stood there; "" as it was."""
        if set(text) & {'"', "\r", "\n", self.delimiter}:
            return '"' + text.replace('"', '""') + '"'
        return text or raw

    @property
    def original(self):
        """Return the file with every cell as it was written."""
        parts = [self.mark]
        for cells, end in self.rows:
            parts += [self.delimiter.join(cell.raw for cell in cells), end]
        return "".join(parts).encode()

    @property
    def names(self):
        return [cell.text for cell in self.rows[0][0]]

    @property
    def columns(self):
        return [self.names[index] for index in self.texts]

    @property
    def options(self):
        return {"columns": self.columns, "delimiter": self.delimiter, "quoting": "standard"}


@st.composite
def cells(draw, delimiter, content):
    text = draw(content)
    must = text.startswith('"') or set(text) & {"\r", "\n", delimiter}
    if must or draw(st.booleans()):
        return Cell(text, '"' + text.replace('"', '""') + '"')
    return Cell(text, text)


@st.composite
def tables(draw):
    delimiter = draw(st.sampled_from(",;\t|^]-\\ é"))
    width = draw(st.integers(1, 4))
    content = st.sampled_from(CONTENT) | st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6
    )
    names = st.lists(content.filter(bool), min_size=width, max_size=width, unique=True)
    header = tuple(draw(cells(delimiter, st.just(name))) for name in draw(names))
    rows = [(header, draw(st.sampled_from(["\n", "\r\n", "\r"])))]
    for _ in range(draw(st.integers(0, 6))):
        row = tuple(draw(cells(delimiter, content)) for _ in range(width))
        blank = draw(st.booleans()) and draw(st.booleans())
        if blank or [cell.raw for cell in row] == [""]:
            row = ()
        # A blank line's LF after a CR would make one CRLF of the two.
        ends = ["\r\n", "\r"] if not row and rows[-1][1] == "\r" else ["\n", "\r\n", "\r"]
        rows.append((row, draw(st.sampled_from(ends))))
    if draw(st.booleans()) and rows[-1][0]:
        rows[-1] = (rows[-1][0], "")
    texts = draw(st.sets(st.integers(0, width - 1), min_size=1, max_size=width))
    # A file whose first cell begins with a byte order mark has one mark, which is not the cell's.
    mark = draw(st.sampled_from(["", "\ufeff"])) or ("\ufeff" if header[0].raw.startswith("\ufeff") else "")
    return Table(delimiter, mark, tuple(sorted(texts)), tuple(rows))


def parsed(data, delimiter):
    """Return the rows as Python's csv module reads them, blank lines left out."""
    text = io.StringIO(data.decode().removeprefix("\ufeff"), newline="")
    return [row for row in csv.reader(text, delimiter=delimiter) if row]


def release_and_parse(table, release):
    """Return the released file as it is and as the csv module reads it, and the original as it is read."""
    out, copied = rewritten("csv", table.original, release, **table.options)
    assert copied == [name for name in table.names if name not in table.columns]
    return out, parsed(out, table.delimiter), parsed(table.original, table.delimiter)


@few
@given(tables())
def test_identity_keeps_every_byte(table):
    """Releasing texts as they are changes no byte, but that texts are quoted where they must be and only there.

    Rows reach the release once each, in order, unquoted, with the names of their columns.
    """
    seen = []
    out, _, _ = release_and_parse(table, recording(seen))
    assert out == table.render()
    texts = [row[index] for row, _ in table.rows[1:] if row for index in table.texts if row[index].text]
    special = {'"', "\r", "\n", table.delimiter}
    as_needed = all(cell.raw.startswith('"') == bool(set(cell.text) & special) for cell in texts)
    assert (out == table.original) == as_needed
    blank = () if len(table.names) > 1 else (Cell("", ""),)  # of one column a record, of more none
    rows = [row or blank for row, _ in table.rows[1:] if row or blank]
    assert [row.cells for row in seen] == [[(table.names[i], row[i].text) for i in table.texts] for row in rows]
    assert all(row.record_id is None for row in seen)


NEW = st.sampled_from(["x", "the food", 'a "b"', "a,b", "a;b\tc", "two\nlines", "\r", " x"])


@few
@given(tables(), NEW)
def test_only_text_cells_change(table, new):
    """With other texts exactly the text cells differ, and the csv module reads what was meant."""
    out, after, before = release_and_parse(table, constant(new))
    assert out == table.render(lambda text: new if text else text)
    assert after[0] == before[0] == table.names
    assert len(after) == len(before) == len([row for row, _ in table.rows if row])
    for old_row, new_row in zip(before[1:], after[1:], strict=True):
        wanted = [new if index in table.texts and cell else cell for index, cell in enumerate(old_row)]
        assert new_row == wanted


@few
@given(tables(), st.integers(1, 7), st.sampled_from([0, 1, 5, 40]))
def test_chunks_and_windows_do_not_show(table, chunk, window):
    """However few bytes are read and rows taken at a time, the released and the extended table are the same."""
    chunk, options = max(chunk, 3) if table.mark else chunk, table.options
    new = constant('new "text"')
    assert rewritten("csv", table.original, new, chunk, window, **options) == rewritten(
        "csv", table.original, new, **options
    )
    if not {"predicted", "probability"} & set(table.names):
        at_once = extended("csv", table.original, **options)
        assert extended("csv", table.original, mirrored, chunk, window, **options) == at_once


@few
@given(tables())
def test_new_columns_stand_behind_every_record(table):
    """Every byte of the table stays; behind the header and each record stand the new cells, quoted where they must."""
    assume(not {"predicted", "probability"} & set(table.names))
    first_text = min(table.texts)
    parts = [table.mark]
    for number, (row, end) in enumerate(table.rows):
        raw = table.delimiter.join(cell.raw for cell in row)
        text = row[first_text].text if row else ""
        if not number:
            raw = table.delimiter.join([raw, "predicted", "probability"])
        elif row or len(table.names) == 1:
            share = f"{len(text) / 7 % 1.0:.6f}" if text else ""
            raw = table.delimiter.join([raw, table.quoted(text, ""), table.quoted(share, "")])
        parts += [raw, end]
    out = extended("csv", table.original, **table.options)
    assert out == "".join(parts).encode()
    assert {len(row) for row in parsed(out, table.delimiter)} == {len(table.names) + 2}


test_many_identities = many(test_identity_keeps_every_byte, tables())
test_many_new_texts = many(test_only_text_cells_change, tables(), NEW)
test_many_new_columns = many(test_new_columns_stand_behind_every_record, tables())


def test_text_as_it_is():
    """By hand: quoting, leading zeros, spaces, line ends and blank lines stay; a tsv has tabs, and commas are text."""
    table = b'\xef\xbb\xbfid,"a ""b""",text\r\n007,"x, ""y""", z\r\n\r\n"8",,"q"\n 9 ,\'",""'
    out, copied = rewritten("csv", table, constant("new"))
    assert out == b'\xef\xbb\xbfid,"a ""b""",text\r\n007,"x, ""y""",new\r\n\r\n"8",,new\n 9 ,\'",""'
    assert copied == ["id", 'a "b"']
    out, _ = rewritten("tsv", b"id\ttext\n1\ta, b\n", constant("c, d"), delimiter="\t")
    assert out == b"id\ttext\n1\tc, d\n"


def test_what_stood_there_does_not_show():
    """A text that loses every word is gone, its record stays; quotes do not tell whether the private text had some."""
    empty = giving(lambda rows: ["" for _ in range(len(rows))])
    out, _ = rewritten("csv", b'text\nsecret\n"other, one"\n\nthird\n', empty)
    assert out == b'text\n""\n""\n\n""\n'
    out, _ = rewritten("csv", b'id,text\n1,secret\n2,"other, one"\n', empty)
    assert parsed(out, ",") == [["id", "text"], ["1", ""], ["2", ""]]
    for new, cell in (("two", b"two"), ("2,000", b'"2,000"')):
        out, _ = rewritten("csv", b'id,text\n1,"1,000"\n2,one\n', constant(new))
        assert out == b"id,text\n1," + cell + b"\n2," + cell + b"\n"


def test_empty_texts():
    """An empty cell stays as it was written, or is written anew like any other where it shall not show."""
    table = b'id,text\n1,\n2,""\n'
    assert rewritten("csv", table, constant("new"))[0] == table
    new = giving(lambda rows: ["x, y" for _ in range(len(rows))])
    out, _ = rewritten("csv", b'a,text\n1,\n2,""\n3,b\n', new, replace_empty=True)
    assert out == b'a,text\n1,"x, y"\n2,"x, y"\n3,"x, y"\n'


def test_ids_are_read_unquoted():
    """The id of a row is its cell's content, quoted or not, as an identity."""
    seen = []
    rewritten("csv", b'"id",text\n"a ""1""",x\n b ,y\n', recording(seen), id_column="id")
    assert [row.record_id for row in seen] == ['a "1"', "b"]


def test_headers():
    """A table without rows is copied, blank lines before the header are kept, and copied columns may share a name."""
    for table in (b"text", b"text\r\n", b"\n\ntext,a\n\n"):
        assert rewritten("csv", table)[0] == table
    assert rewritten("csv", b"\n\r\ntext\nx\n", constant("y"))[0] == b"\n\r\ntext\ny\n"
    assert rewritten("csv", b"a,text,a\n1,x,2\n", constant("y")) == (b"a,text,a\n1,y,2\n", ["a", "a"])


@pytest.mark.parametrize(
    ("table", "value"),
    [
        (b"", "empty"),
        (b"\n\n", "header"),
        (b"a,b\n1,2\n", "'text'"),
        (b"text,text\n1,2\n", "'text'"),
        (b'id,text\n1,"open\nmore\n', "line 2"),
        (b'id,text\n1,a\n2,"b"c\n', "line 3"),
        (b"id,text\n1,a\n2\n", "line 3 has 1 cells"),
        (b"id,text\n1,a,b\n", "line 2 has 3 cells"),
        (b'id,text\n1,"two\nlines"\n2,a,b\n', "line 4 has 3 cells"),
        (b"id,text\r1,a\r2\r", "line 3 has 1 cells"),
        (b"id,text\n1,caf\xe9\n", "line 2"),
        (b'id,text\n1,a\n"', "line 3"),
        (b"\n\r\n" * 20_000 + b"id,text\n" + b"\r\n" * 10_000 + b"1,a,b", "line 50002"),
    ],
)
def test_malformed(table, value):
    """What is no table is refused, and the line is named, whatever is read at a time, behind many blank lines too."""
    for chunk in (2 if len(table) < 100 else 999, 1 << 22):
        with refuses(value):
            rewritten("csv", table, chunk=chunk)


@pytest.mark.parametrize(
    ("data", "options", "value"),
    [
        (b"text\nx\n", {"id_column": "id"}, "'id'"),
        (b"id,text,id\n1,x,1\n", {"id_column": "id"}, "'id'"),
        (b"id,text\n1,x\n", {"person_column": "who"}, "'who'"),
        (b"id,text\n1,x\n", {"columns": ["text", "text"]}, "'text'"),
        (b"id,text\n1,x\n", {"columns": ["id"], "id_column": "id"}, "'id'"),
        (b"id,text\n1,x\n", {"columns": ["id"], "person_column": "id"}, "'id'"),
        (b"id,text\n1,x\n", {"copied": ["text"]}, "'text'"),
        (b"id,text\n1,x\n", {"copied": ["nmae"]}, "'nmae'"),
        ((",".join(f"c{place}" for place in range(40))).encode(), {}, "'c29', ..."),
    ],
)
def test_columns_that_cannot_be_used(data, options, value):
    """A name that is not there, there twice, or named for two things at odds is refused; some names are told."""
    with refuses(value):
        rewritten("csv", data, **options)


def test_a_long_row_is_refused():
    """A quote left open does not swallow a file without bound."""
    with buffers(chunk=64, row=1000), refuses("1,000"):
        rewritten("csv", b'text\n"' + b"word\n" * 1000, chunk=64)


def test_large_tables():
    """A cell of very many characters, quotes and lines is one cell, and a table may have a thousand columns."""
    cell = 'a ""b""\n' * 12_000
    table = f'id,text\n1,"{cell}"\n2,x\n'.encode()
    assert rewritten("csv", table, identity, chunk=1 << 14)[0] == table
    assert rewritten("csv", table, constant("y"), chunk=1 << 14)[0] == b"id,text\n1,y\n2,y\n"
    names = ",".join(["text", *(f"c{i}" for i in range(1000))])
    row = ",".join(["x", *map(str, range(1000))])
    out, copied = rewritten("csv", f"{names}\n{row}\n".encode(), constant("y"))
    assert out == f"{names}\ny{row[1:]}\n".encode()
    assert len(copied) == 1000


@pytest.mark.parametrize(
    ("options", "header", "row"),
    [
        ({"copied": ["a", "c,d", "e"]}, 'a,text,"c,d",e', '"x,1","the ""food""",,"last"'),
        ({"copied": ["b", "c,d"]}, 'text,b,"c,d"', '"the ""food""", 2 ,'),
        ({"copied": []}, "text", '"the ""food"""'),
        ({"copied": ["e", "a"]}, "a,text,e", '"x,1","the ""food""","last"'),
        ({"copied": [], "id_column": "b"}, "text,b", '"the ""food""", 2 '),
        ({"copied": ["c,d"]}, 'text,"c,d"', '"the ""food""",'),
    ],
)
def test_dropped_columns_go_and_every_other_byte_stays(options, header, row):
    """A dropped cell goes with one delimiter; quotes, blanks, line ends and the mark of byte order stay."""
    for end in ("\n", "\r\n", "\r"):
        data = f'\ufeff{end}a,text,b,"c,d",e{end}"x,1","the ""food""", 2 ,,"last"{end}'
        out, copied = rewritten("csv", data.encode(), **options)
        assert out.decode() == f"\ufeff{end}{header}{end}{row}{end}"
        assert copied == [name for name in next(csv.reader([header])) if name != "text"]


def test_what_is_left_of_dropped_columns():
    """Columns of a dropped name go together; texts alone have as many records, and blank lines, which were none, go."""
    assert rewritten("csv", b"a,text,a,b\n1,the,2,3\n", copied=["b"]) == (b"text,b\nthe,3\n", ["b"])
    data = b"a,text\n1,the\n\n2,\n3,food"
    assert rewritten("csv", data, copied=[]) == (b'text\nthe\n""\nfood', [])


def test_new_columns_that_cannot_be():
    """A name that is there, and a class that the encoding cannot hold, are refused: with ? two might look the same."""
    with refuses("'probability'"):
        extended("csv", b"text,probability\nthe,1\n")
    with refuses("'✓'"):
        extended("csv", b"text\n\xe9\n", lambda rows: [("✓", 1.0) for _ in range(len(rows))], encoding="cp1252")


@pytest.mark.parametrize("options", [{}, {"copied": []}])
def test_persons_are_read(options):
    """Whose a record is reaches the release also where the column is left out; an empty cell names nobody."""
    seen = []
    rewritten("csv", b'who,text\n"a, b",x\n,y\n a ,z\n 1.0,z\n', recording(seen), person_column="who", **options)
    assert [row.person for row in seen] == ["a, b", None, "a", "1"]


def test_rows_that_are_not_released_leave_nothing():
    """A row that is left out is absent, with its line end, and all other bytes stay."""
    data = b'id,text\r\n1,"a, ""b"""\r\n\r\n2,secret\r\n3,c'
    is_secret = lambda row: row.cells[0][1] == "secret"  # noqa: E731
    assert rewritten("csv", data, dropping(is_secret))[0] == b'id,text\r\n1,"a, ""b"""\r\n\r\n3,c'
    assert rewritten("csv", data, dropping(lambda _: True))[0] == b"id,text\r\n\r\n"


def test_many_blank_lines():
    """Blank lines before and behind the header are kept; in a table of one column each is a record of its own."""
    blank = b"\n" * 20_000 + b"\r\n" * 10_000
    data = blank + b"id,text\n" + blank + b"1,a\r\n"
    assert rewritten("csv", data)[0] == data
    seen = []
    data = b"\n\ntext\n\n\na\n\n"
    assert rewritten("csv", data, recording(seen))[0] == data
    assert [row.cells for row in seen] == [[("text", text)] for text in ("", "", "a", "")]
