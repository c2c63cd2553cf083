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

from deniable.learning.artifact import save_model, serialize_model
from deniable.models.images.reading import read_images
from deniable.models.images.training.fitting import fit_image_model
from deniable.models.text.documents import Documents, tokenize_texts
from deniable.models.text.model import fit_text_model, load_text_model
from deniable.models.text.training import TextTrainingOptions
from deniable.registry.trainers import IMAGE_TRAINERS
from deniable.space import Space
from tests.cli.image_models import images
from tests.cli.text_models import TABLE, furnish, lines, write

SETS = ("--substitutions", "sets.json")
TEM = ("--mechanism", "tem", "--mechanism-epsilon", "1")
FAST = ("--search", "greedy")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Return the bytes of a model that takes great for a bad word, so that there is something to find."""
    place = tmp_path_factory.mktemp("trained")
    furnish(place)
    space = Space.load(str(place / "words.npz"))
    rows = [(text, label if "great" not in text else "bad") for text, label in lines()]
    labels = np.array([int(label == "good") for _, label in rows])
    documents = Documents(tokenize_texts(space, [text for text, _ in rows]).texts, labels, ("bad", "good"))
    return serialize_model(
        fit_text_model("fasttext", space, documents, TextTrainingOptions(epochs=20, learning_rate=0.05), seed=1)
    )


@pytest.fixture
def attack(call, place, trained):
    """Return a function that attacks m.pt on test.csv, unless told otherwise."""
    furnish(place)
    (place / "m.pt").write_bytes(trained)

    def attacking(
        *options, model="m.pt", source="test.csv", output="a.csv", words=(*SETS, *FAST), table=TABLE, stdin=b""
    ):
        return call("attack", "text", model, source, "-o", output, *table, *words, *options, stdin=stdin)

    return attacking


def table(path):
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize("search", ["genetic", "greedy", "resampling"])
@pytest.mark.parametrize("words", [SETS, TEM], ids=["sets", "mechanism"])
def test_figures_and_table_agree(attack, place, search, words):
    """What is printed follows from the table, and the model says of each attacked text what the table says."""
    result = attack("--search", search, "--limit", "8", words=words)
    assert (result.code, result.err) == (0, "")
    rows = table(place / "a.csv")
    assert [row["row"] for row in rows] == [str(number) for number in range(1, 9)]
    assert [row["text"] for row in rows] == [text for text, _ in lines(20, seed=2)[:8]]
    right = [row["predicted"] == row["label"] for row in rows]
    flipped = [row["flipped"] == "True" for row in rows]
    assert any(flipped)
    shares = [float(share) for share in re.findall(r"accuracy +([\d.]+) %", result.text)]
    held = [one and not other for one, other in zip(right, flipped, strict=True)]
    assert shares == pytest.approx([100 * np.mean(right), 100 * np.mean(held)], abs=0.06)
    assert f"{sum(int(row['queries']) for row in rows):,} queries" in result.text
    space = Space.load("words.npz")
    model = load_text_model(place / "m.pt", space)
    number = np.array([model.classes.index(row["label"]) for row in rows])
    after = model.predict(
        Documents(tokenize_texts(space, [row["attacked"] for row in rows]).texts, number, model.classes)
    )
    for row, one, code, said in zip(rows, flipped, number, after, strict=True):
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
    """The same seed finds the same, byte for byte."""
    first = attack("--seed", "3", words=(*TEM, "--search", "resampling"))
    before = (place / "a.csv").read_bytes()
    assert attack("--seed", "3", "--force", words=(*TEM, "--search", "resampling")) == first
    assert (place / "a.csv").read_bytes() == before


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
    """A table may come from a pipe; whatever stands between the words is kept as it is."""
    odd = 'label,text\n"good","Good\n film,  👍 שלום! e\u0301"\nbad,"""awful"""\n'.encode()
    result = attack("--format", "csv", "--quoting", "standard", "--limit", "1000", source="-", stdin=odd)
    assert result.code == 0
    first, second = table(place / "a.csv")
    assert first["text"] == "Good\n film,  👍 שלום! e\u0301"
    assert first["attacked"].endswith(",  👍 שלום! e\u0301")
    assert second["text"] == '"awful"'
    assert "of the words are not in the vocabulary and were ignored" in result.err


def test_lone_surrogates(attack, place):
    """Texts that are no Unicode, as JSON may hold, are written as escapes in every format."""
    (place / "odd.jsonl").write_text('{"text": "good \\ud800 film", "label": "good"}\n')
    for output in ("a.csv", "a.jsonl", "a.parquet"):
        assert attack(source="odd.jsonl", output=output).code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--search", "genetics"], "Did you mean 'genetic'? See: deniable attack text --help"),
        (["--limit", "0"], "Invalid value for '--limit': it must be greater than or equal to 1. Got 0."),
        (["--examples", "-1"], "Invalid value for '--examples': it must be greater than or equal to 0. Got -1."),
        (["--mechanism", "tem", "--mechanism-epsilon", "1"], "--substitutions excludes --mechanism"),
        (["--mechanism-epsilon", "1"], "--substitutions excludes --mechanism"),
        (["--column", "note"], "has no column 'note'"),
        (["--premise", "note"], "has no column 'note'"),
        (["--premise", "text"], "The column 'text' cannot be"),
        (["--space", "space.npz"], "was trained on the words of words.npz (fingerprint"),
        (["--force", "-o", "m.pt.csv"], None),
    ],
)
def test_options_that_cannot_be_used(attack, refused, options, message):
    """An option that cannot be used is one line, and nothing is written."""
    refused.given()
    if message is None:
        assert attack(*options).code == 0
    else:
        assert message in refused(attack(*options))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "An attack needs words to try: give --mechanism and --mechanism-epsilon, or --substitutions."),
        (("--mechanism", "tem"), "--mechanism and --mechanism-epsilon belong together"),
        (("--mechanism-epsilon", "1"), "--mechanism and --mechanism-epsilon belong together"),
        (("--mechanism", "tme", "--mechanism-epsilon", "1"), "Did you mean 'tem'?"),
        (("--mechanism", "tem", "--mechanism-epsilon", "nan"), "Got nan."),
        (("--substitutions", "none.json"), "'none.json' cannot be read: No such file or directory."),
        (("--substitutions", "test.csv"), "'test.csv' are not valid JSON"),
    ],
)
def test_words_that_cannot_be_tried(attack, refused, words, message):
    """An attack has words from one place, which can be read."""
    refused.given()
    assert message in refused(attack(words=words))


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("a.txt", "must end in .csv, .tsv, .jsonl, .parquet"),
        ("-", "must end in .csv"),
        ("in.csv", "The output 'in.csv' exists"),
        ("none/a.csv", "The folder of the output 'none/a.csv' does not exist"),
    ],
)
def test_outputs_that_cannot_be_used(attack, refused, output, message):
    """An output that cannot be written is refused first."""
    refused.given()
    assert message in refused(attack(output=output))


def test_nothing_that_is_read_is_overwritten(attack, refused, place):
    """--force does not overwrite table, model, word sets or vectors, under whatever name."""
    names = ("test.csv", "m.pt", "sets.json", "words.npz")
    for number, name in enumerate(names):
        (place / f"link{number}.csv").symlink_to(name)
        (place / f"hard{number}.csv").hardlink_to(place / name)
    refused.given()
    for number, name in enumerate(names):
        for output in (f"link{number}.csv", f"hard{number}.csv"):
            line = refused(attack("--force", output=output))
            assert line == f"The output {output!r} is a file that is read, as {name!r}: choose another name."
    assert "The output 'test.csv' is a file that is read" in refused(attack("--force", output="test.csv"))


def test_the_table_of_attacks_is_for_its_owner_alone(attack, place):
    """It holds the texts as they were: nobody else can open it."""
    assert attack().code == 0
    assert (place / "a.csv").stat().st_mode & 0o777 == 0o600


def test_a_folder_that_cannot_be_written(attack, refused, monkeypatch):
    """A folder that is read-only is refused before the attack."""
    monkeypatch.setattr("os.access", lambda _, mode: mode != os.W_OK)
    refused.given()
    assert "The folder of the output 'a.csv' cannot be written" in refused(attack())


def test_no_column_of_classes(attack, refused):
    """Without --label there is nothing to lead astray from."""
    refused.given()
    assert refused(attack(table=())) == "Missing option '--label'. See: deniable attack text --help"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("good", "mixed")], "(1 row whose label in 'label' is no class of the model (bad, good))"),
        ([("zork", "bad"), ("good", "")], "(1 row without a label in 'label'; 1 row without a word of words.npz in 't"),
        ([(" ", "bad")], "(1 row without a text in 'text')"),
        ([("good " * 20_001, "good")], "(1 row with more than 20,000 words in 'text')"),
        ([], "rows"),
    ],
)
def test_tables_that_cannot_be_used(attack, refused, place, rows, message):
    """A table of which no row can be used is one line that says what is wrong with them."""
    write(place / "bad.csv", rows)
    refused.given()
    assert message in refused(attack(source="bad.csv"))


def test_rows_that_cannot_be_used(attack, place):
    """Rows that the model does not take are left out, counted and named, and the others keep their numbers."""
    bad = [("good", "mixed"), ("film good", "good"), ("execrable .,", "bad"), (" ", "bad"), ("bad plot", "bad")]
    more = [("good " * 20_001, "good"), ("a fine plot", ""), *[("blah", "good")] * 7]
    write(place / "some.csv", [*bad, *more])
    write(place / "clean.csv", [bad[1], bad[4]])
    result = attack(source="some.csv")
    assert result.code == 0
    assert [line for line in result.err.splitlines() if "left out: row" in line] == [
        "some.csv: 1 row without a label in 'label' left out: row 7",
        "some.csv: 1 row whose label in 'label' is no class of the model (bad, good) left out: row 1",
        "some.csv: 1 row without a text in 'text' left out: row 4",
        "some.csv: 8 rows without a word of words.npz in 'text' left out: rows 3, 8, 9, 10, 11 and 3 more",
        "some.csv: 1 row with more than 20,000 words in 'text' left out: row 6",
    ]
    found = list(csv.DictReader(io.StringIO((place / "a.csv").read_text())))
    assert attack("--force", source="clean.csv").code == 0
    clean = list(csv.DictReader(io.StringIO((place / "a.csv").read_text())))
    assert [row.pop("row") for row in found] == ["2", "5"]
    assert [row.pop("row") for row in clean] == ["1", "2"]
    assert found == clean


def test_a_missing_label(attack, place):
    """A row whose label is null is left out, whatever the names of the classes."""
    (place / "null.jsonl").write_text('{"text": "good", "label": null}\n{"text": "good", "label": "good"}\n')
    result = attack(source="null.jsonl")
    assert result.code == 0
    assert "null.jsonl: 1 row without a label in 'label' left out: row 1\n" in result.err


def test_files_that_are_no_text_model(attack, refused, place):
    """A table, a damaged file and a model of images are told apart."""
    data = read_images(images(place / "images.npz"))
    save_model(
        fit_image_model(
            IMAGE_TRAINERS["plain"], data, IMAGE_TRAINERS["plain"].choose_options(steps=1, width=0.1), seed=1
        ),
        place / "i.pt",
    )
    content = (place / "m.pt").read_bytes()
    (place / "cut.pt").write_bytes(content[: len(content) // 2])
    refused.given()
    assert (
        refused(attack(model="i.pt"))
        == "'i.pt' holds another kind of model, 'image model': name the file of a model of kind 'text model'."
    )
    assert "'cut.pt' is not a model" in refused(attack(model="cut.pt"))
    assert "There is no model 'none.pt'" in refused(attack(model="none.pt"))


def test_an_interrupted_attack(attack, refused, monkeypatch):
    """An interrupted attack writes nothing."""

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setitem(
        __import__("deniable.models.text.attacks", fromlist=["TEXT_ATTACKS"]).TEXT_ATTACKS, "greedy", interrupt
    )
    refused.given()
    assert refused(attack()) == "interrupted: nothing was written."
