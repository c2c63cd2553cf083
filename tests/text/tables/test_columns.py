"""Columns read into memory: the same texts from every format, and one line for what cannot be read."""

import contextlib
import csv
import gzip
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deniable as dn
from tests.refusals import refuses
from tests.text.tables.helpers import few, many, read_table

ODD = ['"', '""', ",", "\t", "a\nb", "a\r\nb", "\r", "\u2028", "\x85", "\x0b", "\ufeff", "é", "𝒳", "null", "NaN", "01"]
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from([*ODD, " x "])
ROWS = st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=6)


def parquet(**columns):
    """Return the bytes of a parquet file."""
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


def written(kind, rows, delimiter=","):
    """Return the bytes of a table with the columns ``text`` and ``label``."""
    if kind == "jsonl":
        return "".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in rows).encode()
    if kind == "parquet":
        texts, labels = zip(*rows, strict=True)
        return parquet(text=texts, label=labels, n=range(len(rows)))
    sink = io.StringIO(newline="")
    csv.writer(sink, delimiter=delimiter).writerows([("text", "label"), *rows])
    return sink.getvalue().encode()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("columns")


def read(folder, name, data, columns=("text",), **options):
    """Return the columns of a file of that name and content."""
    (folder / name).write_bytes(data)
    return read_table(folder / name, columns, **options)


@few
@given(rows=ROWS)
def test_every_format_gives_the_same_texts(folder, rows):
    """What a format's own writer wrote is read back, whatever characters, quotes and line ends it holds."""
    texts, labels = map(list, zip(*rows, strict=True))
    expected = {"label": labels, "text": texts}
    for kind in ("csv", "jsonl", "parquet"):
        assert read(folder, f"a.{kind}", written(kind, rows), ("label", "text")) == expected
    assert read(folder, "a.tsv", written("tsv", rows, "\t"), ("label", "text"), delimiter="\t") == expected


@few
@given(texts=st.lists(TEXTS.filter(lambda text: "\n" not in text and not text.endswith("\r")), min_size=1, max_size=6))
def test_lines(folder, texts):
    """Each line of a text file is a text, without its line end and a leading mark."""
    data = "".join(text + "\r\n" for text in texts).encode()
    assert read(folder, "a.txt", data) == {"text": [texts[0].removeprefix("\ufeff"), *texts[1:]]}


DAMAGE = {"at": st.floats(0, 1), "flip": st.integers(1, 255), "cut": st.booleans()}


@few
@given(rows=ROWS, **DAMAGE)
def test_damage_is_told(folder, rows, at, flip, cut):
    """A table cut short or with another byte somewhere is read or refused, and nothing else happens."""
    for kind in ("csv", "jsonl", "csv.gz"):
        data = written(kind.removesuffix(".gz"), rows)
        data = bytearray(gzip.compress(data) if kind.endswith("gz") else data)
        place = int(at * (len(data) - 1))
        if cut:
            del data[place:]
        else:
            data[place] ^= flip
        with contextlib.suppress(dn.InputError):
            found = read(folder, f"damaged.{kind}", bytes(data), ("text", "label"))
            assert len(found["text"]) == len(found["label"])


def test_numbers_become_texts(folder):
    """Numbers and truth values become texts as a csv shows them, and null stays None, in jsonl and parquet."""
    lines = b'{"text": 1}\n\n{"text": 2.5}\n{"text": null}\n{"text": true}\n{"text": 3.0}\n{"text": "3.0"}\n'
    assert read(folder, "a.jsonl", lines) == {"text": ["1", "2.5", None, "true", "3", "3.0"]}
    assert read(folder, "a.jsonl", b'{"text": -0.0}\n{"text": 1e300}\n') == {"text": ["0", "1e+300"]}
    assert read(folder, "a.csv", b"text,n\n,1\n") == {"text": [""]}
    for column, texts in (
        ([1.0, None, 2.5], ["1", None, "2.5"]),
        ([True, False], ["true", "false"]),
        ([1, None, 3], ["1", None, "3"]),
        (pa.array(["x", "y", "x"]).dictionary_encode(), ["x", "y", "x"]),
    ):
        assert read(folder, "a.parquet", parquet(text=column)) == {"text": texts}


def test_text_and_label_may_be_one_column(folder):
    """A column that is named twice is read once."""
    for kind in ("csv", "jsonl", "parquet"):
        assert read(folder, f"a.{kind}", written(kind, [("x", "y")]), ("text", "text")) == {"text": ["x"]}


def test_format_by_name(folder):
    """A format that is named goes before the ending."""
    (folder / "table.data").write_bytes(b"text\nx\n")
    assert read_table(folder / "table.data", kind="csv") == {"text": ["x"]}
    assert read_table(folder / "table.data", kind="txt") == {"text": ["text", "x"]}
    with refuses("table.data"):
        read_table(folder / "table.data")


DAMAGED = parquet(text=[f"word {number}" for number in range(5000)])


@pytest.mark.parametrize(
    ("name", "data", "value"),
    [
        ("a.csv", b"", "empty"),
        ("a.csv", b"words\nx\n", "'text'"),
        ("a.csv", b'text\n"open', "line 2"),
        ("a.csv", b"text\ncaf\xe9\n", "line 2"),
        ("a.csv", b"id,text\n1;a\n2;b\n", "line 2 has 1 cells"),
        ("a.csv.gz", b"text\nx\n", "gzip"),
        ("a.csv.zst", b"text\nx\n", "zst"),
        ("a.jsonl", b'{"text": null}\n{"text": "y"\n', "line 2"),
        ("a.jsonl", b"[1]\n", "line 1"),
        ("a.jsonl", b'{"text": null}\n\n{"words": "y"}\n', "'words'"),
        ("a.jsonl", b"{}", "none"),
        ("a.jsonl", b'{"text": null}\n{"text": "y", "text": "z"}\n', "line 2"),
        ("a.jsonl", b'{"text": ["x"]}', "['x']"),
        ("a.jsonl", b'{"text": ' + b"[" * 100_000, "line 1"),
        ("a.parquet", b"text\nx\n", "parquet"),
        ("a.parquet", DAMAGED[:10] + bytes(50) + DAMAGED[60:], "parquet"),
        ("a.parquet", DAMAGED[:2000] + bytes(50) + DAMAGED[2050:], "parquet"),
        ("a.parquet", DAMAGED[:-100], "parquet"),
        ("a.parquet", parquet(text=pa.array([2**62], pa.timestamp("us"))), "'text'"),
        ("a.parquet", parquet(words=["x"]), "'words'"),
        ("a.parquet", parquet(text=[b"x"]), "b'x'"),
        ("a.parquet", parquet(text=[{"a": 1}]), "{'a': 1}"),
    ],
)
def test_what_cannot_be_read(folder, name, data, value):
    """What is no table, or lacks the column, is refused in one line that names the place."""
    with refuses(value):
        read(folder, name, data)


def test_one_bad_line_is_a_record_of_nothing(folder):
    """A line of jsonl that is no object, lacks a column or holds no text there is None, and so is a ragged row."""
    lines = ['{"text": "x", "label": 1}', '{"text": "y"', "[1]", "7", '{"label": "b"}', '{"text": ["z"], "label": "c"}']
    found = read(folder, "a.jsonl", "\n".join(lines).encode(), ("text", "label"))
    assert found == {"text": ["x", None, None, None, None, None], "label": ["1", None, None, None, "b", "c"]}
    found = read(folder, "a.csv", b"id,text\n1,a\n2\n3,b,c\n\n4,d\n", ("text", "id"))
    assert found == {"text": ["a", None, None, "d"], "id": ["1", None, None, "4"]}


def test_files_that_are_none(folder):
    """A text file has no other column than its lines; a file that is not there, and a folder, are refused."""
    for columns in (("label",), ("text", "label")):
        with refuses("'label'"):
            read(folder, "a.txt", b"x\n", columns)
    (folder / "folder.csv").mkdir()
    for name in ("none.csv", "folder.csv"):
        with refuses(name):
            read_table(folder / name)


test_many_formats = many(test_every_format_gives_the_same_texts, rows=ROWS)
test_much_damage = many(test_damage_is_told, rows=ROWS, **DAMAGE)
