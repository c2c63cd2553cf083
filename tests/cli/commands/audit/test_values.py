"""Values that files hold: outputs as they came, records of a training."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable.cli.commands.audit.values import read_outputs, read_values
from tests.refusals import refuses


def test_every_kind_of_file(tmp_path):
    """Rows of arrays, JSON values, rows of tables as dicts, lines of text, rows of numbers."""
    folder = tmp_path / "values"
    folder.mkdir()
    np.save(folder / "a.npy", np.arange(4).reshape(2, 2))
    pq.write_table(pa.table({"text": ["a", None]}), folder / "a.parquet")
    for name, content in (
        ("a.jsonl", '{"x": 1}\n"two"\n'),
        ("a.csv", 'text,label\n"a, b",1\n'),
        ("a.tsv", "text\tlabel\na\t1\n"),
        ("a.txt", "one two\nthree\n"),
        ("numbers.txt", "1, 2\n3 4\n"),
    ):
        (folder / name).write_text(content, "utf-8")
    read = {path.name: read_values(str(path), "records") for path in folder.iterdir()}
    assert [row.tolist() for row in read.pop("a.npy")] == [[0, 1], [2, 3]]
    assert read == {
        "a.parquet": [{"text": "a"}, {"text": None}],
        "a.jsonl": [{"x": 1}, "two"],
        "a.csv": [{"text": "a, b", "label": "1"}],
        "a.tsv": [{"text": "a", "label": "1"}],
        "a.txt": ["one two", "three"],
        "numbers.txt": [[1.0, 2.0], [3.0, 4.0]],
    }


@pytest.mark.parametrize(
    ("read", "name", "content", "value"),
    [
        *(
            (lambda path: read_values(path, "records"), *case)
            for case in (
                ("a.npy", b"not an array", "no array of records"),
                ("a.parquet", b"not a table", "no table of records"),
                ("a.jsonl", b'{"a"\n', "Line 1"),
                ("a.csv", b"text,label\n", "no records"),
                ("a.csv", b"text,label\na\n", "Row 2"),
                ("a.csv", b"a,a\n1,2\n", "one name"),
                ("a.csv", b"text\n" + b"a" * 140_000, "cannot be read as a table"),
                ("a.txt", b"\xff", "UTF-8"),
                ("a.txt", b"1\n\n2\n  \n", "2, 4"),
                ("a.txt", b"\n\n", "no records"),
                ("missing.parquet", None, "missing.parquet"),
                ("missing.npy", None, "missing.npy"),
            )
        ),
        (read_outputs, "a.csv", b"a\n1\n", "is a table"),
        (read_outputs, "a.parquet", b"", "is a table"),
        (read_outputs, "a.jsonl", b"1\n\n", "Line 2"),
        (read_outputs, "a.txt", b"", "no outputs"),
        (read_outputs, "a.npy", b"\x93NUMPY\x01\x00v\x00{[[(" + b" " * 114, "no array"),
    ],
)
def test_files_without_values(tmp_path, read, name, content, value):
    """A file that is missing, broken, or of another kind is one line; a table is no outputs, compared by its cells."""
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with refuses(value):
        read(str(tmp_path / name))


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"3\n3.0\n", ["3", "3.0"]),
        (b"3\n3.0", ["3", "3.0"]),
        (b"1\r\n\r2\n", ["1\r", "\r2"]),
        (b"\n\n1\n\n", ["", "", "1", ""]),
        (b"\xff\n", ["\udcff"]),
        (b"\xef\xbb\xbf1.50\n", ["\ufeff1.50"]),
        ("a\u2028b\n".encode(), ["a\u2028b"]),
    ],
)
def test_outputs_keep_their_bytes(tmp_path, content, lines):
    """Lines end with a line feed, and nothing else of them is removed."""
    (tmp_path / "a.txt").write_bytes(content)
    assert read_outputs(str(tmp_path / "a.txt")) == lines
