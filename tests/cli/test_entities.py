"""``--entities`` of measure and privatize: labelled words are counted for the owner, and change no release."""

import json
import sys

import pytest

DETECTORS = """
import re

def capitals(text):
    print("found", text)
    return [(match.start(), match.end(), "NAME") for match in re.finditer("[A-Z][a-z]+", text)]
"""


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


@pytest.mark.parametrize("source", ["s.jsonl", "n.txt", "detector"])
def test_both_commands_count(run, place, detectors, source):
    """Page, figures, terminal and the owner's line of a release have the counts of every kind of source."""
    write_labels(place, *({**GOOD, "id": number} for number in range(4)), {"id": 2, "entities": [[0, 8, "START"]]})
    (place / "n.txt").write_text("London\n")
    options = ("--id", "id", "--entities", f"{detectors}:capitals" if source == "detector" else source)
    measured, released = run("measure", *options), run("privatize", *options)
    assert (measured.code, released.code) == (0, 0)
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
    assert result.code == 0
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
    assert (measured.code, released.code) == (0, 0)
    total = json.loads((place / "r.json").read_text())["readings"][0]["entities"]["total"]
    assert (total["words"], total["at_place"]["value"]) == (1, 1.0)
    assert "100.0 % of 1 labelled words come out at their places (CITY 100.0 % of 1)" in released.err


def test_a_list_that_occurs_nowhere(run, place):
    """Where no labelled word is in the texts a release says so, to its owner."""
    (place / "n.txt").write_text("nobody\n")
    done = run("privatize", "--entities", "n.txt")
    assert (done.code, "for you only   no labelled word in the texts" in done.err) == (0, True)
