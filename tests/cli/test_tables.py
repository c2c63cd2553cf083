"""Tables that commands write: every format gives back what was put in."""

import io
import json
import tempfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deniable.cli.rows import Roles, read_table
from deniable.cli.tables import OUTPUT_FORMATS, TableOptions, encode_rows, parse_output_format
from tests.refusals import refuses

ODD = [
    "a\rb",
    "c\nd",
    "e\r\nf",
    'g"h',
    "i,j\tk",
    "",
    " l ",
    "\ufeff",
    "\u2028",
    "\u0085",
    "👩\u200d👧",
    "שלום",
    "e\u0301",
]
TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8), min_size=1)


def read_back(data, kind):
    """Return the column of texts as the other commands read it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"t.{kind}"
        path.write_bytes(data)
        quoting = "standard" if kind in ("csv", "tsv") else None
        return read_table(str(path), TableOptions(None, None, "utf-8", quoting), Roles()).columns["text"]


@pytest.mark.parametrize("kind", OUTPUT_FORMATS)
@settings(max_examples=15)
@given(texts=TEXTS)
@example(texts=ODD)
def test_texts_come_back(kind, texts):
    """Texts of any characters come back as they were, and so do numbers and truth."""
    columns = {"row": list(range(len(texts))), "text": texts, "flipped": [True] * len(texts)}
    data = encode_rows(columns, kind)
    assert read_back(data, kind) == texts
    if kind == "parquet":
        assert pq.read_table(io.BytesIO(data)).to_pydict() == columns
    if kind == "jsonl":
        members = [json.loads(line) for line in data.decode().split("\n")[:-1]]
        assert [held["row"] for held in members] == columns["row"]
        assert all(held["flipped"] is True for held in members)


@pytest.mark.parametrize("kind", OUTPUT_FORMATS)
def test_lone_surrogates(kind):
    """What is no Unicode is written as an escape, which JSON reads back as it was."""
    found = read_back(encode_rows({"text": ["a\ud800b"]}, kind), kind)
    assert found == ["a\ud800b" if kind == "jsonl" else "a\\ud800b"]


@pytest.mark.parametrize("kind", OUTPUT_FORMATS)
def test_endings(kind):
    """The kind is that of the ending, in any case, compressed or not."""
    for name in (f"a.{kind}", f"A.B.{kind.upper()}", f"a.{kind}.gz", f"x/a.{kind}.ZST"):
        assert parse_output_format(name) == kind


@pytest.mark.parametrize("name", ["-", "a", "a.txt", "a.gz", "csv", "a.csv.xz", ".csv/a"])
def test_other_endings(name):
    """Any other ending is refused with those that are known."""
    with refuses(name):
        parse_output_format(name)


SWALLOWED = 'id\ttext\tlabel\n1\tthe food was good\t"a\n2\tsecret words of anna\tb\n3\tlondon was bad\tb"\n'


def test_a_label_that_swallows_rows(tmp_path):
    """Commands that only read a table refuse one whose rows a quote swallows, and read all rows without quotes."""
    path = tmp_path / "in.tsv"
    path.write_text(SWALLOWED)
    labelled = Roles(label="label")
    for roles in (Roles(), labelled):
        with refuses("line 2"):
            read_table(str(path), TableOptions(), roles)
    rows = read_table(str(path), TableOptions(quoting="none"), labelled)
    assert rows.columns["label"] == ['"a', "b", 'b"']
    assert len(read_table(str(path), TableOptions(quoting="standard"), labelled)) == 1


def test_swallowed_rows_are_named(tmp_path, capsys):
    """Where quotes seem to be meant all the same, the owner is told of cells that look like rows."""
    path = tmp_path / "in.csv"
    path.write_text('text,n\n"a, b",1\n"c, d",2\n"e,3\nf",4\n')
    assert len(read_table(str(path), TableOptions(), Roles())) == 3
    assert "warning (for you only): " in (said := capsys.readouterr().err)
    assert "line 4: the first of 1 quoted cells with lines that would be rows without quotes" in said
