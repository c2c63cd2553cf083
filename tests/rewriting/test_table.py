"""Whole tables rewritten: what is kept, what shows, and what is refused."""

import csv
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deniable as dn
from deniable.core.progress import report_progress_to
from deniable.registry.methods import REWRITING_METHODS
from deniable.rewriting.table import rewrite_table
from deniable.text.table_release import ReleaseFiles
from deniable.text.tables.layout import TableLayout
from deniable.text.tokenization import split_tokens
from tests.rewriting.untrained import untrained
from tests.text.helpers import buffers

MODEL = untrained()


class Fixed:
    """A method that gives the same text for every text, and notes what it was given."""

    def __init__(self, new="please", model=MODEL):
        self._inner = REWRITING_METHODS["tokens"](model, epsilon=1.0)
        self.new, self.seen = new, []

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def rewrite(self, texts):
        """Note and replace."""
        self.seen.extend(texts)
        return [self.new] * len(texts)


def rewritten(place, data, kind="csv", method=None, **layout):
    """Return a table rewritten, and its certificate."""
    (place / "in").write_bytes(data)
    files = ReleaseFiles(
        source=str(place / "in"),
        target=str(place / "out"),
        certificate=str(place / "certificate"),
        table_format=kind,
        layout=TableLayout(name="the table", **{"replace_empty": True, **layout}),
        force=True,
    )
    made, _ = rewrite_table(files, method or REWRITING_METHODS["tokens"](MODEL, epsilon=5.0))
    assert json.loads((place / "certificate").read_text("utf-8")) == json.loads(made.to_json())
    return (place / "out").read_bytes(), made


def parquet(**columns):
    """Return a parquet file."""
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


EMPTY = {
    "csv": (b'text,id\nshow me,1\n,2\n"",3\n"show, me",4\n', b"text,id\nplease,1\nplease,2\nplease,3\nplease,4\n"),
    "tsv": (b"id\ttext\n1\t\n2\tshow\n", b"id\ttext\n1\tplease\n2\tplease\n"),
    "jsonl": (b'{"text":""}\n{"text":"show"}\n', b'{"text":"please"}\n{"text":"please"}\n'),
    "txt": (b"show\n\n  \n\nme", b"please\nplease\nplease\nplease\nplease"),
}


@pytest.mark.parametrize("kind", EMPTY)
def test_an_empty_text_does_not_show(tmp_path, kind):
    """What stands where a text was empty is what would stand there for any other text, byte for byte."""
    before, after = EMPTY[kind]
    method = Fixed()
    out, made = rewritten(tmp_path, before, kind, method, delimiter="\t" if kind == "tsv" else ",")
    assert out == after
    assert "" in method.seen
    assert made.texts == made.records == len(method.seen)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "txt"])
def test_an_empty_new_text_does_not_show_either(tmp_path, kind):
    """Where all new texts are empty, quotes and blanks of the private ones leave no trace."""
    before = {"csv": b'text,id\n"",1\n,1\n"a,b",1\n', "jsonl": b'{"text":"\\u0061"}\n{"text":""}\n', "txt": b" \n\na\n"}
    out, _ = rewritten(tmp_path, before[kind], kind, Fixed(""))
    lines = out.decode().splitlines()[kind == "csv" :]
    assert len({*lines}) == 1


def test_a_row_of_one_empty_cell_is_kept(tmp_path):
    """A table of one column loses no record where the new text is empty."""
    out, made = rewritten(tmp_path, b'text\nshow\n""\n', method=Fixed(""))
    assert out == b'text\n""\n""\n'
    assert made.records == 2


def test_null_stays_null(tmp_path):
    """Null is no text: it stays, is not counted, and the certificate says that it shows."""
    out, made = rewritten(tmp_path, parquet(text=["show", None, ""], n=[1, 2, 3]), "parquet", Fixed())
    table = pq.read_table(io.BytesIO(out))
    assert table.column("text").to_pylist() == ["please", None, "please"]
    assert table.column("n").to_pylist() == [1, 2, 3]
    assert (made.records, made.texts) == (3, 2)
    assert made.not_protected[0].endswith("which texts are null")
    out, made = rewritten(tmp_path, b'{"text":null}\n{"text":"show"}\n', "jsonl", Fixed())
    assert out == b'{"text":null}\n{"text":"please"}\n'
    assert (made.records, made.texts) == (2, 1)
    _, made = rewritten(tmp_path, b"text\nshow\n")
    assert "null" not in made.not_protected[0]


def test_other_columns_are_copied(tmp_path):
    """Every byte outside of the texts is kept, several columns are rewritten, and the certificate counts them."""
    data = b'id,a,note,b\r\n"007",show me,"x ""y""",from boston\r\n8,to,,denver\r\n'
    out, made = rewritten(tmp_path, data, method=Fixed("all"), columns=["a", "b"])
    assert out == b'id,a,note,b\r\n"007",all,"x ""y""",all\r\n8,all,,all\r\n'
    assert (made.records, made.texts, made.row["texts"]) == (2, 4, 2)
    assert made.not_protected[1] == "the columns copied unchanged: 'id', 'note'"


@pytest.mark.parametrize("new", ['say "show", me', "a\nb", "é✓", "\ud800x"])
@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_any_new_text_can_be_written(tmp_path, kind, new):
    """Quotes and delimiters of a new text come back, half characters as question marks, line ends as spaces."""
    data = {"csv": b"text,n\nshow,1\n", "jsonl": b'{"text":"show"}\n', "parquet": parquet(text=["show"])}[kind]
    out, _ = rewritten(tmp_path, data, kind, Fixed(new))
    if kind == "parquet":
        found = pq.read_table(io.BytesIO(out)).column("text")[0].as_py()
    elif kind == "jsonl":
        found = json.loads(out)["text"]
    else:
        found = next(csv.DictReader(io.StringIO(out.decode(), newline="")))["text"]
    assert found == new.replace("\ud800", "?").replace("\n", " ")


def test_a_line_stays_a_line(tmp_path):
    """A word of a model that holds a line end makes no records where every line is one."""
    assert rewritten(tmp_path, b"show\nme\n", "txt", Fixed("a\nb\rc"))[0] == b"a b c\na b c\n"


def test_a_key_twice(tmp_path):
    """A JSON object with two texts under one key would spend more than the certificate says: its line is refused."""
    data = b'{"text":"show"}\n{"text":"show","text":"me"}\n'
    with pytest.raises(dn.InputError, match="the table line 2 has the key 'text' 2 times: give every key once"):
        rewritten(tmp_path, data, "jsonl")
    assert not (tmp_path / "out").exists()


def test_windows_do_not_show(tmp_path):
    """A table read and released in small parts has every text in its place."""
    data = ("text,id\n" + "".join(f"show {'me ' * (i % 5)},{i}\n" for i in range(50))).encode()
    method = Fixed()
    with buffers(chunk=7, window=40):
        out, made = rewritten(tmp_path, data, method=method)
    assert out.decode().splitlines()[1:] == [f"please,{i}" for i in range(50)]
    assert made.records == 50
    assert method.seen[7] == "show me me "


@pytest.mark.parametrize("name", ["tokens", "adept-true"])
def test_of_long_texts_the_first_tokens_enter(tmp_path, name):
    """A text beyond the model's limit enters as its first tokens, is counted for the owner, and does not show."""
    rows = [["show"], [""], ["to " * 13], [" ".join(["flights"] * 12)], ["a, b " * 400]]
    data = b"text,other\n" + "".join(f'"{text}",x\n' for (text,) in rows).encode()
    method = Fixed(model=MODEL)
    out, made = rewritten(tmp_path, data, method=method)
    assert out == b"text,other\n" + b"please,x\n" * 5
    assert method.seen == ["show", "", " ".join(["to"] * 12), " ".join(["flights"] * 12), "a, b" + " a, b" * 3]
    assert max(len(split_tokens(text)) for text in method.seen) == MODEL.limit == 12
    short = rewritten(tmp_path, b"text,other\n" + b"show,x\n" * 5, method=Fixed())[1]
    assert made == short
    real, proof = rewritten(tmp_path, data, method=REWRITING_METHODS[name](MODEL, epsilon=5.0))
    assert real.count(b"\n") == 6
    assert "first 12 tokens enter" in proof.guarantee["of"]
    files = ReleaseFiles(
        str(tmp_path / "in"), str(tmp_path / "o2"), str(tmp_path / "c2"), "csv", TableLayout("t", replace_empty=True)
    )
    assert rewrite_table(files, Fixed())[1].truncated_rows == [2, 4]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_blank_line_of_one_column_is_a_record(tmp_path, end):
    """In a table of one column a blank line is an empty text: it is counted, rewritten and does not show."""
    out, made = rewritten(tmp_path, end.join([b"text", b"show", b"", b"me", b"", b""]), method=Fixed())
    assert out == end.join([b"text", b"please", b"please", b"please", b"please", b""])
    assert (made.records, made.texts) == (4, 4)
    out, made = rewritten(tmp_path, end.join([b"text,id", b"show,1", b"", b"me,2", b""]), method=Fixed())
    assert out == end.join([b"text,id", b"please,1", b"", b"please,2", b""])
    assert made.records == 2


def test_a_layout_that_keeps_empty_cells(tmp_path):
    """A layout under which empty cells would stay is refused."""
    with pytest.raises(dn.InputError, match="layout with replace_empty=True"):
        rewritten(tmp_path, b"text\nshow\n", replace_empty=False)


def test_tables_of_one_shape_have_one_certificate(tmp_path):
    """Whatever the texts say, tables of as many records have the same certificate."""
    first = rewritten(tmp_path, b"text,id\nshow me all,1\n,2\n")[1]
    assert rewritten(tmp_path, b"text,id\nto,9\nzork boston,8\n")[1] == first


def test_progress_is_reported(tmp_path):
    """Whoever watches is told of texts done and texts in all."""
    told = []
    with report_progress_to(lambda done, total: told.append((done, total))):
        rewritten(tmp_path, b"text\n" + b"show\n" * 2500, method=Fixed())
    assert told == [(0, 2500), (1024, 2500), (2048, 2500)]


@pytest.mark.parametrize("records", [0, 1])
def test_small_tables(tmp_path, records):
    """A header alone, and one record, are tables too."""
    out, made = rewritten(tmp_path, b"text,id\n" + b"show,1\n" * records)
    assert out.count(b"\n") == records + 1
    assert (made.records, made.texts) == (records, records)
