"""``deniable synthesize``: every generator and format, outputs whole or not at all, nothing private in any of them."""

import csv
import errno
import gzip
import json
import os
import stat

import pyarrow.parquet as pq
import pytest

from deniable.cli.private_tables import PrivateTable, hold_out_rows
from tests.cli.text_models import write
from tests.persons.collections import CLASSES, draw_reviews

BUDGET = ("--epsilon", "20", "--delta", "1e-6", "--records", "600")
PUBLIC = ("--public", "public.csv", "--public-label", "label")
FILES = ("o.csv", "o.csv.certificate.json", "o.csv.classifier.model", "o.csv.baseline.csv", "o.csv.owner.json")
MODULE = """
def words(request):
    return [f"the film was {request.class_words[code][0]}" for code in request.codes.tolist()]

def fails(request):
    raise ValueError("no\\nmodel")

def few(request):
    return ["a"]

def empty(request):
    return [" "] * request.count

def numbers(request):
    return [1] * request.count

def odd(request):
    return [f"the film \\ud800 \\u202e, was \\"good\\"\\nreally {code}" for code in request.codes.tolist()]
"""


def draw_rows(count, seed):
    """Return rows of text, label, person and stars."""
    texts, codes = draw_reviews(count, seed)
    return [
        (text, CLASSES[code], f"p{row // 3}", str(1 + row % 2 + 3 * code))
        for row, (text, code) in enumerate(zip(texts, codes.tolist(), strict=True))
    ]


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
    result = synthesize(*PUBLIC, "--domain", "stars=1..5", "--counts", "n.csv")
    assert (result.code, result.out) == (0, b"")
    assert {path.name for path in place.iterdir()} - before == {*FILES, "n.csv"}
    rows = read(place / "o.csv")
    assert [list(row) for row in rows] == [["text", "label", "stars"]] * 30
    assert {row["label"] for row in rows} <= {*CLASSES}
    assert {row["stars"] for row in rows} <= {"1", "2", "3", "4", "5"}
    assert list(read(place / "o.csv.baseline.csv")[0]) == ["text", "label"]
    assert list(read(place / "n.csv")[0]) == ["class", "ngram", "count"]
    assert stat.S_IMODE((place / "o.csv.owner.json").stat().st_mode) == 0o600
    figures = json.loads((place / "o.csv.owner.json").read_text())
    assert [*figures] == ["classifier", "student", "student of the baseline"]
    accuracies = [line for line in result.err.splitlines() if " is right in " in line or " reaches " in line]
    assert len(accuracies) == 3
    assert all(line.startswith("warning (for you only): ") for line in accuracies)
    assert result.err.splitlines()[-1].startswith("wrote o.csv, ")


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--public", "lines.txt"),
        ("--public", "public.csv"),
        (*PUBLIC, "--generator", "recombined"),
        (*PUBLIC, "--candidates", "given:words"),
        (*PUBLIC, "--generator", "counts", "--counts", "n.csv"),
        (*PUBLIC, "--person", "person", "--max-records", "2"),
    ],
    ids=["counts", "lines", "no labels", "recombined", "candidates", "counts beside public texts", "persons"],
)
def test_ways_to_write(synthesize, place, options):
    """Every generator, with and without public texts, labels and persons, writes the table and its certificate."""
    space = () if "--public" in options else ("--classes", "bad,good", "--generator", "counts")
    classes = () if "--public-label" in options or space else ("--classes", "bad,good")
    assert synthesize(*options, *space, *classes).code == 0
    assert len(read(place / "o.csv")) == 30
    certificate = json.loads((place / "o.csv.certificate.json").read_text())
    assert certificate["guarantee"]["unit"] == ("person" if "--person" in options else "record")
    has_baseline = "--public-label" in options and "counts" not in options
    assert (place / "o.csv.baseline.csv").exists() == has_baseline


@pytest.mark.parametrize("name", ["o.csv", "o.tsv", "o.jsonl", "o.parquet", "o.csv.gz", "o.jsonl.zst", "o.tsv.gz"])
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


def test_warnings_are_of_public_numbers(synthesize):
    """What is said of the size and of delta follows from declared numbers, however many rows there are."""
    budget = ("--epsilon", "2", "--delta", "1e-3", "--records", "50000")
    lines = synthesize(*PUBLIC, budget=budget).err.splitlines()
    assert any(line.startswith("warning: delta 0.001 is 1/n or more for n = 50,000") for line in lines)
    assert not any("are few at epsilon" in line for line in lines)


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
        "1 row whose label in 'label' is none of the declared classes left out: row 602",
        "1 row whose 'stars' is not of its domain not counted for it",
    ]
    written = b"".join((place / name).read_bytes() for name in FILES)
    assert "sécret".encode() not in written
    assert "zürk".encode() not in written
    assert b"zork" not in written


def test_hold_out_keeps_persons_apart():
    """All rows of a person are in one part, about a tenth of the persons are held out, and others each time."""
    persons = [f"p{row // 4}" for row in range(4_000)]
    table = PrivateTable(["a"] * 4_000, ["b"] * 4_000, persons, {"n": persons}, [*range(4_000)], 4_000, "", ())
    parts = [hold_out_rows(table) for _ in range(2)]
    for train, test in parts:
        assert not {*train.persons} & {*test.persons}
        assert len(train) + len(test) == 4_000
        assert 200 < len(test) < 640
        assert test.others["n"] == test.persons
    assert parts[0][1].persons != parts[1][1].persons


def test_classes_that_do_not_occur(synthesize, place):
    """Declared classes of which no record is are no reason to fail; nor is a table of one class only."""
    write(place / "private.csv", [row for row in draw_rows(1_200, 1) if row[1] == "good"][:600],
          ("text", "label", "person", "stars"))  # fmt: skip
    result = synthesize("--public", "lines.txt", "--classes", "bad,good,Überraschung")
    assert result.code == 0
    rows = read(place / "o.csv")
    assert len(rows) == 30
    assert [row["label"] for row in rows].count("good") > 20


def test_odd_names_and_texts(synthesize, place):
    """Classes, columns, values and proposed texts of any script, marks and lone surrogates come out readable."""
    rows = [(f"{row[0]} \u202e🦊 \x00", {"good": "好い", "bad": "ﬁ"}[row[1]], "東京" if row[3] > "2" else "a b")
            for row in draw_rows(600, 1)]  # fmt: skip
    (place / "private.jsonl").write_text(
        "".join(json.dumps({"тext": row[0], "λ": row[1], "où": row[2]}) + "\n" for row in rows)
    )
    public = [row[:2] for row in draw_rows(200, 2)]
    (place / "public.jsonl").write_text("".join(json.dumps({"тext": text}) + "\n" for text, _ in public))
    for output in ("o.csv", "o.parquet", "o.jsonl"):
        result = synthesize(
            "--column", "тext", "--public", "public.jsonl", "--classes", "ﬁ,好い", "--domain", "où=東京,a b",
            "--candidates", "given:odd", source="private.jsonl", label="λ", output=output,
        )  # fmt: skip
        assert result.code == 0
    texts = [row["тext"] for row in read(place / "o.csv")]
    assert len(texts) == 30
    assert all(text.startswith('the film \\ud800 \u202e, was "good"\nreally ') for text in texts)
    assert {row["où"] for row in read(place / "o.csv")} <= {"東京", "a b"}
    assert pq.read_table(place / "o.parquet").column_names == ["тext", "λ", "où"]


def test_lone_surrogates(synthesize, place):
    """Lone surrogates of jsonl in phrases, classes and values come out as escapes, in counts and certificate too."""
    rows = [(f"\ud800word {row[0]}", f"{row[1]}\udfff", f"{row[3]}\udc00") for row in draw_rows(600, 1)]
    for name, count in (("private.jsonl", 600), ("public.jsonl", 200)):
        lines = [json.dumps(dict(zip(("text", "label", "stars"), row, strict=True))) for row in rows[:count]]
        (place / name).write_text("\n".join(lines))
    public = ("--public", "public.jsonl", "--public-label", "label")
    domain = "stars=" + ",".join(f"{number}\udc00" for number in range(1, 6))
    result = synthesize(*public, "--domain", domain, "--counts", "n.csv", source="private.jsonl")
    assert result.code == 0, result.err
    certificate = json.loads((place / "o.csv.certificate.json").read_bytes().decode("utf-8"))
    assert [name.encode("utf-8", "backslashreplace") for name in certificate["mechanism"]["classes"]] == [
        b"bad\\udfff",
        b"good\\udfff",
    ]
    counts = read(place / "n.csv")
    assert {row["class"] for row in counts} == {"bad\\udfff", "good\\udfff"}
    assert any("\\ud800" in row["ngram"] for row in counts)
    assert {row["stars"][1:] for row in read(place / "o.csv")} == {"\\udc00"}


@pytest.mark.parametrize("failing", range(6))
def test_a_full_disk_leaves_nothing(synthesize, refused, monkeypatch, failing):
    """Where the disk is full at any of the files, none of them is left."""
    refused.given()
    calls = []

    def fail(_):
        calls.append(1)
        if len(calls) > failing:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", fail)
    result = synthesize(*PUBLIC, "--counts", "n.csv")
    assert len(calls) == failing + 1
    assert result.code == 2
    assert result.err.splitlines()[-1].startswith("deniable: ")
    assert "No space left" in result.err.splitlines()[-1]
    lines = keep_last_line(result)
    refused(lines)


def keep_last_line(result):
    """Return a result with the last line of its errors alone: warnings of public numbers stand before it."""
    return type(result)(result.code, result.out, result.err.splitlines()[-1])


def test_an_interrupted_run_leaves_nothing(synthesize, place, monkeypatch):
    """Ctrl-C in the midst of writing texts leaves no file, and shows no number that was measured with noise."""
    budget = ("--epsilon", "1", "--delta", "1e-2")
    warnings = ("are few at epsilon", "is 1/n or more for n = ")
    shown = synthesize(*PUBLIC, output="w.csv", budget=budget).err
    assert all(warning in shown for warning in warnings)
    before = {path.name for path in place.iterdir()}

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("deniable.persons.synthesis.write_table", interrupt)
    result = synthesize(*PUBLIC, budget=budget)
    assert result.code != 0
    assert not any(warning in result.err for warning in warnings)
    assert {path.name for path in place.iterdir()} == before


CLASSED = ("--classes", "bad,good")
REFUSALS = {
    "no classes": (("--public", "public.csv"), "The classes must be declared"),
    "one class": (("--classes", "good"), "needs at least two different classes. Got good"),
    "equal classes": (("--classes", "good,good"), "--classes names 'good' twice"),
    "empty class": (("--classes", "good,"), "leave no name empty"),
    "label without table": ((*CLASSED, "--public-label", "label"), "--public-label is for --public"),
    "no public label": (("--public", "public.csv", "--public-label", "zork"), "zork"),
    "other classes": ((*PUBLIC, "--classes", "x,y"), "has no text with one of the classes x, y"),
    "public is private": ((*CLASSED, "--public", "private.csv"), "is the private table itself"),
    "public is a copy": ((*CLASSED, "--public", "copy.csv"), "is the private table itself"),
    "public is empty": ((*CLASSED, "--public", "empty.csv"), "holds no text"),
    "public is missing": ((*CLASSED, "--public", "none.csv"), "none.csv"),
    "tilted": ((*CLASSED, "--generator", "tilted"), "'tilted' writes with public texts"),
    "recombined": ((*CLASSED, "--generator", "recombined"), "'recombined' writes with public texts"),
    "unknown generator": ((*PUBLIC, "--generator", "zork"), "tilted"),
    "no callable": ((*PUBLIC, "--generator", "candidates"), "go together"),
    "callable of no use": ((*PUBLIC, "--generator", "tilted", "--candidates", "given:words"), "go together"),
    "no module": ((*PUBLIC, "--candidates", "nothing:f"), "No module named 'nothing'"),
    "no function": ((*PUBLIC, "--candidates", "given:f"), "has no callable 'f'"),
    "callable fails": ((*PUBLIC, "--candidates", "given:fails"), "'fails' failed: ValueError: no"),
    "few texts": ((*PUBLIC, "--candidates", "given:few"), "must return 34 texts"),
    "empty texts": ((*PUBLIC, "--candidates", "given:empty"), "Got an empty text at place 0"),
    "no texts": ((*PUBLIC, "--candidates", "given:numbers"), "Got int at place 0"),
    "domain of texts": ((*PUBLIC, "--domain", "text=1..5"), "--domain is for further columns"),
    "domain of persons": ((*PUBLIC, "--person", "person", "--domain", "person=1..5"), "--domain is for further"),
    "domain twice": ((*PUBLIC, "--domain", "stars=1..5", "--domain", "stars=1..3"), "Each column has one domain"),
    "bad domain": ((*PUBLIC, "--domain", "stars"), "NAME=LOW..HIGH"),
    "no such column": ((*PUBLIC, "--domain", "zork=1..5"), "zork"),
    "records of persons": ((*PUBLIC, "--max-records", "2"), "--max-records is for --person"),
    "no such person": ((*PUBLIC, "--person", "zork"), "zork"),
    "person is the label": ((*PUBLIC, "--person", "label"), "'label' cannot be labels and persons at once"),
    "person is the text": ((*PUBLIC, "--person", "text"), "'text' cannot be texts and persons at once"),
    "test is private": ((*PUBLIC, "--test", "private.csv"), "'private.csv', is the private table itself"),
    "test is a copy": ((*PUBLIC, "--test", "copy.csv"), "'copy.csv', is the private table itself"),
    "test table": ((*PUBLIC, "--test", "empty.csv"), "In --test: "),
    "an input again": ((*PUBLIC, "--counts", "public.csv", "--force"), "public.csv"),
    "one output twice": ((*PUBLIC, "--counts", "o.csv"), "are one file"),
    "an output exists": ((*PUBLIC, "--counts", "given.py"), "given.py"),
    "a folder": ((*PUBLIC, "--certificate", "no/such.json"), "no"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(synthesize, refused, place, name):
    """What cannot be done is said in one line, which names the value, and no file is left."""
    options, problem = REFUSALS[name]
    synthesize  # noqa: B018 - its tables are there
    refused.given(
        copy__csv=(place / "private.csv").read_bytes(), empty__csv="text,label\n", **{
            path.name.replace(".", "__"): path.read_bytes() for path in place.iterdir() if path.is_file()
        },
    )  # fmt: skip
    result = synthesize(*options)
    last = keep_last_line(result)
    assert problem in refused(last, new=["__pycache__"] if (place / "__pycache__").exists() else ())
    assert all(line.startswith("warning: ") for line in result.err.splitlines()[:-1])


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"budget": ("--epsilon", "0", "--delta", "1e-6")}, "epsilon"),
        ({"budget": ("--epsilon", "nan", "--delta", "1e-6")}, "epsilon"),
        ({"budget": ("--epsilon", "1", "--delta", "2")}, "delta"),
        ({"budget": ("--epsilon", "0.1", "--delta", "1e-6", "--records", "5"), "public": ("--public", "public.csv")},
         "teach no more than a blind guess"),
        ({"output": "-"}, "has files beside it"),
        ({"output": "o.xyz"}, "o.xyz"),
        ({"label": "text"}, "'text'"),
        ({"label": "zork"}, "zork"),
        ({"source": "none.csv"}, "none.csv"),
        ({"source": "in.csv"}, "label"),
    ],
)  # fmt: skip
def test_refused_basics(synthesize, refused, change, problem):
    """So are budgets, formats, columns and tables that cannot be."""
    refused.given()
    public = (*change.pop("public", PUBLIC), "--classes", "bad,good")
    result = synthesize(*public, **change)
    assert problem in refused(keep_last_line(result))


def test_phrases_with_lone_surrogates(synthesize, place):
    """A lone surrogate of a private jsonl file that passes the threshold is written as an escape."""
    lines = [json.dumps({"text": f"\ud800 {text}", "label": label}) + "\n" for text, label, *_ in draw_rows(600, 1)]
    (place / "odd.jsonl").write_text("".join(lines))
    result = synthesize("--classes", "bad,good", "--generator", "counts", "--counts", "n.csv", source="odd.jsonl")
    assert result.code == 0, result.err
    assert "\\ud800" in (place / "n.csv").read_text()


def test_a_signed_release(synthesize, call, place):
    """--sign-key signs every file but the owner's; a later run without it, by --force, leaves no signature behind."""
    pytest.importorskip("cryptography", reason="cryptography is not installed: pip install 'deniable[sign]'")
    call("key", "sign", "--sign")
    options = (*PUBLIC, "--counts", "n.csv")
    signature = place / "o.csv.certificate.json.sig"
    assert "o.csv.certificate.json.sig" in synthesize(*options, "--sign-key", "sign").err
    assert [*json.loads(signature.read_text())["files"]] == ["table", "classifier", "baseline", "counts"]
    command = ("certificate", "check", "o.csv.certificate.json", "--public-key", "sign.pub", "--table")
    released = {"o.csv", "o.csv.classifier.model", "o.csv.baseline.csv", "n.csv"}
    for name in released | {"o.csv.owner.json"}:
        checked = call(*command, name)
        assert (checked.code == 0, "neither was changed" in checked.text) == (name in released,) * 2
    assert synthesize(*options, "--force").code == 0
    assert not signature.exists()


def test_what_signs_no_synthesis(synthesize, call, refused, place):
    """A noise key signs nothing, the key that signs is not overwritten, and no signature of another release is."""
    call("key", "noise")
    call("key", "sign", "--sign")
    signature = place / "o.csv.certificate.json.sig"
    signature.write_text("notes of mine")
    refused.given()
    assert "noise key" in refused(synthesize(*PUBLIC, "--sign-key", "noise"))
    assert "is a file that is read" in refused(synthesize(*PUBLIC, "--sign-key", "sign", "--counts", "sign", "--force"))
    assert "certificate.json.sig' exists" in refused(synthesize(*PUBLIC, "--sign-key", "sign"))
