"""Columns read into memory: the same texts from every format, and one line for what cannot be read."""

import csv
import gzip
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable import InputError
from deniable.text.tables.columns import read_columns
from deniable.text.tables.layout import TableLayout

ODD = [
    '"',
    '""',
    ",",
    "\t",
    "a\nb",
    "a\r\nb",
    "\r",
    "\u2028",
    "\x85",
    "\x0b",
    "\ufeff",
    "é",
    "𝒳",
    "null",
    "NaN",
    "01",
    " x ",
]
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(ODD)
ROWS = st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=6)


def written(kind, rows, delimiter=","):
    """Return the bytes of a table with the columns ``text`` and ``label``."""
    if kind == "jsonl":
        return "".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in rows).encode()
    if kind == "parquet":
        texts, labels = zip(*rows, strict=True)
        sink = io.BytesIO()
        pq.write_table(pa.table({"text": texts, "label": labels, "n": range(len(rows))}), sink)
        return sink.getvalue()
    sink = io.StringIO(newline="")
    csv.writer(sink, delimiter=delimiter).writerows([("text", "label"), *rows])
    return sink.getvalue().encode()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("columns")


def read(folder, name, data, columns=("text",), **options):
    """Return the columns of a file of that name and content."""
    (folder / name).write_bytes(data)
    return read_columns(str(folder / name), TableLayout("the table", columns, **options))


@given(rows=ROWS)
def test_every_format_gives_the_same_texts(folder, rows):
    """What a format's own writer wrote is read back, whatever characters, quotes and line ends it holds."""
    texts, labels = map(list, zip(*rows, strict=True))
    expected = {"label": labels, "text": texts}
    for kind in ("csv", "jsonl", "parquet"):
        assert read(folder, f"a.{kind}", written(kind, rows), ("label", "text")) == expected
    assert read(folder, "a.tsv", written("tsv", rows, "\t"), ("label", "text"), delimiter="\t") == expected


@given(texts=st.lists(TEXTS.filter(lambda text: "\n" not in text and not text.endswith("\r")), min_size=1, max_size=6))
def test_lines(folder, texts):
    """Each line of a text file is a text, without its line end and a leading mark."""
    data = "".join(text + "\r\n" for text in texts).encode()
    expected = [texts[0].removeprefix("\ufeff"), *texts[1:]]
    assert read(folder, "a.txt", data) == {"text": expected}


@given(rows=ROWS, at=st.floats(0, 1), flip=st.integers(1, 255), cut=st.booleans())
def test_damage_is_told_in_one_line(folder, rows, at, flip, cut):
    """A table cut short or with another byte somewhere is read or refused in one line, and nothing else happens."""
    for kind in ("csv", "jsonl", "csv.gz"):
        data = written(kind.removesuffix(".gz"), rows)
        data = bytearray(gzip.compress(data) if kind.endswith("gz") else data)
        place = int(at * (len(data) - 1))
        if cut:
            del data[place:]
        else:
            data[place] ^= flip
        found = attempt(folder, f"damaged.{kind}", bytes(data))
        if isinstance(found, str):
            assert found.splitlines() == [found]
        else:
            assert len(found["text"]) == len(found["label"])


def attempt(folder, name, data):
    """Return the columns, or the message of their refusal."""
    try:
        return read(folder, name, data, ("text", "label"))
    except InputError as error:
        return str(error)


def parquet(**columns):
    """Return the bytes of a parquet file."""
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


def test_numbers_become_texts(folder):
    """Numbers and truth values become texts as a csv shows them, and null stays None, in jsonl and parquet."""
    lines = b'{"text": 1}\n\n{"text": 2.5}\n{"text": null}\n{"text": true}\n{"text": 3.0}\n{"text": "3.0"}\n'
    assert read(folder, "a.jsonl", lines) == {"text": ["1", "2.5", None, "true", "3", "3.0"]}
    assert read(folder, "a.parquet", parquet(text=[1.0, None, 2.5])) == {"text": ["1", None, "2.5"]}
    assert read(folder, "a.parquet", parquet(text=[True, False])) == {"text": ["true", "false"]}
    assert read(folder, "a.parquet", parquet(text=[1, None, 3])) == {"text": ["1", None, "3"]}
    assert read(folder, "a.csv", b"text,n\n,1\n") == {"text": [""]}


def test_text_and_label_may_be_one_column(folder):
    """A column that is named twice is read once."""
    for kind in ("csv", "jsonl", "parquet"):
        assert read(folder, f"a.{kind}", written(kind, [("x", "y")]), ("text", "text")) == {"text": ["x"]}


def test_dictionary_columns(folder):
    """A parquet column with a dictionary is read as its texts."""
    data = parquet(text=pa.array(["x", "y", "x"]).dictionary_encode())
    assert read(folder, "a.parquet", data) == {"text": ["x", "y", "x"]}


def test_format_by_name(folder):
    """A format that is named goes before the ending."""
    (folder / "table.data").write_bytes(b"text\nx\n")
    layout = TableLayout("the table")
    assert read_columns(str(folder / "table.data"), layout, "csv") == {"text": ["x"]}
    assert read_columns(str(folder / "table.data"), layout, "txt") == {"text": ["text", "x"]}
    with pytest.raises(InputError, match="Cannot tell the format"):
        read_columns(str(folder / "table.data"), layout)


DAMAGED = parquet(text=[f"word {number}" for number in range(5000)])


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.csv", b"", "is empty"),
        ("a.csv", b"words\nx\n", "no column 'text'"),
        ("a.csv", b'text\n"open', "a quote is opened and never closed"),
        ("a.csv", b"text\ncaf\xe9\n", "line 2 is not valid utf-8"),
        ("a.csv.gz", b"text\nx\n", "not valid gzip data"),
        ("a.csv.zst", b"text\nx\n", "not valid zst data: ZSTD"),
        ("a.jsonl", b'{"text": null}\n{"text": "y"\n', "line 2 is not a JSON object"),
        ("a.jsonl", b"[1]\n", "line 1 is not a JSON object: it does not begin with {. Each line must be one object"),
        ("a.jsonl", b'{"text": null}\n\n{"words": "y"}\n', "line 3 has no column 'text'. Its keys: 'words'"),
        ("a.jsonl", b"{}", "Its keys: none"),
        ("a.jsonl", b'{"text": null}\n{"text": "y", "text": "z"}\n', "line 2 has the key 'text' 2 times"),
        ("a.jsonl", b'{"text": ["x"]}', r"column 'text' of the table holds \['x'\], no text: convert it to strings"),
        ("a.jsonl", b'{"text": ' + b"[" * 100_000, "line 1 is not a JSON object"),
        ("a.parquet", b"text\nx\n", "cannot be read as parquet"),
        ("a.parquet", DAMAGED[:10] + bytes(50) + DAMAGED[60:], "cannot be read as parquet"),
        ("a.parquet", DAMAGED[:2000] + bytes(50) + DAMAGED[2050:], "cannot be read as parquet"),
        ("a.parquet", DAMAGED[:-100], "cannot be read as parquet"),
        ("a.parquet", parquet(text=pa.array([2**62], pa.timestamp("us"))), "column 'text' of .* cannot be read: "),
        ("a.parquet", parquet(words=["x"]), "no column 'text'. Its columns: 'words'"),
        ("a.parquet", parquet(text=[b"x"]), "holds b'x', no text"),
        ("a.parquet", parquet(text=[{"a": 1}]), "holds {'a': 1}, no text"),
    ],
)
def test_what_cannot_be_read(folder, name, data, message):
    """What is no table, or lacks the column, is refused in one line that names the place."""
    with pytest.raises(InputError, match=message) as refused:
        read(folder, name, data)
    assert str(refused.value).splitlines() == [str(refused.value)]


def test_one_bad_line_is_a_record_of_nothing(folder):
    """A line of jsonl that is no object, lacks a column or holds no text there is None, where others hold texts."""
    lines = ['{"text": "x", "label": 1}', '{"text": "y"', "[1]", "7", '{"label": "b"}', '{"text": ["z"], "label": "c"}']
    found = read(folder, "a.jsonl", "\n".join(lines).encode(), ("text", "label"))
    assert found == {"text": ["x", None, None, None, None, None], "label": ["1", None, None, None, "b", "c"]}


def test_a_text_file_has_one_column(folder):
    """A text file has no other column than its lines."""
    for columns in (("label",), ("text", "label")):
        with pytest.raises(InputError, match=r"no column 'label'\. Its columns: 'text'"):
            read(folder, "a.txt", b"x\n", columns)


def test_no_such_file(folder):
    """A file that is not there, and a folder, are refused."""
    with pytest.raises(InputError, match="does not exist"):
        read_columns(str(folder / "none.csv"), TableLayout("none"))
    (folder / "folder.csv").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        read_columns(str(folder / "folder.csv"), TableLayout("folder"))


def test_a_ragged_row_is_a_record_of_nothing(folder):
    """A row with too few or too many cells is read as nulls, in its place; a table of nothing else is refused."""
    (folder / "a.csv").write_bytes(b"id,text\n1,a\n2\n3,b,c\n\n4,d\n")
    assert read_columns(str(folder / "a.csv"), TableLayout("a.csv", columns=["text", "id"])) == {
        "text": ["a", None, None, "d"],
        "id": ["1", None, None, "4"],
    }
    (folder / "b.csv").write_bytes(b"id,text\n1;a\n2;b\n")
    with pytest.raises(InputError, match=r"b\.csv line 2 has 1 cells, the header has 2"):
        read_columns(str(folder / "b.csv"), TableLayout("b.csv"))
