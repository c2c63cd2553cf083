"""``--entities``: what it names, and what it refuses."""

import json
import sys

import numpy as np
import pytest

from deniable.cli.entities import find_entity_file, label_measured_texts, open_entity_source
from deniable.core.errors import InputError
from deniable.measure.entities.sources import ListedWords, SourceCell
from deniable.measure.entities.span_files import LabelledSpans

DETECTORS = """
import re

def capitals(text):
    print("found", text)
    return [(match.start(), match.end(), "NAME") for match in re.finditer("[A-Z][a-z]+", text)]

def fails(text):
    raise ValueError(f"cannot read {text}")

def odd(text):
    return [text]

def beyond(text):
    return [(0, len(text) + 1, "NAME")]
"""
BOTH = ("measure", "privatize")


@pytest.fixture
def detectors(place, monkeypatch):
    """Write a module of detectors into the folder, and return its name."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    name = f"detectors_{place.parent.name}_{place.name}".replace("-", "_")
    (place / f"{name}.py").write_text(DETECTORS)
    yield name
    sys.modules.pop(name, None)


@pytest.fixture
def run(call, place):
    """Return a function that measures or privatizes a small table with ids."""
    rows = [f"{number},The food in London was {'good' if number % 2 else 'bad'},x{number}" for number in range(4)]
    (place / "t.csv").write_text("id,text,note\n" + "\n".join(rows) + "\n")

    def running(command, *options):
        outputs = {"measure": ("--epsilons", "2", "--output", "r.html"), "privatize": ("--epsilon", "2", "-o", "o.csv")}
        return call(command, "t.csv", "--space", "space.npz", *outputs[command], *options)

    return running


def write_labels(place, *objects):
    (place / "s.jsonl").write_text("".join(json.dumps(line) + "\n" for line in objects))


GOOD = {"id": "0", "start": 12, "end": 18, "kind": "CITY"}


def test_what_it_names(place, detectors):
    """The ending of a file tells what it holds, also behind a drive letter; any other with a colon is a detector."""
    assert find_entity_file(None) is find_entity_file("pkg.mod:find") is None
    assert find_entity_file("C:\\labels\\s.jsonl") == "C:\\labels\\s.jsonl"
    assert find_entity_file("names") == "names"
    write_labels(place, GOOD)
    (place / "n.txt").write_text("london\n")
    assert isinstance(open_entity_source("s.jsonl"), LabelledSpans)
    assert isinstance(open_entity_source("n.txt"), ListedWords)
    source = open_entity_source(f"{detectors}:capitals")
    assert [span.kind for span in source.find_spans(SourceCell(0, None, "text", "in Rome"))] == ["NAME"]


def test_measured_texts_are_labelled(place):
    """Only the measured rows must have a label, and without the option there is nothing to label."""
    (place / "n.txt").write_text("rome\n")
    texts, rows = ["in Rome", "at home", None], np.array([1, 2])
    assert label_measured_texts(None, texts, None, "text", escapes=None, rows=rows) is None
    found = label_measured_texts("n.txt", texts, None, "text", escapes=None, rows=np.array([0]))
    assert [len(spans) for spans in found] == [1, 0, 0]
    with pytest.raises(InputError, match=r"--entities 'n\.txt' names nothing in the 2 rows that are measured"):
        label_measured_texts("n.txt", texts, None, "text", escapes=None, rows=rows)


@pytest.mark.parametrize("source", ["s.jsonl", "n.txt", "detector"])
def test_both_commands_count(run, place, detectors, source):
    """Page, figures, terminal and the owner's line of a release have the counts of every kind of source."""
    write_labels(place, *({**GOOD, "id": number} for number in range(4)), {"id": 2, "entities": [[0, 8, "START"]]})
    (place / "n.txt").write_text("London\n")
    options = ("--id", "id", "--entities", f"{detectors}:capitals" if source == "detector" else source)
    measured, released = run("measure", *options), run("privatize", *options)
    assert (measured.code, released.code) == (0, 0), measured.err + released.err
    words = {"s.jsonl": 6, "n.txt": 4, "detector": 8}[source]
    total = json.loads((place / "r.json").read_text())["readings"][0]["entities"]["total"]
    assert (total["words"], total["texts"]) == (words, 4)
    assert f"who is still named: {words} labelled words" in measured.text
    assert "<h2>Who is still named</h2>" in (place / "r.html").read_text()
    lines = [line for line in released.err.splitlines() if "labelled words" in line]
    assert len(lines) == 1
    assert lines[0].startswith("for you only   ")
    assert f"of {words} labelled words come out at their places" in lines[0]
    assert released.out == b""


def test_a_detector_does_not_print_into_a_table(call, place, detectors):
    """What a detector prints goes to standard error, and the private table alone to standard output."""
    text = "The food in London"
    (place / "t.csv").write_text(f"text\n{text}\n")
    options = ("--space", "space.npz", "--epsilon", "1", "-o", "-", "--certificate", "c.json")
    result = call("privatize", "t.csv", *options, "--entities", f"{detectors}:capitals")
    assert result.code == 0, result.err
    assert result.text.splitlines()[0] == "text"
    assert "found" not in result.text
    assert f"found {text}" in result.err


@pytest.mark.parametrize("unescape", [True, False])
def test_a_release_does_not_depend_on_it(run, place, unescape):
    """The private table and its certificate are the same, byte for byte, with entities and without."""
    write_labels(place, GOOD)
    options = ("--id", "id", "--test-seed", "3", *(("--unescape", "html") if unescape else ()))
    assert run("privatize", *options).code == 0
    before = [(place / name).read_bytes() for name in ("o.csv", "o.csv.certificate.json")]
    for entities in ("s.jsonl", "n.txt"):
        (place / "n.txt").write_text("london\nfood\n")
        assert run("privatize", *options, "--force", "--entities", entities).code == 0
        assert [(place / name).read_bytes() for name in ("o.csv", "o.csv.certificate.json")] == before
        assert b"labelled" not in before[1]


def test_positions_are_those_of_the_cell(call, place):
    """With --unescape the labels of a file count the characters that stand in the table, for both commands."""
    text = "&lt;b&gt; London &amp; food"
    (place / "t.csv").write_text(f"text\n{text}\n")
    start = text.index("London")
    write_labels(place, {"row": 0, "start": start, "end": start + 6, "kind": "CITY"})
    options = ("--space", "space.npz", "--hide", "none", "--unescape", "html", "--entities", "s.jsonl")
    measured = call("measure", "t.csv", *options, "--epsilons", "200", "-o", "r.html")
    released = call("privatize", "t.csv", *options, "--epsilon", "200", "-o", "o.csv")
    assert (measured.code, released.code) == (0, 0), measured.err + released.err
    total = json.loads((place / "r.json").read_text())["readings"][0]["entities"]["total"]
    assert (total["words"], total["at_place"]["value"]) == (1, 1.0)
    assert "100.0 % of 1 labelled words come out at their places (CITY 100.0 % of 1)" in released.err


@pytest.mark.parametrize("command", BOTH)
@pytest.mark.parametrize(
    ("objects", "message"),
    [
        ([], "s.jsonl labels nothing"),
        ([GOOD, {**GOOD, "start": 90, "end": 95}], "s.jsonl line 2: a span ends at 95, beyond its text of"),
        ([GOOD, {**GOOD, "start": 20, "end": 20}], "s.jsonl line 2: a span from 20 to 20 holds no character"),
        ([GOOD, {**GOOD, "start": "1"}], "s.jsonl line 2: the start of a span must be an integer"),
        ([GOOD, GOOD], "two spans of the kind 'CITY' that overlap, 12 to 18 (line 1) and 12 to 18 (line 2)"),
        ([GOOD, {**GOOD, "id": "nobody"}], "line 2 labels the record 'nobody', of which the table has no text"),
        ([{**GOOD, "column": "nothing"}], "names the column 'nothing', which is no text column of this run"),
        ([{**GOOD, "kind": None}], "the kind of a span must be a text. Got NoneType"),
        ([{"row": 4, "start": 0, "end": 3, "kind": "P"}], "labels the row 4, of which the table has no text: rows"),
    ],
)  # fmt: skip
def test_labels_that_are_refused(run, place, refused, command, objects, message):
    """A wrong label is one line that names the file and the line, and nothing is written."""
    write_labels(place, *objects)
    refused.given()
    shown = refused(run(command, "--id", "id", "--entities", "s.jsonl"))
    assert message in shown
    assert "London" not in shown


@pytest.mark.parametrize("command", BOTH)
def test_sources_that_are_refused(run, place, refused, detectors, command):
    """Files and detectors that cannot be used are one line, without a word of the texts, and nothing is written."""
    write_labels(place, GOOD)
    refused.given(
        n__txt="\n", latin__jsonl=b'{"row": 0, "kind": "\xe9"}\n', broken__jsonl='{"row": 0\n', odd__csv="a\n"
    )
    for entities, message in (
        ("s.jsonl", "s.jsonl names records by id: name the table's column of ids, with --id"),
        ("n.txt", "n.txt is empty: give words"),
        ("latin.jsonl", "latin.jsonl line 1 is not UTF-8"),
        ("broken.jsonl", "broken.jsonl line 1 is not JSON"),
        ("odd.csv", "'odd.csv' must be a .jsonl file of spans, a .txt file of words, or a detector"),
        ("gone.txt", "'gone.txt' are no file"),
        ("no_such_module:f", "No module named 'no_such_module'"),
        (f"{detectors}:nothing", "has no callable 'nothing': write package.module:callable."),
        (f"{detectors}:fails", f"The detector {detectors}:fails on row 1 failed with ValueError"),
        (f"{detectors}:odd", f"The detector {detectors}:odd on row 1 must return (start, end, kind)"),
        (f"{detectors}:beyond", f"The detector {detectors}:beyond on row 1: a span ends at 27, beyond its text of 26"),
    ):
        shown = refused(run(command, "--entities", entities))
        assert message in shown, (entities, shown)
        assert "London" not in shown


def test_what_only_one_command_refuses(call, run, place, refused):
    """A null cannot be labelled, a list that occurs nowhere leaves nothing to measure, and no input is overwritten."""
    (place / "u.jsonl").write_text('{"text": "the food"}\n{"text": null}\n')
    write_labels(place, {"row": 1, "start": 0, "end": 3, "kind": "P"})
    refused.given(n__txt="nobody\n")
    for command, output in (("measure", "r.html"), ("privatize", "o.jsonl")):
        budget = "--epsilons" if command == "measure" else "--epsilon"
        options = ("--space", "space.npz", budget, "2", "--entities", "s.jsonl", "--output", output)
        assert "labels the row 1, of which the table has no text" in refused(call(command, "u.jsonl", *options))
    assert "--entities 'n.txt' names nothing in the 4 rows" in refused(run("measure", "--entities", "n.txt"))
    options = ("--space", "space.npz", "--epsilon", "2", "--force", "--entities", "n.txt", "--format", "csv")
    assert "is a file that is read" in refused(call("privatize", "t.csv", *options, "--output", "n.txt"))
    done = run("privatize", "--entities", "n.txt")
    assert (done.code, "for you only   no labelled word in the texts" in done.err) == (0, True)


def test_repeated_ids_cannot_be_labelled(call, place, refused):
    """Where a labelled id is in two rows, nothing tells which of them is meant."""
    (place / "t.csv").write_text("id,text\n1,the food\n1,the dog\n")
    write_labels(place, {"id": 1, "start": 0, "end": 3, "kind": "P"})
    refused.given()
    options = ("--space", "space.npz", "--epsilons", "2", "-o", "r.html", "--id", "id", "--entities", "s.jsonl")
    assert "labels the record '1', which the table has twice: ids must be unique" in refused(
        call("measure", "t.csv", *options)
    )
