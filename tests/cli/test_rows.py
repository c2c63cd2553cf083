"""Rows of a table: every row judged by itself, persons and classes in every format, what is held out."""

import itertools
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable.cli.rows import Roles, Rows, read_table
from deniable.cli.tables import TableOptions
from deniable.core.randomness import generate_key
from deniable.persons.collection import group_rows
from tests.cli.text_models import write

CSV = TableOptions()
CLASSES = ("good", "bad")
ROWS = [
    ("fine", "good", "ann"),
    ("", "good", "ben"),
    ("poor", " ", "ann"),
    ("dull", "mixed", "ben"),
    ("awful", "bad", ""),
    ("poor", "bad", "ben"),
]


def read(folder, rows=ROWS, person="who"):
    """Return the usable rows of a csv."""
    write(folder / "t.csv", rows, ("text", "label", "who"))
    return read_table(str(folder / "t.csv"), CSV, Roles(label="label", person=person)).usable(CLASSES)


def test_rows_that_cannot_be_used(tmp_path):
    """Rows without text, label or person, or of another class, are left out, and the remarks name them."""
    table = read(tmp_path)
    assert (table.texts, table.labels, table.persons) == (["fine", "poor"], ["good", "bad"], ["ann", "ben"])
    assert [remark.rpartition(": ")[2] for remark in table.remarks] == ["row 2", "row 3", "row 4", "row 5"]
    assert read(tmp_path, person=None).texts == ["fine", "awful", "poor"]


def test_no_row_decides_on_another(tmp_path):
    """What becomes of each row is the same in every part of the table that has a usable row."""
    for kept in itertools.chain.from_iterable(itertools.combinations(range(6), size) for size in range(1, 7)):
        usable = [ROWS[row] for row in kept if row in (0, 5)]
        if usable:
            table = read(tmp_path, [ROWS[row] for row in kept])
            assert list(zip(table.texts, table.labels, table.persons, strict=True)) == usable


def test_names_of_persons_and_classes_in_every_format(tmp_path):
    """A person and a class are one in csv, jsonl and parquet, whether a whole number has a fraction or white space."""
    people, stars = [1.0, 1.0, 2.0, None], [5, 5, 4, 4]
    columns = {"text": ["fine"] * 4, "stars": stars, "who": people}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    members = [{"text": "fine", "stars": 5.0, "who": who} for who in (1, "1 ", 2)]
    lines = [json.dumps(member) for member in [*members, {"text": "fine", "stars": " 4", "who": " "}]]
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    write(tmp_path / "t.csv", [("fine", " 5", "1"), ("fine", "5", " 1"), ("fine", "4", "2")], tuple(columns))
    roles = Roles(label="stars", person="who")
    for kind in ("parquet", "jsonl", "csv"):
        table = read_table(str(tmp_path / f"t.{kind}"), CSV, roles).usable(("4", "5"))
        assert table.persons == ["1", "1", "2"]
        assert table.labels[:2] == ["5", "5"]


def test_truth_values_are_classes_as_json_writes_them(tmp_path):
    """True of parquet and true of jsonl are the class "true"."""
    pq.write_table(pa.table({"text": ["fine"], "ok": [True]}), tmp_path / "t.parquet")
    (tmp_path / "t.jsonl").write_text('{"text": "fine", "ok": true}\n')
    for kind in ("parquet", "jsonl"):
        table = read_table(str(tmp_path / f"t.{kind}"), CSV, Roles(label="ok")).usable(("true", "no"))
        assert table.labels == ["true"]


def test_fingerprints_tell_tables_apart(tmp_path):
    """Whatever is read of a table changes its fingerprint, rows that cannot be used too."""

    def fingerprint(rows):
        write(tmp_path / "t.csv", rows, ("text", "label", "who"))
        return read_table(str(tmp_path / "t.csv"), CSV, Roles(label="label", person="who")).fingerprint

    prints = [fingerprint(rows) for rows in (ROWS, ROWS[1:], ROWS[:-1], [*ROWS[:-1], ("poor", "good", "ben")])]
    assert len({*prints}) == 4
    assert fingerprint(ROWS) == prints[0]


@pytest.mark.parametrize("persons", [None, [str(row // 4) for row in range(8_000)]])
def test_a_tenth_is_held_out(persons):
    """About a tenth of records or whole persons is held out, others in every run, and no row is lost."""
    texts = [str(row) for row in range(8_000)]
    roles = Roles() if persons is None else Roles(person="who")
    rows = Rows("t.csv", roles, {"text": texts, "who": persons or texts}, range(8_000), 8_000)
    parts = [rows.hold_out(generate_key()) for _ in range(2)]
    for training, test in parts:
        assert sorted([*training.texts, *test.texts]) == sorted(texts)
        assert 0.07 < len(test) / 8_000 < 0.13
        if persons is not None:
            assert not {*training.persons} & {*test.persons}
    assert parts[0][1].texts != parts[1][1].texts


def test_every_spelling_of_a_person_is_held_out_together(tmp_path):
    """In every format the spellings of one person are one: for the split, for the cap, and for the units."""
    spellings = {
        "17": [17, 17.0, "17.0", " 17", "17.", "1.7e+01"],
        "\u00e9": ["e\u0301", "\u00e9 "],
        "0": [0, "-0", "-0.0"],
    }
    people = [(name, one) for name, listed in spellings.items() for one in listed] * 3
    roles = Roles(label="label", person="who")
    members = [{"text": "fine", "label": "good", "who": one} for _, one in people]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(member) + "\n" for member in members))
    write(tmp_path / "t.csv", [tuple(member.values()) for member in members], ("text", "label", "who"))
    pq.write_table(
        pa.table({name: [str(member[name]) for member in members] for name in members[0]}), tmp_path / "t.parquet"
    )
    for kind in ("jsonl", "csv", "parquet"):
        table = read_table(str(tmp_path / f"t.{kind}"), CSV, roles).usable(CLASSES)
        assert table.persons == [name for name, _ in people]
        assert len(group_rows(len(table), table.persons)) == len(spellings)
        assert len(group_rows(len(table), table.persons, 2).rows) == 2 * len(spellings)
        for number in range(20):
            training, test = table.hold_out(bytes([number] * 32))
            assert not {*training.persons} & {*test.persons}


def test_cells_that_name_nobody(tmp_path):
    """A fraction, a truth value and a float that stands for several persons are rows without a person, and named."""
    cells = [1, 1.5, True, 1e16, None, float("nan"), [1], 2.0]
    lines = [json.dumps({"text": "fine", "label": "good", "who": cell}) + "\n" for cell in cells]
    (tmp_path / "t.jsonl").write_text("".join(lines))
    floats = [1.0, 1.5, 2.0**53, None, float("nan"), float("inf"), 2.0]
    columns = {"text": ["fine"] * 7, "label": ["good"] * 7, "who": floats}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    for kind, count in (("jsonl", 6), ("parquet", 5)):
        table = read_table(str(tmp_path / f"t.{kind}"), CSV, Roles(label="label", person="who")).usable(CLASSES)
        assert table.persons == ["1", "2"]
        (remark,) = table.remarks
        assert (
            f"{count} rows without a person, a text or a whole number below 2^53, in 'who' left out: rows 2" in remark
        )
