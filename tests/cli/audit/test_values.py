"""Values that files hold."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable.cli.audit.values import read_outputs, read_values
from deniable.core.errors import InputError


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
    ("name", "content", "message"),
    [
        ("a.npy", b"not an array", "holds no array of records"),
        ("a.parquet", b"not a table", "holds no table of records"),
        ("a.jsonl", b'{"a"\n', "Line 1 of .* cannot be read as JSON"),
        ("a.csv", b"text,label\n", "holds no records"),
        ("a.csv", b"text,label\na\n", "Row 2 of .* has 1 cells where the header has 2"),
        ("a.csv", b"a,a\n1,2\n", "two columns of one name"),
        ("a.csv", b"text\n" + b"a" * 140_000, "is no table"),
        ("a.txt", b"\xff", "is not UTF-8"),
        ("a.txt", b"1\n\n2\n  \n", "has 2 blank lines among its numbers, the first at 2, 4: remove them"),
        ("a.txt", b"\n\n", "holds no records"),
        ("missing.parquet", None, "cannot be read"),
        ("missing.npy", None, "cannot be read"),
    ],
)
def test_refusals(tmp_path, name, content, message):
    """One line with the name of the file."""
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=message) as raised:
        read_values(str(path), "records")
    assert name in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"3\n3.0\n", ["3", "3.0"]),
        (b"3\n3.0", ["3", "3.0"]),
        (b"1\r\n\r2\n", ["1\r", "\r2"]),
        (b"\n\n1\n\n", ["", "", "1", ""]),
        (b"\xff\n", ["\udcff"]),
        (b"\xef\xbb\xbf1\n", ["\ufeff1"]),
        ("a\u2028b\n".encode(), ["a\u2028b"]),
    ],
)
def test_outputs_keep_their_bytes(tmp_path, content, lines):
    """Lines end with a line feed, and nothing else of them is removed."""
    (tmp_path / "a.txt").write_bytes(content)
    assert read_outputs(str(tmp_path / "a.txt")) == lines


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])
def test_tables_are_no_outputs(tmp_path, suffix):
    """A table would be compared by its cells."""
    with pytest.raises(InputError, match="is a table: give outputs as"):
        read_outputs(str(tmp_path / f"a.{suffix}"))


def test_json_lines_are_checked_and_kept(tmp_path):
    """What is no JSON is refused by its line, the rest is kept as it is written."""
    (tmp_path / "a.jsonl").write_bytes(b'\xef\xbb\xbf1.50\n{"a":  1}\n')
    assert read_outputs(str(tmp_path / "a.jsonl")) == ["\ufeff1.50", '{"a":  1}']
    (tmp_path / "a.jsonl").write_bytes(b"1\n\n")
    with pytest.raises(InputError, match=r"Line 2 of .* cannot be read as JSON"):
        read_outputs(str(tmp_path / "a.jsonl"))
