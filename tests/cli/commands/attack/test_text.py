"""``deniable attack text``: true figures, whole tables, and one line where something is wrong."""

import csv
import gzip
import io
import json
import os
import re

import numpy as np
import pyarrow.parquet as pq
import pytest

import deniable as dn
from tests.cli.commands.train.helpers import fails, list_left_out, succeeds
from tests.cli.image_models import images
from tests.cli.text_models import TABLE, furnish, lines, write

SETS = ("--substitutions", "sets.json")
TEM = ("--mechanism", "tem", "--mechanism-epsilon", "1")
FAST = ("--search", "greedy")
deep = pytest.mark.deep


def tokenize(space, rows, classes=("bad", "good")):
    """Return texts and labels as a model takes them."""
    labels = np.array([classes.index(label) for _, label in rows])
    return dn.texts.Documents(dn.texts.tokenize_texts(space, [text for text, _ in rows]).texts, labels, classes)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Return the bytes of a model that takes great for a bad word, so that there is something to find."""
    place = tmp_path_factory.mktemp("trained")
    furnish(place)
    space = dn.Space.load(str(place / "words.npz"), metric="euclidean")
    rows = [(text, label if "great" not in text else "bad") for text, label in lines()]
    options = dn.texts.TextTrainingOptions(epochs=20, learning_rate=0.05)
    dn.texts.save_model(dn.texts.fit_text_model("fasttext", space, tokenize(space, rows), options, seed=1), place / "m")
    return (place / "m").read_bytes()


@pytest.fixture
def attack(call, place, trained):
    """Return a function that attacks m.pt on test.csv, unless told otherwise."""
    furnish(place)
    (place / "m.pt").write_bytes(trained)

    def attacking(*options, model="m.pt", source="test.csv", output="a.csv", words=(*SETS, *FAST), stdin=b""):
        return call("attack", "text", model, source, "-o", output, *TABLE, *words, *options, stdin=stdin)

    return attacking


def table(path):
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize(
    ("search", "words"),
    [
        ("greedy", SETS),
        pytest.param("greedy", TEM, marks=deep),
        pytest.param("genetic", SETS, marks=deep),
        ("genetic", TEM),
        ("resampling", SETS),
        pytest.param("resampling", TEM, marks=deep),
    ],
)
def test_figures_and_table_agree(attack, place, search, words):
    """What is printed follows from the table, and the model says of each attacked text what the table says."""
    result = attack("--search", search, "--limit", "8", words=words)
    assert result.code == 0
    rows = table(place / "a.csv")
    assert [row["row"] for row in rows] == [str(number) for number in range(1, 9)]
    assert [row["text"] for row in rows] == [text for text, _ in lines(20, seed=2)[:8]]
    right = [row["predicted"] == row["label"] for row in rows]
    flipped = [row["flipped"] == "True" for row in rows]
    assert any(flipped)
    shares = [float(share) for share in re.findall(r"accuracy +([\d.]+)%", result.text)]
    held = [one and not other for one, other in zip(right, flipped, strict=True)]
    assert shares == pytest.approx([100 * np.mean(right), 100 * np.mean(held)], abs=0.06)
    assert f"{sum(int(row['queries']) for row in rows):,} queries" in result.text
    space = dn.Space.load("words.npz", metric="euclidean")
    model = dn.texts.load_text_model(place / "m.pt", space)
    attacked = tokenize(space, [(row["attacked"], row["label"]) for row in rows], tuple(model.classes))
    for row, one, code, said in zip(rows, flipped, attacked.labels, model.predict(attacked), strict=True):
        different = sum(a != b for a, b in zip(row["text"].split(), row["attacked"].split(), strict=True))
        assert different == int(row["changed"])
        assert one == (float(row["margin"]) <= 0 and row["predicted"] == row["label"])
        assert not one or said != code


def test_examples(attack):
    """Misclassified texts are shown beside the attack, the changed words in brackets, as many as asked for."""
    found = attack("--examples", "2").text.split("\n\n")[1:]
    assert len(found) == 2
    head, before, after, swaps = found[0].strip().split("\n")
    assert re.match(r"row \d+, (good|bad): \d+ words? changed, \d+ queries", head)
    assert before.startswith("  - ")
    assert after.startswith("  + ")
    old, new = re.findall(r"\[(\w+)\]", before), re.findall(r"\[(\w+)\]", after)
    assert swaps == "  = " + ", ".join(f"{one} -> {other}" for one, other in zip(old, new, strict=True))
    assert "\n\n" not in attack("--examples", "0", "--force").text


def test_the_seed(attack, place):
    """The same seed finds the same, byte for byte; the table holds the texts as they were, for its owner alone."""
    first = attack("--seed", "3", words=(*TEM, "--search", "resampling"))
    before = (place / "a.csv").read_bytes()
    assert attack("--seed", "3", "--force", words=(*TEM, "--search", "resampling")) == first
    assert (place / "a.csv").read_bytes() == before
    assert (place / "a.csv").stat().st_mode & 0o777 == 0o600


def test_formats(attack, place):
    """Every format of the output holds the same rows, also compressed."""
    for output in ("a.csv", "a.tsv", "a.jsonl", "a.parquet", "b.csv.gz"):
        assert attack(output=output).code == 0
    rows = pq.read_table(place / "a.parquet").to_pylist()
    assert [json.loads(line) for line in (place / "a.jsonl").read_text().splitlines()] == rows
    assert len(rows) == 20
    assert gzip.decompress((place / "b.csv.gz").read_bytes()) == (place / "a.csv").read_bytes()
    tsv = list(csv.DictReader(io.StringIO((place / "a.tsv").read_text()), delimiter="\t"))
    assert tsv == table(place / "a.csv")


def test_pipes_and_odd_texts(attack, place):
    """A table may come from a pipe; what stands between words is kept; half a character is written as an escape."""
    odd = 'label,text\n"good","Good\n film,  👍 שלום! e\u0301"\nbad,"""awful"""\n'.encode()
    succeeds(attack("--format", "csv", "--quoting", "standard", "--limit", "1000", source="-", stdin=odd))
    first, second = table(place / "a.csv")
    assert first["text"] == "Good\n film,  👍 שלום! e\u0301"
    assert first["attacked"].endswith(",  👍 שלום! e\u0301")
    assert second["text"] == '"awful"'
    (place / "odd.jsonl").write_text('{"text": "good \\ud800 film", "label": "good"}\n')
    for output in ("b.csv", "b.jsonl", "b.parquet"):
        assert attack(source="odd.jsonl", output=output).code == 0


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ({"options": TEM}, "--mechanism"),
        ({"words": ()}, "--substitutions"),
        ({"words": ("--mechanism", "tem")}, "--mechanism-epsilon"),
        ({"words": ("--mechanism", "tem", "--mechanism-epsilon", "nan")}, "nan"),
        ({"words": ("--substitutions", "test.csv")}, "'test.csv'"),
        ({"options": ("--space", "space.npz")}, "words.npz"),
        ({"options": ("--premise", "text")}, "'text'"),
        ({"output": "a.txt"}, ".csv"),
        ({"output": "-"}, ".csv"),
        ({"output": "in.csv"}, "'in.csv'"),
        ({"model": "none.pt"}, "'none.pt'"),
    ],
)
def test_what_cannot_run(attack, place, given, value):
    """What is missing or cannot be read or written is one line, and no table is written."""
    fails(attack(*given.pop("options", ()), **given), value)
    assert not (place / "a.csv").exists()


def test_nothing_that_is_read_is_overwritten(attack, place, monkeypatch):
    """--force does not overwrite table, model, word sets or vectors, under whatever name; a folder must be writable."""
    for number, name in enumerate(("test.csv", "m.pt", "sets.json", "words.npz")):
        (place / f"link{number}.csv").symlink_to(name)
        (place / f"hard{number}.csv").hardlink_to(place / name)
        before = (place / name).read_bytes()
        for output in (f"link{number}.csv", f"hard{number}.csv"):
            fails(attack("--force", output=output), repr(output))
        assert (place / name).read_bytes() == before
    monkeypatch.setattr("os.access", lambda _, mode: mode != os.W_OK)
    fails(attack(), "'a.csv'")


@pytest.mark.parametrize(
    ("rows", "value"),
    [
        ([("good", "mixed")], "(bad, good)"),
        ([("zork", "bad"), ("good", "")], "1 row without a word of words.npz"),
        ([(" ", "bad")], "'text'"),
        ([("good " * 20_001, "good")], "20,000"),
        ([], "rows"),
    ],
)
def test_tables_that_cannot_be_used(attack, place, rows, value):
    """A table of which no row can be used is one line that says what is wrong with them."""
    write(place / "bad.csv", rows)
    fails(attack(source="bad.csv"), value)


def test_rows_that_cannot_be_used(attack, place):
    """Rows that the model does not take are left out, counted and named, and the others keep their numbers."""
    bad = [("good", "mixed"), ("film good", "good"), ("execrable .,", "bad"), (" ", "bad"), ("bad plot", "bad")]
    more = [("good " * 20_001, "good"), ("a fine plot", None), *[("blah", "good")] * 7]
    rows = [{"text": text, "label": label} for text, label in (*bad, *more)]
    (place / "some.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    write(place / "clean.csv", [bad[1], bad[4]])
    left_out = list_left_out(succeeds(attack(source="some.jsonl")))
    named = ["row 4", "row 7", "row 1", "rows 3, 8, 9, 10, 11 and 3 more", "row 6"]
    assert left_out == [("some.jsonl", rows) for rows in named]
    found = table(place / "a.csv")
    assert attack("--force", source="clean.csv").code == 0
    clean = table(place / "a.csv")
    assert [row.pop("row") for row in found] == ["2", "5"]
    assert [row.pop("row") for row in clean] == ["1", "2"]
    assert found == clean


def test_files_that_are_no_text_model(attack, call, place):
    """A table, a damaged file and a model of images are told apart."""
    images(place / "images.npz")
    given = ("images.npz", "--kind", "plain", "--steps", "1", "--width", "0.1", "-o", "i.pt")
    assert call("train", "image", *given).code == 0
    content = (place / "m.pt").read_bytes()
    (place / "cut.pt").write_bytes(content[: len(content) // 2])
    fails(attack(model="i.pt"), "'text model'")
    fails(attack(model="cut.pt"), "'cut.pt' cannot be read as a model")


def test_an_interrupted_attack(attack, place, monkeypatch):
    """An interrupted attack writes nothing."""

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setitem(dn.texts.TEXT_ATTACKS, "greedy", interrupt)
    fails(attack(), "interrupted")
    assert not (place / "a.csv").exists()
