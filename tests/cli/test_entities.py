"""``--entities`` of measure: labelled words are counted for the owner."""

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


GOOD = {"row": 0, "entities": [[12, 18, "CITY"]]}


@pytest.mark.parametrize("source", ["s.jsonl", "n.txt", "detector"])
def test_measured_counts(run, place, detectors, source):
    """Page, figures and terminal have the counts of every kind of source."""
    spans = GOOD["entities"]
    write_labels(
        place, *({"row": row, "entities": [*spans, [0, 8, "START"]] if row == 2 else spans} for row in range(4))
    )
    (place / "n.txt").write_text("London\n")
    options = ("--entities", f"{detectors}:capitals" if source == "detector" else source)
    measured = run("measure", *options)
    assert measured.code == 0
    words = {"s.jsonl": 6, "n.txt": 4, "detector": 8}[source]
    total = json.loads((place / "r.json").read_text())["results"][0]["entities"]["total"]
    assert (total["words"], total["texts"]) == (words, 4)
    assert f"labelled names: {words} words (" in measured.text
    assert "<h2>Which names survive</h2>" in (place / "r.html").read_text()


def test_positions_are_those_of_the_cell(call, place):
    """With --unescape the labels of a file count the characters that stand in the table."""
    text = "&lt;b&gt; London &amp; food"
    (place / "t.csv").write_text(f"text\n{text}\n")
    start = text.index("London")
    write_labels(place, {"row": 0, "entities": [[start, start + 6, "CITY"]]})
    options = ("--space", "space.npz", "--hide", "none", "--unescape", "html", "--entities", "s.jsonl")
    assert call("measure", "t.csv", *options, "--epsilons", "200", "-o", "r.html").code == 0
    total = json.loads((place / "r.json").read_text())["results"][0]["entities"]["total"]
    assert (total["words"], total["at_place"]["value"]) == (1, 1.0)
