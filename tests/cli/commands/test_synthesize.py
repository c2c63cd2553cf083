"""``deniable synthesize``: every generator and format, outputs whole or not at all, nothing private in any of them."""

import csv
import errno
import gzip
import json
import os
import stat
import sys

import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import snapshot
from tests.cli.text_models import lines, write

deep = pytest.mark.deep
BUDGET = ("--epsilon", "20", "--delta", "1e-6", "--records", "600")
PUBLIC = ("--public", "public.csv", "--public-label", "label")
FILES = ("o.csv", "o.csv.certificate.json", "o.csv.classifier.model", "o.csv.baseline.csv", "o.csv.owner.json")
OF_THE_NUMBER = ("are few at epsilon", "is 1/n or more for n = ")
"""Warnings that name the number of records, which is measured with noise unless it is declared."""
MODULE = """
def words(request):
    return [f"the film was {request.class_words[code][0]}" for code in request.codes.tolist()]

def interrupts(request):
    raise KeyboardInterrupt
"""


def draw_rows(count, seed):
    """Return rows of text, label, person and stars."""
    found = enumerate(lines(count, seed))
    return [(text, name, f"p{row // 3}", str(1 + row % 2 + 3 * (name == "good"))) for row, (text, name) in found]


@pytest.fixture
def synthesize(call, place):
    """Return a function that writes 30 synthetic records to o.csv."""
    names = ("text", "label", "person", "stars")
    write(place / "private.csv", draw_rows(600, 1), names)
    write(place / "public.csv", [row[:2] for row in draw_rows(200, 2)])
    (place / "lines.txt").write_text("the film was good.\nthe plot was very bad.\na fine film and a great plot.\n" * 4)
    (place / "given.py").write_text(MODULE)

    def synthesizing(*options, source="private.csv", output="o.csv", label="label", budget=BUDGET):
        basic = (source, "--label", label, "--rows", "30", "-o", output)
        return call("synthesize", *basic, *budget, *options)

    return synthesizing


def read(path):
    """Return the rows of a csv as dictionaries."""
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_all_files(synthesize, place):
    """Table, certificate, classifier and baseline are written; figures go to the owner, in a file of mode 0600."""
    before = {path.name for path in place.iterdir()}
    result = synthesize(*PUBLIC, "--domain", "stars=1..5")
    assert (result.code, result.out) == (0, b"")
    assert {path.name for path in place.iterdir()} - before == {*FILES}
    rows = read(place / "o.csv")
    assert [list(row) for row in rows] == [["text", "label", "stars"]] * 30
    assert {row["label"] for row in rows} <= {"bad", "good"}
    assert {row["stars"] for row in rows} <= {"1", "2", "3", "4", "5"}
    assert list(read(place / "o.csv.baseline.csv")[0]) == ["text", "label"]
    assert stat.S_IMODE((place / "o.csv.owner.json").stat().st_mode) == 0o600
    figures = json.loads((place / "o.csv.owner.json").read_text())
    assert [*figures] == ["classifier", "student", "student of the baseline"]
    accuracies = [line for line in result.err.splitlines() if " an accuracy of " in line or " reaches " in line]
    assert len(accuracies) == 3
    assert all(line.startswith("warning (for you only): ") for line in accuracies)
    *said, written, following = result.err.splitlines()
    assert written.startswith("wrote o.csv, o.csv.certificate.json, ")
    assert following == "next           deniable certificate check o.csv.certificate.json"
    start = "each record as a whole, epsilon 20, delta 1e-06 (proved); a person with several records is protected less"
    assert f"protects       {start}" in said
    assert len([line for line in said if not line.startswith("warning")]) <= 5
    assert "\nmeasurements " in synthesize(*PUBLIC, "--verbose", "--force").err


@pytest.mark.parametrize(
    "options",
    [
        (),
        (*PUBLIC, "--generator", "recombined"),
        (*PUBLIC, "--person", "person", "--max-records", "2"),
        *(
            pytest.param(options, marks=deep)
            for options in (
                ("--public", "lines.txt"),
                ("--public", "public.csv"),
                (*PUBLIC, "--generator", "given:words"),
                (*PUBLIC, "--generator", "counts"),
            )
        ),
    ],
)
def test_ways_to_write(synthesize, place, options):
    """Every generator, with and without public texts, labels and persons, writes the table and its certificate."""
    classes = () if "--public-label" in options else ("--domain", "label=bad,good")
    assert synthesize(*options, *classes).code == 0
    assert len(read(place / "o.csv")) == 30
    certificate = json.loads((place / "o.csv.certificate.json").read_text())
    assert certificate["guarantee"]["unit"] == ("person" if "--person" in options else "record")
    has_baseline = "--public-label" in options and "counts" not in options
    assert (place / "o.csv.baseline.csv").exists() == has_baseline
    has_counts = "--public" not in options or "counts" in options
    assert (place / "o.csv.counts.csv").exists() == has_counts
    assert not has_counts or list(read(place / "o.csv.counts.csv")[0]) == ["class", "ngram", "count"]


@pytest.mark.parametrize(
    "name", ["o.parquet", "o.csv.gz", *(pytest.param(f"o.{end}", marks=deep) for end in ("tsv", "jsonl", "jsonl.zst"))]
)
def test_formats(synthesize, place, name):
    """Every format is written by its ending, the baseline alike; integers are typed where they can be."""
    assert synthesize(*PUBLIC, "--domain", "stars=1..5", output=name).code == 0
    ending = name.partition(".")[2]
    assert (place / f"{name}.baseline.{ending}").exists()
    data = (place / name).read_bytes()
    if ending == "parquet":
        table = pq.read_table(place / name)
        assert [str(field.type) for field in table.schema] == ["string", "string", "int64"]
        assert table.num_rows == 30
    elif ending == "jsonl":
        assert {type(json.loads(line)["stars"]) for line in data.splitlines()} == {int}
    elif ending.endswith("gz"):
        assert gzip.decompress(data).startswith((b"text,label,stars\r\n", b"text\tlabel\tstars\r\n"))


def test_no_output_tells_the_true_number(synthesize, place):
    """With a declared number the certificates of tables of 600 and of 570 rows are equal to the last byte."""
    certificates = []
    for count in (600, 570):
        write(place / "private.csv", draw_rows(count, count), ("text", "label", "person", "stars"))
        assert synthesize(*PUBLIC, "--force").code == 0
        certificates.append((place / "o.csv.certificate.json").read_bytes())
    assert certificates[0] == certificates[1]
    assert b"570" not in certificates[1]


@deep
def test_warnings_are_of_public_numbers(synthesize):
    """What is said of the size and of delta follows from declared numbers, however many rows there are."""
    budget = ("--epsilon", "2", "--delta", "1e-3", "--records", "50000")
    lines = synthesize(*PUBLIC, budget=budget).err.splitlines()
    assert any(line.startswith("warning: delta 0.001 is 1/n or more for n = 50,000") for line in lines)
    assert not any("are few at epsilon" in line for line in lines)
    measured = synthesize(*PUBLIC, "--force", budget=("--epsilon", "1", "--delta", "1e-2")).err
    assert all(warning in measured for warning in OF_THE_NUMBER)


def test_rows_that_cannot_be_used(synthesize, place):
    """Empty texts, labels of no class and foreign values are counted for the owner on stderr alone."""
    rows = draw_rows(600, 1)
    write(place / "private.csv", [*rows, ("", "good", "q", "1"), ("a film", "sécret", "q", "zürk"), ("a", "", "q", "1"),
                                  ("a film", "good", "q", "zork")],
          ("text", "label", "person", "stars"))  # fmt: skip
    result = synthesize(*PUBLIC, "--domain", "stars=1..5")
    assert result.code == 0
    start = "warning (for you only): private.csv: "
    remarks = [line.removeprefix(start) for line in result.err.splitlines() if line.startswith(start)]
    assert remarks == [
        "1 row without a text in 'text' left out: row 601",
        "1 row without a label in 'label' left out: row 603",
        "1 row whose label in 'label' is not one of the classes (bad, good) left out: row 602",
        "1 row whose 'stars' is outside its domain not counted for it",
    ]
    written = b"".join((place / name).read_bytes() for name in FILES)
    assert "sécret".encode() not in written
    assert "zürk".encode() not in written
    assert b"zork" not in written


def test_classes_that_do_not_occur(synthesize, place):
    """Declared classes of which no record is are no reason to fail; nor is a table of one class only."""
    write(place / "private.csv", [row for row in draw_rows(1_200, 1) if row[1] == "good"][:600],
          ("text", "label", "person", "stars"))  # fmt: skip
    result = synthesize("--public", "lines.txt", "--domain", "label=bad,good,Überraschung")
    assert result.code == 0
    rows = read(place / "o.csv")
    assert len(rows) == 30
    assert [row["label"] for row in rows].count("good") > 20


@deep
def test_lone_surrogates(synthesize, place):
    """Lone surrogates of jsonl in phrases, classes and values come out as escapes, in counts and certificate too."""
    rows = [(f"\ud800word {row[0]}", f"{row[1]}\udfff", f"{row[3]}\udc00") for row in draw_rows(600, 1)]
    for name, count in (("private.jsonl", 600), ("public.jsonl", 200)):
        lines = [json.dumps(dict(zip(("text", "label", "stars"), row, strict=True))) for row in rows[:count]]
        (place / name).write_text("\n".join(lines))
    public = ("--public", "public.jsonl", "--public-label", "label")
    domain = "stars=" + ",".join(f"{number}\udc00" for number in range(1, 6))
    result = synthesize(*public, "--domain", domain, "--generator", "counts", source="private.jsonl")
    assert result.code == 0
    certificate = json.loads((place / "o.csv.certificate.json").read_bytes().decode("utf-8"))
    assert [name.encode("utf-8", "backslashreplace") for name in certificate["mechanism"]["classes"]] == [
        b"bad\\udfff",
        b"good\\udfff",
    ]
    counts = read(place / "o.csv.counts.csv")
    assert {row["class"] for row in counts} == {"bad\\udfff", "good\\udfff"}
    assert any("\\ud800" in row["ngram"] for row in counts)
    assert {row["stars"][1:] for row in read(place / "o.csv")} == {"\\udc00"}


@pytest.mark.parametrize("failing", [4, *(pytest.param(number, marks=deep) for number in range(4))])
def test_a_full_disk_leaves_nothing(synthesize, place, monkeypatch, failing):
    """Where the disk is full at any of the files, none of them is left."""
    before, calls = snapshot(place), []

    def fail(_):
        calls.append(1)
        if len(calls) > failing:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", fail)
    result = synthesize(*PUBLIC)
    assert (len(calls), result.code) == (failing + 1, 2)
    assert snapshot(place) == before


def test_an_interrupted_run_leaves_nothing(synthesize, place):
    """Ctrl-C in the midst of writing texts leaves no file, and shows no number that was measured with noise."""
    budget = ("--epsilon", "1", "--delta", "1e-2")
    before = {path.name for path in place.iterdir()} | {"__pycache__"}
    result = synthesize(*PUBLIC, "--generator", "given:interrupts", budget=budget)
    assert result.code != 0
    assert not any(warning in result.err for warning in OF_THE_NUMBER)
    assert {path.name for path in place.iterdir()} <= before


def test_a_missing_library_costs_nothing(synthesize, call, place, monkeypatch):
    """What is needed to test the texts is missed before a ledger is charged."""
    assert call("ledger", "create", "l.db", "--budget", "100", "--delta", "1e-6").code == 0
    for name in ("sklearn", "sklearn.feature_extraction.text"):
        monkeypatch.setitem(sys.modules, name, None)
    result = synthesize(
        *PUBLIC, "--person", "person", "--ledger", "l.db", budget=("--epsilon", "20", "--delta", "1e-6")
    )
    assert result.code == 2
    assert "deniable[measure]" in result.err
    assert json.loads(call("ledger", "show", "l.db", "--json").text)["releases"] == []
    assert not (place / "o.csv").exists()


def test_a_signed_release(synthesize, call, place):
    """--sign-key signs every file but the owner's; a later run without it, by --force, leaves no signature behind."""
    pytest.importorskip("cryptography", reason="cryptography is not installed: pip install 'deniable[sign]'")
    call("key", "sign", "--sign")
    options = PUBLIC
    signature = place / "o.csv.certificate.json.sig"
    assert synthesize(*options, "--sign-key", "sign").code == 0
    assert [*json.loads(signature.read_text())["files"]] == ["table", "classifier", "baseline"]
    command = ("certificate", "check", "o.csv.certificate.json", "--public-key", "sign.pub", "--table")
    released = {"o.csv", "o.csv.classifier.model", "o.csv.baseline.csv"}
    for name in released | {"o.csv.owner.json"}:
        checked = call(*command, name)
        assert (checked.code == 0, "neither was changed" in checked.text) == (name in released,) * 2
    assert synthesize(*options, "--force").code == 0
    assert not signature.exists()


@pytest.mark.parametrize(
    ("options", "value"),
    [
        (("--public", "lines.txt"), "--domain label=A,B,..."),
        ((*PUBLIC, "--domain", "text=a,b"), "'text'"),
        ((*PUBLIC, "--domain", "stars=1..5", "--domain", "stars=1,2"), "stars=1,2"),
        ((*PUBLIC, "--generator", "magic"), "'magic'"),
        ((*PUBLIC, "--generator", "given:nothing"), "'nothing'"),
        (("--domain", "label=bad,good", "--generator", "tilted"), "'tilted'"),
        (("--public-label", "label"), "--public"),
        ((*PUBLIC, "--max-records", "2"), "max_records"),
    ],
)
def test_what_cannot_run(synthesize, place, options, value):
    """Classes that are not declared, domains and generators that cannot be are refused in one line."""
    before = snapshot(place)
    result = synthesize(*options)
    assert (result.code, len(result.err.splitlines())) == (2, 1)
    assert value in result.err
    assert {**snapshot(place), "__pycache__": None} == {**before, "__pycache__": None}
